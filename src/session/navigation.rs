//! Back and forward between the places of a pane, and flipping between the last two.

use super::{Documents, Effect, Focus, HistoryEntry, Pane, Panes};
use crate::ids::PaneId;

/// Which way through the places of a pane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HistoryDirection {
    Back,
    Forward,
    Flip,
}

impl HistoryEntry {
    /// Where a pane is now.
    fn of(pane: &Pane, documents: &Documents) -> Self {
        let document = documents.of(pane);
        let input = document.opened.as_ref().and_then(|_| document.latest_capture()).map(|capture| capture.id());
        let selection = &pane.selection;
        Self {
            document: document.id,
            input,
            view: pane.view,
            head: selection.head,
            minus: pane.minus,
            heads_on: selection.heads_on(),
            pinned: selection.pinned,
        }
    }
}

impl Panes {
    /// Where every pane is now.
    pub(super) fn places(&self, documents: &Documents) -> Vec<(PaneId, HistoryEntry)> {
        self.iter().map(|pane| (pane.id, HistoryEntry::of(pane, documents))).collect()
    }

    /// Takes note of where the panes were, if they are somewhere else now.
    pub(super) fn remember(&mut self, before: Vec<(PaneId, HistoryEntry)>, documents: &Documents) {
        // What was closed is no place to go back to.
        for (id, before) in before.into_iter().filter(|(_, before)| documents.find(before.document).is_some()) {
            if let Some(pane) = self.get_mut(id).filter(|pane| HistoryEntry::of(pane, documents) != before) {
                pane.history.left(before);
            }
        }
    }

    /// Moves the active pane through its history, which makes no new entries.
    pub(super) fn travel(&mut self, way: HistoryDirection, documents: &mut Documents) -> Vec<Effect> {
        let here = HistoryEntry::of(self.active(), documents);
        let history = &mut self.active_mut().history;
        let entry = match way {
            HistoryDirection::Back => history.travel(here, true),
            HistoryDirection::Forward => history.travel(here, false),
            HistoryDirection::Flip => history.flip(here),
        };
        entry.map(|entry| self.go_to(&entry, documents)).unwrap_or_default()
    }

    fn go_to(&mut self, place: &HistoryEntry, documents: &mut Documents) -> Vec<Effect> {
        self.active_mut().document = place.document;
        let opened = documents.find(place.document).and_then(|document| document.opened.as_ref());
        let inputs = opened.into_iter().flat_map(|file| &file.captures);
        let input = inputs.map(|capture| capture.id()).position(|input| Some(input) == place.input);
        let effects = input.map(|idx| self.select_input(self.active_id(), idx, documents)).unwrap_or_default();
        self.change_active(documents, |pane, document| {
            // The stack first: it decides what a focus means and which views there are.
            pane.select(document, place.head);
            pane.minus = place.minus;
            pane.selection.draw(place.heads_on);
            // Positions of an input that is not there any more would be other tokens.
            let is_there = place.input.is_none() || input.is_some();
            pane.selection.pinned = if is_there { place.pinned } else { Focus::NONE };
            pane.selection.hover = Focus::NONE;
            pane.clamp_focus(document);
            pane.show_view(document, place.view);
        });
        effects
    }
}
