//! Several inputs in one pass.

use super::{Model, lengths};
use crate::{
    capture::Capture,
    model::{
        ModelError,
        input::Encoded,
        network::{Network, packed::Pack},
        run::{Control, Run, RunPlan, Taps},
    },
};

impl Model {
    /// [`Self::forward`] of several inputs, one capture for each: as one pass without padding where that can
    /// be done, which saves time with short inputs, and else one by one. The numbers are those of single runs
    /// up to rounding.
    ///
    /// # Errors
    /// As [`Self::forward`]; one input that fails fails them all.
    pub fn forward_packed(
        &self,
        inputs: &[Encoded],
        plan: &RunPlan,
        control: &Control<'_>,
    ) -> Result<Vec<Capture>, ModelError> {
        if inputs.len() < 2 || self.runs_alone(inputs, plan).is_some() {
            return inputs.iter().map(|input| self.forward(input, plan, control)).collect();
        }
        self.engine.install(|| {
            let mut run = Run::packed(plan, &self.spec.stacks, (inputs.len(), Network::rows(inputs)), control);
            let streams = self.network.forward_packed(&Pack::of(inputs), &mut run)?;
            let label = |id| self.reader.label(id);
            let mut outcomes = Vec::with_capacity(inputs.len());
            for (idx, streams) in streams.iter().enumerate() {
                run.enter(Some(idx));
                outcomes.push(self.network.predict(streams, plan.logits, &label, &mut run)?);
            }
            let all = inputs.iter().zip(outcomes).zip(run.finish_packed());
            all.map(|((input, outcome), recorded)| self.capture(input, plan, outcome, recorded, None)).collect()
        })
    }

    /// Why these inputs have to run one by one; `None` when they can be packed into one pass.
    pub fn runs_alone(&self, inputs: &[Encoded], plan: &RunPlan) -> Option<&'static str> {
        if !plan.edits.is_empty() {
            return Some("an edit names positions of one input");
        }
        if plan.generate.is_some() {
            return Some("each input is continued by itself");
        }
        if self.spec.modality.target().is_some() && inputs.iter().any(|input| input.target.is_none()) {
            return Some("the decoder's text is made of each input");
        }
        // More than they take together: scores are each input's own.
        let needed: u64 = inputs.iter().map(|input| self.network.peak_bytes(&lengths(input), plan, Taps::NONE)).sum();
        if self.engine.memory_for_a_run().is_some_and(|available| needed > available) {
            return Some("there is no memory for all of them at once");
        }
        self.network.runs_alone()
    }
}
