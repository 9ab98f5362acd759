//! What can be asked.

use std::fmt;

use serde::{Deserialize, Serialize};

/// What somebody wants to know; methods that answer the same question stand side by side.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Question {
    /// What does this output depend on?
    #[default]
    Depends,
    Believe,
    /// What does the head really move?
    Moves,
    Fact,
    Aligns,
}

impl Question {
    /// Every question, in the order in which they are shown.
    pub const ALL: [Self; 5] = [Self::Depends, Self::Believe, Self::Moves, Self::Fact, Self::Aligns];

    /// The question as it is asked.
    pub const fn text(self) -> &'static str {
        match self {
            Self::Depends => "What does this output depend on?",
            Self::Believe => "Does this head matter? Do its weights explain it?",
            Self::Moves => "How much does the head write, and from where?",
            Self::Fact => "In which layer does it appear?",
            Self::Aligns => "Which source word belongs to each target word?",
        }
    }

    /// In one or two words, for tabs and file names.
    pub const fn short(self) -> &'static str {
        match self {
            Self::Depends => "Which words",
            Self::Believe => "This head",
            Self::Moves => "What it writes",
            Self::Fact => "Which layer",
            Self::Aligns => "Alignment",
        }
    }

    /// The name on the command line.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Depends => "depends",
            Self::Believe => "believe",
            Self::Moves => "moves",
            Self::Fact => "fact",
            Self::Aligns => "aligns",
        }
    }

    /// The question with this [`name`](Self::name).
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|question| question.name() == name)
    }
}

impl fmt::Display for Question {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.text())
    }
}
