//! Corpora: many inputs beside the one that a document shows, and how to get from one to the other.

use std::{
    collections::BTreeSet,
    path::{Path, PathBuf},
    sync::Arc,
};

use super::{
    Cause, Document, Documents, Effect, Focus, Loadable, Notices, Only, OpenCorpus, Pane, Panes, PendingSelection,
    SaidOrder, Split, ViewKind,
};
use crate::{
    analysis::PointCloud,
    capture::Excerpt,
    corpus::{
        Kept, SortBy,
        list::{Content, ListOptions},
    },
    ids::{DocumentId, JobId, ModelId, PaneId},
    model::ImageSource,
    protocol::{CorpusAnswer, CorpusOptions, CorpusOrder, CorpusSoFar, CorpusSource, Failure, Lane, Request, Update},
};

/// Corpora inside the program, with what is in them.
pub const BUNDLED_CORPORA: [(&str, &str); 5] = [
    ("demo:sentences", "200 English sentences"),
    ("demo:pairs", "763 sentences to translate, with translations"),
    ("demo:reviews", "500 sentences of film reviews, praise and blame"),
    ("demo:rationales", "77 of them with the words that decide them"),
    ("demo:pictures", "32 drawn pictures"),
];
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
    /// Make an input the document's own and run it.
    Show(usize),
    /// The same, with tokens of it that are held, in another view where one is given.
    ShowTokens(usize, Focus, Option<ViewKind>),
    /// Ask what the model says of its inputs, held against this column of labels.
    Judge(Option<String>),
    /// Ask for something first, or no longer.
    Ask(Option<CorpusDialog>),
    /// Change which inputs are listed and laid out.
    List(ListCommand),
}

/// A change of the list of a corpus.
#[derive(Clone, Debug, PartialEq)]
pub enum ListCommand {
    Filter(String),
    /// Sort the list; `true` from the largest.
    Sort(SortBy, bool),
    /// Sort it by what the model says; `true` from the largest.
    SortSaid(SaidOrder, bool),
    /// List only some inputs by what the model says of them.
    Only(Only),
    /// Select these inputs alone.
    Select(BTreeSet<usize>),
    /// Take the selected inputs out, or without any those that the list shows.
    Remove,
    /// Take all others out.
    Keep,
    /// Put back what was taken out last.
    Restore,
    RestoreAll,
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

impl Document {
    /// Whether it has a model, or will have one.
    pub(super) fn has_model(&self) -> bool {
        self.model.latest().is_some() || self.model.is_pending()
    }

    /// Puts a corpus in the place of the one that is open; nothing of it is run yet.
    pub(super) fn take_corpus(&mut self, source: CorpusSource, options: CorpusOptions) -> Vec<Effect> {
        let effects = self.close_corpus();
        self.corpus = Some(Box::new(OpenCorpus::new(source, options)));
        effects
    }

    pub(super) fn close_corpus(&mut self) -> Vec<Effect> {
        self.corpus_input = None;
        let tests = self.forget_debate().then_some(Lane::Debate(self.id));
        let studies = self.forget_studies();
        let runs = self.corpus.take().into_iter().flat_map(|corpus| {
            [(corpus.data.is_pending(), Lane::Corpus(self.id)), (corpus.said.is_pending(), Lane::Judge(self.id))]
        });
        let runs = runs.filter(|(is_pending, _)| *is_pending).map(|(_, lane)| lane);
        tests.into_iter().chain(studies).chain(runs).map(Effect::Cancel).collect()
    }

    /// Changes which inputs of its corpus are listed and laid out.
    pub(super) fn change_corpus(&mut self, command: ListCommand) {
        let depth = self.undo.depth();
        if let Some(corpus) = self.corpus.as_deref_mut() {
            corpus.change(command, depth);
        }
    }

    /// Runs what is missing of its corpus, as soon as there is a model.
    pub(super) fn start_corpus(&mut self, job: JobId) -> Option<Effect> {
        let model = self.model.latest().filter(|_| !self.model.is_pending()).map(|model| model.id);
        let corpus = self.corpus.as_deref_mut().filter(|corpus| !corpus.data.is_pending())?;
        let needs_none = matches!(corpus.source, CorpusSource::Captures(_));
        corpus.is_owed = model.is_none() && !needs_none;
        if corpus.is_owed {
            return None;
        }
        let model = model.unwrap_or(ModelId(0));
        let mut order = CorpusOrder::new(self.id, model, corpus.source.clone(), corpus.options.clone());
        order.known = corpus.data.latest().map(|so_far| CorpusSoFar::clone(so_far));
        corpus.data.start(job);
        Some(Effect::Submit(job, Request::Corpus(Box::new(order))))
    }

    /// Its corpus goes through the model that is opened next.
    pub(super) fn owe_corpus(&mut self) {
        if let Some(corpus) = self.corpus.as_deref_mut() {
            corpus.is_owed = true;
        }
    }

