//! Linked panes: what one holds or has under the pointer, the others show in their own tokens.

use super::{Document, Focus, Pane, Selection, Session};
use crate::{
    capture::Capture,
    ids::{PaneId, Side},
};

impl Session {
    /// Changes what a pane and those that are linked with it have under the pointer or hold.
    pub(super) fn set_focus(&mut self, id: PaneId, which: fn(&mut Selection) -> &mut Focus, focus: Focus) {
        let Some(from) = self.panes.get(id) else { return };
        let linked = self.panes.iter().filter(|pane| from.linked && pane.linked && pane.id != id);
        let document = self.document_of(from);
        let others: Vec<_> =
            linked.map(|to| (to.id, translate((from, document), (to, self.document_of(to)), focus))).collect();
        for (pane, focus) in others.into_iter().chain([(id, focus)]) {
            self.with_pane(pane, |pane, document| {
                *which(&mut pane.selection) = focus;
                pane.clamp_focus(document);
            });
        }
    }

    /// The panes that take part in what is done in the active one: it alone, or all that are linked with it.
    pub(super) fn linked_panes(&self) -> Vec<PaneId> {
        let active = self.pane();
        let takes_part = |pane: &&Pane| pane.id == active.id || active.linked && pane.linked;
        self.panes.iter().filter(takes_part).map(|pane| pane.id).collect()
    }
}

/// What `focus` in one pane means in another.
fn translate((from, here): (&Pane, &Document), (to, there): (&Pane, &Document), focus: Focus) -> Focus {
    let (stack, other) = (from.selection.stack(), to.selection.stack());
    let along = |from_side: Side, to_side: Side, position: Option<usize>| {
        let position = position?;
        let (a, b) = (here.latest_capture()?, there.latest_capture()?);
        if a.id() == b.id() {
            return (from_side == to_side).then_some(position);
        }
        aligned(a, b, from_side, to_side, position)
    };
    Focus {
        query: along(stack.query_side(), other.query_side(), focus.query),
        key: along(stack.key_side(), other.key_side(), focus.key),
    }
}

fn aligned(a: &Capture, b: &Capture, from: Side, to: Side, position: usize) -> Option<usize> {
    let (here, there) = (a.tokens(from), b.tokens(to));
    (here.get(position)?.text == there.get(position)?.text).then_some(position)
}
