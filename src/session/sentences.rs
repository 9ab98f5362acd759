//! Which part of a pair of sentences is looked at.

use serde::{Deserialize, Serialize};

/// From which sentence's queries to which sentence's keys lines are drawn and cells are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum SentenceFilter {
    /// Everything.
    #[default]
    All,
    /// Within the first sentence.
    AToA,
    /// From the first to the second.
    AToB,
    /// From the second to the first.
    BToA,
    /// Within the second sentence.
    BToB,
}

impl SentenceFilter {
    /// Every choice, in the order they are offered.
    pub const ALL: [Self; 5] = [Self::All, Self::AToA, Self::AToB, Self::BToA, Self::BToB];

    /// What the choice is called.
    pub const fn label(self) -> &'static str {
        match self {
            Self::All => "All",
            Self::AToA => "A→A",
            Self::AToB => "A→B",
            Self::BToA => "B→A",
            Self::BToB => "B→B",
        }
    }

    /// The sentence of the queries and that of the keys, 0 or 1; `None` for everything.
    pub const fn ends(self) -> Option<(u8, u8)> {
        match self {
            Self::All => None,
            Self::AToA => Some((0, 0)),
            Self::AToB => Some((0, 1)),
            Self::BToA => Some((1, 0)),
            Self::BToB => Some((1, 1)),
        }
    }
}
