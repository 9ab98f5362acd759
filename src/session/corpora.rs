//! Corpora: many inputs beside the one that a document shows, and how to get from one to the other.

use std::{collections::BTreeSet, path::PathBuf, sync::Arc};

use super::{Document, Effect, Focus, Loadable, NoticeKind, OpenCorpus, PendingSelection, Session, Split, ViewKind};
use crate::{
    analysis::Cloud,
    capture::Excerpt,
    corpus::{
        Kept, SortBy,
        list::{Content, Kind, ListOptions},
    },
    ids::{DocumentId, ModelId, PaneId},
    model::ImageSource,
    protocol::{CorpusOptions, CorpusOrder, CorpusSoFar, CorpusSource, EventKind, Failure, Lane, ModelSource, Request},
};

/// Corpora inside the program, with what is in them.
pub const BUNDLED_CORPORA: [(&str, &str); 2] =
    [("demo:sentences", "200 English sentences"), ("demo:pictures", "32 drawn pictures")];
/// A plain text with so many filled lines may be meant as one input or as many.
const MANY_LINES: usize = 12;

/// Something to do with the corpus of the active document.
#[derive(Clone, Debug, PartialEq)]
pub enum CorpusCommand {
    /// Open one instead of whatever is open.
    Open(CorpusSource),
    /// Open a file, after asking what can be chosen about it.
    Choose(PathBuf),
    SetSheet(ListOptions, CorpusOptions),
    RunSheet,
    CloseSheet,
    /// Open the same one with only so many of its first inputs.
    OpenFirst(usize),
    /// Run the same one again and keep more of it.
    KeepMore(Kept),
    GoOn,
    Close,
    Filter(String),
    /// Sort the list; `true` from the largest.
    Sort(SortBy, bool),
    /// Select these inputs alone.
    Select(BTreeSet<usize>),
    /// Take the selected inputs out, or without any those that the list shows.
    Remove,
    /// Take all others out.
    Keep,
    /// Put back what was taken out last.
    Restore,
    RestoreAll,
    /// Make an input the document's own and run it.
    Show(usize),
    /// Ask for something first, or no longer.
    Ask(Option<CorpusDialog>),
}

/// What is asked for before a corpus is opened.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum CorpusDialog {
    Paste,
    /// Whether a text is one input or many.
    Lines {
        path: PathBuf,
        text: String,
        /// How many lines of it are not empty.
        n_lines: usize,
    },
}

impl Session {
    pub(super) fn on_corpus_command(&mut self, command: CorpusCommand) -> Vec<Effect> {
        let id = self.document().id;
        match command {
            CorpusCommand::Open(source) => return self.open_corpus(id, source, CorpusOptions::default()),
            CorpusCommand::Choose(path) => return self.choose_corpus(id, path),
            CorpusCommand::SetSheet(list, options) => return self.set_corpus_sheet(list, options),
            CorpusCommand::RunSheet => return self.run_corpus_sheet(),
            CorpusCommand::CloseSheet => return self.close_corpus_sheet(),
            CorpusCommand::OpenFirst(first) => {
                let Some(corpus) = &self.document().corpus else { return Vec::new() };
                let options = CorpusOptions { first: Some(first), ..corpus.options.clone() };
                return self.open_corpus(id, corpus.source.clone(), options);
            }
            CorpusCommand::KeepMore(kept) => {
                let Some(corpus) = &self.document().corpus else { return Vec::new() };
                let options = CorpusOptions { kept: corpus.options.kept.or(kept), ..corpus.options.clone() };
                return self.open_corpus(id, corpus.source.clone(), options);
            }
            CorpusCommand::GoOn => return self.start_corpus(id),
            CorpusCommand::Close => {
                let document = self.document_mut();
                document.corpus_input = None;
                let runs = document.corpus.take().is_some_and(|corpus| corpus.data.is_pending());
                return if runs { vec![Effect::Cancel(Lane::Corpus(id))] } else { Vec::new() };
            }
            CorpusCommand::Show(source) => return self.show_corpus_input(source, Focus::NONE),
            CorpusCommand::Ask(dialog) => self.corpus_dialog = dialog,
            listing => {
                let document = self.document_mut();
                let depth = document.undo.depth();
                if let Some(corpus) = document.corpus.as_deref_mut() {
                    corpus.change(listing, depth);
                }
            }
        }
        Vec::new()
    }

