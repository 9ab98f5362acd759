//! `attnscope analyze identifiability`: rank, effective attention and mixing over many inputs.

use std::{
    fmt::Write as _,
    io::{self, Write as _},
    path::PathBuf,
};

use clap::Args;
use serde_json::{Value, json};

use super::{
    debate_state::{DebateState, OfInput},
    write_scene,
};
use crate::{
    analysis::{
        bootstrap::Estimate,
        debate::identifiability::{
            IDENTIFIABILITY, Identified, IdentitySummary, LayerIdentity, PUBLISHED, SHOWS, identity_summary,
        },
    },
    cli::{CliError, engine, inputs::PreparationOptions, open_identified, show_progress},
    corpus::list::ListOptions,
    export,
    figure::{
        data::{self, DataColumn, DataFormat, DataValues, Table},
        identifiability::IdentityScene,
    },
    model::{Cancelled, Progress, Stage},
    text::{counted, decimal_text, share_text},
    worker::{self, corpus},
};

/// The model and its inputs.
#[derive(Debug, Args)]
pub struct IdentityArguments {
    /// A model folder, a bundled model such as demo:bert, or a hub id that is in the local cache
    #[arg(long)]
    model: String,
    /// Its inputs: a text, table or JSON file, or a bundled one such as demo:sentences
    #[arg(long, value_name = "PATH")]
    corpus: PathBuf,
    /// Column with the text [default: the likeliest]
    #[arg(long, value_name = "NAME")]
    text_column: Option<String>,
    /// Measure only the first inputs
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    #[command(flatten)]
    how: PreparationOptions,
    /// How often the inputs are drawn anew for the intervals
    #[arg(long, default_value_t = 1000, value_name = "N", value_parser = clap::value_parser!(u32).range(100..=100_000))]
    samples: u32,
    /// The same seed gives the same numbers
    #[arg(long, default_value_t = 0, value_name = "N")]
    seed: u64,
    /// Keep what is measured in this file, and go on from it where it is there
    #[arg(long, value_name = "FILE.json")]
    resume: Option<PathBuf>,
    /// Write JSON (.json), a row for each input and layer (.csv), or a figure (.svg, .pdf, .png), instead of a table; - is
    /// JSON on stdout
    #[arg(long, value_name = "FILE")]
    out: Vec<PathBuf>,
    /// Compute threads
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1024))]
    threads: Option<u16>,
}

impl OfInput for Identified {
    const FORMAT: &'static str = "attnscope-identifiability";

    fn input(&self) -> usize {
        self.input
    }
}

pub fn run(asked: &IdentityArguments) -> Result<(), CliError> {
    let failed = |error: String| CliError::Failed(error);
    let list = ListOptions { text_column: asked.text_column.clone(), ..ListOptions::default() };
    let list = corpus::read(&asked.corpus, &list).map_err(|error| failed(error.to_string()))?;
    let (model, identity) = open_identified(&asked.model, &engine(asked.threads.map(usize::from))?)?;
    let n = list.items.len().min(asked.limit.unwrap_or(usize::MAX));
    let options = json!({ "seed": asked.seed });
    let prepared = asked.how.chosen();
    let mut state =
        DebateState::<Identified>::begin(asked.resume.as_deref(), (&model, &identity), &list, (&options, asked.how))?;
    for nth in state.n_done()..n {
        let go_on = |_: Progress| -> Result<(), Cancelled> {
            show_progress(Progress { stage: Stage::Inputs, done: nth, total: n })
        };
        match worker::debate::identify(&model, (nth, &list.items[nth].content), prepared, asked.seed, &go_on) {
            Ok(found) => state.add(found),
            Err(error) => state.leave_out(nth, error.to_string()),
        }
        state.check_vain(nth, n)?;
        state.keep_now_and_then()?;
    }
    state.keep()?;
    show_progress(Progress { stage: Stage::Inputs, done: n, total: n }).ok();
    let measured = state.measured(n)?;
    let summary = identity_summary(&measured.instances, asked.samples as usize, asked.seed);
    let scene = IdentityScene { model: model.spec().name.clone(), corpus: asked.corpus.display().to_string(), summary };
    if asked.out.is_empty() {
        // A closed pipe is not an error.
        io::stdout().lock().write_all(table(&scene).as_bytes()).ok();
    }
    let document = document(&scene, &measured.left_out, asked);
    asked.out.iter().try_for_each(|out| {
        if out.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("csv")) {
            let rows = rows(&measured.instances);
            return export::atomic_write(out, |out| data::write(&rows, DataFormat::Csv, out))
                .map_err(|error| failed(error.to_string()));
        }
        write_scene(out, &scene, (&IDENTIFIABILITY, "Can the weights be told from the output?"), &document)
    })
}