    /// After a model did not come: a corpus that waited for it goes through the one that is there.
    pub(super) fn start_owed_corpus(&mut self, job: JobId) -> Option<Effect> {
        self.model.latest()?;
        let corpus = self.corpus.as_deref_mut().filter(|corpus| corpus.is_owed)?;
        corpus.is_owed = false;
        if matches!(corpus.data, Loadable::Empty) { self.start_corpus(job) } else { None }
    }

    /// It has another model now: what the one before said, and made of the corpus, is not comparable.
    pub(super) fn forget_answers(&mut self, job: JobId) -> Vec<Effect> {
        let mut effects = Vec::new();
        if std::mem::take(&mut self.second_opinion).is_pending() {
            effects.push(Effect::Cancel(Lane::SecondOpinion(self.id)));
        }
        if self.timing.is_pending() {
            self.timing.cancel();
            effects.push(Effect::Cancel(Lane::Measure(self.id)));
        }
        if self.forget_debate() {
            effects.push(Effect::Cancel(Lane::Debate(self.id)));
        }
        effects.extend(self.forget_studies().into_iter().map(Effect::Cancel));
        let Some(corpus) = self.corpus.as_deref_mut() else { return effects };
        if matches!(corpus.source, CorpusSource::Captures(_)) {
            return effects;
        }
        if corpus.data.is_pending() {
            effects.push(Effect::Cancel(Lane::Corpus(self.id)));
        }
        if corpus.said.is_pending() {
            effects.push(Effect::Cancel(Lane::Judge(self.id)));
        }
        corpus.said = Loadable::Empty;
        let owed = std::mem::take(&mut corpus.is_owed);
        (corpus.data, corpus.plan, corpus.progress) = (Loadable::Empty, None, None);
        corpus.update();
        if owed {
            effects.extend(self.start_corpus(job));
        }
        effects
    }

    /// The file or folder of its corpus, where it is not inside the program.
    pub(super) fn own_corpus(&self) -> Option<&Path> {
        let CorpusSource::Path { path, .. } = &self.corpus.as_deref()?.source else { return None };
        let is_bundled = BUNDLED_CORPORA.iter().any(|(name, _)| path.as_path() == Path::new(name));
        (!is_bundled).then_some(path)
    }

    pub(super) fn on_corpus_event(&mut self, job: JobId, update: Update<CorpusAnswer>, notices: &mut Notices) {
        let awaiting = self.corpus.as_deref_mut().filter(|corpus| corpus.data.job() == Some(job));
        let Some(corpus) = awaiting else { return };
        match update {
            Update::Answer(CorpusAnswer::Planned(plan)) => {
                corpus.plan = Some(Arc::clone(&plan));
                for note in &plan.notes {
                    notices.inform(Cause::corpus(self), note, "");
                }
            }
            Update::Answer(CorpusAnswer::Progress(progress)) => corpus.progress = Some(progress),
            Update::Answer(CorpusAnswer::SoFar(so_far)) => {
                let (full, is_whole) = (so_far.full.clone(), so_far.is_whole);
                let so_far = Arc::from(so_far);
                if is_whole {
                    corpus.data = Loadable::Ready(so_far);
                } else {
                    corpus.data.improve(so_far);
                }
                corpus.update();
                if let Some(full) = full {
                    notices.inform(Cause::corpus(self), full.to_string(), "");
                }
            }
            Update::Cancelled => corpus.data.cancel(),
            Update::Failed(failure) => {
                corpus.data.fail(failure.clone());
                notices.fail(Cause::corpus(self), failure);
            }
            Update::Progress(_) => {}
        }
    }

