//! Back and forward between the places of a pane, and flipping between the last two.

use super::{Effect, Focus, Place, Session};
use crate::ids::PaneId;

/// Which way through the places of a pane.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Way {
    Back,
    Forward,
    Flip,
}

impl Session {
    /// Where a pane is now.
    pub(super) fn place(&self, pane: PaneId) -> Option<Place> {
        let pane = self.panes.get(pane)?;
        let document = self.document_of(pane);
        let input = document.opened.as_ref().and_then(|_| document.latest_capture()).map(|capture| capture.id());
        let selection = &pane.selection;
        Some(Place {
            document: document.id,
            input,
            view: pane.view,
            head: selection.head,
            minus: pane.minus,
            heads_on: selection.heads_on(),
            pinned: selection.pinned,
        })
    }

    /// Takes note of where the panes were, if they are somewhere else now.
    pub(super) fn remember(&mut self, before: Vec<(PaneId, Place)>) {
        for (id, before) in before {
            let now = self.place(id);
            if let Some(pane) = self.panes.get_mut(id).filter(|_| now.as_ref().is_some_and(|now| *now != before)) {
                pane.places.left(before);
            }
        }
    }

    /// Moves the active pane through its places, which makes no new ones.
    pub(super) fn travel(&mut self, way: Way) -> Vec<Effect> {
        let id = self.panes.active_id();
        let Some(here) = self.place(id) else { return Vec::new() };
        let places = &mut self.panes.active_mut().places;
        let place = match way {
            Way::Back => places.travel(here, true),
            Way::Forward => places.travel(here, false),
            Way::Flip => places.flip(here),
        };
        place.map(|place| self.go_to(id, &place)).unwrap_or_default()
    }

    fn go_to(&mut self, id: PaneId, place: &Place) -> Vec<Effect> {
        let Some(pane) = self.panes.get_mut(id) else { return Vec::new() };
        pane.document = place.document;
        let opened = self.find_document(place.document).and_then(|document| document.opened.as_ref());
        let inputs = opened.into_iter().flat_map(|file| &file.captures);
        let input = inputs.map(|capture| capture.id()).position(|input| Some(input) == place.input);
        let effects = input.map(|idx| self.select_input(id, idx)).unwrap_or_default();
        self.with_pane(id, |pane, document| {
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
