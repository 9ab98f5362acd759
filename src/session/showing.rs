//! Documents and captures that panes show: twins, copies, inputs of files, and what is closed.

use std::{collections::BTreeSet, sync::Arc};

use super::{Cause, Document, Documents, Effect, Limited, Loadable, Notices, Pane, Panes, Split, ViewKind, jobs::Jobs};
use crate::{
    capture::Capture,
    figure::views::Study,
    ids::{DocumentId, HeadId, PaneId},
    protocol::{CaptureFile, Lane},
};

impl Panes {
    /// Opens a twin of the active pane, or says why not.
    pub(super) fn open_twin(&mut self, split: Split, notices: &mut Notices) -> Option<PaneId> {
        let pane = self.split(split);
        if pane.is_none() {
            let summary = format!("{} panes are open, which is the most", Self::MAX);
            notices.inform(Cause::Full(Limited::Panes), summary, "Close one that you no longer need");
        }
        pane
    }

    /// Shows the selected head of all heads, or the one given, in a pane of its own to the right; the pane of all heads
    /// stays the active one.
    pub(super) fn compare_head(&mut self, head: Option<HeadId>, documents: &Documents, notices: &mut Notices) {
        let here = self.active();
        let (id, head) = (here.id, head.unwrap_or(here.selection.head));
        if here.view != ViewKind::OF_HEADS {
            return;
        }
        if let Some(beside) = self.open_twin(Split::Right, notices) {
            self.change(beside, documents, |pane, document| {
                pane.open_head(document, head);
                // All heads are still there.
                pane.opened_from = None;
            });
            self.activate(id);
        }
    }

    /// Gives the active pane a copy of its document, which can get another input or another model.
    pub(super) fn detach(&mut self, documents: &mut Documents, notices: &mut Notices) {
        if !documents.has_room() {
            let summary = format!("{} runs are open, which is the most", Documents::MAX);
            return notices.inform(Cause::Full(Limited::Runs), summary, "Close one that you no longer need");
        }
        self.active_mut().document = documents.add_copy(self.active().document);
    }

    /// Shows another document in the active pane.
    pub(super) fn show_document(&mut self, id: DocumentId, documents: &Documents) {
        if documents.find(id).is_none() {
            return;
        }
        let before = documents.of(self.active()).latest_capture().cloned();
        self.active_mut().document = id;
        self.change_active(documents, |pane, document| pane.adopt(document, before.as_deref()));
    }

    /// Shows another capture in a document and in every pane that shows it.
    pub(super) fn show(&mut self, documents: &mut Documents, id: DocumentId, capture: Arc<Capture>) {
        let Some(document) = documents.find_mut(id) else { return };
        let before = document.latest_capture().cloned();
        let now = Arc::clone(&capture);
        document.capture = Loadable::Ready(capture);
        for pane in self.showing(id) {
            self.change(pane, documents, |pane, document| pane.adopt(document, before.as_deref()));
        }
        if let Some(before) = before {
            self.iter_mut().for_each(|pane| pane.history.follow(id, &before, &now));
        }
    }

    /// What was to be selected once the capture of a document is there has no capture to wait for.
    pub(super) fn drop_pending(&mut self, id: DocumentId) {
        for pane in self.iter_mut().filter(|pane| pane.document == id) {
            pane.pending = None;
        }
    }

    /// Closes a pane; the last one stays. Changes that no pane shows any more are closed with it, where the unchanged run
    /// is shown.
    pub(super) fn close_pane(
        &mut self,
        id: PaneId,
        documents: &mut Documents,
        notices: &mut Notices,
        jobs: &mut Jobs,
    ) -> Vec<Effect> {
        let Some(document) = self.get(id).filter(|_| self.len() > 1).map(|pane| pane.document) else {
            return Vec::new();
        };
        let mut effects = self.stop(id);
        self.close(id);
        let plain = documents.find(document).and_then(|document| document.plain).filter(|plain| self.shows(*plain));
        let Some(plain) = plain.filter(|_| !self.shows(document)) else { return effects };
        // What was opened in the pane that is closed is not closed with it.
        let Some(corpus) = documents.hand_over_corpus(document, plain, jobs) else { return effects };
        effects.extend(corpus);
        let of = |id| documents.find(id).map(|document: &Document| &document.experiment);
        if let (Some(changed), Some(beside)) = (of(document), of(plain))
            && !changed.edits().is_empty()
        {
            let cause = Cause::Closed(document, plain, Box::new(beside.clone()));
            notices.inform(cause, "The changes were closed with their pane", "Undo brings them back");
        }
        effects.extend(self.close_document(document, Some(plain), documents));
        effects
    }

    /// Takes away the changes of a document: the unchanged run takes its place, and of the two panes that the first change
    /// made of one, one goes. `None` where there is no such run.
    pub(super) fn end_changes(
        &mut self,
        id: DocumentId,
        documents: &mut Documents,
        jobs: &mut Jobs,
    ) -> Option<Vec<Effect>> {
        let document = documents.find(id)?;
        let plain = documents.find(document.plain?)?;
        if plain.experiment != document.experiment.unchanged() {
            return None;
        }
        let plain = plain.id;
        let mut effects = documents.hand_over_corpus(id, plain, jobs)?;
        let pair = self.rows().flat_map(|row| row.windows(2)).find_map(|panes| match panes {
            [left, right] if (left.document, right.document) == (plain, id) => Some([left.id, right.id]),
            _ => None,
        });
        if let Some([left, right]) = pair {
            // Whose effect is told is chosen in the pane of the changed run, and seen in neither.
            let target = self.get(right).map(|right| right.options.target);
            let [stays, goes] = if self.active_id() == right { [right, left] } else { [left, right] };
            self.change(stays, documents, |pane, _| {
                pane.options.target = target.unwrap_or(pane.options.target);
                pane.minus.take_if(|minus| minus.document == plain);
            });
            effects.extend(self.stop(goes));
            self.close(goes);
        }
        effects.extend(self.close_document(id, Some(plain), documents));
        Some(effects)
    }