    /// Makes an input of its corpus its own, to be run as it was run in the corpus.
    fn read_from_corpus(&mut self, source: usize, content: &Content) {
        self.corpus_input = Some(source);
        let experiment = &mut self.experiment;
        experiment.write_anew(false);
        (experiment.text_b, experiment.excerpt, experiment.chat) = (None, Some(Excerpt::FITTING), None);
        match content {
            Content::Text(text) => (experiment.text, experiment.brackets) = (text.clone(), false),
            Content::Grouped(grouped) => (experiment.text, experiment.brackets) = (grouped.to_string(), true),
            Content::Picture(path) => experiment.image = Some(ImageSource::Path(path.clone())),
            Content::BundledPicture(name) => experiment.image = Some(ImageSource::Bundled(name.clone())),
        }
    }
}

/// A token that a point of a joint space stands for.
#[derive(Clone, Copy, Debug)]
pub(super) struct PointToken {
    /// The input of the corpus that it is in, by its place in the list; `None` in the one that is shown.
    pub source: Option<usize>,
    pub focus: Focus,
}

impl Pane {
    /// The token that a point of its cloud stands for.
    pub(super) fn token_of_point(&self, document: &Document, is_key: bool, point: usize) -> Option<PointToken> {
        let stack = self.selection.stack();
        let side = if is_key { stack.key_side() } else { stack.query_side() };
        let focus = |position| if is_key { Focus::key(position) } else { Focus::query(position) };
        match self.cloud(document)? {
            PointCloud::Inputs(view) => {
                let token = view.token(side, point)?;
                let input = view.input_of(side, point).and_then(|nth| view.input(nth))?;
                Some(PointToken { source: Some(input.source), focus: focus(token.position) })
            }
            PointCloud::Input(_) | PointCloud::Positions(_) => Some(PointToken { source: None, focus: focus(point) }),
        }
    }
}

/// What is left to do for an input of a corpus.
#[derive(Debug)]
pub(super) enum CorpusInput {
    Shown(Vec<Effect>),
    /// It has to be run.
    Read,
}

impl Panes {
    /// A corpus was opened in a document; whoever opens one wants to see it.
    pub(super) fn show_corpus(&mut self, id: DocumentId, documents: &Documents) {
        let mut shows = false;
        for pane in self.iter_mut().filter(|pane| pane.document == id) {
            *pane.options.corpus_mut() = true;
            shows |= pane.view.facts().shows_inputs_beside();
        }
        if shows || self.active().document != id {
            return;
        }
        self.change_active(documents, |pane, document| {
            if document.latest_capture().is_some() && !document.is_busy() {
                let views = [ViewKind::OF_CORPUS, ViewKind::OF_TESTS];
                let can = views.into_iter().find(|view| pane.view_unavailable(document, *view).is_none());
                if let Some(view) = can {
                    pane.show_view(document, view);
                }
            } else {
                let pending = pane.pending.get_or_insert_default();
                pending.view = pending.view.or(Some(ViewKind::OF_CORPUS));
            }
        });
    }

    /// Makes an input of its corpus the active document's own, and holds a token of it.
    pub(super) fn show_corpus_input(&mut self, source: usize, focus: Focus, documents: &mut Documents) -> CorpusInput {
        let nothing = CorpusInput::Shown(Vec::new());
        let document = documents.of(self.active());
        let id = document.id;
        let Some(so_far) = document.corpus.as_ref().and_then(|corpus| corpus.data.latest()).cloned() else {
            return nothing;
        };
        let Some(item) = so_far.list.items.get(source) else { return nothing };
        let is_shown = document.corpus_input == Some(source) && !document.capture.is_pending();
        self.leave_example(documents);
        let place = self.place_of_input(id);
        let view = ViewKind::of_input(item.content.text().is_none());
        for pane in self.iter_mut().filter(|pane| pane.document == id) {
            // What was held in another input means nothing in this one.
            pane.selection.pinned = Focus::NONE;
            let merging = &mut pane.options.reading.merging;
            *merging = merging.or_words_if(matches!(item.content, Content::Grouped(_)));
            let change = place == Some(pane.id) && pane.view.facts().shows_inputs_beside();
            let view = Some(view).filter(|_| change);
            pane.pending = Some(PendingSelection { view, query: focus.query, key: focus.key, ..Default::default() });
        }
        if is_shown {
            self.adopt_again(id, documents);
            return nothing;
        }
        let Some(document) = documents.find_mut(id) else { return nothing };
        if let Some(file) = &so_far.file {
            (document.corpus_input, document.opened) = (Some(source), Some(file.clone()));
            return CorpusInput::Shown(self.select_input(self.active_id(), source, documents));
        }
        document.read_from_corpus(source, &item.content);
        CorpusInput::Read
    }

    /// The capture that is there is shown as if it had just arrived.
    fn adopt_again(&mut self, id: DocumentId, documents: &mut Documents) {
        if let Some(capture) = documents.find(id).and_then(Document::latest_capture).cloned() {
            self.show(documents, id, capture);
        }
    }

    /// Where an input is looked at: a pane without a joint space, or a new one beside the only one.
    fn place_of_input(&mut self, id: DocumentId) -> Option<PaneId> {
        let active = self.active_id();
        if !self.active().view.facts().shows_inputs_beside() {
            return Some(active);
        }
        let others = || self.iter().filter(|pane| pane.document == id && pane.id != active);
        let other = others().find(|pane| !pane.view.facts().shows_inputs_beside()).or_else(|| others().next());
        if let Some(other) = other {
            return Some(other.id);
        }
        let beside = self.split(Split::Right);
        // The next click is meant for the joint space again.
        self.activate(active);
        beside
    }
}

impl CorpusDialog {
    /// What is asked about a text from a file that may be meant as many inputs; the text where it is one.
    pub(super) fn of_text(path: PathBuf, text: String, n_lines: usize) -> Result<Self, String> {
        if n_lines < MANY_LINES { Err(text) } else { Ok(Self::Lines { path, text, n_lines }) }
    }
}

/// What the user is told when results of long computations are lost with the program.
pub(super) fn not_kept(details: &str) -> Failure {
    let summary = "Results cannot be kept for the next time".to_owned();
    Failure { summary, details: format!("Free some disk space, or set ATTNSCOPE_CACHE to another folder: {details}") }
}