    /// Opens a corpus in a document; whoever opens one wants to see it.
    pub(super) fn open_corpus(&mut self, id: DocumentId, source: CorpusSource, options: CorpusOptions) -> Vec<Effect> {
        self.corpus_dialog = None;
        // What is looked at of one input is wanted of many.
        let kept = options.kept.or(self.pane().kept());
        let options = CorpusOptions { kept, ..options };
        if self.document().id == id {
            self.leave_example();
        }
        let Some(document) = self.find_document_mut(id) else { return Vec::new() };
        let mut effects = Vec::new();
        if document.corpus.as_ref().is_some_and(|corpus| corpus.data.is_pending()) {
            effects.push(Effect::Cancel(Lane::Corpus(id)));
        }
        document.corpus = Some(Box::new(OpenCorpus::new(source, options)));
        document.corpus_input = None;
        let is_ready = document.latest_capture().is_some() && !document.is_busy();
        let mut shows = false;
        for pane in self.panes.iter_mut().filter(|pane| pane.document == id) {
            pane.options.scatter.corpus = true;
            shows |= pane.view.is_projected();
        }
        if !shows && self.pane().document == id {
            if is_ready {
                self.with_active(|pane, document| pane.show_view(document, ViewKind::OF_CORPUS));
            } else {
                let pane = self.panes.active_mut();
                let pending = pane.pending.get_or_insert_default();
                pending.view = pending.view.or(Some(ViewKind::OF_CORPUS));
            }
        }
        effects.extend(self.start_corpus(id));
        effects
    }

    /// Runs what is missing of a document's corpus, as soon as there is a model.
    fn start_corpus(&mut self, id: DocumentId) -> Vec<Effect> {
        let job = self.new_job();
        let Some(document) = self.find_document_mut(id) else { return Vec::new() };
        let model = document.model.latest().filter(|_| !document.model.is_pending()).map(|model| model.id);
        let Some(corpus) = document.corpus.as_deref_mut().filter(|corpus| !corpus.data.is_pending()) else {
            return Vec::new();
        };
        let needs_none = matches!(corpus.source, CorpusSource::Captures(_));
        corpus.is_owed = model.is_none() && !needs_none;
        if corpus.is_owed {
            return Vec::new();
        }
        let model = model.unwrap_or(ModelId(0));
        let mut order = CorpusOrder::new(id, model, corpus.source.clone(), corpus.options.clone());
        order.known = corpus.data.latest().map(|so_far| CorpusSoFar::clone(so_far));
        corpus.data.start(job);
        vec![Effect::Submit(job, Request::Corpus(Box::new(order)))]
    }

    /// The corpus of the active document goes through the model that is opened next.
    pub(super) fn owe_corpus(&mut self) {
        if let Some(corpus) = self.document_mut().corpus.as_deref_mut() {
            corpus.is_owed = true;
        }
    }

    /// After a model did not come: a corpus that waited for it goes through the one that is there.
    pub(super) fn start_owed_corpus(&mut self, id: DocumentId) -> Vec<Effect> {
        let Some(document) = self.find_document_mut(id).filter(|document| document.model.latest().is_some()) else {
            return Vec::new();
        };
        let Some(corpus) = document.corpus.as_deref_mut().filter(|corpus| corpus.is_owed) else { return Vec::new() };
        corpus.is_owed = false;
        if matches!(corpus.data, Loadable::Empty) { self.start_corpus(id) } else { Vec::new() }
    }

