//! Linked panes: what one holds or has under the pointer, the others show in their own tokens.

use std::sync::Arc;

use super::{Document, Documents, Focus, Pane, Panes, Selection};
use crate::{
    analysis::reading::align::{Alignment, align},
    capture::Capture,
    ids::{CaptureId, PaneId, Side},
};

/// Alignments kept: every pane with every other, in both directions, and some of the inputs before.
const MAX_ALIGNMENTS: usize = 32;

/// The alignments found last: the pointer moves over the same two texts many times.
#[derive(Debug, Default)]
pub(super) struct Alignments(Vec<(Key, Option<Arc<Alignment>>)>);

/// Both ends.
type Key = [(CaptureId, Side); 2];

impl Alignments {
    fn get(&mut self, this: (&Capture, Side), other: (&Capture, Side)) -> Option<Arc<Alignment>> {
        let key = [this, other].map(|(capture, side)| (capture.id(), side));
        if let Some((_, known)) = self.0.iter().find(|(known, _)| *known == key) {
            return known.clone();
        }
        let found = align(this, other).map(Arc::new);
        if self.0.len() == MAX_ALIGNMENTS {
            self.0.remove(0);
        }
        self.0.push((key, found.clone()));
        found
    }
}

impl Alignments {
    /// Changes what a pane and those that are linked with it have under the pointer or hold.
    pub fn set_focus(
        &mut self,
        panes: &mut Panes,
        documents: &Documents,
        id: PaneId,
        which: fn(&mut Selection) -> &mut Focus,
        focus: Focus,
    ) {
        let others = self.linked_focus(panes, documents, id, focus);
        for (pane, focus) in others.into_iter().chain([(id, focus)]) {
            panes.change(pane, documents, |pane, document| {
                *which(&mut pane.selection) = focus;
                pane.clamp_focus(document);
            });
        }
    }

    /// Holds this in the active pane, and what it means in those that are linked with it.
    pub fn pin(&mut self, panes: &mut Panes, documents: &Documents, focus: Focus) {
        self.set_focus(panes, documents, panes.active_id(), |selection| &mut selection.pinned, focus);
    }

    /// Holds in the panes that are linked with the active one what that holds.
    pub fn share(&mut self, panes: &mut Panes, documents: &Documents) {
        self.pin(panes, documents, panes.active().selection.pinned);
    }

    /// Lets go of what the active pane and those that are linked with it hold or have under the pointer.
    pub fn let_go(&mut self, panes: &mut Panes, documents: &Documents) {
        self.pin(panes, documents, Focus::NONE);
        self.set_focus(panes, documents, panes.active_id(), |selection| &mut selection.hover, Focus::NONE);
    }

    /// What `focus` in one pane means in those that are linked with it.
    fn linked_focus(&mut self, panes: &Panes, documents: &Documents, id: PaneId, focus: Focus) -> Vec<(PaneId, Focus)> {
        let Some(from) = panes.get(id) else { return Vec::new() };
        let here = (from, documents.of(from));
        let linked = panes.iter().filter(|pane| from.linked && pane.linked && pane.id != id);
        linked.map(|to| (to.id, self.translate([here, (to, documents.of(to))], focus))).collect()
    }

    /// What `focus` in one pane means in another.
    fn translate(&mut self, [(from, here), (to, there)]: [(&Pane, &Document); 2], focus: Focus) -> Focus {
        let (stack, other) = (from.selection.stack(), to.selection.stack());
        let mut along = |from_side: Side, to_side: Side, position: Option<usize>| {
            let position = position?;
            let (a, b) = (here.latest_capture()?, there.latest_capture()?);
            if a.id() == b.id() {
                return (from_side == to_side).then_some(position);
            }
            self.get((a, from_side), (b, to_side))?.to_other(position)
        };
        Focus {
            query: along(stack.query_side(), other.query_side(), focus.query),
            key: along(stack.key_side(), other.key_side(), focus.key),
        }
    }
}
