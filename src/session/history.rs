//! Back and forward: the places that were looked at before and after the current one.

use super::{Effect, Focus, HeadSet, Selection, Session, ViewKind};
use crate::ids::{CaptureId, HeadId};

/// Selections kept for `Back`.
const MAX_HISTORY: usize = 100;

/// Selections before and after the current one.
#[derive(Clone, Debug, Default)]
pub struct History {
    back: Vec<Place>,
    forward: Vec<Place>,
    travelled: bool,
}

/// A view and what was selected in it.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Place {
    view: ViewKind,
    /// Which input of a capture file.
    input: Option<CaptureId>,
    head: HeadId,
    heads_on: HeadSet,
    pinned: Focus,
}

impl Session {
    /// Whether there is a selection to go back to.
    pub const fn can_go_back(&self) -> bool {
        !self.history.back.is_empty()
    }

    /// Whether there is a selection to go forward to.
    pub const fn can_go_forward(&self) -> bool {
        !self.history.forward.is_empty()
    }

    pub(super) fn place(&self) -> Place {
        let Selection { head, heads_on, pinned, .. } = self.selection.clone();
        let input = self.opened.as_ref().and_then(|_| self.latest_capture()).map(|capture| capture.id());
        Place { view: self.view, input, head, heads_on, pinned }
    }

    pub(super) fn remember(&mut self, before: Place) {
        // `Back` and `Forward` move between places without making new ones.
        if std::mem::take(&mut self.history.travelled) || self.place() == before {
            return;
        }
        self.history.forward.clear();
        self.history.back.push(before);
        if self.history.back.len() > MAX_HISTORY {
            self.history.back.remove(0);
        }
    }

    pub(super) fn travel(&mut self, backwards: bool) -> Vec<Effect> {
        let here = self.place();
        let History { back, forward, travelled } = &mut self.history;
        let (from, to) = if backwards { (back, forward) } else { (forward, back) };
        let Some(place) = from.pop() else { return Vec::new() };
        to.push(here);
        *travelled = true;
        let inputs = self.opened.iter().flat_map(|file| &file.captures);
        let input = inputs.map(|capture| capture.id()).position(|id| Some(id) == place.input);
        let effects = input.map(|idx| self.select_input(idx)).unwrap_or_default();
        // The stack first: it decides what a focus means and which views there are.
        self.select(place.head);
        self.selection.heads_on = place.heads_on;
        self.selection.pinned = place.pinned;
        self.selection.hover = Focus::NONE;
        self.clamp_focus();
        if self.view_unavailable(place.view).is_none() {
            self.view = place.view;
        }
        effects
    }
}
