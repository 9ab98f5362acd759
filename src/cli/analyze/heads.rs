//! `attnscope analyze heads`: which head does what.

use std::{
    fmt::Write as _,
    io::{self, Write as _},
    path::PathBuf,
};

use clap::Args;
use serde_json::{Map, Value, json};

use super::{
    corpus_heads::{self, CorpusHeadsOptions},
    document, write,
};
use crate::{
    analysis::detect::{self, Definition, Detector, Probe, Undefined, stack_scores},
    capture::Capture,
    cli::{
        CliError,
        compute::ComputeOptions,
        inputs::{InputOptions, read_captures},
        open_model, passes, show_progress,
    },
    ids::{HeadId, StackKind},
    model::{ImageSource, Input, Logits, Model, RunPlan, Site, Sites, bundled},
    random::SplitMix,
    spec::Modality,
    text::{counted, decimal_text},
};

/// Heads that the table names for each detector.
const N_BEST: usize = 3;

/// Which heads to score, and on what.
#[derive(Debug, Args)]
pub struct HeadsOptions {
    /// A model folder, a bundled model such as demo:gpt, or a hub id that is in the local cache
    #[arg(long, required_unless_present = "capture", conflicts_with = "capture")]
    pub(super) model: Option<String>,
    /// A capture file instead of a model and its input
    #[arg(long, value_name = "FILE")]
    capture: Option<PathBuf>,
    #[command(flatten)]
    pub(super) input: InputOptions,
    #[command(flatten)]
    pub(super) of_corpus: CorpusHeadsOptions,
    /// Without an input: number of random tokens …
    #[arg(long, default_value_t = 25, value_name = "N", value_parser = clap::value_parser!(u16).range(2..=1024))]
    period: u16,
    /// … repeated so many times …
    #[arg(long, default_value_t = 4, value_name = "N", value_parser = clap::value_parser!(u16).range(2..=64))]
    copies: u16,
    /// … in so many sequences, which are averaged
    #[arg(long, default_value_t = 10, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    samples: u16,
    /// The same seed gives the same random tokens
    #[arg(long, default_value_t = 0, value_name = "N")]
    seed: u64,
    /// Write all scores as JSON instead of a table of the best heads, with --corpus also as a table (.csv); - is JSON on stdout
    #[arg(long, value_name = "FILE.json")]
    pub(super) out: Option<PathBuf>,
    #[command(flatten)]
    pub(super) compute: ComputeOptions,
}

/// All scores of one stack by one detector, by layer then head.
struct Scored {
    stack: StackKind,
    detector: Detector,
    heads: Vec<Vec<Option<f32>>>,
}

impl Scored {
    /// Heads and scores, the highest first.
    fn ranked(&self) -> Vec<(HeadId, f32)> {
        let of_layer = |(layer, heads): (usize, &Vec<Option<f32>>)| {
            let stack = self.stack;
            let scores: Vec<_> = heads.iter().enumerate().filter_map(|(head, score)| Some((head, (*score)?))).collect();
            scores.into_iter().map(move |(head, score)| (HeadId { stack, layer, head }, score))
        };
        let mut ranked: Vec<_> = self.heads.iter().enumerate().flat_map(of_layer).collect();
        ranked.sort_by(|a, b| b.1.total_cmp(&a.1));
        ranked
    }
}

pub fn run(options: &HeadsOptions) -> Result<(), CliError> {
    if options.capture.is_none() && options.input.is_corpus() {
        return corpus_heads::run(options);
    }
    let captures = match (&options.capture, &options.model) {
        (Some(_), _) if !options.input.is_empty() => {
            return Err(CliError::Usage("a capture has its input already: leave out --text and --image".to_owned()));
        }
        (Some(path), _) => read_captures(path)?,
        (None, Some(model)) => run_model(model, options)?,
        (None, None) => return Err(CliError::Usage("name a --model or a --capture".to_owned())),
    };
    let Some(first) = captures.first() else {
        return Err(CliError::Failed("there is nothing to score: the file holds no capture".to_owned()));
    };
    let stacks: Vec<StackKind> = first.model().stacks.iter().map(|stack| stack.kind).collect();
    let of_stack = |stack: StackKind| {
        let scores = stack_scores(&captures, stack).into_iter();
        scores.map(move |(detector, heads)| Scored { stack, detector, heads })
    };
    let mut scored: Vec<Scored> = stacks.into_iter().flat_map(of_stack).collect();
    scored.retain(|entry| entry.heads.iter().flatten().any(Option::is_some));
    if let Some(out) = &options.out {
        return write(&document(&detect::METHOD, &parameters(options), &captures, &result(&scored)), out);
    }
    // A closed pipe is not an error.
    io::stdout().lock().write_all(table(&scored, &captures).as_bytes()).ok();
    Ok(())
}

fn run_model(name: &str, options: &HeadsOptions) -> Result<Vec<Capture>, CliError> {
    let engine = options.compute.engine()?;
    let model = open_model(name, &engine)?;
    let sites = Sites::of(&[Site::Pattern]);
    let plan = RunPlan { sites, logits: Logits::Skip, pattern_budget_bytes: u64::MAX, ..RunPlan::default() };
    if !options.input.is_empty() {
        return Ok(passes::run(&model, &options.input.read()?, false, &plan, 1)?.captures);
    }
    let inputs = probes(&model, options)?;
    inputs.iter().map(|input| Ok(model.forward(&model.encode(input)?, &plan, &show_progress)?)).collect()
}

