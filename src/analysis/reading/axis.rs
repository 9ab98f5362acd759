//! What the rows and the columns of a pattern stand for.

use std::ops::Range;

/// What the rows or the columns of a [`ReadPattern`](super::ReadPattern) stand for.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Axis {
    /// One per row or column.
    pub groups: Vec<Group>,
    /// By position: its row or column.
    pub(super) group_of: Vec<u32>,
}

impl Axis {
    pub(super) fn new(groups: Vec<Group>) -> Self {
        let by_position = groups.iter().zip(0u32..).flat_map(|(group, idx)| group.positions.clone().map(move |_| idx));
        Self { group_of: by_position.collect(), groups }
    }

    /// Number of rows or columns.
    pub const fn len(&self) -> usize {
        self.groups.len()
    }

    /// Whether there is none.
    pub const fn is_empty(&self) -> bool {
        self.groups.is_empty()
    }

    /// The row or column that a token position belongs to.
    pub fn group_of(&self, position: usize) -> Option<usize> {
        self.group_of.get(position).map(|&idx| idx as usize)
    }

    /// What a row or column is called.
    pub fn text(&self, idx: usize) -> &str {
        self.groups.get(idx).map_or("", |group| &group.text)
    }

    /// What the row or column of a token position is called.
    pub fn text_at(&self, position: usize) -> &str {
        self.group_of(position).map_or("", |idx| self.text(idx))
    }

    /// The first position of a row or column.
    pub fn position(&self, idx: usize) -> Option<usize> {
        self.groups.get(idx).map(|group| group.positions.start)
    }

    /// Whether every position stands for itself.
    pub fn is_by_position(&self) -> bool {
        self.groups.len() == self.group_of.len()
    }
}

/// One row or column.
#[derive(Clone, Debug, PartialEq)]
pub struct Group {
    /// Token positions that it stands for; never empty.
    pub positions: Range<usize>,
    /// What a person reads.
    pub text: String,
    /// Why it shows nothing, if so.
    pub left_out: Option<LeftOut>,
}

/// Why a row or column shows nothing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LeftOut {
    /// It is among the keys that are left out.
    Chosen,
    /// It belongs to the sentence that is not looked at.
    Sentence,
    /// The other side of a difference has nothing that it could be compared with.
    Unmatched,
    /// The method that is shown says nothing about it.
    Unanswered,
}
