//! What is looked at: one selection shared by every view.

use super::{HeadStep, Session};
use crate::{
    analysis::attention,
    capture::Capture,
    ids::{HeadId, StackKind},
};

/// The selection that all views share.
#[derive(Clone, Debug, PartialEq, Default)]
pub struct Selection {
    /// The head that single-head views show and the inspector describes.
    pub head: HeadId,
    /// The heads of the layer whose lines are drawn together in the Heads view.
    pub heads_on: HeadSet,
    /// Held by a click until `Esc`.
    pub pinned: Focus,
    /// Under the pointer; gone when the pointer leaves.
    pub hover: Focus,
}

impl Selection {
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
    /// Query position.
    pub query: Option<usize>,
    /// Key position.
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

    /// Adds `head`, or removes it.
    #[must_use]
    pub const fn toggled(self, head: usize) -> Self {
        Self(self.0 ^ bit(head))
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

impl Session {
    /// Selects the existing head nearest to `head`.
    pub(super) fn select(&mut self, head: HeadId) {
        let before = self.selection.stack();
        self.selection.head = match self.latest_capture() {
            Some(capture) => nearest_head(capture, head),
            None => head,
        };
        self.follow_stack(before);
        self.clamp_focus();
    }

    /// Goes to the first layer with attention when nothing was recorded in the selected one: files of
    /// other programs may begin anywhere.
    pub(super) fn leave_empty_layer(&mut self) {
        let Some(capture) = self.latest_capture() else { return };
        let here = self.selection.head;
        if attention::has_pattern(capture, here) {
            return;
        }
        let others = capture.stacks().iter().filter(|stack| stack.kind != here.stack);
        let stacks = capture.stack(here.stack).into_iter().chain(others);
        let mut layers = stacks.flat_map(|stack| (0..stack.layers.len()).map(|layer| (stack.kind, layer)));
        let at = |(stack, layer)| HeadId { stack, layer, head: here.head };
        if let Some(found) = layers.find(|&place| attention::has_pattern(capture, at(place))) {
            self.select(at(found));
        }
    }

    pub(super) fn clamp_focus(&mut self) {
        let Some(capture) = self.latest_capture() else { return };
        let stack = self.selection.stack();
        let (n_query, n_key) = (capture.query_tokens(stack).len(), capture.key_tokens(stack).len());
        let clamp = |focus: Focus| Focus {
            query: focus.query.filter(|&query| query < n_query),
            key: focus.key.filter(|&key| key < n_key),
        };
        self.selection.pinned = clamp(self.selection.pinned);
        self.selection.hover = clamp(self.selection.hover);
    }

    pub(super) fn step(&mut self, step: HeadStep) {
        let HeadId { stack, layer, head } = self.selection.head;
        let Some(spec) = self.latest_capture().and_then(|capture| capture.model().stack(stack)) else { return };
        let n_layers = spec.layers.len().max(1);
        let n_heads = spec.layers.get(layer).map_or(1, |layer| layer.n_heads.max(1));
        let next = match step {
            HeadStep::PreviousHead => HeadId { stack, layer, head: (head + n_heads - 1) % n_heads },
            HeadStep::NextHead => HeadId { stack, layer, head: (head + 1) % n_heads },
            HeadStep::PreviousLayer => HeadId { stack, layer: (layer + n_layers - 1) % n_layers, head },
            HeadStep::NextLayer => HeadId { stack, layer: (layer + 1) % n_layers, head },
        };
        // Stepping through heads with one head drawn alone keeps drawing the selected one alone.
        if self.selection.heads_on.is_only(head, n_heads) {
            self.selection.heads_on = HeadSet::only(next.head);
        }
        self.select(next);
    }

    pub(super) fn toggle_head(&mut self, head: usize) {
        self.selection.heads_on = self.selection.heads_on.toggled(head);
        if self.selection.heads_on.contains(head) {
            self.select(HeadId { head, ..self.selection.head });
        }
    }

    pub(super) fn solo_head(&mut self, head: usize) {
        let n_heads = self.n_heads();
        let solo = self.selection.heads_on.is_only(head, n_heads);
        self.selection.heads_on = if solo { HeadSet::ALL } else { HeadSet::only(head) };
        self.select(HeadId { head, ..self.selection.head });
    }

    fn n_heads(&self) -> usize {
        let HeadId { stack, layer, .. } = self.selection.head;
        let spec = self.latest_capture().and_then(|capture| capture.model().stack(stack)?.layers.get(layer));
        spec.map_or(0, |layer| layer.n_heads)
    }
}

fn nearest_head(capture: &Capture, wanted: HeadId) -> HeadId {
    let stacks = &capture.model().stacks;
    let Some(stack) = stacks.iter().find(|stack| stack.kind == wanted.stack).or_else(|| stacks.first()) else {
        return wanted;
    };
    let layer = wanted.layer.min(stack.layers.len().saturating_sub(1));
    let n_heads = stack.layers.get(layer).map_or(0, |layer| layer.n_heads);
    HeadId { stack: stack.kind, layer, head: wanted.head.min(n_heads.saturating_sub(1)) }
}
