//! [`Session`]: everything the window shows, in one value.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    BookmarkCommand, CorpusDialog, CorpusSheet, Document, Download, Experiment, FigureDialog, Keeping, Pane, Panes,
    PendingSelection, Settings,
};
use crate::{
    ids::{DocumentId, JobId, ModelId, PaneId},
    protocol::Failure,
};

/// Messages kept for the history panel.
const MAX_NOTICES: usize = 50;

/// Everything the window shows.
#[derive(Debug)]
pub struct Session {
    /// What can be looked at; never empty.
    pub documents: Vec<Document>,
    /// What is looked at. Each pane shows one of [`Self::documents`].
    pub panes: Panes,
    pub download: Download,
    pub figures: FigureDialog,
    /// What is asked before a corpus is opened.
    pub corpus_dialog: Option<CorpusDialog>,
    /// A corpus about to be opened.
    pub corpus_sheet: Option<CorpusSheet>,
    pub exports_pending: Vec<JobId>,
    /// Its file, notes and bookmarks, and what is kept for the case of a crash.
    pub keeping: Keeping,
    /// What is remembered between runs.
    pub settings: Settings,
    /// Messages, oldest first.
    pub notices: Vec<Notice>,
    /// Loads that were asked for and not answered yet, superseded ones included.
    pub(super) loads: BTreeMap<JobId, PendingLoad>,
    /// The models that the worker holds.
    pub(super) held: BTreeSet<ModelId>,
    pub(super) alignments: super::links::Alignments,
    pub(super) kept_projections: super::projections::Kept,
    pub(super) next_document: u64,
    next_job: u64,
    next_model: u64,
    next_notice: u64,
}

/// A load that was asked for.
#[derive(Clone, Copy, Debug)]
pub(super) struct PendingLoad {
    pub document: DocumentId,
    pub replaces: Option<ModelId>,
}

/// A message to the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Notice {
    /// Identity, for dismissing.
    pub id: u64,
    pub kind: NoticeKind,
    pub text: Failure,
    /// What takes back what it tells of, if anything does.
    pub undo: Option<BookmarkCommand>,
}

/// How serious a message is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NoticeKind {
    /// Good to know: a truncation, a saved file.
    Info,
    /// Something did not work.
    Error,
}

impl Default for Session {
    fn default() -> Self {
        Self::new(Settings::default())
    }
}

impl Session {
    /// A session with remembered settings and nothing loaded.
    pub fn new(settings: Settings) -> Self {
        let id = DocumentId(1);
        let experiment = Experiment { writing: settings.writing, ..Experiment::default() };
        Self {
            documents: vec![Document::new(id, experiment)],
            panes: Panes::new(id, settings.views.clone()),
            download: Download::default(),
            figures: FigureDialog::default(),
            corpus_dialog: None,
            corpus_sheet: None,
            exports_pending: Vec::new(),
            keeping: Keeping::default(),
            settings,
            notices: Vec::new(),
            loads: BTreeMap::new(),
            held: BTreeSet::new(),
            alignments: super::links::Alignments::default(),
            kept_projections: super::projections::Kept::default(),
            next_document: 1,
            next_job: 0,
            next_model: 0,
            next_notice: 0,
        }
    }

    /// Takes in the settings of the last time, which are read when the first model is already on its way.
    pub fn restore(&mut self, settings: Settings) {
        for document in &mut self.documents {
            document.experiment.writing = settings.writing;
        }
        let has_corpus = self.documents.iter().any(|document| document.corpus.is_some());
        for pane in self.panes.iter_mut() {
            *pane.own_options.as_mut().unwrap_or(&mut pane.options) = settings.views.clone();
            // Whoever starts with a corpus wants to see it, however it was the last time.
            pane.options.scatter.corpus |= has_corpus;
        }
        self.settings = settings;
    }

    /// The pane that keys and panels speak of.
    pub fn pane(&self) -> &Pane {
        self.panes.active()
    }

