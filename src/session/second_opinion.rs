//! What an independent implementation says about a document's checkpoint.

use super::{Document, Effect, Loadable};
use crate::{
    ids::JobId,
    protocol::{EventKind, Request},
};

impl Document {
    /// Has its model compared on what it reads now.
    pub(super) fn ask_second_opinion(&mut self, job: JobId) -> Vec<Effect> {
        let Some(model) = self.model.latest().cloned() else { return Vec::new() };
        match self.experiment.input(&model.spec) {
            Err(failure) => {
                self.second_opinion.fail(failure);
                Vec::new()
            }
            Ok(input) => {
                self.second_opinion.start(job);
                vec![Effect::Submit(job, Request::SecondOpinion(self.id, model.id, input))]
            }
        }
    }

    pub(super) fn on_second_opinion(&mut self, event: EventKind) {
        match event {
            EventKind::Progress(progress) => self.second_opinion.report(progress),
            EventKind::SecondOpinion(comparison) => self.second_opinion = Loadable::Ready(comparison),
            EventKind::Cancelled => self.second_opinion.cancel(),
            // Said where the answer would be.
            EventKind::Failed(failure) => self.second_opinion.fail(failure),
            _ => {}
        }
    }
}
