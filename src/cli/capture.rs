//! `attnscope capture`: run a model without a window and write what it did.

use std::{
    fs,
    path::{Path, PathBuf},
    time::Instant,
};

use serde_json::json;

use super::{
    CliError,
    compute::ComputeOptions,
    edits::EditOptions,
    inputs::{GroupOptions, InputOptions},
    open_model,
    passes::{self, Passes},
};
use crate::{
    analysis::chosen::{Queries, chosen},
    capture::{
        Capture,
        file::{self, Contents},
    },
    export,
    model::{Generation, Logits, Model, RunPlan, Site, Sites, TokenChoice},
    session::WritingOptions,
};

/// Bytes of whole patterns that a run holds of which some rows are kept.
const PATTERNS_OF_SOME: u64 = 1 << 30;

/// Options of `attnscope capture`.
#[derive(Debug, clap::Args)]
pub struct CaptureOptions {
    /// A model folder, a bundled model such as demo:gpt, or a hub id that is in the local cache
    #[arg(long)]
    model: String,
    #[command(flatten)]
    input: InputOptions,
    #[command(flatten)]
    writing: Writing,
    #[command(flatten)]
    groups: GroupOptions,
    #[command(flatten)]
    edits: EditOptions,
    #[arg(
        long, help = format!("What to record: {}", choices()),
        value_delimiter = ',', default_value = "q,k,v,pattern", value_parser = parse_site)]
    sites: Vec<Contents>,
    /// Record the rows of some queries alone, over all keys: last:8, or positions from 0 such as 5,17,100. Queries and
    /// keys themselves are not written then; a view that needs all rows says that it is not defined
    #[arg(long, value_name = "WHICH", conflicts_with = "edits")]
    queries: Option<Queries>,
    /// Layers to record, such as 0-3,11
    #[arg(long, value_parser = parse_layers)]
    layers: Option<Layers>,
    /// Where to write the capture
    #[arg(long, value_name = "FILE.safetensors")]
    out: Option<PathBuf>,
    /// Run the forward pass this many times
    #[arg(long, default_value_t = 1, value_name = "N", value_parser = clap::value_parser!(u32).range(1..))]
    repeat: u32,
    /// Write how long each step took
    #[arg(long, value_name = "FILE.json")]
    timings: Option<PathBuf>,
    #[command(flatten)]
    compute: ComputeOptions,
}

/// How a model writes.
#[derive(Clone, Copy, Debug, Default, PartialEq, clap::Args)]
pub struct Writing {
    /// Let the model write at most this many tokens; decoder-only models continue the text
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u32).range(1..=4096))]
    pub generate: Option<u32>,
    #[command(flatten)]
    pub chance: ChanceOptions,
    /// Sample from the most probable tokens that together have this probability
    #[arg(long, value_name = "P", value_parser = parse_top_p, conflicts_with = "beams")]
    pub top_p: Option<f64>,
    /// The same seed gives the same text
    #[arg(long, default_value_t = 0, value_name = "N")]
    pub seed: u64,
    #[command(flatten)]
    pub beams: BeamOptions,
}

/// Tokens chosen by chance.
#[derive(Clone, Copy, Debug, Default, PartialEq, clap::Args)]
pub struct ChanceOptions {
    /// Sampling temperature: above 1 more random, below 1 less, 0 always the most probable token
    #[arg(
        long, value_name = "T", allow_negative_numbers = true, value_parser = parse_temperature,
        conflicts_with = "beams"
    )]
    pub temperature: Option<f64>,
    /// Sample so many texts, each with the next seed: the first is read, and writing draws them side by side
    #[arg(
        long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=WritingOptions::MAX_TEXTS as i64),
        conflicts_with = "beams"
    )]
    pub samples: Option<u8>,
}

impl ChanceOptions {
    /// Whether anything is said about it.
    pub const fn is_asked(self) -> bool {
        self.temperature.is_some() || self.samples.is_some()
    }
}

/// Several texts at once.
#[derive(Clone, Copy, Debug, Default, PartialEq, clap::Args)]
pub struct BeamOptions {
    /// Write so many texts at once and take the best of them (beam search)
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u8).range(1..=WritingOptions::MAX_BEAMS as i64))]
    pub beams: Option<u8>,
    /// Of beams: the power of its length that the log probability of a text is divided by [default: 1]
    #[arg(long, value_name = "A", allow_negative_numbers = true, requires = "beams", value_parser = parse_penalty)]
    pub length_penalty: Option<f64>,
}

impl BeamOptions {
    /// The same as a choice of tokens; `None` where none are asked for.
    pub fn choice(self) -> Option<TokenChoice> {
        let width = self.beams.filter(|width| *width > 1)?.into();
        Some(TokenChoice::Beams { width, length_penalty: self.length_penalty.unwrap_or(1.0) })
    }
}

impl Writing {
    /// `None` when nothing was said about it.
    pub fn generation(self) -> Option<Generation> {
        let Self { generate, chance, top_p, seed, beams } = self;
        let ChanceOptions { temperature, samples } = chance;
        let by_chance = chance.is_asked() || top_p.is_some();
        let mut generation = (generate.is_some() || by_chance || beams.beams.is_some()).then(Generation::default)?;
        if let Some(n) = generate {
            generation.max_new_tokens = n as usize;
        }
        if by_chance {
            let (temperature, top_p) = (temperature.unwrap_or(1.0), top_p.unwrap_or(1.0));
            generation.choice = TokenChoice::Sample { temperature, top_p, seed };
            generation.n_texts = samples.unwrap_or(1).into();
        }
        if let Some(choice) = beams.choice() {
            generation.choice = choice;
        }
        Some(generation)
    }
}

