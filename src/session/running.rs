//! The run of a document: what it is made of, whose model it uses, and what comes of it.

use std::sync::Arc;

use super::{Cause, Document, Documents, Effect, Notices, Panes, document::Behind, provenance::RunKey};
use crate::{
    ids::{DocumentId, JobId, ModelId},
    model::ImageSource,
    protocol::{Lane, LoadedModel, ModelSource, Request, RunAnswer, Update},
};

/// What a text model reads when nothing was typed yet.
const DEFAULT_TEXT: &str = "The animal didn't cross the street because it was too tired";
/// What a vision model sees when no picture was given yet.
const DEFAULT_SAMPLE: &str = "chelsea";

impl Document {
    /// Runs its experiment.
    pub(super) fn run(&mut self, job: JobId) -> Vec<Effect> {
        // A model on its way runs the input when it arrives; if it does not, the one before does.
        self.run_owed = self.model.is_pending();
        let (false, Some(model)) = (self.run_owed, self.model.latest().cloned()) else { return Vec::new() };
        let lane = Lane::Run(self.id);
        self.too_long = None;
        // What could not be opened before is another matter.
        self.model.settle();
        let input = match self.experiment.input(&model.spec) {
            Ok(input) => input,
            Err(failure) => {
                let had_job = self.capture.is_pending();
                self.capture.fail(failure);
                return if had_job { vec![Effect::Cancel(lane)] } else { Vec::new() };
            }
        };
        self.undo.ran(&self.experiment, self.drag);
        self.running = Some(RunKey { experiment: self.experiment.clone(), model: Arc::clone(&model) });
        self.capture.start(job);
        (self.run_again, self.changes_belong) = (false, false);
        let changes = self.experiment.edits();
        let generation = self.experiment.generation(&model.spec);
        vec![Effect::Submit(job, Request::Run { document: self.id, model: model.id, input, generation, changes })]
    }

    /// Its model is there now: whether to run it, which it is not where that is there for the next run alone.
    pub(super) fn runs_loaded(&mut self) -> bool {
        let was_behind = std::mem::take(&mut self.behind) == Behind::Coming;
        !was_behind || self.run_owed
    }

    /// A load did not replace its model.
    pub(super) fn load_ended(&mut self) {
        self.model.cancel();
        self.picture_owed = None;
        self.keep_model();
    }

    /// The model that sees a picture is there.
    pub(super) fn take_owed_picture(&mut self) {
        if let Some((_, picture)) = self.picture_owed.take() {
            self.experiment.image = Some(picture);
        }
    }

    /// Something to read for a model that has nothing to read yet.
    pub(super) fn read_default(&mut self, model: &LoadedModel) {
        let experiment = &mut self.experiment;
        if model.spec.modality.text().is_some() && experiment.text.trim().is_empty() {
            DEFAULT_TEXT.clone_into(&mut experiment.text);
        }
        if model.spec.modality.image().is_some() && experiment.image.is_none() {
            experiment.image = Some(ImageSource::Bundled(DEFAULT_SAMPLE.to_owned()));
        }
    }
}

impl Documents {
    /// The model of a document that nobody else needs.
    pub(super) fn replaced_model(&self, id: DocumentId) -> Option<ModelId> {
        let others = self.iter().filter(|other| other.id != id);
        let needed: Vec<_> = others.flat_map(Document::models).collect();
        self.find(id)?.models().find(|id| !needed.contains(id))
    }

    /// The model that another document has from the same place. The document's own is read again: its files may have
    /// changed.
    pub(super) fn shared_model(&self, id: DocumentId, source: &ModelSource) -> Option<Arc<LoadedModel>> {
        let has_it = |document: &&Document| document.model.latest().is_some_and(|model| model.source == *source);
        if self.find(id).is_some_and(|document| has_it(&document)) {
            return None;
        }
        self.iter().find(has_it)?.model.latest().cloned()
    }
}

impl Panes {
    /// Takes in what a run has to say.
    pub(super) fn on_run_event(
        &mut self,
        id: DocumentId,
        update: Update<RunAnswer>,
        documents: &mut Documents,
        notices: &mut Notices,
    ) {
        let Some(document) = documents.find_mut(id) else { return };
        match update {
            Update::Progress(progress) => document.capture.report(progress),
            Update::Answer(RunAnswer::Captured(capture)) => {
                document.opened = None;
                document.made = document.running.take();
                // That it was changed, or cut, is known to whoever did it, and stands above the view.
                let known = [capture.computation().note(), capture.input().part.map(|part| part.to_string())];
                for note in capture.notes().iter().filter(|note| !known.iter().flatten().any(|known| known == *note)) {
                    notices.inform(Cause::Shown(capture.id()), note, "");
                }
                self.show(documents, id, capture);
            }
            Update::Cancelled => document.capture.cancel(),
            // What is offered instead stands beside the text, and stays until somebody chooses.
            Update::Answer(RunAnswer::TooLong(too_long)) => {
                document.capture.fail(too_long.failure.clone());
                document.too_long = Some(too_long);
                self.drop_pending(id);
            }
            Update::Failed(failure) => {
                let ran = document.running.as_ref().map_or(&document.experiment, |running| &running.experiment);
                let cause = Cause::Run(id, Box::new(ran.clone()));
                document.capture.fail(failure.clone());
                self.drop_pending(id);
                notices.fail(cause, failure);
            }
        }
    }
}
