//! Kind of a dropped or chosen path.

use std::path::Path;

use super::saved;
use crate::text::PICTURE_FILES;

/// What a dropped or chosen path is taken for, judged by its name alone.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PathKind {
    /// A model folder, a weights file, a capture file or a folder of pictures: the worker finds out which.
    Model,
    Image,
    Text,
    Corpus,
    Session,
}

impl PathKind {
    /// Judges by the extension; a path without a known one is taken for a model folder.
    pub fn of(path: &Path) -> Self {
        let extension = path.extension().and_then(|ext| ext.to_str()).unwrap_or_default().to_ascii_lowercase();
        match extension.as_str() {
            ending if PICTURE_FILES.contains(&ending) => Self::Image,
            "txt" | "md" | "text" => Self::Text,
            "csv" | "tsv" | "jsonl" | "ndjson" | "conllu" => Self::Corpus,
            saved::EXTENSION => Self::Session,
            _ => Self::Model,
        }
    }

    /// What it is called before it is opened.
    pub const fn what(self) -> &'static str {
        match self {
            Self::Model => "File",
            Self::Image => "Picture",
            Self::Text => "Text",
            Self::Corpus => "List of inputs",
            Self::Session => "Session",
        }
    }
}
