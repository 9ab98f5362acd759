//! A document: an experiment with what came of it.

use std::{path::PathBuf, sync::Arc};

use serde_json::{Map, Value};

use super::{
    Experiment, Loadable, OpenCorpus, ViewKind,
    experiment::{Drag, Undo},
    numbers::NumbersPast,
    provenance::RunKey,
    saved::ModelRef,
};
use crate::{
    analysis::{PointCloud, head_folder::HeadFolder, timing::Timing},
    capture::Capture,
    figure::views::Study,
    ids::{DocumentId, ModelId, StackKind},
    model::{Comparison, ImageSource},
    protocol::{CaptureFile, Lane, LoadedModel, ModelSource, Outcomes, TooLong},
    spec::CheckpointMark,
};

/// An experiment with what came of it.
#[derive(Clone, Debug, Default)]
#[expect(clippy::struct_excessive_bools, reason = "each is something else that is owed")]
pub struct Document {
    pub id: DocumentId,
    /// What is, or will be, computed.
    pub experiment: Experiment,
    /// The model that the worker holds for it.
    pub model: Loadable<Arc<LoadedModel>>,
    /// The last forward pass.
    pub capture: Loadable<Arc<Capture>>,
    /// What an independent implementation says about the model.
    pub second_opinion: Loadable<Arc<Comparison>>,
    /// What both were asked on.
    pub(super) compared_on: Option<Box<Experiment>>,
    /// Times of the model by the length of its input.
    pub timing: Loadable<Arc<Timing>>,
    /// Why the last run was not begun, and what could be run instead.
    pub too_long: Option<TooLong>,
    /// The capture file that is shown, until a model runs again.
    pub opened: Option<CaptureFile>,
    /// Many inputs beside the one that is shown.
    pub corpus: Option<Box<OpenCorpus>>,
    /// The input of the corpus that is shown, by its place in the list, until the input is changed.
    pub corpus_input: Option<usize>,
    /// The example that is shown, by its index, until the input or the model changes.
    pub example: Option<usize>,
    /// The document that shows the same run without its changes.
    pub plain: Option<DocumentId>,
    /// What the capture that is shown was made of, where that was a run.
    pub(super) made: Option<RunKey>,
    /// What the run on its way is made of.
    pub(super) running: Option<RunKey>,
    pub(super) outcomes: Loadable<Arc<Outcomes>>,
    /// Whose outcomes were asked for.
    pub(super) outcomes_of: Option<ModelId>,
    pub(super) undo: Undo,
    /// The drag that the newest change belongs to.
    pub(super) drag: Option<Drag>,
    /// A change was changed again while a run was on its way.
    pub(super) run_again: bool,
    /// A run was asked for while a model was on its way.
    pub(super) run_owed: bool,
    /// Its model is on its way for another document.
    pub(super) model_owed: bool,
    /// What a session file says its model is.
    pub(super) expected: Option<Expected>,
    /// Which files the session or the link was made with, until those of now are known.
    pub(super) checkpoint_then: CheckpointMark,
    /// What is opened once the model that is on its way is there or did not come.
    pub(super) paths_owed: Vec<PathBuf>,
    /// Which input of the capture file on its way is to be shown.
    pub(super) input_owed: Option<usize>,
    /// The picture that a model on its way is opened for.
    pub(super) picture_owed: Option<(ModelSource, ImageSource)>,
    /// The model that it had beside its capture file when its session was written down.
    pub(super) behind: Behind,
    /// The changes came with the input that is run next, so they are about it.
    pub(super) changes_belong: bool,
    /// Numbers that were typed before those that are shown.
    pub(super) numbers_past: NumbersPast,
    /// What a later version wrote beside it into a session file.
    pub(super) unknown: Map<String, Value>,
}

/// A model that is there for the next run, while a capture file is shown.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Behind {
    /// There is none.
    #[default]
    Nothing,
    /// It is read when the file is shown.
    Owed,
    Coming,
}

/// The model that a document had when its session was written down.
#[derive(Clone, Debug)]
pub(super) struct Expected {
    pub model: ModelRef,
    /// Somebody found it here, or had found it the last time.
    pub found_at: Option<ModelSource>,
}

impl Document {
    /// An empty document.
    pub fn new(id: DocumentId, experiment: Experiment) -> Self {
        Self { id, experiment, ..Self::default() }
    }

