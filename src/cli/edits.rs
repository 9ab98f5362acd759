//! `--edit`: changes that a run is made with.

use std::{fs, str::FromStr};

use super::inputs::parse_position;
use crate::capture::{Edit, SeeAll, changes::KINDS};

const EDIT_HELP: &str = "A change of the forward pass, such as {\"ablate\":\"L3H5\",\"with\":\"zero\"} or {\"hide\":4}; @FILE \
    reads it from a file; give it several times for several changes";

/// The same with every kind of change and its fields.
fn edit_help() -> String {
    let kinds = KINDS.iter().map(|kind| {
        let spec = (kind.spec)();
        let fields: Vec<String> = spec.fields.iter().map(|(name, words)| format!("{name} ({words})")).collect();
        format!("{}: {}", spec.meaning, fields.join(", "))
    });
    [EDIT_HELP.to_owned()].into_iter().chain(kinds).collect::<Vec<_>>().join("\n- ")
}

/// Changes of every run, as every subcommand takes them that runs a model.
#[derive(Clone, Debug, Default, PartialEq, clap::Args)]
pub struct EditOptions {
    #[arg(long = "edit", value_name = "JSON", value_parser = EditFlag::from_str, help = EDIT_HELP, long_help = edit_help())]
    edits: Vec<EditFlag>,
    /// Tokens with global attention, in place of those that the model's class chooses (Longformer, LED): positions
    /// from 0, separated by commas; none for none
    #[arg(long, value_name = "POSITIONS", value_parser = parse_global)]
    global: Option<Global>,
}

/// Positions of tokens that see all.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Global(Vec<usize>);

fn parse_global(text: &str) -> Result<Global, String> {
    if text == "none" {
        return Ok(Global(Vec::new()));
    }
    text.split(',').map(|part| parse_position(part.trim())).collect::<Result<_, _>>().map(Global)
}

impl EditOptions {
    /// Whether none was given.
    pub const fn is_empty(&self) -> bool {
        self.edits.is_empty() && self.global.is_none()
    }

    /// The changes, in order.
    pub fn edits(&self) -> Vec<Edit> {
        let global = self.global.iter().map(|Global(positions)| Edit::SeeAll(SeeAll { positions: positions.clone() }));
        self.edits.iter().map(|change| change.0.clone()).chain(global).collect()
    }
}

#[derive(Clone, Debug, PartialEq)]
struct EditFlag(Edit);

impl FromStr for EditFlag {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        let written;
        let text = match text.strip_prefix('@') {
            Some(path) => {
                written = fs::read_to_string(path).map_err(|error| format!("{path} cannot be read: {error}"))?;
                &written
            }
            None => text,
        };
        let json = serde_json::from_str(text).map_err(|error| format!("it is not JSON ({error})"))?;
        Edit::from_json(&json).map(Self)
    }
}
