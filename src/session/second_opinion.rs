//! What an independent implementation says about a document's checkpoint.

use std::sync::Arc;

use super::{Effect, Loadable, Session};
use crate::{
    ids::DocumentId,
    protocol::{EventKind, Request},
};

impl Session {
    /// Has the model of the active document compared on what it reads now.
    pub(super) fn ask_second_opinion(&mut self) -> Vec<Effect> {
        let job = self.new_job();
        let document = self.document_mut();
        let Some(model) = document.model.latest().cloned() else { return Vec::new() };
        match document.experiment.input(&model.spec) {
            Err(failure) => {
                document.second_opinion.fail(failure);
                Vec::new()
            }
            Ok(input) => {
                document.second_opinion.start(job);
                vec![Effect::Submit(job, Request::SecondOpinion(document.id, model.id, input))]
            }
        }
    }

    pub(super) fn on_second_opinion(&mut self, id: DocumentId, kind: EventKind) {
        let Some(document) = self.find_document_mut(id) else { return };
        let opinion = &mut document.second_opinion;
        match kind {
            EventKind::Progress(progress) => opinion.report(progress),
            EventKind::SecondOpinion(comparison) => *opinion = Loadable::Ready(Arc::clone(&comparison)),
            EventKind::Cancelled => opinion.cancel(),
            // Said where the answer would be.
            EventKind::Failed(failure) => opinion.fail(failure),
            _ => {}
        }
    }
}
