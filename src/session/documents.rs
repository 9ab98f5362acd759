//! Opening, sharing and closing documents, and what the worker may forget with them.

use std::{collections::BTreeSet, sync::Arc};

use super::{Document, Effect, Pane, Panes, Session, Split};
use crate::{
    ids::{CloudId, DocumentId, ModelId, PaneId},
    protocol::{Lane, Request},
};

impl Session {
    /// The most documents at a time.
    pub const MAX_DOCUMENTS: usize = 8;

    /// Opens a twin of the active pane, or says why not.
    pub(super) fn split(&mut self, split: Split) -> Option<PaneId> {
        let pane = self.panes.split(split);
        if pane.is_none() {
            let details = "Close one that you no longer need".to_owned();
            self.inform(format!("{} panes are open, which is the most", Panes::MAX), details);
        }
        pane
    }

    /// Gives the active pane a copy of its document, which can get another input or another model.
    pub(super) fn detach(&mut self) {
        if self.documents.len() >= Self::MAX_DOCUMENTS {
            let details = "Close one that you no longer need".to_owned();
            return self.inform(format!("{} runs are open, which is the most", Self::MAX_DOCUMENTS), details);
        }
        self.next_document += 1;
        let id = DocumentId(self.next_document);
        let copy = self.document().copy(id);
        self.documents.push(copy);
        self.panes.active_mut().document = id;
    }

    /// Shows another document in the active pane.
    pub(super) fn show_document(&mut self, id: DocumentId) {
        if self.find_document(id).is_none() {
            return;
        }
        let before = self.document().latest_capture().cloned();
        self.panes.active_mut().document = id;
        self.with_active(|pane, document| pane.adopt(document, before.as_deref()));
    }

    /// Closes a pane; the last one stays. Changes that no pane shows any more are taken back with it, as a step of undo: the
    /// unchanged run that stays takes the steps over.
    pub(super) fn close_pane(&mut self, id: PaneId) -> Vec<Effect> {
        let Some(pane) = self.panes.get(id).filter(|_| self.panes.len() > 1) else { return Vec::new() };
        let (asked, document) = (pane.asked_lanes(), pane.document);
        let left = self.leave_projection(id);
        self.panes.close(id);
        let mut effects: Vec<Effect> = asked.into_iter().map(Effect::Cancel).chain(left).collect();
        let plain = self.find_document(document).and_then(|document| document.plain);
        if !self.shows(document) && plain.is_some_and(|plain| self.shows(plain)) {
            self.inform("The changes were closed with their pane".to_owned(), "Undo brings them back".to_owned());
            effects.extend(self.close_document(document));
        }
        effects
    }

    /// Closes a document; panes that show it show the one before. The last document stays.
    pub(super) fn close_document(&mut self, id: DocumentId) -> Vec<Effect> {
        let Some(place) = self.documents.iter().position(|document| document.id == id) else { return Vec::new() };
        if self.documents.len() == 1 {
            return Vec::new();
        }
        let closed = self.documents.remove(place);
        let heir = self.documents[place.saturating_sub(1)].id;
        let showing: Vec<_> = self.panes.iter().filter(|pane| pane.document == id).map(|pane| pane.id).collect();
        let before = closed.latest_capture().map(Arc::as_ref);
        for pane in self.panes.iter_mut() {
            pane.places.forget(id);
            pane.minus.take_if(|minus| minus.document == id);
        }
        for pane in showing {
            self.with_pane(pane, |pane: &mut Pane, _| pane.document = heir);
            self.with_pane(pane, |pane, document| pane.adopt(document, before));
        }
        // The steps of a changed run lead back from the unchanged one, which stays.
        if let Some(plain) = closed.plain
            && let Some(plain) = self.find_document_mut(plain)
        {
            plain.undo = closed.undo;
            plain.undo.ran(&plain.experiment, None);
        }
        [Lane::Load(id), Lane::Run(id), Lane::Corpus(id)].map(Effect::Cancel).into()
    }

    /// Tells the worker which models nobody needs any more.
    pub(super) fn forget_models(&mut self) -> Vec<Effect> {
        let needed: Vec<ModelId> = self.documents.iter().flat_map(Document::models).collect();
        let unneeded: Vec<ModelId> = self.held.iter().copied().filter(|id| !needed.contains(id)).collect();
        self.held.retain(|id| needed.contains(id));
        unneeded.into_iter().map(|id| Effect::Submit(self.new_job(), Request::Forget(id))).collect()
    }

    /// Lets go of what was found out about runs and corpora that no document has any more. An answer names what it is
    /// about, and a corpus is large.
    pub(super) fn forget_clouds(&mut self) {
        let there: BTreeSet<CloudId> = self.documents.iter().flat_map(Document::clouds).map(|it| it.id()).collect();
        let is_there = |cloud: CloudId| there.contains(&cloud);
        self.kept_projections.retain(is_there);
        for pane in self.panes.iter_mut() {
            pane.forget_projections(is_there);
            pane.surveys.retain(is_there);
            pane.explanations.retain(|capture| is_there(CloudId::Input(capture)));
        }
    }
}
