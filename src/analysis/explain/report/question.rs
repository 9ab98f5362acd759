//! Questions that methods answer.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What somebody wants to know; methods that answer the same question stand side by side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum LabQuestion {
    /// What does this output depend on?
    #[default]
    Depends,
    Believe,
    /// What does the head really move?
    Moves,
    Fact,
    Aligns,
    /// Of the table of token embeddings.
    Words,
}

vocabulary! {
    LabQuestion: name,
    /// The question as it is asked.
    text,
    /// In one or two words, for tabs and file names.
    short;
    Depends("depends", "What does this output depend on?", "Which words"),
    Believe("believe", "Does this head matter? Do its weights explain it?", "This head"),
    Moves("moves", "How much does the head write, and from where?", "What it writes"),
    Fact("fact", "In which layer does it appear?", "Which layer"),
    Aligns("aligns", "Which source word belongs to each target word?", "Alignment"),
    Words("words", "Which words are near each other in the embedding table?", "Embeddings"),
}

impl LabQuestion {
    /// Whether it is asked of a head or a layer, and not of the whole model.
    pub const fn is_about_heads(self) -> bool {
        match self {
            Self::Depends | Self::Words => false,
            Self::Believe | Self::Moves | Self::Fact | Self::Aligns => true,
        }
    }
}

impl fmt::Display for LabQuestion {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}