    /// A document has another model now: what the one before made of the corpus is not comparable.
    pub(super) fn model_changed(&mut self, id: DocumentId) -> Vec<Effect> {
        let mut effects = self.look_again(id);
        let Some(document) = self.find_document_mut(id) else { return effects };
        if std::mem::take(&mut document.second_opinion).is_pending() {
            effects.push(Effect::Cancel(Lane::SecondOpinion(id)));
        }
        let Some(corpus) = document.corpus.as_deref_mut() else { return effects };
        if matches!(corpus.source, CorpusSource::Captures(_)) {
            return effects;
        }
        if corpus.data.is_pending() {
            effects.push(Effect::Cancel(Lane::Corpus(id)));
        }
        let owed = std::mem::take(&mut corpus.is_owed);
        (corpus.data, corpus.plan, corpus.progress) = (Loadable::Empty, None, None);
        corpus.update();
        if owed {
            effects.extend(self.start_corpus(id));
        }
        effects
    }

    pub(super) fn on_corpus_event(&mut self, id: DocumentId, kind: EventKind) {
        let Some(corpus) = self.find_document_mut(id).and_then(|document| document.corpus.as_deref_mut()) else {
            return;
        };
        match kind {
            EventKind::CorpusPlanned(plan) => {
                corpus.plan = Some(Arc::clone(&plan));
                for note in &plan.notes {
                    self.inform(note.clone(), String::new());
                }
            }
            EventKind::CorpusProgress(progress) => corpus.progress = Some(progress),
            EventKind::Corpus(so_far) => {
                let (full, is_whole) = (so_far.full.clone(), so_far.is_whole);
                let so_far = Arc::from(so_far);
                if is_whole {
                    corpus.data = Loadable::Ready(so_far);
                } else {
                    corpus.data.improve(so_far);
                }
                corpus.update();
                if let Some(full) = full {
                    self.inform(full.to_string(), String::new());
                }
            }
            EventKind::Cancelled => corpus.data.cancel(),
            EventKind::Failed(failure) => {
                corpus.data.fail(failure.clone());
                self.notify(NoticeKind::Error, failure);
            }
            _ => {}
        }
    }

    /// Opens a file or folder as a corpus, on a bundled model if there is none.
    pub(super) fn open_listed(&mut self, id: DocumentId, path: PathBuf, has_pictures: bool) -> Vec<Effect> {
        if !has_pictures && Kind::of_name(&path.to_string_lossy()) != Kind::Text {
            return self.choose_corpus(id, path);
        }
        let has_model = self
            .find_document(id)
            .is_some_and(|document| document.model.latest().is_some() || document.model.is_pending());
        let mut effects = self.open_corpus(id, CorpusSource::path(path), CorpusOptions::default());
        if !has_model && self.document().id == id {
            let name = if has_pictures { "demo:vit" } else { "demo:bert" };
            effects.extend(self.load(ModelSource::Bundled(name.to_owned())));
        }
        effects
    }

    /// Runs a text from a file, unless it may be meant as many inputs.
    pub(super) fn open_text_file(&mut self, path: PathBuf, text: String) -> Vec<Effect> {
        let n_lines = text.lines().filter(|line| !line.trim().is_empty()).count();
        if n_lines == 0 {
            let name = path.file_name().unwrap_or_default().to_string_lossy();
            let summary = format!("{name} is empty, so there is nothing to read");
            self.notify(NoticeKind::Error, Failure { summary, details: path.display().to_string() });
            return Vec::new();
        }
        if n_lines < MANY_LINES {
            return self.open_text(text);
        }
        self.corpus_dialog = Some(CorpusDialog::Lines { path, text, n_lines });
        Vec::new()
    }