/// What a model is tried on when nothing was given.
fn probes(model: &Model, options: &HeadsOptions) -> Result<Vec<Input>, CliError> {
    let (period, copies) = (usize::from(options.period), usize::from(options.copies));
    match model.spec().modality {
        Modality::Image(_) => {
            Ok(bundled::samples().map(|name| Input::Image(ImageSource::Bundled(name.to_owned()))).collect())
        }
        // A query that is no word can be tried on no random words.
        Modality::Text(_) if model.spec().reads_by_queries() => {
            Err(CliError::Usage("give this model something to read: --text".to_owned()))
        }
        Modality::Text(text) if period * copies > text.limits().most => {
            let (n, most) = (period * copies, text.limits().most);
            Err(CliError::Usage(format!("{copies} times {period} are {n} tokens, but the model reads at most {most}")))
        }
        Modality::Text(text) => {
            let mut random = SplitMix::new(options.seed);
            let mut ordinary = || -> Result<u32, CliError> {
                // Some models have few ordinary tokens, but none has none.
                for _ in 0..1000 {
                    let id = (random.next() % text.n_vocab.max(1) as u64) as u32;
                    let encoded = model.encode(&Input::Ids(vec![id]))?;
                    if encoded.tokens.values().flatten().all(|token| !token.special) {
                        return Ok(id);
                    }
                }
                Err(CliError::Failed("the model has no ordinary tokens to try it on; give it a --text".to_owned()))
            };
            (0..options.samples)
                .map(|_| {
                    let segment = (0..period).map(|_| ordinary()).collect::<Result<Vec<u32>, _>>()?;
                    Ok(Input::Ids(segment.repeat(copies)))
                })
                .collect()
        }
        _ => Err(CliError::Usage("give this model something to read: --text or --image".to_owned())),
    }
}

fn parameters(options: &HeadsOptions) -> Value {
    if options.capture.is_some() || !options.input.is_empty() {
        return json!({});
    }
    let HeadsOptions { period, copies, samples, seed, .. } = options;
    json!({ "period": period, "copies": copies, "samples": samples, "seed": seed })
}

/// By stack and detector: all scores, and the best head.
fn result(scored: &[Scored]) -> Value {
    let mut stacks = Map::new();
    for entry in scored {
        let best = entry
            .ranked()
            .first()
            .map(|(head, score)| json!({ "layer": head.layer, "head": head.head, "score": score }));
        let stack = stacks.entry(entry.stack.name()).or_insert_with(|| json!({}));
        let Definition { title, meaning, formula, threshold, .. } = entry.detector.definition();
        stack[entry.detector.name()] = json!({
            "title": title,
            "meaning": meaning,
            "formula": formula,
            "threshold": threshold.map(|(least, _)| least),
            "scores": entry.heads,
            "best": best,
        });
    }
    Value::Object(stacks)
}

fn table(scored: &[Scored], captures: &[Capture]) -> String {
    let n = counted(captures.len(), "input");
    let mut text = format!("Highest scores, the mean of {n}; * reaches the threshold of the kind\n");
    for of_stack in scored.chunk_by(|a, b| a.stack == b.stack) {
        let stack = of_stack[0].stack;
        writeln!(text, "\n{stack}").ok();
        for entry in of_stack {
            write!(text, "  {:<16}", entry.detector.name()).ok();
            for (head, score) in entry.ranked().iter().take(N_BEST) {
                let mark = if entry.detector.holds(*score) { '*' } else { ' ' };
                write!(text, "  {:<6} {:>7}{mark}", head.to_string(), decimal_text(*score)).ok();
            }
            if let Some((least, source)) = entry.detector.definition().threshold {
                write!(text, "  from {least} on ({source})").ok();
            }
            text.push('\n');
        }
        text.push_str(&undefined(captures, of_stack, stack));
    }
    text
}

/// Which detectors have nothing to say about a stack, and why.
fn undefined(captures: &[Capture], scored: &[Scored], stack: StackKind) -> String {
    let Some(capture) = captures.first() else { return String::new() };
    let probe = Probe::new(capture, stack);
    let is_silent = |detector: &Detector| scored.iter().all(|entry| entry.detector != *detector);
    let silent = Detector::ALL.into_iter().filter(is_silent);
    undefined_text(silent.filter_map(|detector| Some((detector.name(), probe.score(detector, 0, 0).err()?))))
}

/// Numbers that are not defined, with the reason: a line for each reason.
pub(super) fn undefined_text(numbers: impl Iterator<Item = (&'static str, Undefined)>) -> String {
    let mut by_reason: Vec<(Undefined, Vec<&str>)> = Vec::new();
    for (name, reason) in numbers {
        match by_reason.iter_mut().find(|(known, _)| *known == reason) {
            Some((_, names)) => names.push(name),
            None => by_reason.push((reason, vec![name])),
        }
    }
    let line = |(reason, names): (Undefined, Vec<&str>)| format!("  not defined, as {reason}: {}\n", names.join(", "));
    by_reason.into_iter().map(line).collect()
}
