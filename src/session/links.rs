//! Linked panes: what one holds or has under the pointer, the others show in their own tokens.

use std::sync::Arc;

use super::{Document, Focus, Pane, Selection, Session};
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

impl Session {
    /// Changes what a pane and those that are linked with it have under the pointer or hold.
    pub(super) fn set_focus(&mut self, id: PaneId, which: fn(&mut Selection) -> &mut Focus, focus: Focus) {
        let mut alignments = std::mem::take(&mut self.alignments);
        let others = self.linked_focus(id, focus, &mut alignments);
        self.alignments = alignments;
        for (pane, focus) in others.into_iter().chain([(id, focus)]) {
            self.with_pane(pane, |pane, document| {
                *which(&mut pane.selection) = focus;
                pane.clamp_focus(document);
            });
        }
    }

    /// What `focus` in one pane means in those that are linked with it.
    fn linked_focus(&self, id: PaneId, focus: Focus, alignments: &mut Alignments) -> Vec<(PaneId, Focus)> {
        let Some(from) = self.panes.get(id) else { return Vec::new() };
        let here = (from, self.document_of(from));
        let linked = self.panes.iter().filter(|pane| from.linked && pane.linked && pane.id != id);
        linked.map(|to| (to.id, translate([here, (to, self.document_of(to))], focus, alignments))).collect()
    }

    /// The panes that take part in what is done in the active one: it alone, or all that are linked with it.
    pub(super) fn linked_panes(&self) -> Vec<PaneId> {
        let active = self.pane();
        let takes_part = |pane: &&Pane| pane.id == active.id || active.linked && pane.linked;
        self.panes.iter().filter(takes_part).map(|pane| pane.id).collect()
    }
}

/// What `focus` in one pane means in another.
fn translate([(from, here), (to, there)]: [(&Pane, &Document); 2], focus: Focus, alignments: &mut Alignments) -> Focus {
    let (stack, other) = (from.selection.stack(), to.selection.stack());
    let mut along = |from_side: Side, to_side: Side, position: Option<usize>| {
        let position = position?;
        let (a, b) = (here.latest_capture()?, there.latest_capture()?);
        if a.id() == b.id() {
            return (from_side == to_side).then_some(position);
        }
        alignments.get((a, from_side), (b, to_side))?.to_other(position)
    };
    Focus {
        query: along(stack.query_side(), other.query_side(), focus.query),
        key: along(stack.key_side(), other.key_side(), focus.key),
    }
}
