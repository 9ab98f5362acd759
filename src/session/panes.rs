//! The panes of the window: rows of one to four views, one of them active.

use super::{Document, Documents, Pane, Selection, ViewOptions};
use crate::ids::{CloudId, DocumentId, PaneId};

/// Where a new pane goes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Split {
    /// To the right, in the same row.
    Right,
    /// Below, in a row of its own.
    Below,
}

/// Rows of panes, from top to bottom and from left to right. Never empty, and one is active.
#[derive(Clone, Debug)]
pub struct Panes {
    pub(super) rows: Vec<Vec<Pane>>,
    active: PaneId,
    next_id: u64,
    /// What the command that is done now has closed.
    pub(super) closed: Vec<Pane>,
}

impl Panes {
    /// The most panes at a time: more would be too small to read.
    pub const MAX: usize = 4;

    /// One pane that shows `document`.
    pub fn new(document: DocumentId, options: ViewOptions) -> Self {
        let id = PaneId(1);
        Self { rows: vec![vec![Pane::new(id, document, options)]], active: id, next_id: 1, closed: Vec::new() }
    }

    /// Panes with their rows and whether they are the active one, in order; never none. More than there can be, and
    /// numbers without a row, are of no account.
    pub(super) fn of_rows(mut panes: Vec<(usize, bool, Pane)>) -> Self {
        panes.truncate(Self::MAX);
        panes.sort_by_key(|(row, ..)| *row);
        let ids = || panes.iter().map(|(.., pane)| pane.id);
        let first = ids().next().unwrap_or_default();
        let active = panes.iter().find(|(_, is_active, _)| *is_active).map_or(first, |(.., pane)| pane.id);
        let next_id = ids().map(|id| id.0).max().unwrap_or_default();
        let mut rows: Vec<(usize, Vec<Pane>)> = Vec::new();
        for (row, _, pane) in panes {
            match rows.last_mut().filter(|(last, _)| *last == row) {
                Some((_, panes)) => panes.push(pane),
                None => rows.push((row, vec![pane])),
            }
        }
        Self { rows: rows.into_iter().map(|(_, panes)| panes).collect(), active, next_id, closed: Vec::new() }
    }

    /// The number of the newest pane there was.
    pub(super) const fn next_id(&self) -> u64 {
        self.next_id
    }

    /// The rows, from top to bottom.
    pub fn rows(&self) -> impl Iterator<Item = &[Pane]> {
        self.rows.iter().map(Vec::as_slice)
    }

    /// Every pane, row by row.
    pub fn iter(&self) -> impl Iterator<Item = &Pane> {
        self.rows.iter().flatten()
    }

    /// Every pane, row by row.
    pub(super) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Pane> {
        self.rows.iter_mut().flatten()
    }

    /// How many there are.
    pub fn len(&self) -> usize {
        self.iter().count()
    }

    /// Never: there is always one.
    pub const fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// The pane with this id, while it is open.
    pub fn get(&self, id: PaneId) -> Option<&Pane> {
        self.iter().find(|pane| pane.id == id)
    }

    pub(super) fn get_mut(&mut self, id: PaneId) -> Option<&mut Pane> {
        self.iter_mut().find(|pane| pane.id == id)
    }

    /// Changes a pane, with its document at hand; nothing comes of one that is not open.
    pub(super) fn change<R: Default>(
        &mut self,
        id: PaneId,
        documents: &Documents,
        change: impl FnOnce(&mut Pane, &Document) -> R,
    ) -> R {
        let Some(pane) = self.get_mut(id) else { return R::default() };
        let document = documents.of(pane);
        change(pane, document)
    }

    /// Changes the active pane, with its document at hand.
    pub(super) fn change_active(&mut self, documents: &Documents, change: impl FnOnce(&mut Pane, &Document)) {
        self.change(self.active, documents, change);
    }

