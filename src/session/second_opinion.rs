//! Comparison of a document's checkpoint with an independent implementation.

use super::{Document, Effect, Experiment};
use crate::{ids::JobId, protocol::Request};

impl Document {
    /// Has its model compared on what it reads now.
    pub(super) fn ask_second_opinion(&mut self, job: JobId) -> Vec<Effect> {
        let Some(model) = self.model.latest().cloned() else { return Vec::new() };
        self.compared_on = Some(Box::new(self.experiment.clone()));
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

    /// The input that it was asked on, as its name, and whether that is the one that is read now.
    pub fn second_opinion_input(&self) -> Option<(String, bool)> {
        let (model, on) = (self.model.latest()?, self.compared_on.as_deref()?);
        let input = |it: &Experiment| it.input(&model.spec).ok();
        Some((on.input_name(&model.spec), input(on) == input(&self.experiment)))
    }
}
