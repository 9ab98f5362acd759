//! Models of a session that are no longer where they were, or are others now.

use std::{mem, path::PathBuf};

use super::{
    Document, Documents, Keeping, Loadable, MovedModel, Settings,
    document::{Behind, Expected},
    saved::ModelRef,
};
use crate::{
    ids::DocumentId,
    protocol::{Failure, LoadedModel, ModelSource},
    spec::{CheckpointId, CheckpointMark},
};

/// A model of a session that is not what it was.
#[derive(Clone, Debug)]
pub struct LostModel {
    /// The first document that has it.
    pub document: DocumentId,
    /// What the session says about it.
    pub model: ModelRef,
    pub source: ModelSource,
    /// Why it cannot be opened; `None` when it is another one now.
    pub failure: Option<Failure>,
}

impl LostModel {
    /// Where it was looked for, as people read it.
    pub fn place(&self) -> String {
        match &self.source {
            ModelSource::Bundled(name) | ModelSource::Hub(name) => name.clone(),
            ModelSource::Path(path) => path.display().to_string(),
        }
    }
}

impl Document {
    /// What its session says about its model, where that cannot be opened; `None` when it is no model of a session.
    pub(super) fn lost_model(&self) -> Option<Expected> {
        let expected = self.expected.clone().filter(|_| self.opened.is_none())?;
        // Otherwise it was the capture file that could not be read.
        (self.example.is_none() && self.behind != Behind::Owed).then_some(expected)
    }
}

impl Document {
    /// Which files its model was read from, or will be as far as is known.
    pub(super) fn checkpoint(&self) -> CheckpointMark {
        self.checkpoint_now().map_or_else(|| self.checkpoint_then.clone(), CheckpointId::mark)
    }

    fn checkpoint_now(&self) -> Option<&CheckpointId> {
        let model = self.model.latest().filter(|model| Some(&model.source) == self.experiment.model.as_ref())?;
        model.spec.checkpoint.as_ref()
    }

    /// What is to be said where the files of its model are others than those that the session or the link was made
    /// with; once.
    pub(super) fn other_files(&mut self) -> Option<Failure> {
        let now = self.checkpoint_now()?.mark();
        let fits = self.checkpoint_now().is_some_and(|id| self.checkpoint_then.fits(id));
        let then = mem::take(&mut self.checkpoint_then);
        let name = &self.model.latest()?.spec.name;
        (!fits).then(|| Failure {
            summary: format!("The files of {name} have changed since this was saved: numbers can differ"),
            details: format!("Then {}; now {}", mark_text(&then), mark_text(&now)),
        })
    }
}

/// Digits of a commit or a checksum in a sentence.
const SHORT: usize = 7;

fn mark_text(mark: &CheckpointMark) -> String {
    let short = |text: &str| text.chars().take(SHORT).collect::<String>();
    let commit = mark.revision.as_deref().map(|revision| format!("commit {}", short(revision)));
    let checksum = mark.checksum.as_deref().map(|checksum| format!("SHA-256 {}", short(checksum)));
    commit.into_iter().chain(checksum).collect::<Vec<_>>().join(", ")
}

/// A model of a session, and where it is now.
#[derive(Debug)]
pub(super) struct FoundModel {
    pub model: ModelRef,
    pub source: ModelSource,
}

impl Keeping {
    /// Whether the model of a document is the one that its session was written with; gives where to look for it if not.
    pub(super) fn check_model(
        &mut self,
        document: &Document,
        model: &LoadedModel,
        settings: &mut Settings,
    ) -> Option<FoundModel> {
        let expected = document.expected.clone()?;
        let is_other =
            expected.model.config.is_some() && model.config.is_some() && expected.model.config != model.config;
        if is_other {
            return self.look_elsewhere(document.id, expected, None, settings);
        }
        if let Some(found) = expected.found_at.filter(|found| *found == model.source) {
            let (from, config) = (expected.model.source(), expected.model.config);
            settings.remember_moved(MovedModel { from, config, to: found });
        }
        None
    }

    /// A model of a session cannot be opened, or is another one now: gives where it was found the last time, or asks the
    /// user.
    pub(super) fn look_elsewhere(
        &mut self,
        document: DocumentId,
        expected: Expected,
        failure: Option<Failure>,
        settings: &Settings,
    ) -> Option<FoundModel> {
        let Expected { model, found_at } = expected;
        let known = |moved: &&MovedModel| moved.from == model.source() && moved.config == model.config;
        let elsewhere = settings.moved_models.iter().find(known).map(|moved| moved.to.clone());
        // Once: where it was found before it may be gone by now.
        if let Some(source) = elsewhere.filter(|_| found_at.is_none()) {
            return Some(FoundModel { model, source });
        }
        let source = found_at.unwrap_or_else(|| model.source());
        let is_known = self.lost_models.iter().any(|lost| lost.model == model);
        if !is_known {
            self.lost_models.push(LostModel { document, model, source, failure });
        }
        None
    }

    /// The user says where the first lost model is.
    pub(super) fn model_is_at(&mut self, path: PathBuf) -> Option<FoundModel> {
        let lost = self.next_lost_model()?;
        Some(FoundModel { model: lost.model, source: ModelSource::Path(path) })
    }

    /// The first lost model is this one from now on.
    pub(super) fn use_model(&mut self, documents: &mut Documents) {
        let Some(lost) = self.next_lost_model() else { return };
        for document in documents {
            document.expected.take_if(|expected| expected.model == lost.model);
        }
    }

    /// The documents stay without the first lost model, and go on naming it.
    pub(super) fn leave_model(&mut self, documents: &mut Documents) {
        let Some(lost) = self.next_lost_model() else { return };
        for document in documents {
            let has_it = document.expected.as_ref().is_some_and(|expected| expected.model == lost.model);
            if has_it && document.model_owed {
                document.model_owed = false;
                if let (Some(failure), Loadable::Empty) = (&lost.failure, &document.model) {
                    document.model.fail(failure.clone());
                }
            }
        }
    }

    fn next_lost_model(&mut self) -> Option<LostModel> {
        (!self.lost_models.is_empty()).then(|| self.lost_models.remove(0))
    }
}

impl Documents {
    /// All documents that have a model of the session expect it where it was found; gives the first, for which it is read.
    pub(super) fn expect(&mut self, found: &FoundModel) -> Option<DocumentId> {
        let mut first = None;
        for document in self {
            if document.expected.as_ref().is_some_and(|expected| expected.model == found.model) {
                let (model, source) = (found.model.clone(), found.source.clone());
                document.experiment.model = Some(source.clone());
                document.expected = Some(Expected { model, found_at: Some(source) });
                // The others wait for the first.
                document.model_owed = true;
                first = first.or(Some(document.id));
            }
        }
        first
    }
}