    /// The panes that show one head with a pane, beside it: linked ones of the same run before and after its changes.
    pub fn of_one_head<'a>(&'a self, pane: &'a Pane, documents: &'a Documents) -> impl Iterator<Item = &'a Pane> {
        let here = documents.of(pane);
        let is_beside =
            |there: &Document| here.plain == Some(there.id) || there.plain.is_some_and(|plain| plain == here.id);
        let linked = || self.iter().filter(move |it| it.linked && pane.linked);
        let beside = linked().map(|it| it.document).find(|it| documents.find(*it).is_some_and(is_beside));
        let takes_part = move |it: &&Pane| {
            it.id != pane.id && beside.is_some_and(|beside| [beside, pane.document].contains(&it.document))
        };
        linked().filter(takes_part)
    }

    /// What a pane shares with those that are linked with it, in words.
    pub fn shared(&self, pane: &Pane, documents: &Documents) -> &'static str {
        let others = || self.iter().filter(|other| other.linked && other.id != pane.id);
        let of_one_head: Vec<PaneId> = self.of_one_head(pane, documents).map(|other| other.id).collect();
        let has_its_head =
            |other: &Pane| of_one_head.contains(&other.id) && other.selection.head == pane.selection.head;
        if !pane.linked {
            "Not linked"
        } else if others().next().is_none() {
            "Linked: no other pane"
        } else if others().all(has_its_head) {
            "Linked: tokens, steps, head"
        } else {
            "Linked: tokens, steps"
        }
    }

    /// Linked panes of a run before and after its changes show one head, however it was chosen: that of the active pane.
    pub(super) fn share_head(&mut self, documents: &Documents) {
        let selection = self.active().selection.clone();
        let shown = |selection: &Selection| (selection.head, selection.heads_on());
        let others: Vec<PaneId> = self
            .of_one_head(self.active(), documents)
            .filter(|pane| shown(&pane.selection) != shown(&selection))
            .map(|pane| pane.id)
            .collect();
        for pane in others {
            self.change(pane, documents, |pane, document| {
                pane.select(document, selection.head);
                pane.selection.draw(selection.heads_on());
            });
        }
    }

    /// Whether some pane shows a document.
    pub(super) fn shows(&self, id: DocumentId) -> bool {
        self.iter().any(|pane| pane.document == id)
    }

    /// Lets go of what was found out about runs and corpora that no document has any more.
    pub(super) fn forget_clouds(&mut self, is_there: impl Fn(CloudId) -> bool) {
        for pane in self.iter_mut() {
            pane.forget_projections(&is_there);
            pane.surveys.retain(&is_there);
            pane.explanations.retain(|capture| is_there(CloudId::Input(capture)));
        }
    }

    /// The panes that show a document.
    pub(super) fn showing(&self, id: DocumentId) -> Vec<PaneId> {
        self.iter().filter(|pane| pane.document == id).map(|pane| pane.id).collect()
    }

    /// The panes that take part in what is done in the active one: it alone, or all that are linked with it.
    pub(super) fn linked(&self) -> Vec<PaneId> {
        let active = self.active();
        let takes_part = |pane: &&Pane| pane.id == active.id || active.linked && pane.linked;
        self.iter().filter(takes_part).map(|pane| pane.id).collect()
    }

    /// The pane that keys and panels speak of.
    pub const fn active_id(&self) -> PaneId {
        self.active
    }

    /// The pane that keys and panels speak of.
    pub fn active(&self) -> &Pane {
        // `active` names an open pane: only `activate` and `close` change it.
        self.get(self.active).unwrap_or(&self.rows[0][0])
    }

    /// The pane that keys and panels speak of, to prepare a session that is not driven by commands.
    pub fn active_mut(&mut self) -> &mut Pane {
        let at =
            self.rows.iter().enumerate().find_map(|(row, panes)| {
                panes.iter().position(|pane| pane.id == self.active).map(|column| (row, column))
            });
        let (row, column) = at.unwrap_or((0, 0));
        &mut self.rows[row][column]
    }

    /// Makes a pane the active one; a pane that is not open changes nothing.
    pub(super) fn activate(&mut self, id: PaneId) {
        if self.get(id).is_some() {
            self.active = id;
        }
    }

    /// The pane after the active one, row by row and around the end.
    pub(super) fn next(&self) -> PaneId {
        let after = self.iter().skip_while(|pane| pane.id != self.active).nth(1);
        after.or_else(|| self.iter().next()).map_or(self.active, |pane| pane.id)
    }

    /// Whether there are as many as there can be.
    pub(super) fn is_full(&self) -> bool {
        self.len() >= Self::MAX
    }

    /// Opens a twin of the active pane and makes it the active one; `None` when there are enough.
    pub(super) fn split(&mut self, split: Split) -> Option<PaneId> {
        if self.is_full() {
            return None;
        }
        self.next_id += 1;
        let id = PaneId(self.next_id);
        let twin = self.active().twin(id);
        let row = self.rows.iter().position(|row| row.iter().any(|pane| pane.id == self.active))?;
        match split {
            Split::Right => {
                let column = self.rows[row].iter().position(|pane| pane.id == self.active)?;
                self.rows[row].insert(column + 1, twin);
            }
            Split::Below => self.rows.insert(row + 1, vec![twin]),
        }
        self.active = id;
        Some(id)
    }

    /// Closes a pane; the last one stays. The active one becomes its neighbour.
    pub(super) fn close(&mut self, id: PaneId) -> bool {
        if self.len() == 1 || self.get(id).is_none() {
            return false;
        }
        let place = self.iter().position(|pane| pane.id == id).unwrap_or(0);
        for row in &mut self.rows {
            self.closed.extend(row.extract_if(.., |pane| pane.id == id));
        }
        self.rows.retain(|row| !row.is_empty());
        if self.active == id {
            let neighbour = self.iter().nth(place.min(self.len() - 1)).map(|pane| pane.id);
            self.active = neighbour.unwrap_or(self.active);
        }
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn panes() -> Panes {
        Panes::new(DocumentId(1), ViewOptions::default())
    }

    fn arrangement(panes: &Panes) -> Vec<Vec<u64>> {
        panes.rows().map(|row| row.iter().map(|pane| pane.id.0).collect()).collect()
    }

    #[test]
    fn panes_split_to_four_and_close_to_one() {
        let mut panes = panes();
        assert!(panes.split(Split::Right).is_some());
        assert!(panes.split(Split::Below).is_some());
        assert!(panes.split(Split::Right).is_some());
        assert_eq!(arrangement(&panes), [vec![1, 2], vec![3, 4]]);
        assert_eq!(panes.split(Split::Right), None, "more would be too small to read");
        assert!(panes.close(PaneId(3)));
        assert_eq!((arrangement(&panes), panes.active_id()), (vec![vec![1, 2], vec![4]], PaneId(4)));
        assert!(panes.close(PaneId(4)));
        assert_eq!((arrangement(&panes), panes.active_id()), (vec![vec![1, 2]], PaneId(2)));
        assert!(panes.close(PaneId(2)) && !panes.close(PaneId(1)), "the last one stays");
        assert_eq!(panes.active().id, PaneId(1));
    }
}
