//! Pinned tokens move to the same word in a new text, or are unpinned.

use super::{Document, Focus, HistoryEntry, Pane};
use crate::{
    analysis::reading::align::align,
    capture::{Capture, words},
    ids::{Side, StackKind},
};

/// What `focus` of `stack` in one capture means in the one that takes its place.
fn carried(focus: Focus, stack: StackKind, from: &Capture, to: &Capture) -> Focus {
    let along = |side: Side, position: Option<usize>| partner((from, to), side, position?);
    Focus { query: along(stack.query_side(), focus.query), key: along(stack.key_side(), focus.key) }
}

/// The token that stands for one of another capture: the one that both texts have in common, or the same word where it
/// is nearest; a patch by its place.
fn partner((from, to): (&Capture, &Capture), side: Side, position: usize) -> Option<usize> {
    let (here, there) = (from.tokens(side), to.tokens(side));
    if here == there {
        // What went to no key stands behind the last token.
        return Some(position);
    }
    let token = here.get(position)?;
    let alignment = align((from, side), (to, side))?;
    if let Some(found) = alignment.to_other(position) {
        return Some(found);
    }
    if from.picture_side() == Some(side) {
        return None;
    }
    // A word that moved has no partner, since alignment keeps the order: it is looked for around where it would be.
    let before = (0..position).rev().find_map(|at| Some(alignment.to_other(at)? + position - at));
    let expected = before.unwrap_or(position);
    let word = words::bare(&token.text);
    let same = there.iter().enumerate().filter(|(_, other)| !word.is_empty() && words::bare(&other.text) == word);
    same.map(|(at, _)| at).min_by_key(|at| at.abs_diff(expected))
}

impl Pane {
    /// Takes what is held from the capture that was shown into the one that is. What was under the pointer is found anew.
    pub(super) fn follow(&mut self, before: Option<&Capture>, document: &Document) {
        let (Some(before), Some(now)) = (before, document.latest_capture()) else { return };
        if before.id() == now.id() {
            return;
        }
        let selection = &mut self.selection;
        selection.pinned = carried(selection.pinned, selection.head.stack, before, now);
        (selection.hover, selection.spot) = (Focus::NONE, None);
    }
}

impl HistoryEntry {
    /// The same place after another capture has taken the place of `before` in its document.
    pub(super) fn follow(&mut self, before: &Capture, now: &Capture) {
        // An input of a file is shown again as it was.
        if self.input.is_none() {
            self.pinned = carried(self.pinned, self.head.stack, before, now);
        }
    }
}
