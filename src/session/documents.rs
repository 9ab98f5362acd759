//! The documents that are open: found by number, copied, closed.

use std::{
    collections::BTreeSet,
    ops::{Deref, DerefMut},
    slice,
    sync::Arc,
};

use super::{Document, Effect, Experiment, Pane, jobs::Jobs};
use crate::{
    capture::Capture,
    ids::{CloudId, DocumentId, ModelId},
};

/// What can be looked at; never empty.
#[derive(Debug)]
pub struct Documents {
    list: Vec<Document>,
    newest: u64,
    /// What the command that is done now has closed, with their places.
    pub(super) closed: Vec<(usize, Document)>,
}

impl Documents {
    /// The most documents at a time.
    pub const MAX: usize = 8;

    /// One document with nothing loaded.
    pub(super) fn new(experiment: Experiment) -> Self {
        Self { list: vec![Document::new(DocumentId(1), experiment)], newest: 1, closed: Vec::new() }
    }

    /// Whether another one can be opened.
    pub(super) fn has_room(&self) -> bool {
        self.len() < Self::MAX
    }

    /// An open document.
    pub fn find(&self, id: DocumentId) -> Option<&Document> {
        self.iter().find(|document| document.id == id)
    }

    pub(super) fn find_mut(&mut self, id: DocumentId) -> Option<&mut Document> {
        self.iter_mut().find(|document| document.id == id)
    }

    /// The document that a pane shows.
    pub fn of(&self, pane: &Pane) -> &Document {
        self.find(pane.document).unwrap_or(&self.list[0])
    }

    pub(super) fn of_mut(&mut self, pane: &Pane) -> &mut Document {
        let place = self.place(pane.document).unwrap_or(0);
        &mut self.list[place]
    }

    /// Where a document stands among the others.
    pub(super) fn place(&self, id: DocumentId) -> Option<usize> {
        self.iter().position(|document| document.id == id)
    }

    /// Opens a copy of a document, which can get another input or another model.
    pub(super) fn add_copy(&mut self, of: DocumentId) -> DocumentId {
        let place = self.place(of).unwrap_or(0);
        self.newest += 1;
        let id = DocumentId(self.newest);
        let copy = self.list[place].copy(id);
        self.list.push(copy);
        id
    }

    /// Replaces all documents by `n` others, at least one, which are made from their place and their number; `id_of`
    /// tells the numbers of the others.
    pub(super) fn replace(&mut self, n: usize, make: impl Fn(usize, &dyn Fn(usize) -> DocumentId) -> Document) {
        let first = self.newest + 1;
        self.newest += n as u64;
        let id_of = |nth: usize| DocumentId(first + nth as u64);
        self.list = (0..n).map(|nth| make(nth, &id_of)).collect();
    }

    /// Closes a document and gives what it showed with the one that takes its place in panes; the last one stays.
    pub(super) fn remove(&mut self, id: DocumentId) -> Option<(Option<Arc<Capture>>, DocumentId)> {
        let place = self.place(id).filter(|_| self.len() > 1)?;
        let mut closed = self.list.remove(place);
        let heir = self.list[place.saturating_sub(1)].id;
        closed.rest();
        for other in &mut self.list {
            other.plain.take_if(|plain| *plain == id);
        }
        let shown = closed.latest_capture().cloned();
        self.closed.push((place, closed));
        Some((shown, heir))
    }

    /// Opens a document that was closed at its place.
    pub(super) fn insert(&mut self, place: usize, document: Document) {
        self.list.insert(place.min(self.list.len()), document);
    }

    /// Gives the corpus of a document that is about to be closed to another one that has none, where it goes on; `None`
    /// where that one has another corpus, so that one would be lost.
    pub(super) fn hand_over_corpus(
        &mut self,
        from: DocumentId,
        to: DocumentId,
        jobs: &mut Jobs,
    ) -> Option<Vec<Effect>> {
        let [source, other] = [from, to].map(|id| Some(&self.find(id)?.corpus.as_ref()?.source));
        if source.is_none() || source == other {
            return Some(Vec::new());
        }
        if other.is_some() {
            return None;
        }
        let corpus = self.find(from)?.corpus.as_ref()?;
        let (runs, corpus) = (corpus.data.is_pending(), corpus.copy());
        let heir = self.find_mut(to)?;
        heir.corpus = Some(Box::new(corpus));
        Some(if runs { heir.start_corpus(jobs.next()).into_iter().collect() } else { Vec::new() })
    }

    /// The models that some document needs.
    pub(super) fn models(&self) -> Vec<ModelId> {
        self.iter().flat_map(Document::models).collect()
    }

    /// The runs and corpora that some document has.
    pub(super) fn clouds(&self) -> BTreeSet<CloudId> {
        self.iter().flat_map(Document::clouds).map(|cloud| cloud.id()).collect()
    }
}

impl Deref for Documents {
    type Target = [Document];

    fn deref(&self) -> &[Document] {
        &self.list
    }
}

impl DerefMut for Documents {
    fn deref_mut(&mut self) -> &mut [Document] {
        &mut self.list
    }
}

impl<'a> IntoIterator for &'a Documents {
    type Item = &'a Document;
    type IntoIter = slice::Iter<'a, Document>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter()
    }
}

impl<'a> IntoIterator for &'a mut Documents {
    type Item = &'a mut Document;
    type IntoIter = slice::IterMut<'a, Document>;

    fn into_iter(self) -> Self::IntoIter {
        self.iter_mut()
    }
}