/// A list of layers, as one argument.
#[derive(Clone, Debug, PartialEq, Eq)]
struct Layers(Vec<usize>);

pub fn run(options: &CaptureOptions) -> Result<(), CliError> {
    if options.out.is_none() && options.timings.is_none() {
        return Err(CliError::Usage("name the file to write with --out".to_owned()));
    }
    if options.out.as_deref() == Some(Path::new("-")) {
        return Err(CliError::Usage("a capture is binary, so --out needs a file name, not -".to_owned()));
    }
    let inputs = options.input.read()?;
    let engine = options.compute.engine_of_all_cores()?;

    let started = Instant::now();
    let model = open_model(&options.model, &engine)?;
    let load_ms = millis(started);

    let plan = plan(options, &model)?;
    let Passes { mut captures, encode_ms, forward_ms } =
        passes::run(&model, &inputs, options.input.is_corpus(), &plan, options.repeat)?;
    if options.groups.is_some() {
        if captures.len() > 1 {
            let message = "--groups has positions of one input: give one, or group tokens by --brackets";
            return Err(CliError::Usage(message.to_owned()));
        }
        captures = captures.into_iter().map(|capture| options.groups.apply(capture)).collect::<Result<_, _>>()?;
    }
    if let Some(queries) = &options.queries {
        let sites = options.contents().sites;
        let kept = captures.iter().map(|capture| chosen(capture, queries, sites));
        captures = kept.collect::<Result<_, _>>().map_err(|error| CliError::Failed(error.to_string()))?;
    }
    for note in captures.iter().flat_map(Capture::notes) {
        log::warn!("{note}");
    }

    let started = Instant::now();
    if let Some(out) = &options.out {
        let captures: Vec<&Capture> = captures.iter().collect();
        export::atomic_write(out, |writer| file::write(&captures, options.contents(), writer))
            .map_err(|error| CliError::Failed(error.to_string()))?;
    }
    let write_ms = millis(started);
    if let Some(path) = &options.timings {
        let timings = json!({
            "load_ms": load_ms,
            "encode_ms": encode_ms,
            "forward_ms": forward_ms,
            "write_ms": write_ms,
            "peak_rss_mb": peak_rss_mb(),
            "threads": engine.n_threads(),
            "device": engine.device_name(),
        });
        export::atomic_write(path, |writer| Ok(serde_json::to_writer_pretty(writer, &timings)?))
            .map_err(|error| CliError::Failed(error.to_string()))?;
    }
    Ok(())
}

fn plan(options: &CaptureOptions, model: &Model) -> Result<RunPlan, CliError> {
    let Contents { sites, logits } = options.contents();
    let n_layers = model.spec().stacks.iter().map(|stack| stack.layers.len()).max().unwrap_or(0);
    let layers = options.layers.clone().map(|Layers(layers)| layers);
    if let Some(layer) = layers.iter().flatten().find(|layer| **layer >= n_layers) {
        return Err(CliError::Usage(format!("there is no layer {layer}: {} has {n_layers}", model.spec().name)));
    }
    let logits = if logits { Logits::Keep } else { Logits::Skip };
    // What is not kept whole is made of queries and keys, row by row.
    let (sites, pattern_budget_bytes) = match options.queries {
        Some(_) => (sites.with(Site::Q).with(Site::K), PATTERNS_OF_SOME),
        None => (sites, u64::MAX),
    };
    let generate = options.writing.generation();
    let edits = options.edits.edits();
    Ok(RunPlan { sites, layers, pattern_budget_bytes, logits, edits, generate })
}

impl CaptureOptions {
    fn contents(&self) -> Contents {
        let nothing = Contents { sites: Sites::NONE, logits: false };
        self.sites.iter().fold(nothing, |all, chosen| all.and(*chosen))
    }
}

fn choices() -> String {
    Contents::names().collect::<Vec<_>>().join(", ")
}

fn parse_site(name: &str) -> Result<Contents, String> {
    Contents::named(name).ok_or_else(|| format!("choose from {}", choices()))
}

fn parse_temperature(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| (0.0..=100.0).contains(number));
    number.ok_or_else(|| "give a number from 0 to 100".to_owned())
}

fn parse_penalty(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| WritingOptions::LENGTH_PENALTY.contains(number));
    number.ok_or_else(|| "give a number from -5 to 5".to_owned())
}

fn parse_top_p(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number| *number > 0.0 && *number <= 1.0);
    number.ok_or_else(|| "give a number above 0 and at most 1".to_owned())
}

fn parse_layers(text: &str) -> Result<Layers, String> {
    let mut layers = Vec::new();
    for part in text.split(',') {
        let (from, to) = part.split_once('-').unwrap_or((part, part));
        let number = |text: &str| {
            let number = text.trim().parse::<usize>().ok().filter(|layer| *layer < 10_000);
            number.ok_or_else(|| format!("`{part}` is not a layer or a range of layers such as 0-3,11"))
        };
        layers.extend(number(from)?..=number(to)?);
    }
    layers.sort_unstable();
    layers.dedup();
    if layers.is_empty() { Err(format!("`{text}` names no layer")) } else { Ok(Layers(layers)) }
}

fn millis(since: Instant) -> f64 {
    since.elapsed().as_secs_f64() * 1e3
}

/// The most memory the process ever held, where the system tells (Linux).
fn peak_rss_mb() -> Option<f64> {
    let status = fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find(|line| line.starts_with("VmHWM:"))?;
    let kib: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib / 1024.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn layers_are_numbers_and_ranges() {
        assert_eq!(parse_layers("0-2,11,1"), Ok(Layers(vec![0, 1, 2, 11])));
        for wrong in ["", "a", "3-", "-1", "5-2", "99999999"] {
            assert!(parse_layers(wrong).is_err(), "{wrong}");
        }
    }
}