    /// Opens the input that a point of the active pane's cloud belongs to, and holds its token.
    pub(super) fn open_point(&mut self, is_key: bool, point: usize) -> Vec<Effect> {
        let pane = self.pane();
        let stack = pane.selection.stack();
        let side = if is_key { stack.key_side() } else { stack.query_side() };
        let focus = |position| if is_key { Focus::key(position) } else { Focus::query(position) };
        match pane.cloud(self.document()) {
            Some(Cloud::Inputs(view)) => {
                let found = view.token(side, point).zip(view.input_of(side, point).and_then(|nth| view.input(nth)));
                let Some((position, source)) = found.map(|(token, input)| (token.position, input.source)) else {
                    return Vec::new();
                };
                self.show_corpus_input(source, focus(position))
            }
            Some(Cloud::Input(_) | Cloud::Positions(_)) => {
                self.set_focus(self.panes.active_id(), |selection| &mut selection.pinned, focus(point));
                Vec::new()
            }
            None => Vec::new(),
        }
    }

    /// Makes an input of the corpus the document's own, runs it and holds a token of it.
    fn show_corpus_input(&mut self, source: usize, focus: Focus) -> Vec<Effect> {
        let id = self.document().id;
        let Some(so_far) = self.document().corpus.as_ref().and_then(|corpus| corpus.data.latest()).cloned() else {
            return Vec::new();
        };
        let Some(item) = so_far.list.items.get(source) else { return Vec::new() };
        let is_shown = self.document().corpus_input == Some(source) && !self.document().capture.is_pending();
        self.leave_example();
        let place = self.place_of_input(id);
        let view = ViewKind::of_input(!matches!(item.content, Content::Text(_)));
        for pane in self.panes.iter_mut().filter(|pane| pane.document == id) {
            // What was held in another input means nothing in this one.
            pane.selection.pinned = Focus::NONE;
            let change = place == Some(pane.id) && pane.view.is_projected();
            let view = Some(view).filter(|_| change);
            pane.pending = Some(PendingSelection { view, query: focus.query, key: focus.key, ..Default::default() });
        }
        if is_shown {
            self.adopt_again(id);
            return Vec::new();
        }
        let Some(document) = self.find_document_mut(id) else { return Vec::new() };
        document.corpus_input = Some(source);
        if let Some(file) = &so_far.file {
            document.opened = Some(file.clone());
            return self.select_input(self.panes.active_id(), source);
        }
        let experiment = &mut document.experiment;
        experiment.continued = false;
        // As it was run in the corpus.
        (experiment.text_b, experiment.excerpt) = (None, Some(Excerpt::FITTING));
        match &item.content {
            Content::Text(text) => text.clone_into(&mut experiment.text),
            Content::Picture(path) => experiment.image = Some(ImageSource::Path(path.clone())),
            Content::BundledPicture(name) => experiment.image = Some(ImageSource::Bundled(name.clone())),
        }
        self.run_document(id)
    }

    /// The capture that is there is shown as if it had just arrived.
    fn adopt_again(&mut self, id: DocumentId) {
        if let Some(capture) = self.find_document(id).and_then(Document::latest_capture).cloned() {
            self.show(id, capture);
        }
    }

    /// Where an input is looked at: a pane without a joint space, or a new one beside the only one.
    fn place_of_input(&mut self, id: DocumentId) -> Option<PaneId> {
        let active = self.panes.active_id();
        if !self.pane().view.is_projected() {
            return Some(active);
        }
        let others = || self.panes.iter().filter(|pane| pane.document == id && pane.id != active);
        let other = others().find(|pane| !pane.view.is_projected()).or_else(|| others().next());
        if let Some(other) = other {
            return Some(other.id);
        }
        let beside = self.panes.split(Split::Right);
        // The next click is meant for the joint space again.
        self.panes.activate(active);
        beside
    }
}

/// What the user is told when results of long computations are lost with the program.
pub(super) fn not_kept(details: &str) -> Failure {
    let summary = "Results cannot be kept for the next time".to_owned();
    Failure { summary, details: format!("Free some disk space, or set ATTNSCOPE_CACHE to another folder: {details}") }
}
