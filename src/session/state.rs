//! [`Session`]: everything the window shows, in one value made of parts, and what is asked of several of them at once.

use std::sync::Arc;

use super::{
    Address, CorpusDialog, CorpusSheet, Document, Documents, Download, Experiment, FigureDialog, Keeping, Notices,
    Pane, Panes, PendingSelection, Settings, ViewCards,
    arrangement::{Arrangements, Turn},
    figures::figure,
    jobs::Jobs,
    links::Alignments,
    models::Models,
    projections::Projections,
    saved::Saved,
};
use crate::{
    capture::Capture,
    export::FigureRequest,
    ids::{DocumentId, JobId},
    protocol::Failure,
};

/// Everything the window shows.
#[derive(Debug)]
pub struct Session {
    /// What can be looked at.
    pub documents: Documents,
    /// What is looked at. Each pane shows one of [`Self::documents`].
    pub panes: Panes,
    pub download: Download,
    pub figures: FigureDialog,
    /// Small pictures of all views.
    pub cards: ViewCards,
    /// What is asked before a corpus is opened.
    pub corpus_dialog: Option<CorpusDialog>,
    /// A corpus about to be opened.
    pub corpus_sheet: Option<CorpusSheet>,
    pub exports_pending: Vec<JobId>,
    /// Its file, notes and bookmarks, and what is kept for the case of a crash.
    pub keeping: Keeping,
    /// What is remembered between runs.
    pub settings: Settings,
    pub notices: Notices,
    pub(super) models: Models,
    pub(super) arrangements: Arrangements,
    pub(super) alignments: Alignments,
    pub(super) projections: Projections,
    pub(super) jobs: Jobs,
}

impl Default for Session {
    fn default() -> Self {
        Self::new(Settings::default())
    }
}

impl Session {
    /// A session with remembered settings and nothing loaded.
    pub fn new(settings: Settings) -> Self {
        let documents = Documents::new(Experiment { writing: settings.writing, ..Experiment::default() });
        Self {
            panes: Panes::new(documents[0].id, settings.views.clone()),
            documents,
            download: Download::default(),
            figures: FigureDialog::default(),
            cards: ViewCards::default(),
            corpus_dialog: None,
            corpus_sheet: None,
            exports_pending: Vec::new(),
            keeping: Keeping::default(),
            settings,
            notices: Notices::default(),
            models: Models::default(),
            arrangements: Arrangements::default(),
            alignments: Alignments::default(),
            projections: Projections::default(),
            jobs: Jobs::default(),
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
            *pane.options.corpus_mut() |= has_corpus;
            // Whoever starts with groups wants to see them.
            let shows_groups = self.documents.of(pane).shows_groups();
            let merging = &mut pane.options.reading.merging;
            *merging = merging.or_words_if(shows_groups);
        }
        self.settings = settings;
    }

    /// The pane that keys and panels speak of.
    pub fn pane(&self) -> &Pane {
        self.panes.active()
    }

    /// The document of the active pane.
    pub fn document(&self) -> &Document {
        self.documents.of(self.pane())
    }

    /// The document that a pane shows.
    pub fn document_of(&self, pane: &Pane) -> &Document {
        self.documents.of(pane)
    }

    /// An open document.
    pub fn find_document(&self, id: DocumentId) -> Option<&Document> {
        self.documents.find(id)
    }

    /// The document whose run is changed in the active pane, and whose steps are undone there: the one beside, where the
    /// pane shows that one unchanged.
    pub fn changing(&self) -> &Document {
        let active = self.document();
        let beside = self.documents.iter().find(|document| document.plain == Some(active.id));
        beside.filter(|beside| self.panes.shows(beside.id)).unwrap_or(active)
    }

    /// Whether there is something to be taken back where the active pane is.
    pub fn can_undo(&self) -> bool {
        self.next_turn(true).is_some()
    }

    /// Whether there is something to be done again there.
    pub fn can_redo(&self) -> bool {
        self.next_turn(false).is_some()
    }

    /// The next step of undo or redo.
    pub(super) fn next_turn(&self, backwards: bool) -> Option<Turn> {
        self.arrangements.next(backwards, self.changing(), &self.documents)
    }

    /// What a document showed without its changes, where that is known.
    pub fn unchanged(&self, document: &Document) -> Option<&Arc<Capture>> {
        self.documents.unchanged(document)
    }

    /// The address of what a pane shows, with what it cannot say.
    ///
    /// # Errors
    /// When what is shown is nowhere: there is no model yet, or it sees a picture from the clipboard.
    pub fn address(&self, pane: &Pane) -> Result<(Address, Option<&'static str>), Failure> {
        Address::of(pane, self.documents.of(pane))
    }

    /// Whether the stop of the lecture is shown as it opened.
    pub fn stop_stands(&self) -> bool {
        let stop = self.keeping.lecture.stop().map(|stop| stop.example);
        stop.is_some() && self.panes.iter().any(|pane| pane.standing_example(self.document_of(pane)) == stop)
    }

    /// Whether nothing is held that is to be let go of before the lecture is left.
    pub fn leaves_lecture(&self) -> bool {
        let selection = &self.pane().selection;
        let holds = !selection.pinned.is_empty() || selection.picked.is_some();
        self.keeping.lecture.place().is_some() && (self.stop_stands() || !holds)
    }

    /// What would be saved now as a figure.
    pub fn figure(&self) -> Option<FigureRequest> {
        figure(self.panes.active(), &self.documents, self.settings.figures)
    }

    /// What is shown, as it can be written down.
    pub fn saved(&self) -> Saved {
        Saved::of(&self.documents, &self.panes, &self.keeping)
    }

    /// Whether the worker is busy with anything the user waits for.
    pub fn is_busy(&self) -> bool {
        self.documents.iter().any(Document::is_busy)
            || self
                .panes
                .iter()
                .any(|pane| pane.projection.is_pending() || pane.surveys.is_pending() || pane.explanations.is_pending())
            || self
                .documents
                .iter()
                .filter_map(|document| document.corpus.as_ref())
                .any(|it| it.data.is_pending() || it.said.is_pending())
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
        let job = self.jobs.next();
        self.exports_pending.push(job);
        job
    }
}
