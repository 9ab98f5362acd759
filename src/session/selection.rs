//! Selection shared by every view of a pane.

use super::Picked;
use crate::{
    analysis::point_set::Spot,
    ids::{HeadId, StackKind},
};

/// The selection that all views of a pane share.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Selection {
    /// The head that single-head views show and the inspector describes.
    pub head: HeadId,
    /// The heads of the layer that the Heads view draws beside the selected one.
    drawn: VisibleHeads,
    /// Held by a click until `Esc`.
    pub pinned: Focus,
    /// Under the pointer; gone when the pointer leaves.
    pub hover: Focus,
    /// The point of a joint space under the pointer, whatever input it belongs to.
    pub spot: Option<Spot>,
    /// Of the residual stream, what is behind the last layer is looked at instead of what is before the selected one.
    pub is_final: bool,
    /// Points that were picked out of a joint space, until they are let go of.
    pub picked: Option<Picked>,
}

/// Which heads of the layer the Heads view draws. The selected head is always one of them, so that titles, readouts and
/// files, which are of the selected head, never name one that is not drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
enum VisibleHeads {
    /// Every head.
    #[default]
    All,
    /// The selected head alone, whichever that is.
    Alone,
    /// These, and the selected one.
    Several(HeadSet),
}

impl Selection {
    /// The heads of the layer whose lines are drawn together in the Heads view; the selected one is among them.
    pub const fn heads_on(&self) -> HeadSet {
        match self.drawn {
            VisibleHeads::All => HeadSet::ALL,
            VisibleHeads::Alone => HeadSet::only(self.head.head),
            VisibleHeads::Several(heads) => heads.with(self.head.head),
        }
    }

    /// Draws these heads and the selected one.
    pub(super) fn draw(&mut self, heads: HeadSet) {
        self.drawn = match heads {
            HeadSet::ALL => VisibleHeads::All,
            HeadSet::NONE => VisibleHeads::Alone,
            heads if heads == HeadSet::only(self.head.head) => VisibleHeads::Alone,
            heads => VisibleHeads::Several(heads),
        };
    }

    /// What is emphasised: under the pointer if anything is, else what is pinned.
    pub const fn focus(&self) -> Focus {
        if self.hover.is_empty() { self.pinned } else { self.hover }
    }

    /// The selected stack.
    pub const fn stack(&self) -> StackKind {
        self.head.stack
    }
}

/// A query token, a key token, or both (one cell of a pattern).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct Focus {
    pub query: Option<usize>,
    pub key: Option<usize>,
}

impl Focus {
    /// Nothing.
    pub const NONE: Self = Self { query: None, key: None };

    /// One query token.
    pub const fn query(query: usize) -> Self {
        Self { query: Some(query), key: None }
    }

    /// One key token.
    pub const fn key(key: usize) -> Self {
        Self { query: None, key: Some(key) }
    }

    /// One cell of a pattern.
    pub const fn cell(query: usize, key: usize) -> Self {
        Self { query: Some(query), key: Some(key) }
    }

    /// Whether nothing is meant.
    pub const fn is_empty(&self) -> bool {
        self.query.is_none() && self.key.is_none()
    }
}

/// A set of head indices of one layer; at most 128, more than any layer has.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HeadSet(u128);

impl Default for HeadSet {
    fn default() -> Self {
        Self::ALL
    }
}

impl HeadSet {
    /// Every head.
    pub const ALL: Self = Self(u128::MAX);
    /// No head.
    pub const NONE: Self = Self(0);

    /// Just this head.
    pub const fn only(head: usize) -> Self {
        Self(bit(head))
    }

    /// Whether `head` is in the set.
    pub const fn contains(self, head: usize) -> bool {
        self.0 & bit(head) != 0
    }

    /// The set with `head`.
    #[must_use]
    pub const fn with(self, head: usize) -> Self {
        Self(self.0 | bit(head))
    }

    /// The set without `head`.
    #[must_use]
    pub const fn without(self, head: usize) -> Self {
        Self(self.0 & !bit(head))
    }

    /// The heads of the set among the first `n_heads`.
    pub fn iter(self, n_heads: usize) -> impl Iterator<Item = usize> {
        (0..n_heads).filter(move |&head| self.contains(head))
    }

    /// Whether exactly `head` is on among the first `n_heads`.
    pub fn is_only(self, head: usize, n_heads: usize) -> bool {
        self.iter(n_heads).eq([head])
    }
}

const fn bit(head: usize) -> u128 {
    if head < 128 { 1 << head } else { 0 }
}

impl FromIterator<usize> for HeadSet {
    fn from_iter<T: IntoIterator<Item = usize>>(heads: T) -> Self {
        Self(heads.into_iter().fold(0, |set, head| set | bit(head)))
    }
}