    /// Closes a document; panes that show it show its heir, or the one before. The last document stays.
    pub(super) fn close_document(
        &mut self,
        id: DocumentId,
        heir: Option<DocumentId>,
        documents: &mut Documents,
    ) -> Vec<Effect> {
        let Some((shown, neighbour)) = documents.remove(id) else { return Vec::new() };
        let (showing, heir) = (self.showing(id), heir.unwrap_or(neighbour));
        for pane in self.iter_mut() {
            pane.history.forget(id);
            pane.minus.take_if(|minus| minus.document == id);
            pane.against.take_if(|other| *other == id);
        }
        for pane in showing {
            self.change(pane, documents, |pane: &mut Pane, _| pane.document = heir);
            self.change(pane, documents, |pane, document| pane.adopt(document, shown.as_deref()));
        }
        let studies = Study::ALL.map(|study| Lane::Study(id, study));
        let lanes = [Lane::Load(id), Lane::Run(id), Lane::Corpus(id), Lane::Judge(id)];
        lanes.into_iter().chain(studies).map(Effect::Cancel).collect()
    }

    /// Takes away the unchanged copy of a document, with the panes that show it.
    pub(super) fn close_plain(&mut self, id: DocumentId, documents: &mut Documents) -> Vec<Effect> {
        let Some(plain) = documents.find_mut(id).and_then(|document| document.plain.take()) else {
            return Vec::new();
        };
        self.close_with_panes(plain, id, documents)
    }

    /// Closes a document with the panes that show it; a pane that has to stay shows its heir.
    pub(super) fn close_with_panes(
        &mut self,
        id: DocumentId,
        heir: DocumentId,
        documents: &mut Documents,
    ) -> Vec<Effect> {
        let showing = self.showing(id);
        let mut effects: Vec<Effect> = showing.iter().flat_map(|pane| self.stop(*pane)).collect();
        for pane in showing {
            self.close(pane);
        }
        effects.extend(self.close_document(id, Some(heir), documents));
        effects
    }

    /// Shows the first input of a file. The model stays for the next run.
    pub(super) fn open_file(
        &mut self,
        id: DocumentId,
        file: CaptureFile,
        documents: &mut Documents,
        notices: &mut Notices,
    ) -> Vec<Effect> {
        let owed = documents.find_mut(id).and_then(|document| document.input_owed.take());
        let owed = owed.and_then(|idx| file.captures.get(idx));
        let Some(first) = owed.or_else(|| file.captures.first()).cloned() else { return Vec::new() };
        let stop = stop_run(documents, id);
        // Inputs of one file have much the same to say about themselves.
        let notes: BTreeSet<_> = file.captures.iter().flat_map(|capture| capture.notes()).collect();
        for note in notes {
            notices.inform(Cause::Shown(first.id()), note, "");
        }
        if let Some(document) = documents.find_mut(id) {
            (document.opened, document.made) = (Some(file), None);
        }
        let is_new = self.iter().all(|pane| pane.document != id || pane.returning.is_none());
        let is_grouped = first.has_groups();
        self.show(documents, id, first);
        if is_new && is_grouped {
            self.merge_groups(id);
        }
        if let Some(document) = documents.find(id).filter(|document| !document.experiment.edits().is_empty()) {
            notices.inform(Cause::run(document), document.unchangeable().unwrap_or_default(), "");
        }
        stop
    }

    /// Shows another input of the file that is opened in a pane.
    pub(super) fn select_input(&mut self, pane: PaneId, idx: usize, documents: &mut Documents) -> Vec<Effect> {
        let Some(document) = self.get(pane).map(|pane| documents.of(pane)) else { return Vec::new() };
        let Some(capture) = document.opened.as_ref().and_then(|file| file.captures.get(idx)).cloned() else {
            return Vec::new();
        };
        let id = document.id;
        let of_corpus = document.corpus.as_ref().and_then(|corpus| corpus.data.latest()?.file.as_ref());
        let corpus_input = (of_corpus.is_some() && of_corpus == document.opened.as_ref()).then_some(idx);
        if let Some(document) = documents.find_mut(id) {
            document.corpus_input = corpus_input;
        }
        let stop = stop_run(documents, id);
        self.show(documents, id, capture);
        stop
    }

    /// Shows the next input of the opened file or the one before; after the last comes the first.
    pub(super) fn step_input(&mut self, backwards: bool, documents: &mut Documents) -> Vec<Effect> {
        let document = documents.of(self.active());
        let Some((idx, n)) = document.shown_input().zip(document.opened.as_ref().map(|file| file.captures.len()))
        else {
            return Vec::new();
        };
        let next = if backwards { (idx + n - 1) % n } else { (idx + 1) % n };
        self.select_input(self.active_id(), next, documents)
    }
}

/// A run on its way would replace what was chosen just now.
fn stop_run(documents: &Documents, id: DocumentId) -> Vec<Effect> {
    let runs = documents.find(id).is_some_and(|document: &Document| document.capture.is_pending());
    if runs { vec![Effect::Cancel(Lane::Run(id))] } else { Vec::new() }
}
