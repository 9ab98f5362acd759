//! `attnscope analyze cost`: measured times by the length of the input.

use std::{
    fmt::Write as _,
    io::{self, Write as _},
    path::PathBuf,
    sync::Arc,
};

use clap::Args;
use serde_json::{Value, json};

use super::write_scene;
use crate::{
    analysis::{
        cost,
        timing::{self, LEAST_LENGTHS, METHOD, PRECISION, Timing},
    },
    cli::{CliError, compute::ComputeOptions, open_model, show_progress},
    figure::views::cost::{CostFacts, CostOptions, CostScene},
    ids::HeadId,
    model::{Input, TextInput},
    raster::ColorMap,
    spec::ModelSpec,
    text::{bytes_text, grouped, secs_text, share_text},
    worker,
};

/// The model, and the lengths.
#[derive(Debug, Args)]
pub struct CostArguments {
    /// A model folder, a bundled model such as demo:gpt, or a hub id that is in the local cache
    #[arg(long)]
    model: String,
    /// A text whose tokens inputs repeat [default: fixed tokens]
    #[arg(long, value_name = "TEXT")]
    text: Option<String>,
    /// Lengths in tokens, four or more [default: powers of two from 16 as far as the model takes them]
    #[arg(long, value_delimiter = ',', value_name = "N,N,…")]
    lengths: Vec<usize>,
    /// Write JSON (.json), or a figure (.svg, .pdf, .png), instead of a table; - is JSON on stdout
    #[arg(long, value_name = "FILE")]
    out: Vec<PathBuf>,
    #[command(flatten)]
    compute: ComputeOptions,
}

pub fn run(asked: &CostArguments) -> Result<(), CliError> {
    let engine = asked.compute.engine()?;
    let model = open_model(&asked.model, &engine)?;
    let spec = model.spec();
    let lengths = lengths(spec, &asked.lengths)?;
    let input = asked.text.clone().map(|text| Input::Text(TextInput { text, ..TextInput::default() }));
    let threads = engine.n_threads();
    let timing = worker::timing::measure((&model, threads), input.as_ref(), &lengths, &show_progress, &mut |_| {})?;
    if asked.out.is_empty() {
        // A closed pipe is not an error.
        io::stdout().lock().write_all(table(spec, &timing).as_bytes()).ok();
    }
    let document = document(spec, &timing, asked);
    let facts = CostFacts { head: HeadId::default(), model: Arc::clone(spec), n: 0, of_head: None };
    let scene = CostScene::new(Arc::new(facts), Some(Arc::new(timing)), CostOptions::default(), ColorMap::default());
    let question = "What does length cost?";
    asked.out.iter().try_for_each(|out| write_scene(out, &scene, (&METHOD, question), &document))
}

/// The lengths that were asked for, in order; those that suit the model where none were.
fn lengths(model: &ModelSpec, asked: &[usize]) -> Result<Vec<usize>, CliError> {
    let usage = |why: String| CliError::Usage(why);
    let longest = timing::longest(model).map_err(|why| usage(why.to_owned()))?;
    if asked.is_empty() {
        return timing::lengths(model).map_err(|why| usage(why.to_owned()));
    }
    let mut lengths = asked.to_vec();
    lengths.sort_unstable();
    lengths.dedup();
    match lengths[..] {
        [0, ..] => Err(usage("a length is at least one token".to_owned())),
        [.., last] if last > longest && !timing::reads_longer(model) => {
            Err(usage(format!("the model takes at most {} tokens, not {}", grouped(longest), grouped(last))))
        }
        _ if lengths.len() < LEAST_LENGTHS => {
            Err(usage(format!("a curve needs {LEAST_LENGTHS} lengths or more, such as --lengths 16,64,128,256")))
        }
        _ => Ok(lengths),
    }
}

/// The result as JSON.
fn document(model: &ModelSpec, timing: &Timing, asked: &CostArguments) -> Value {
    let point = |at: &timing::Measured| {
        json!({
            "tokens": at.n, "seconds": at.secs,
            "bytes": { "keys_and_values": cost::key_value_bytes(model, at.n), "patterns": cost::pattern_bytes(model, at.n) },
        })
    };
    let fit = timing.fit();
    json!({
        "method": METHOD.name,
        "parameters": { "text": asked.text, "lengths": asked.lengths },
        "model": { "name": model.name, "family": model.family, "n_params": model.n_params },
        "caveat": METHOD.caveat,
        "result": {
            "threads": timing.threads, "precision": PRECISION, "weight_bytes": cost::weight_bytes(model),
            "measured": timing.measured.iter().map(point).collect::<Vec<_>>(),
            "fit": fit.map(|fit| json!({ "coefficients": fit.coefficients, "furthest": fit.furthest })),
        },
    })
}

/// The result as text.
fn table(model: &ModelSpec, timing: &Timing) -> String {
    let mut table = String::new();
    writeln!(table, "{}, {}", timing.model, timing.machine_text()).ok();
    let fit = timing.fit();
    for at in &timing.measured {
        let [kept, patterns] = [cost::key_value_bytes(model, at.n), cost::pattern_bytes(model, at.n)];
        let [kept, patterns] = [kept, patterns].map(|bytes| bytes_text(bytes as u64));
        let fitted = fit.map_or_else(String::new, |fit| format!("  fitted {:<8}", secs_text(fit.secs(at.n as f64))));
        let (n, secs) = (grouped(at.n), secs_text(at.secs));
        writeln!(table, "{n:>6} tokens  {secs:<8}{fitted}  keys and values {kept:<8}  patterns {patterns}").ok();
    }
    match fit {
        Some(fit) => writeln!(table, "{}, within {}. {}", fit.text(), share_text(fit.furthest), METHOD.caveat).ok(),
        None => writeln!(table, "Too few lengths for a curve: the others take too long. {}", METHOD.caveat).ok(),
    };
    table
}
