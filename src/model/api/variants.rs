//! Many changed runs of one input: what leaving out, masking, permuting and restoring come down to.

use std::{borrow::Cow, ops::Range, ptr, time::Instant};

use candle_core::Tensor;

use super::{Model, lengths};
use crate::{
    capture::Matrix,
    model::{
        ModelError,
        input::{Encoded, replaced},
        kernels::with_values,
        network::{Network, packed::Pack},
        run::{Control, Edit, Progress, Run, RunPlan, Stage, Taps, edits},
    },
    spec::StackSpec,
};

/// Rows that share a pass: enough for matrix products at their best, few enough to be stopped soon.
const ROWS_AT_ONCE: usize = 2048;

/// Rows that are run to find out how long more of them will take.
const MEASURED_ROWS: usize = 256;

/// One changed run, of which one row of logits is wanted.
#[derive(Clone, Debug)]
pub struct Variant<'a> {
    /// What is read. A decoder's text must be there.
    pub input: Cow<'a, Encoded>,
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

/// The adapter that a run leaves out, if there is one.
fn left_out<'v>(variant: &'v Variant<'_>) -> Option<&'v str> {
    variant.edits.iter().find_map(edits::left_out_adapter)
}

impl Model {
    /// Whether runs can begin at a layer ([`Start`]).
    pub fn goes_on(&self) -> bool {
        self.network.goes_on_from_a_layer() && !self.network.varies_alone()
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
        let alone = self.network.varies_alone();
        let mut done = 0;
        while done < variants.len() {
            // Progress is told in runs, and not in layers.
            let progress = Progress { stage: Stage::Variants, done, total: variants.len() };
            let within = |_: Progress| control(progress);
            let layer = |variant: &Variant<'_>| variant.start.as_ref().map(|start| start.layer);
            let mut rows = 0;
            let model = self.changed_by(&variants[done].edits, &within)?;
            let fits = |variant: &&Variant<'_>| {
                rows += n_rows(variant);
                left_out(variant) == left_out(&variants[done])
                    && layer(variant) == layer(&variants[done])
                    && rows <= ROWS_AT_ONCE
            };
            let n = if alone { 1 } else { variants[done..].iter().take_while(fits).count().max(1) };
            let logits = model.engine.install(|| model.together(&variants[done..done + n], &within))?;
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

    /// How many seconds one run like this takes among many, measured on a few.
    ///
    /// # Errors
    /// As [`Self::logits_of`].
    pub fn secs_of(&self, variant: &Variant<'_>, control: &Control<'_>) -> Result<f64, ModelError> {
        let n = (MEASURED_ROWS / lengths(&variant.input).longest().max(1)).max(1);
        let started = Instant::now();
        self.logits_of(&vec![variant.clone(); n], control, &mut |_, _| ())?;
        Ok(started.elapsed().as_secs_f64() / n as f64)
    }

    /// Seconds that work takes, as a part of much of its kind that all threads share.
    ///
    /// # Errors
    /// Those of the work.
    pub fn secs_of_work<E>(&self, work: impl FnOnce() -> Result<(), E>) -> Result<f64, E> {
        let started = Instant::now();
        work()?;
        Ok(started.elapsed().as_secs_f64() / self.engine.n_threads().max(1) as f64)
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
        if self.network.varies_alone() {
            let [variant] = variants else { return Err(ModelError::internal("runs that go alone were packed")) };
            let plan = RunPlan { edits: variant.edits.to_vec(), ..plan };
            let mut run = Run::new(&plan, &self.spec.stacks, Taps::NONE, control);
            let streams = self.network.forward(&inputs[0], &mut run)?;
            return self.network.logits_of(&[(streams, variant.row)], &mut run);
        }
        let read = self.rows_that_are_read(variants, &inputs)?;
        let row_of = |variant: &Variant<'_>| if read.is_some() { 0 } else { variant.row };
        let rows: Vec<usize> = variants.iter().map(row_of).collect();
        let pack = Pack { inputs: &inputs, alike: self.are_alike(variants), read };
        let packed = (inputs.len(), Network::rows(&inputs));
        let mut run = Run::packed(&plan, &self.spec.stacks, packed, control).with_own_edits(own);
        let starts: Vec<&Start> = variants.iter().filter_map(|variant| variant.start.as_ref()).collect();
        let streams = match starts.first() {
            None => self.network.forward_packed(&pack, &mut run)?,
            Some(first) => {
                let device = self.engine.device();
                let streams = starts.iter().take(if pack.alike { 1 } else { starts.len() }).map(|start| {
                    let [n, width] = start.stream.shape();
                    Tensor::from_slice(start.stream.as_slice(), (n, width), device)
                });
                let x = Tensor::cat(&streams.collect::<candle_core::Result<Vec<_>>>()?, 0)?;
                self.network.resume_packed(&pack, first.layer, x, &mut run)?
            }
        };
        self.network.logits_of(&streams.into_iter().zip(rows).collect::<Vec<_>>(), &mut run)
    }

    /// Whether variants that begin at the same layer are the same run until they attend in it.
    fn are_alike(&self, variants: &[Variant<'_>]) -> bool {
        let Some(first) = variants.first() else { return false };
        let stream = |variant: &Variant<'_>| variant.start.as_ref().map(|start| start.stream.as_slice().as_ptr());
        let layer = first.start.as_ref().map_or(0, |start| start.layer);
        variants.iter().all(|variant| {
            let differs =
                |edit: &Edit| self.spec.stacks.iter().any(|stack| edits::is_before_attending(edit, stack.kind, layer));
            ptr::eq(variant.input.as_ref(), first.input.as_ref())
                && stream(variant) == stream(first)
                && !variant.edits.iter().any(differs)
        })
    }

    /// For each variant the rows of the last stream that its logits are read from; `None` where all are, or
    /// where one of them is changed behind the last attention.
    fn rows_that_are_read(
        &self,
        variants: &[Variant<'_>],
        inputs: &[Encoded],
    ) -> Result<Option<Vec<Range<usize>>>, ModelError> {
        let is_changed = |edit: &Edit| {
            let behind = |stack: &StackSpec| edits::is_behind_attending(edit, stack.kind, stack.layers.len());
            self.spec.stacks.iter().any(behind)
        };
        if variants.iter().any(|variant| variant.edits.iter().any(is_changed)) {
            return Ok(None);
        }
        let read = variants.iter().zip(inputs).map(|(variant, input)| self.network.read_rows(input, variant.row));
        read.collect()
    }
}
