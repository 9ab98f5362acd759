//! Runs of a model on all inputs that were given: those of a corpus several at once.

use std::{sync::Arc, time::Instant};

use super::{CliError, show_progress};
use crate::{
    analysis::PointCloud,
    capture::Capture,
    corpus::{Corpus, CorpusView, Kept, list::InputList},
    model::{Encoded, Input, Model, ModelError, RunPlan, uninterrupted},
    protocol::CorpusOptions,
    text::{bytes_text, counted},
    worker::corpus::{self, packs, run_pack},
};

/// What came of all passes.
pub struct Passes {
    /// One per input, in their order.
    pub captures: Vec<Capture>,
    /// Milliseconds of tokenising and preparing pictures.
    pub encode_ms: f64,
    /// Milliseconds of each pass, `repeat` times each.
    pub forward_ms: Vec<f64>,
}

/// What came so far, and what it took.
struct Runs<'a> {
    model: &'a Model,
    plan: &'a RunPlan,
    /// Rounds of each pass.
    repeat: u32,
    /// What cannot be run is left out.
    lenient: bool,
    passes: Passes,
    /// Inputs in all, those that were run, and bytes of what came of them.
    n_inputs: usize,
    n_run: usize,
    kept: u64,
}

/// Runs `model` on all inputs, each pass `repeat` times. A corpus is made ready in chunks and run in passes of
/// several inputs; what of it cannot be run is left out with a warning.
pub fn run(model: &Model, inputs: &[Input], is_corpus: bool, plan: &RunPlan, repeat: u32) -> Result<Passes, CliError> {
    let passes = Passes { captures: Vec::with_capacity(inputs.len()), encode_ms: 0.0, forward_ms: Vec::new() };
    let n_inputs = inputs.len();
    let mut runs = Runs { model, plan, repeat, lenient: is_corpus, passes, n_inputs, n_run: 0, kept: 0 };
    let is_picture = inputs.iter().any(|input| matches!(input, Input::Image(_)));
    let size = if is_corpus { corpus::chunk_size(is_picture) } else { n_inputs.max(1) };
    for (nth, chunk) in inputs.chunks(size).enumerate() {
        runs.chunk(nth * size, chunk)?;
    }
    if runs.passes.captures.is_empty() {
        return Err(CliError::Failed("none of the inputs can be run; the warnings say why".to_owned()));
    }
    Ok(runs.passes)
}

impl Runs<'_> {
    /// Runs some inputs, the first of which is that one of all.
    fn chunk(&mut self, first: usize, inputs: &[Input]) -> Result<(), CliError> {
        let started = Instant::now();
        let mut encoded: Vec<Option<Encoded>> = Vec::with_capacity(inputs.len());
        for (idx, input) in inputs.iter().enumerate() {
            match self.model.encode(input) {
                Ok(input) => encoded.push(Some(input)),
                Err(error) => {
                    self.leave_out(first + idx, error.into())?;
                    encoded.push(None);
                }
            }
        }
        self.passes.encode_ms += millis(started);
        let n_tokens = |input: &Encoded| input.tokens.values().map(Vec::len).sum();
        let there: Vec<usize> = (0..encoded.len()).filter(|input| encoded[*input].is_some()).collect();
        let passes = if self.lenient {
            let lengths: Vec<usize> = encoded.iter().flatten().map(n_tokens).collect();
            packs(&lengths, CorpusOptions::default().pack_tokens)
        } else {
            (0..there.len()).map(|input| vec![input]).collect()
        };
        let mut captures: Vec<Option<Capture>> = (0..encoded.len()).map(|_| None).collect();
        for pass in passes {
            let pass: Vec<usize> = pass.into_iter().map(|input| there[input]).collect();
            let inputs: Vec<Encoded> = pass.iter().filter_map(|input| encoded[*input].take()).collect();
            for (input, answer) in pass.into_iter().zip(self.pass(&inputs)?) {
                self.n_run += 1;
                match answer {
                    Ok(capture) => {
                        self.kept += capture.size_bytes();
                        captures[input] = Some(capture);
                    }
                    Err(error) => self.leave_out(first + input, error.into())?,
                }
            }
            let left = self.n_inputs.saturating_sub(self.n_run) as u64;
            check_memory(self.model, self.kept / self.n_run.max(1) as u64 * left, self.n_inputs)?;
        }
        self.passes.captures.extend(captures.into_iter().flatten());
        Ok(())
    }

    /// What comes of one pass; the last round counts.
    fn pass(&mut self, inputs: &[Encoded]) -> Result<Vec<Result<Capture, ModelError>>, CliError> {
        let mut answers = Vec::new();
        for round in 1..=self.repeat {
            let started = Instant::now();
            // The bar belongs to the first round; it would cost time in the ones that are measured.
            let control = if round == 1 { &show_progress as _ } else { &uninterrupted as _ };
            answers =
                run_pack(self.model, inputs, self.plan, control).map_err(|stop| CliError::Failed(stop.to_string()))?;
            self.passes.forward_ms.push(millis(started));
        }
        Ok(answers)
    }

    fn leave_out(&mut self, idx: usize, error: CliError) -> Result<(), CliError> {
        if !self.lenient {
            return Err(error);
        }
        let (CliError::Failed(reason) | CliError::Usage(reason)) = error;
        log::warn!("input {} is left out: {reason}", idx + 1);
        Ok(())
    }
}

