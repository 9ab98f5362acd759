//! [`Reading`]: how a pattern is to be read, as one plain value that can be compared and hashed.

use std::collections::BTreeSet;

use serde::{Deserialize, Serialize};

use super::Explained;
use crate::{
    capture::{Merging, Site},
    ids::{HeadId, StackKind},
};

/// How a pattern is to be read: everything that decides which numbers are shown.
///
/// Two equal readings of the same captures give the same numbers, so a reading is a key.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Reading {
    /// Where the numbers come from.
    pub source: Source,
    /// Whose pattern: one head's, or several made into one.
    pub heads: Heads,
    pub leave_out: LeaveOut,
    /// Which part of a pair of sentences is looked at.
    pub sentences: SentenceFilter,
    /// What tokens are merged into: keys are summed, queries averaged.
    pub merging: Merging,
    pub rows: RowLabels,
    /// What is subtracted, if anything.
    pub minus: Option<Minus>,
}

impl Reading {
    /// One head, nothing left out, merged or subtracted.
    pub fn of(head: HeadId) -> Self {
        Self { heads: Heads::One(head), ..Self::default() }
    }

    /// The same reading of other heads.
    #[must_use]
    pub fn with_heads(&self, heads: Heads) -> Self {
        Self { heads, ..self.clone() }
    }
}

/// Where the numbers of a pattern come from.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub enum Source {
    /// The model's attention.
    #[default]
    Weights,
    /// The same, each weight by the length of its key's value vector, `a_ij · ‖v_j‖`, head by head.
    ByValueNorm,
    /// No attention: what a method of the laboratory answered.
    Explained(Explained),
}

impl Source {
    /// What a method answered, if that is what is read.
    pub const fn explained(&self) -> Option<&Explained> {
        match self {
            Self::Explained(explained) => Some(explained),
            Self::Weights | Self::ByValueNorm => None,
        }
    }

    /// What has to be recorded for it beside the patterns.
    pub const fn sites(&self) -> &'static [Site] {
        match self {
            Self::ByValueNorm => &[Site::V],
            Self::Weights | Self::Explained(_) => &[],
        }
    }
}

/// Whose pattern is read.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Heads {
    One(HeadId),
    /// Several heads' made into one.
    Many(Aggregation),
}

impl Default for Heads {
    fn default() -> Self {
        Self::One(HeadId::default())
    }
}

impl Heads {
    /// The stack that the heads are in.
    pub const fn stack(&self) -> StackKind {
        match self {
            Self::One(head) => head.stack,
            Self::Many(many) => many.stack,
        }
    }
}

/// Several heads of one stack made into one pattern, entry by entry.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Aggregation {
    pub stack: StackKind,
    pub layers: Which,
    /// Which heads of each of them.
    pub heads: Which,
    pub how: Aggregate,
}

/// Which of a numbered list.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum Which {
    /// Every one that there is and that was recorded.
    #[default]
    All,
    /// Exactly these; one that is missing is refused.
    These(BTreeSet<usize>),
}

/// How several patterns become one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Aggregate {
    /// The mean: rows keep summing to 1.
    #[default]
    Mean,
    /// The largest weight of any of them: rows may sum to more than 1.
    Max,
    /// The smallest weight of any of them: rows may sum to less than 1.
    Min,
    /// The sum: rows sum to the number of heads.
    Sum,
}

vocabulary! {
    Aggregate: name;
    Mean("mean"),
    Max("max"),
    Min("min"),
    Sum("sum"),
}

/// Keys that are left out. Queries are never left out: each row is a distribution of its own.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct LeaveOut {
    /// Tokens that the tokenizer or the model added: CLS, SEP, BOS, registers.
    pub special: bool,
    /// The first token, where causal models park attention.
    pub first: bool,
    /// Tokens that consist of punctuation.
    pub punctuation: bool,
    pub positions: BTreeSet<usize>,
    /// What becomes of the attention that they got.
    pub policy: Policy,
}

/// What becomes of the attention on keys that are left out.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Policy {
    /// Left out; what remains of each row is scaled up to the sum that the row had.
    #[default]
    Renormalize,
    /// Left out; what remains is what the model computed, and rows sum to less.
    Hide,
    /// Nothing is left out after all. Lets one switch to and fro without losing the choice.
    Keep,
}

impl Policy {
    /// Every choice, in the order they are offered.
    pub const ALL: [Self; 3] = [Self::Keep, Self::Renormalize, Self::Hide];
}

/// From which sentence's queries to which sentence's keys attention is looked at. Never renormalised:
/// what remains is what the model computed.
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

vocabulary! {
    SentenceFilter: name,
    /// What the choice is called.
    label;
    All("all", "All"),
    AToA("a-a", "A→A"),
    AToB("a-b", "A→B"),
    BToA("b-a", "B→A"),
    BToB("b-b", "B→B"),
}

impl SentenceFilter {
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

/// What the rows of a stack that writes are called. Row `i` reads token `i` and writes token `i + 1`.
/// Stacks that write nothing (encoders, towers) always use [`RowLabels::Read`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum RowLabels {
    /// By the token that is read.
    #[default]
    Read,
    /// By the token that is written next, which is how alignments are read.
    Written,
}

/// What is subtracted.
#[derive(Clone, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct Minus {
    /// Whose pattern; it is read with the same options as the minuend.
    pub heads: Heads,
    pub of: Whose,
}

/// Which of two captures.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Whose {
    /// The one that is read.
    #[default]
    This,
    Other,
}
