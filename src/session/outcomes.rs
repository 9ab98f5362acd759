//! Outcomes of a document's model by name, requested once a name is typed.

use std::sync::Arc;

use super::{Document, Effect};
use crate::{
    ids::{JobId, ModelId},
    protocol::{Outcomes, Request, Update},
};

impl Document {
    /// The outcomes of the model whose run is shown, by name, once they are listed.
    pub fn outcomes(&self) -> Option<&Arc<Outcomes>> {
        let model = self.shown_model()?;
        self.outcomes.latest().filter(|outcomes| outcomes.model() == model)
    }

    /// Whether nobody asked for the outcomes of the model whose run is shown.
    pub fn lacks_outcomes(&self) -> bool {
        self.shown_model().is_some_and(|model| self.outcomes_of != Some(model))
    }

    /// The model that made what is shown, where it is the one that is there.
    fn shown_model(&self) -> Option<ModelId> {
        let (model, capture) = (self.model.latest()?, self.latest_capture()?);
        (self.opened.is_none() && *capture.model() == model.spec).then_some(model.id)
    }

    /// Has the outcomes of its model listed, unless they are, or could not be.
    pub(super) fn list_outcomes(&mut self, job: JobId) -> Vec<Effect> {
        let Some(model) = self.shown_model().filter(|_| self.lacks_outcomes()) else { return Vec::new() };
        self.outcomes_of = Some(model);
        self.outcomes.start(job);
        vec![Effect::Submit(job, Request::Outcomes(self.id, model))]
    }

    pub(super) fn on_outcomes(&mut self, job: JobId, update: Update<Arc<Outcomes>>) {
        if self.outcomes.job() == Some(job) && matches!(update, Update::Cancelled) {
            self.outcomes_of = None;
        }
        self.outcomes.hear(job, update);
    }
}