/// Queries and keys of a list of inputs, and what else is to be kept; those that cannot be run are left out with a
/// warning.
///
/// # Errors
/// When none can be run, or when they do not fit into memory.
pub fn corpus(model: &Model, list: &InputList, kept: Kept) -> Result<Corpus, CliError> {
    let mut corpus = Corpus::new(model.engine().memory_for_a_run().unwrap_or(u64::MAX));
    let options = CorpusOptions { kept, ..CorpusOptions::default() };
    let run = corpus::capture(model, list, &mut corpus, &options, &show_progress, &mut |_| ())
        .map_err(|stop| CliError::Failed(stop.to_string()))?;
    for left_out in &run.left_out {
        log::warn!("left out: {}: {}", left_out.name, left_out.reason);
    }
    if let Some(full) = run.full {
        return Err(CliError::Failed(full.to_string()));
    }
    if corpus.inputs().is_empty() {
        return Err(CliError::Failed("none of the inputs can be run; the warnings say why".to_owned()));
    }
    Ok(corpus)
}

/// Stops early when the captures that are still to come, judged by those that are there, would not fit.
fn check_memory(model: &Model, needed: u64, n_inputs: usize) -> Result<(), CliError> {
    let Some(available) = model.engine().memory_for_a_run().filter(|available| needed > *available) else {
        return Ok(());
    };
    let (needed, available, inputs) = (bytes_text(needed), bytes_text(available), counted(n_inputs, "input"));
    Err(CliError::Failed(format!(
        "{inputs} are too many at once: the captures would take {needed} more, and {available} are free. Give fewer, \
         or record fewer --sites or --layers"
    )))
}

fn millis(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}

/// What captures have together: one alone, or several as a corpus.
///
/// # Errors
/// When there is none, or when they do not go together.
pub fn of_captures(mut captures: Vec<Capture>, kept: Kept) -> Result<PointCloud, CliError> {
    match (captures.pop(), captures.is_empty()) {
        (None, _) => Err(CliError::Failed("there is nothing to show: no input was given".to_owned())),
        (Some(only), true) => Ok(PointCloud::Input(Arc::new(only))),
        (Some(last), false) => {
            let captures: Vec<Arc<Capture>> = captures.into_iter().chain([last]).map(Arc::new).collect();
            let corpus = Corpus::from_captures(&captures, kept, u64::MAX);
            let corpus = corpus.map_err(|error| CliError::Failed(error.to_string()))?;
            Ok(PointCloud::Inputs(Arc::new(CorpusView::all(Arc::new(corpus)))))
        }
    }
}
