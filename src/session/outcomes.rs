//! What the model of a document can say, by name: asked for once somebody types a name.

use std::sync::Arc;

use super::{Document, Effect, Session};
use crate::{
    ids::{DocumentId, ModelId},
    protocol::{EventKind, Outcomes, Request},
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
}

impl Session {
    /// Has the outcomes of a document's model listed, unless they are, or could not be.
    pub(super) fn list_outcomes(&mut self, id: DocumentId) -> Vec<Effect> {
        let job = self.new_job();
        let Some(document) = self.find_document_mut(id) else { return Vec::new() };
        let Some(model) = document.shown_model().filter(|_| document.lacks_outcomes()) else { return Vec::new() };
        document.outcomes_of = Some(model);
        document.outcomes.start(job);
        vec![Effect::Submit(job, Request::Outcomes(id, model))]
    }

    pub(super) fn on_outcomes(&mut self, id: DocumentId, event: EventKind) {
        let Some(document) = self.find_document_mut(id) else { return };
        match event {
            EventKind::Outcomes(outcomes) => document.outcomes = super::Loadable::Ready(outcomes),
            EventKind::Failed(failure) => document.outcomes.fail(failure),
            EventKind::Cancelled => {
                document.outcomes.cancel();
                document.outcomes_of = None;
            }
            _ => {}
        }
    }
}
