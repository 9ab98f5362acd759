//! Changes and normaliser that a capture was computed with.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de::Error as _};
use serde_json::Value;

use super::{Edit, Normalizer};
use crate::ids::HeadId;

/// A change that a capture was made with.
#[derive(Clone, Debug, PartialEq)]
pub enum AppliedEdit {
    /// One that this version can make, so recomputing can follow it.
    Known(Edit),
    /// One that a file has, and only another version knows: its JSON.
    Foreign(String),
}

impl AppliedEdit {
    /// The change, where this version knows it.
    pub const fn known(&self) -> Option<&Edit> {
        match self {
            Self::Known(edit) => Some(edit),
            Self::Foreign(_) => None,
        }
    }
}

impl Serialize for AppliedEdit {
    fn serialize<S: Serializer>(&self, to: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::Known(edit) => edit.serialize(to),
            Self::Foreign(json) => {
                serde_json::from_str(json).unwrap_or_else(|_| Value::String(json.clone())).serialize(to)
            }
        }
    }
}

/// A change that this version does not know is kept as it is.
impl<'de> Deserialize<'de> for AppliedEdit {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let json = Value::deserialize(from).map_err(D::Error::custom)?;
        Ok(Edit::from_json(&json).map_or_else(|_| Self::Foreign(json.to_string()), Self::Known))
    }
}

impl fmt::Display for AppliedEdit {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        /// Enough of an unknown change to recognise it.
        const SHOWN: usize = 60;
        match self {
            Self::Known(edit) => edit.fmt(f),
            Self::Foreign(json) if json.chars().count() > SHOWN => {
                write!(f, "{}…", json.chars().take(SHOWN).collect::<String>())
            }
            Self::Foreign(json) => f.write_str(json),
        }
    }
}

/// How much of the attention the rows of a pattern hold.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RowMass {
    /// All: rows sum to 1.
    #[default]
    Full,
    /// The rest went to a learned sink: pattern and sink sum to 1.
    Sink,
    /// Sparse or truncated: what is missing is not known.
    Partial,
    /// Each weight stands by itself: rows sum to whatever they do.
    Free,
}

/// How the patterns of a capture came about, for whoever recomputes what is not stored.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Computation {
    /// Changes of the forward pass, in order.
    pub edits: Vec<AppliedEdit>,
    /// What made patterns of the scores.
    pub normalizer: Normalizer,
    /// Whether rows were declared to be incomplete, so that they may sum to less than 1.
    pub partial_rows: bool,
}

impl Computation {
    /// What makes the pattern of one head: the last change of it, or what all heads have.
    pub fn normalizer_of(&self, head: HeadId) -> Normalizer {
        let mut known = self.edits.iter().rev().filter_map(AppliedEdit::known);
        known.find_map(|edit| edit.normalizer_of(head)).unwrap_or(self.normalizer)
    }

    /// The sentences about a run that was changed, and about weights that are not the softmax of the scores;
    /// `None` for an ordinary one.
    pub fn note(&self) -> Option<String> {
        /// More changes than these are counted, not listed.
        const LISTED: usize = 4;
        let mut changes: Vec<String> = self.edits.iter().take(LISTED).map(AppliedEdit::to_string).collect();
        let n_more = self.edits.len() - changes.len();
        if n_more > 0 {
            changes.push(format!("and {n_more} more"));
        }
        let mut sentences = Vec::new();
        if !changes.is_empty() {
            sentences.push(format!("This run was changed: {}", changes.join("; ")));
        }
        if self.normalizer != Normalizer::Softmax {
            let normalizer = self.normalizer.title();
            sentences.push(format!("Weights are the {normalizer} of the scores, not the softmax"));
        }
        (!sentences.is_empty()).then(|| sentences.join(". "))
    }
}