fn document(scene: &IdentityScene, left_out: &[(usize, String)], asked: &IdentityArguments) -> Value {
    let number = |of: Estimate| json!({ "value": of.value, "low": of.low, "high": of.high });
    let IdentitySummary { n_inputs, width, of_lengths, layers, .. } = &scene.summary;
    let lengths = of_lengths.iter().map(|of| {
        json!({
            "n": of.n_inputs, "tokens": of.n_tokens, "rank": number(of.rank), "effective": number(of.effective),
            "by_chance": number(of.by_chance), "identifiable": number(of.identifiable),
        })
    });
    let layers = layers.iter().map(|of| {
        json!({
            "rank": number(of.rank), "effective": number(of.effective), "by_chance": number(of.by_chance),
            "identifiable": number(of.identifiable), "mixing": of.mixing.map(number),
            "mixing_attention": of.mixing_attention.map(number),
        })
    });
    json!({
        "method": IDENTIFIABILITY.name,
        "parameters": {
            "corpus": asked.corpus, "text_column": asked.text_column, "limit": asked.limit, "samples": asked.samples,
            "seed": asked.seed,
        },
        "model": scene.model,
        "caveat": IDENTIFIABILITY.caveat,
        "shows": SHOWS,
        "published": PUBLISHED,
        "result": {
            "n": n_inputs, "width": width,
            "left_out": left_out.iter().map(|(input, why)| json!({ "input": input, "why": why })).collect::<Vec<_>>(),
            "by_length": lengths.collect::<Vec<_>>(),
            "layers": layers.collect::<Vec<_>>(),
        },
    })
}

/// A row for each input and layer.
fn rows(inputs: &[Identified]) -> Table {
    let places = || inputs.iter().flat_map(|of| of.layers.iter().enumerate().map(move |layer| (of, layer)));
    let number = |of: &dyn Fn(&LayerIdentity) -> Option<f32>| {
        DataValues::Number(places().map(|(_, (_, layer))| of(layer).unwrap_or(f32::NAN)).collect())
    };
    let index = |of: &dyn Fn(&Identified, usize) -> usize| {
        DataValues::Index(places().map(|(input, (layer, _))| of(input, layer) as u32).collect())
    };
    let columns: Vec<(&'static str, DataValues)> = vec![
        ("input", index(&|input, _| input.input)),
        ("tokens", index(&|input, _| input.n_tokens)),
        ("layer", index(&|_, layer| layer)),
        ("rank", number(&|of| Some(of.rank))),
        ("effective", number(&|of| Some(of.effective))),
        ("effective_by_chance", number(&|of| Some(of.by_chance))),
        ("identifiable", number(&|of| Some(of.identifiable))),
        ("mixing", number(&|of| of.mixing)),
        ("mixing_attention", number(&|of| of.mixing_attention)),
    ];
    let columns = columns.into_iter().map(|(name, values)| DataColumn { name: name.into(), values });
    Table { provenance: String::new(), columns: columns.collect() }
}

fn table(scene: &IdentityScene) -> String {
    let IdentitySummary { n_inputs, width, of_lengths, layers, .. } = &scene.summary;
    let mut out = String::new();
    let mut line = |text: String| writeln!(out, "{text}").unwrap_or_default();
    let interval =
        |of: Estimate| format!("{} ({} to {})", decimal_text(of.value), decimal_text(of.low), decimal_text(of.high));
    line(format!(
        "{}, {} of {}: values have {width} numbers; 95 % intervals over inputs",
        scene.model,
        counted(*n_inputs, "input"),
        scene.corpus
    ));
    for of in of_lengths {
        line(format!(
            "{} tokens (n {}): rank {}, effective {}, random rows {}, rows that follow from the output {}",
            decimal_text(of.n_tokens),
            of.n_inputs,
            interval(of.rank),
            interval(of.effective),
            decimal_text(of.by_chance.value),
            share_text(of.identifiable.value)
        ));
    }
    for (layer, of) in layers.iter().enumerate() {
        let mixing = |of: Option<Estimate>| of.map_or_else(|| "not defined".to_owned(), interval);
        line(format!(
            "layer {layer}: effective {}, mixing {}, of attention alone {}",
            interval(of.effective),
            mixing(of.mixing),
            mixing(of.mixing_attention)
        ));
    }
    line(SHOWS.to_owned());
    line(format!("{PUBLISHED}."));
    line(IDENTIFIABILITY.caveat.to_owned());
    out
}
