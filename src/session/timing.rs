//! Times of a document's model by the length of its input.

use std::sync::Arc;

use super::{
    Document, Effect,
    notices::{Cause, Notices},
};
use crate::{
    analysis::timing::{self, Timing},
    ids::JobId,
    protocol::{MeasureAnswer, Request, Update},
};

impl Document {
    /// Times of the model whose run is shown, once some were measured.
    pub fn shown_timing(&self) -> Option<&Arc<Timing>> {
        let capture = self.latest_capture()?;
        self.timing.latest().filter(|timing| timing.is_of(capture.model()))
    }

    /// Why its model cannot be measured.
    pub fn timing_obstacle(&self) -> Option<&'static str> {
        match self.model.latest() {
            _ if self.timing.is_pending() => Some("It is being measured"),
            Some(model) if self.opened.is_none() => timing::longest(&model.spec).err(),
            Some(_) | None => Some("There is no model to run"),
        }
    }

    /// Has its model measured on the tokens of what it reads now.
    pub(super) fn measure(&mut self, job: JobId) -> Vec<Effect> {
        let Some(model) = self.model.latest().cloned().filter(|_| self.timing_obstacle().is_none()) else {
            return Vec::new();
        };
        self.timing.start(job);
        let input = self.experiment.input(&model.spec).ok();
        vec![Effect::Submit(job, Request::Measure(self.id, model.id, input))]
    }

    pub(super) fn on_timing(&mut self, job: JobId, update: Update<MeasureAnswer>, notices: &mut Notices) {
        if self.timing.job() != Some(job) {
            return;
        }
        match update {
            Update::Answer(MeasureAnswer::SoFar(timing)) => self.timing.improve(timing),
            Update::Answer(MeasureAnswer::Measured(timing)) => self.timing.hear(job, Update::Answer(timing)),
            Update::Progress(progress) => self.timing.report(progress),
            // What was measured before it was stopped stays.
            Update::Cancelled => self.timing.cancel(),
            Update::Failed(failure) => {
                self.timing.cancel();
                notices.fail(Cause::model(self), failure);
            }
        }
    }
}