    /// The same experiment with the same results, without its past.
    #[must_use]
    pub(super) fn copy(&self, id: DocumentId) -> Self {
        let mut undo = Undo::default();
        undo.ran(&self.experiment, None);
        Self {
            id,
            experiment: self.experiment.clone(),
            model: self.model.latest().cloned().map_or(Loadable::Empty, Loadable::Ready),
            capture: self.capture.latest().cloned().map_or(Loadable::Empty, Loadable::Ready),
            second_opinion: self.second_opinion.latest().cloned().map_or(Loadable::Empty, Loadable::Ready),
            compared_on: self.compared_on.clone(),
            timing: self.timing.latest().cloned().map_or(Loadable::Empty, Loadable::Ready),
            opened: self.opened.clone(),
            corpus: self.corpus.as_ref().map(|corpus| Box::new(corpus.copy())),
            corpus_input: self.corpus_input,
            example: self.example,
            made: self.made.clone(),
            outcomes_of: self.outcomes().map(|outcomes| outcomes.model()),
            outcomes: self.outcomes().cloned().map_or(Loadable::Empty, Loadable::Ready),
            undo,
            ..Self::default()
        }
    }

    /// After a load that did not replace the model: the experiment speaks of the one that is there.
    pub(super) fn keep_model(&mut self) {
        self.experiment.model = self.model.latest().map(|model| model.source.clone());
    }

    /// The newest capture, even while another is on its way.
    pub const fn latest_capture(&self) -> Option<&Arc<Capture>> {
        self.capture.latest()
    }

    /// What joint spaces can be made of here.
    pub fn clouds(&self) -> impl Iterator<Item = PointCloud> {
        let corpus = self.corpus.as_ref().and_then(|corpus| corpus.view()).cloned().map(PointCloud::Inputs);
        let positions = self.positions().ok().cloned().map(PointCloud::Positions);
        self.latest_capture().cloned().map(PointCloud::Input).into_iter().chain(corpus).chain(positions)
    }

    /// Whether no newer one is on its way.
    pub(super) const fn is_settled(&self, cloud: &PointCloud) -> bool {
        match cloud {
            PointCloud::Input(_) => !self.capture.is_pending(),
            PointCloud::Inputs(_) | PointCloud::Positions(_) => true,
        }
    }

    /// Why `view` cannot show `stack` of the current capture, in words; `None` when it can.
    pub fn view_unavailable(&self, view: ViewKind, stack: StackKind) -> Option<&'static str> {
        if self.folder().is_some() {
            return without_model(view);
        }
        view.unavailable(self.latest_capture()?, stack)
    }

    /// The folder of heads that is shown, where one was opened in place of a capture file.
    pub fn folder(&self) -> Option<&Arc<HeadFolder>> {
        self.opened.as_ref()?.folder.as_ref()
    }

    /// Whether there is an experiment to go back to, or inputs to be put back.
    pub fn can_undo(&self) -> bool {
        self.can_step_numbers(true)
            || self.undo.can_undo()
            || self.corpus.as_deref().is_some_and(|corpus| corpus.can_undo(self.undo.depth()))
    }

    /// Whether there is an experiment to go forward to, or inputs to be taken out again.
    pub fn can_redo(&self) -> bool {
        self.can_step_numbers(false)
            || self.undo.can_redo()
            || self.corpus.as_deref().is_some_and(|corpus| corpus.can_redo(self.undo.depth()))
    }

    /// The position of the shown input in the opened capture file; `None` when no file is shown.
    pub fn shown_input(&self) -> Option<usize> {
        let (file, shown) = (self.opened.as_ref()?, self.latest_capture()?);
        file.captures.iter().position(|capture| capture.id() == shown.id())
    }

    /// Whether anything that the user waits for is on its way.
    pub const fn is_busy(&self) -> bool {
        self.model.is_pending() || self.capture.is_pending()
    }

    /// The lanes in which it waits for something that ends with it.
    pub(super) fn lanes(&self) -> impl Iterator<Item = Lane> {
        let id = self.id;
        let own = [Lane::Load(id), Lane::Run(id), Lane::Corpus(id), Lane::Debate(id), Lane::Judge(id)];
        own.into_iter().chain(Study::ALL.map(|study| Lane::Study(id, study)))
    }

    /// The models that the worker must keep for it.
    pub(super) fn models(&self) -> impl Iterator<Item = ModelId> {
        self.model.latest().map(|model| model.id).into_iter()
    }
}

/// Why a view shows nothing of a folder of heads; none where it does.
fn without_model(view: ViewKind) -> Option<&'static str> {
    let facts = view.facts();
    if facts.reads_folders {
        None
    } else if facts.draws_weights {
        Some(
            "A folder of heads holds the strongest weights of some sequences of each head, which Head page shows; open \
             the model to see a whole pattern of a text of your own",
        )
    } else if facts.shows_answers {
        Some(
            "Rollout, flow, entropy and other methods need whole rows and the model: rows of a folder of heads are \
             stored in part and do not sum to 1. Open the model itself",
        )
    } else {
        Some("This needs a run of the model, and a folder of heads has none: open the model itself")
    }
}
