//! Models of a session that are no longer where they were, or are others now.

use std::path::PathBuf;

use super::{
    Effect, Loadable, MovedModel, Session,
    document::{Behind, Expected},
    saved::ModelRef,
};
use crate::{
    ids::DocumentId,
    protocol::{Failure, LoadedModel, ModelSource},
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

impl Session {
    /// The model of a session cannot be opened: it is looked for where it was found the last time, or the user is asked.
    /// `None` when it is no model of a session.
    pub(super) fn model_is_lost(&mut self, id: DocumentId, failure: &Failure) -> Option<Vec<Effect>> {
        let document = self.find_document(id)?;
        let expected = document.expected.clone().filter(|_| document.opened.is_none())?;
        // Then it was the capture file that could not be read.
        if document.example.is_some() || document.behind == Behind::Owed {
            return None;
        }
        Some(self.look_elsewhere(id, expected, Some(failure.clone())))
    }

    /// Whether the model of a document is the one that its session was written with.
    pub(super) fn check_model(&mut self, id: DocumentId, model: &LoadedModel) -> Vec<Effect> {
        let expected = self.find_document(id).and_then(|document| document.expected.clone());
        let Some(expected) = expected else { return Vec::new() };
        let is_other =
            expected.model.config.is_some() && model.config.is_some() && expected.model.config != model.config;
        if is_other {
            return self.look_elsewhere(id, expected, None);
        }
        if let Some(found) = expected.found_at.filter(|found| *found == model.source) {
            let (from, config) = (expected.model.source(), expected.model.config);
            self.settings.remember_moved(MovedModel { from, config, to: found });
        }
        Vec::new()
    }

    fn look_elsewhere(&mut self, id: DocumentId, expected: Expected, failure: Option<Failure>) -> Vec<Effect> {
        let Expected { model, found_at } = expected;
        let known = |moved: &&MovedModel| moved.from == model.source() && moved.config == model.config;
        let elsewhere = self.settings.moved_models.iter().find(known).map(|moved| moved.to.clone());
        // Once: where it was found before it may be gone by now.
        if let Some(elsewhere) = elsewhere.filter(|_| found_at.is_none()) {
            return self.open_found(&model, elsewhere);
        }
        let source = found_at.unwrap_or_else(|| model.source());
        let is_known = self.keeping.lost_models.iter().any(|lost| lost.model == model);
        if !is_known {
            self.keeping.lost_models.push(LostModel { document: id, model, source, failure });
        }
        Vec::new()
    }

    /// Opens a model of the session from another place, for all documents that have it.
    fn open_found(&mut self, model: &ModelRef, found: ModelSource) -> Vec<Effect> {
        let has_it = |expected: &Expected| expected.model == *model;
        let ids: Vec<DocumentId> = self
            .documents
            .iter()
            .filter(|document| document.expected.as_ref().is_some_and(has_it))
            .map(|document| document.id)
            .collect();
        for id in &ids {
            if let Some(document) = self.find_document_mut(*id) {
                document.expected = Some(Expected { model: model.clone(), found_at: Some(found.clone()) });
                // The others wait for the first.
                document.experiment.model = Some(found.clone());
                document.model_owed = true;
            }
        }
        ids.first().map(|first| self.load_in(*first, found)).unwrap_or_default()
    }

    /// The user says where the first lost model is.
    pub(super) fn model_is_at(&mut self, path: PathBuf) -> Vec<Effect> {
        if self.keeping.lost_models.is_empty() {
            return Vec::new();
        }
        let lost = self.keeping.lost_models.remove(0);
        self.open_found(&lost.model, ModelSource::Path(path))
    }

    /// The first lost model is this one from now on.
    pub(super) fn use_model(&mut self) {
        if self.keeping.lost_models.is_empty() {
            return;
        }
        let lost = self.keeping.lost_models.remove(0);
        for document in &mut self.documents {
            document.expected.take_if(|expected| expected.model == lost.model);
        }
    }

    /// The documents stay without the first lost model, and go on naming it.
    pub(super) fn leave_model(&mut self) {
        if self.keeping.lost_models.is_empty() {
            return;
        }
        let lost = self.keeping.lost_models.remove(0);
        for document in &mut self.documents {
            let has_it = document.expected.as_ref().is_some_and(|expected| expected.model == lost.model);
            if has_it && document.model_owed {
                document.model_owed = false;
                if let (Some(failure), Loadable::Empty) = (&lost.failure, &document.model) {
                    document.model.fail(failure.clone());
                }
            }
        }
    }
}
