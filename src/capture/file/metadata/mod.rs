//! The JSON entries of `__metadata__`: model, tokens, input, image, what was generated and predicted, and
//! how the patterns came about.

mod image;
mod model;
mod tokens;
mod written;

use std::ops::Range;

use serde::{Deserialize, Serialize};

pub(super) use self::{
    image::ImageEntry,
    model::{MAX_HEADS, MAX_LAYERS, ModelEntry, StackEntry, default_scale},
    tokens::{TokenEntry, TokenStyles, TokensEntry},
    written::{GeneratedEntry, PredictionEntry},
};
use super::FileError;
use crate::capture::{InputInfo, TextPart};

/// Written as `format`.
pub(super) const FORMAT: &str = "attnscope-capture";
/// Written as `version`.
pub(super) const VERSION: &str = "1";
/// Written as `rows` where rows of patterns may sum to less than 1.
pub(super) const PARTIAL: &str = "partial";
/// The other value of `rows`: they sum to 1, which is also taken for granted.
const FULL: &str = "full";

/// Whether rows of patterns may sum to less than 1, by what a file says about `rows`.
pub(super) fn rows_are_partial(rows: &str) -> Result<bool, FileError> {
    // Plain, or as JSON like the other entries.
    match rows.trim_matches('"') {
        FULL => Ok(false),
        PARTIAL => Ok(true),
        other => {
            let problem = format!("{:?} is neither full nor partial", other.chars().take(40).collect::<String>());
            Err(FileError::Metadata { entry: "rows", problem })
        }
    }
}

/// Parses one entry.
pub(super) fn parse<T: for<'de> Deserialize<'de>>(entry: &'static str, text: &str) -> Result<T, FileError> {
    serde_json::from_str(text).map_err(|error| FileError::Metadata { entry, problem: error.to_string() })
}

/// `input`: what was fed in.
#[derive(Serialize, Deserialize, Default)]
#[serde(default)]
pub(super) struct InputEntry {
    text: Option<String>,
    text_b: Option<String>,
    image: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    target: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    part: Option<TextPart>,
    #[serde(skip_serializing_if = "Option::is_none")]
    content: Option<Vec<[usize; 2]>>,
}

impl From<&InputInfo> for InputEntry {
    fn from(input: &InputInfo) -> Self {
        let InputInfo { text, text_b, image, target, part, content } = input.clone();
        let content = content.map(|content| content.into_iter().map(|said| [said.start, said.end]).collect());
        Self { text, text_b, image, target, part, content }
    }
}

impl From<InputEntry> for InputInfo {
    fn from(InputEntry { text, text_b, image, target, part, content }: InputEntry) -> Self {
        // What does not lie in the text is dropped, as spans of tokens are.
        let fits = |said: &Range<usize>| text.as_ref().is_some_and(|text| text.get(said.clone()).is_some());
        let content = content.map(|content| content.iter().map(|&[start, end]| start..end).filter(fits).collect());
        Self { text, text_b, image, target, part, content }
    }
}
