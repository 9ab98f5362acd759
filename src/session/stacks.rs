//! What of a selection survives when another stack is looked at, and steps along its queries.

use super::{Focus, HeadSet, QueryStep, Session, ViewKind};
use crate::{capture::Capture, ids::StackKind};

impl Session {
    /// The next stack of the model, after the last one the first.
    pub(super) fn next_stack(&self) -> Option<StackKind> {
        let stacks = &self.latest_capture()?.model().stacks;
        let here = stacks.iter().position(|stack| stack.kind == self.selection.stack())?;
        stacks.get((here + 1) % stacks.len()).map(|stack| stack.kind)
    }

    /// Keeps of the selection what means the same in the selected stack as it did in `before`: a query
    /// only where the queries are the same tokens, a key only where the keys are.
    pub(super) fn follow_stack(&mut self, before: StackKind) {
        let now = self.selection.stack();
        if now == before {
            return;
        }
        let same_queries = now.query_side() == before.query_side();
        let same_keys = now.key_side() == before.key_side();
        for focus in [&mut self.selection.pinned, &mut self.selection.hover] {
            *focus = Focus { query: focus.query.filter(|_| same_queries), key: focus.key.filter(|_| same_keys) };
        }
        let head = self.selection.head.head;
        if !self.selection.heads_on.contains(head) {
            self.selection.heads_on = HeadSet::ALL;
        }
        if self.view_unavailable(self.view).is_some() {
            self.view = ViewKind::Heads;
        }
    }

    /// Pins the query after or before the pinned one. Without one, the first that the model wrote, else
    /// the first of all.
    pub(super) fn step_query(&mut self, step: QueryStep) {
        let Some(capture) = self.latest_capture() else { return };
        let side = self.selection.stack().query_side();
        let n = capture.tokens(side).len();
        if n == 0 {
            return;
        }
        let written = capture.generated().filter(|written| written.side == side && written.first < n);
        let next = match (self.selection.pinned.query, step) {
            (Some(query), QueryStep::Next) => (query + 1) % n,
            (Some(query), QueryStep::Previous) => (query + n - 1) % n,
            (None, QueryStep::Next) => written.map_or(0, |written| written.first),
            (None, QueryStep::Previous) => n - 1,
        };
        self.selection.pinned = Focus::query(next);
        self.selection.hover = Focus::NONE;
    }
}

/// The stack that is shown of a model whose stacks do not include `before`: the one that only such a
/// model has, cross-attention, where it was recorded; else the first.
pub fn opening_stack(capture: &Capture, before: StackKind) -> StackKind {
    let stacks = &capture.model().stacks;
    if stacks.iter().any(|stack| stack.kind == before) {
        return before;
    }
    let recorded = |kind: &StackKind| capture.stack(*kind).is_some_and(|stack| !stack.layers.is_empty());
    let cross = Some(StackKind::Cross).filter(recorded);
    cross.or_else(|| stacks.first().map(|stack| stack.kind)).unwrap_or(before)
}
