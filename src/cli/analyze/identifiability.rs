//! `attnscope analyze identifiability`: rank, effective attention and mixing over many inputs.

use std::fmt::Write as _;

use clap::Args;
use serde_json::{Value, json};

use super::{
    debate_state::{DebateState, OfInput},
    over_corpus::{KeptMeasures, MeasuredInputs},
};
use crate::{
    analysis::{
        bootstrap::Estimate,
        debate::identifiability::{
            IDENTIFIABILITY, Identified, IdentitySummary, LayerIdentity, PUBLISHED, SHOWS, identity_summary,
        },
    },
    cli::{CliError, open_identified, show_progress},
    figure::{
        data::{DataValues, Table},
        identifiability::IdentityScene,
    },
    model::{Cancelled, Progress, Stage},
    text::{counted, decimal_text, share_text},
    worker,
};

/// The model and its inputs.
#[derive(Debug, Args)]
pub struct IdentityArguments {
    /// A model folder, a bundled model such as demo:bert, or a hub id that is in the local cache
    #[arg(long)]
    model: String,
    #[command(flatten)]
    inputs: MeasuredInputs,
    #[command(flatten)]
    kept: KeptMeasures,
}

impl OfInput for Identified {
    const FORMAT: &'static str = "attnscope-identifiability";

    fn input(&self) -> usize {
        self.input
    }
}

pub fn run(asked: &IdentityArguments) -> Result<(), CliError> {
    let MeasuredInputs { read, seed, .. } = &asked.inputs;
    let list = read.list()?;
    let (model, identity) = open_identified(&asked.model, &read.engine()?)?;
    let n = asked.inputs.n_of(list.items.len());
    let options = json!({ "seed": seed });
    let prepared = read.how.chosen();
    let mut state = DebateState::<Identified>::begin(
        asked.kept.resume.as_deref(),
        (&model, &identity),
        &list,
        (&options, read.how),
    )?;
    for nth in state.n_done()..n {
        let go_on = |_: Progress| -> Result<(), Cancelled> {
            show_progress(Progress { stage: Stage::Inputs, done: nth, total: n })
        };
        match worker::debate::identify(&model, (nth, &list.items[nth].content), prepared, *seed, &go_on) {
            Ok(found) => state.add(found),
            Err(error) => state.leave_out(nth, error.to_string()),
        }
        state.check_vain(nth, n)?;
        state.keep_now_and_then()?;
    }
    state.keep()?;
    show_progress(Progress { stage: Stage::Inputs, done: n, total: n }).ok();
    let measured = state.measured(n)?;
    let summary = identity_summary(&measured.instances, asked.inputs.samples(), *seed);
    let scene = IdentityScene { model: model.spec().name.clone(), corpus: read.name(), summary };
    let document = document(&scene, &measured.left_out, asked);
    asked.inputs.tell(
        (&scene, &document),
        (&IDENTIFIABILITY, "Can the weights be told from the output?"),
        || rows(&measured.instances),
        || table(&scene),
    )
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
        "parameters": asked.inputs.parameters(json!({ "seed": asked.inputs.seed })),
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
    Table::of([
        ("input", index(&|input, _| input.input)),
        ("tokens", index(&|input, _| input.n_tokens)),
        ("layer", index(&|_, layer| layer)),
        ("rank", number(&|of| Some(of.rank))),
        ("effective", number(&|of| Some(of.effective))),
        ("effective_by_chance", number(&|of| Some(of.by_chance))),
        ("identifiable", number(&|of| Some(of.identifiable))),
        ("mixing", number(&|of| of.mixing)),
        ("mixing_attention", number(&|of| of.mixing_attention)),
    ])
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
