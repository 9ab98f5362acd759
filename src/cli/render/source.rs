//! Where the numbers come from: one run of a model, or a capture file.

use super::RenderOptions;
use crate::{
    capture::Capture,
    cli::{CliError, inputs::read_captures, show_progress},
    model::{Engine, Generation, Logits, Model, RunPlan, Site, Sites, locate},
    session::ViewKind,
};

/// The capture to draw.
pub fn capture(options: &RenderOptions) -> Result<Capture, CliError> {
    match (&options.capture, &options.model) {
        (Some(_), _) if !options.input.is_empty() => {
            Err(CliError::Usage("a capture has its input already: leave out --text and --image".to_owned()))
        }
        (Some(path), _) => only_one(read_captures(path)?, "the file holds"),
        (None, Some(model)) => run(model, options),
        (None, None) => Err(CliError::Usage("name a --model or a --capture".to_owned())),
    }
}

fn only_one<T>(mut all: Vec<T>, what: &str) -> Result<T, CliError> {
    match (all.pop(), all.is_empty()) {
        (Some(only), true) => Ok(only),
        (None, _) => Err(CliError::Failed(format!("there is nothing to draw: {what} none"))),
        (Some(_), false) => {
            let n = all.len() + 1;
            Err(CliError::Usage(format!("a figure shows one input, and {what} {n}: draw them one by one")))
        }
    }
}

fn run(name: &str, options: &RenderOptions) -> Result<Capture, CliError> {
    let input = only_one(options.input.read()?, "the command line gives")?;
    let engine = Engine::cpu(options.threads.map(usize::from)).map_err(|error| CliError::Failed(error.to_string()))?;
    let (files, name) = locate::model(name)?;
    let model = Model::load(&files, &name, &engine, &show_progress)?;
    let planes = matches!(options.view, ViewKind::Scatter | ViewKind::Matrix);
    let sites: &[Site] = if planes { &[Site::Q, Site::K, Site::Pattern] } else { &[Site::Pattern] };
    // Recorded patterns, not recomputed ones: their numbers are those of `capture` to the last digit.
    let mut plan =
        RunPlan { sites: Sites::of(sites), logits: Logits::Skip, pattern_budget_bytes: u64::MAX, ..RunPlan::default() };
    if let Some(n) = options.generate {
        plan.generate = Some(Generation { max_new_tokens: n as usize, ..Generation::default() });
    }
    Ok(model.forward(&model.encode(&input)?, &plan, &show_progress)?)
}
