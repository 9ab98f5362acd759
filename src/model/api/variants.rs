//! Many changed runs of one input: what leaving out, masking, permuting and restoring come down to.

use std::borrow::Cow;

use candle_core::Tensor;

use super::{Model, lengths};
use crate::{
    capture::Matrix,
    model::{
        ModelError,
        input::{Encoded, replaced},
        kernels::with_values,
        network::{Body, Network},
        run::{Control, Edit, Progress, Run, RunPlan, Stage, Taps, edits},
    },
};

/// Rows that share a pass: enough for matrix products at their best, few enough to be stopped soon.
const ROWS_AT_ONCE: usize = 2048;

/// One changed run, of which one row of logits is wanted.
#[derive(Clone, Debug)]
pub struct Variant<'a> {
    /// What is read. A decoder's text must be there.
    pub input: Cow<'a, Encoded>,
    /// What is changed.
    pub edits: Cow<'a, [Edit]>,
    /// Where the run begins, if not at the input.
    pub start: Option<Start>,
    /// Row of the logits: a token position, 0 for classifiers.
    pub row: usize,
}

/// A run that goes on from a layer; for models with one stack.
#[derive(Clone, Debug)]
pub struct Start {
    /// The first layer that runs.
    pub layer: usize,
    /// What enters it, `[n, d_model]`.
    pub stream: Matrix,
}

impl<'a> Variant<'a> {
    /// An input that is changed, from its beginning.
    pub const fn of(input: &'a Encoded, edits: &'a [Edit], row: usize) -> Self {
        Self { input: Cow::Borrowed(input), edits: Cow::Borrowed(edits), start: None, row }
    }
}

impl Model {
    /// Whether runs can begin at a layer ([`Start`]).
    pub const fn goes_on(&self) -> bool {
        matches!(self.network.body, Body::Single(_))
    }

    /// The logits of many changed runs, as many at once as make sense; `each` is told the number of a run and
    /// its logits `[n_outcomes]`, in the order of `variants`.
    ///
    /// # Errors
    /// As [`Self::forward`]; one that fails fails them all.
    pub fn logits_of(
        &self,
        variants: &[Variant<'_>],
        control: &Control<'_>,
        each: &mut dyn FnMut(usize, &[f32]),
    ) -> Result<(), ModelError> {
        let n_rows = |variant: &Variant<'_>| lengths(&variant.input).longest();
        let alone = self.network.runs_alone().is_some();
        let mut done = 0;
        while done < variants.len() {
            // Progress is told in runs, and not in layers.
            let progress = Progress { stage: Stage::Variants, done, total: variants.len() };
            let within = |_: Progress| control(progress);
            let layer = |variant: &Variant<'_>| variant.start.as_ref().map(|start| start.layer);
            let mut rows = 0;
            let fits = |variant: &&Variant<'_>| {
                rows += n_rows(variant);
                layer(variant) == layer(&variants[done]) && rows <= ROWS_AT_ONCE
            };
            let n = if alone { 1 } else { variants[done..].iter().take_while(fits).count().max(1) };
            let logits = self.engine.install(|| self.together(&variants[done..done + n], &within))?;
            let width = logits.dim(1)?;
            with_values(&logits, |values| {
                for (idx, row) in values.chunks_exact(width.max(1)).enumerate() {
                    each(done + idx, row);
                }
            })?;
            done += n;
        }
        Ok(())
    }

    /// `[variants, n_outcomes]` of variants that begin at the same layer.
    fn together(&self, variants: &[Variant<'_>], control: &Control<'_>) -> Result<Tensor, ModelError> {
        let plan = RunPlan::silent();
        let label = |id| self.reader.label(id);
        let mut inputs = Vec::with_capacity(variants.len());
        for variant in variants {
            edits::check(&variant.edits, &self.spec, &variant.input.tokens)?;
            let input = variant.input.clone().into_owned();
            inputs.push(replaced(input, &variant.edits, self.mask_id(), &label)?);
        }
        if let Some(longest) = inputs.iter().max_by_key(|input| lengths(input).longest()) {
            self.check_memory(longest, &plan, Taps::NONE)?;
        }
        let own: Vec<&[Edit]> = variants.iter().map(|variant| &*variant.edits).collect();
        if self.network.runs_alone().is_some() {
            let [variant] = variants else { return Err(ModelError::internal("runs that go alone were packed")) };
            let plan = RunPlan { edits: variant.edits.to_vec(), ..plan };
            let mut run = Run::new(&plan, &self.spec.stacks, Taps::NONE, control);
            let streams = self.network.forward(&inputs[0], &mut run)?;
            return self.network.logits_of(&[(streams, variant.row)], &mut run);
        }
        let packed = (inputs.len(), Network::rows(&inputs));
        let mut run = Run::packed(&plan, &self.spec.stacks, packed, control).with_own_edits(own);
        let starts: Vec<&Start> = variants.iter().filter_map(|variant| variant.start.as_ref()).collect();
        let streams = match starts.first() {
            None => self.network.forward_packed(&inputs, &mut run)?,
            Some(first) => {
                let device = self.engine.device();
                let streams = starts.iter().map(|start| {
                    let [n, width] = start.stream.shape();
                    Tensor::from_slice(start.stream.as_slice(), (n, width), device)
                });
                let x = Tensor::cat(&streams.collect::<candle_core::Result<Vec<_>>>()?, 0)?;
                self.network.resume_packed(&inputs, first.layer, x, &mut run)?
            }
        };
        let rows: Vec<_> = streams.into_iter().zip(variants.iter().map(|variant| variant.row)).collect();
        self.network.logits_of(&rows, &mut run)
    }
}
