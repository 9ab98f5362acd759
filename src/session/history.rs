//! History of a pane: its current place, and those before and after.

use super::{Focus, HeadSet, ViewKind};
use crate::{
    capture::Capture,
    ids::{CaptureId, DocumentId, HeadId},
};

/// Entries kept for `Back`.
const MAX_ENTRIES: usize = 100;

/// What a pane shows of what.
#[derive(Clone, Debug, PartialEq)]
pub struct HistoryEntry {
    pub document: DocumentId,
    /// Which input of a capture file.
    pub input: Option<CaptureId>,
    pub view: ViewKind,
    pub head: HeadId,
    /// What is subtracted from it.
    pub minus: Option<HeadRef>,
    /// The heads whose lines are drawn.
    pub heads_on: HeadSet,
    pub pinned: Focus,
}

/// A head of a document.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct HeadRef {
    pub document: DocumentId,
    pub head: HeadId,
}

/// Places before and after the current one.
#[derive(Clone, Debug, Default)]
pub(super) struct History {
    back: Vec<HistoryEntry>,
    forward: Vec<HistoryEntry>,
    /// The other of the last two places, for flipping between them.
    other: Option<HistoryEntry>,
}

impl History {
    pub const fn can_go_back(&self) -> bool {
        !self.back.is_empty()
    }

    pub const fn can_go_forward(&self) -> bool {
        !self.forward.is_empty()
    }

    pub const fn can_flip(&self) -> bool {
        self.other.is_some()
    }

    /// Takes note that `before` was left for a new place.
    pub fn left(&mut self, before: HistoryEntry) {
        self.forward.clear();
        self.other = Some(before.clone());
        self.back.push(before);
        if self.back.len() > MAX_ENTRIES {
            self.back.remove(0);
        }
    }

    /// The place before or after `here`.
    pub fn travel(&mut self, here: HistoryEntry, backwards: bool) -> Option<HistoryEntry> {
        let (from, to) =
            if backwards { (&mut self.back, &mut self.forward) } else { (&mut self.forward, &mut self.back) };
        let place = from.pop()?;
        self.other = Some(here.clone());
        to.push(here);
        Some(place)
    }

    /// The other of the last two places; `here` becomes the other.
    pub fn flip(&mut self, here: HistoryEntry) -> Option<HistoryEntry> {
        let place = self.other.replace(here)?;
        Some(place)
    }

    /// Another capture has taken the place of `before` in a document.
    pub fn follow(&mut self, document: DocumentId, before: &Capture, now: &Capture) {
        let places = self.back.iter_mut().chain(&mut self.forward).chain(&mut self.other);
        places.filter(|place| place.document == document).for_each(|place| place.follow(before, now));
    }

    /// Forgets a document that was closed.
    pub fn forget(&mut self, document: DocumentId) {
        self.back.retain(|place| place.document != document);
        self.forward.retain(|place| place.document != document);
        self.other.take_if(|place| place.document == document);
    }
}
