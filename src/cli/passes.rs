//! Runs of a model on all inputs that were given: those of a corpus several at once.

use std::time::Instant;

use super::{CliError, show_progress};
use crate::{
    capture::Capture,
    model::{Encoded, Input, Model, RunPlan, uninterrupted},
    worker::corpus::{CorpusOptions, packs, run_pack},
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

/// Runs `model` on all inputs, each pass `repeat` times. Of a corpus, inputs that cannot be run are left out
/// with a warning.
pub fn run(model: &Model, inputs: &[Input], is_corpus: bool, plan: &RunPlan, repeat: u32) -> Result<Passes, CliError> {
    let started = Instant::now();
    let mut encoded: Vec<Option<Encoded>> = Vec::with_capacity(inputs.len());
    for (idx, input) in inputs.iter().enumerate() {
        match model.encode(input) {
            Ok(input) => encoded.push(Some(input)),
            Err(error) if is_corpus => leave_out(idx, &error.into()),
            Err(error) => return Err(error.into()),
        }
    }
    let encode_ms = millis(started);
    let n_tokens = |input: &Option<Encoded>| input.iter().flat_map(|input| input.tokens.values()).map(Vec::len).sum();
    let passes = if is_corpus {
        packs(&encoded.iter().map(n_tokens).collect::<Vec<_>>(), CorpusOptions::default().pack_tokens)
    } else {
        (0..encoded.len()).map(|input| vec![input]).collect()
    };
    let mut captures: Vec<Option<Capture>> = (0..encoded.len()).map(|_| None).collect();
    let mut forward_ms = Vec::new();
    for pass in passes {
        let inputs: Vec<Encoded> = pass.iter().filter_map(|input| encoded[*input].take()).collect();
        let mut answers = Vec::new();
        for round in 1..=repeat {
            let started = Instant::now();
            // The bar belongs to the first round; it would cost time in the ones that are measured.
            let control = if round == 1 { &show_progress as _ } else { &uninterrupted as _ };
            answers = run_pack(model, &inputs, plan, control).map_err(|stop| CliError::Failed(stop.to_string()))?;
            forward_ms.push(millis(started));
        }
        for (input, answer) in pass.into_iter().zip(answers) {
            match answer {
                Ok(capture) => captures[input] = Some(capture),
                Err(error) if is_corpus => leave_out(input, &error.into()),
                Err(error) => return Err(error.into()),
            }
        }
    }
    let captures: Vec<Capture> = captures.into_iter().flatten().collect();
    if captures.is_empty() {
        return Err(CliError::Failed("none of the inputs can be run; the warnings say why".to_owned()));
    }
    Ok(Passes { captures, encode_ms, forward_ms })
}

fn leave_out(idx: usize, error: &CliError) {
    let (CliError::Failed(reason) | CliError::Usage(reason)) = error;
    log::warn!("input {} is left out: {reason}", idx + 1);
}

fn millis(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}