    /// The document of the active pane.
    pub fn document(&self) -> &Document {
        self.document_of(self.pane())
    }

    /// The document that a pane shows.
    pub fn document_of(&self, pane: &Pane) -> &Document {
        self.find_document(pane.document).unwrap_or(&self.documents[0])
    }

    /// An open document.
    pub fn find_document(&self, id: DocumentId) -> Option<&Document> {
        self.documents.iter().find(|document| document.id == id)
    }

    /// Whether the worker is busy with anything the user waits for.
    pub fn is_busy(&self) -> bool {
        self.documents.iter().any(Document::is_busy)
            || self
                .panes
                .iter()
                .any(|pane| pane.projection.is_pending() || pane.surveys.is_pending() || pane.explanations.is_pending())
            || self.documents.iter().filter_map(|document| document.corpus.as_ref()).any(|it| it.data.is_pending())
            || !self.exports_pending.is_empty()
            || self.keeping.is_busy()
            || self.corpus_sheet.as_ref().is_some_and(|sheet| sheet.look.is_pending())
    }

    /// Selects these in the active pane once the next capture has arrived; what is `None` stays as an
    /// example asked for it.
    pub fn prefer_when_ready(&mut self, preferred: PendingSelection) {
        let pane = self.panes.active_mut();
        pane.pending = Some(preferred.or(pane.pending.take().unwrap_or_default()));
    }

    /// Registers a file that is being written and gives its job number.
    pub fn start_export(&mut self) -> JobId {
        let job = self.new_job();
        self.exports_pending.push(job);
        job
    }

    /// Adds a message.
    pub fn notify(&mut self, kind: NoticeKind, text: Failure) {
        if self.notices.last().is_some_and(|last| last.kind == kind && last.text == text) {
            return;
        }
        self.next_notice += 1;
        self.notices.push(Notice { id: self.next_notice, kind, text, undo: None });
        if self.notices.len() > MAX_NOTICES {
            self.notices.remove(0);
        }
    }

    /// Adds a message that is good to know.
    pub(super) fn inform(&mut self, summary: String, details: String) {
        self.notify(NoticeKind::Info, Failure { summary, details });
    }

    /// Adds a message with a button that undoes what it tells of.
    pub(super) fn inform_undoable(&mut self, summary: String, undo: BookmarkCommand) {
        // Another one of the same words can be undone as well.
        self.next_notice += 1;
        let text = Failure { summary, details: String::new() };
        self.notices.push(Notice { id: self.next_notice, kind: NoticeKind::Info, text, undo: Some(undo) });
        if self.notices.len() > MAX_NOTICES {
            self.notices.remove(0);
        }
    }

    pub(super) fn document_mut(&mut self) -> &mut Document {
        let id = self.pane().document;
        let place = self.documents.iter().position(|document| document.id == id).unwrap_or(0);
        &mut self.documents[place]
    }

    pub(super) fn find_document_mut(&mut self, id: DocumentId) -> Option<&mut Document> {
        self.documents.iter_mut().find(|document| document.id == id)
    }

    /// Changes a pane that is open, with its document at hand.
    pub(super) fn with_pane(&mut self, id: PaneId, change: impl FnOnce(&mut Pane, &Document)) {
        let Self { documents, panes, .. } = self;
        let Some(pane) = panes.get_mut(id) else { return };
        let document = documents.iter().find(|document| document.id == pane.document).unwrap_or(&documents[0]);
        change(pane, document);
    }

    /// Changes the active pane, with its document at hand.
    pub(super) fn with_active(&mut self, change: impl FnOnce(&mut Pane, &Document)) {
        self.with_pane(self.panes.active_id(), change);
    }

    pub(super) const fn new_job(&mut self) -> JobId {
        self.next_job += 1;
        JobId(self.next_job)
    }

    pub(super) const fn new_model(&mut self) -> ModelId {
        self.next_model += 1;
        ModelId(self.next_model)
    }
}
