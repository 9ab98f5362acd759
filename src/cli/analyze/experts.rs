//! `attnscope analyze experts`: tokens that experts get, over many inputs.

use std::{
    fmt::Write as _,
    io::{self, Write as _},
    path::PathBuf,
};

use clap::Args;
use serde_json::{Value, json};

use super::over_corpus::{ReadInputs, write_each};
use crate::{
    analysis::routing::{EXPERTS, ExpertLoad, LayerRouting},
    cli::{CliError, open_model, show_progress},
    figure::{
        data::{DataValues, Table},
        experts_load::ExpertLoadScene,
    },
    model::{Cancelled, Logits, ModelError, Progress, RunPlan, Site, Sites, Stage},
    text::{counted, share_text},
    worker::corpus::input_of,
};

/// The model and its inputs.
#[derive(Debug, Args)]
pub struct ExpertArguments {
    /// A model folder, or a hub id that is in the local cache
    #[arg(long)]
    model: String,
    #[command(flatten)]
    read: ReadInputs,
    /// Count only the first inputs
    #[arg(long, value_name = "N")]
    limit: Option<usize>,
    /// Write JSON (.json), a row for each expert (.csv), or a figure (.svg, .pdf, .png), instead of a table; - is JSON on
    /// stdout
    #[arg(long, value_name = "FILE")]
    out: Vec<PathBuf>,
}

pub fn run(asked: &ExpertArguments) -> Result<(), CliError> {
    let failed = |error: String| CliError::Failed(error);
    let list = asked.read.list()?;
    let model = open_model(&asked.model, &asked.read.engine()?)?;
    let spec = model.spec();
    let has_experts = |stack: &&crate::spec::StackSpec| {
        stack.layers.iter().any(|layer| layer.mlp.is_some_and(|mlp| mlp.experts.is_some()))
    };
    let Some(kind) = spec.stacks.iter().find(has_experts).map(|stack| stack.kind) else {
        return Err(failed(format!("no layer of {} has experts among which a router chooses", spec.name)));
    };
    let plan = RunPlan { sites: Sites::of(&[Site::Router]), logits: Logits::Skip, ..RunPlan::default() };
    let n = list.items.len().min(asked.limit.unwrap_or(usize::MAX));
    let (mut scene, mut left_out) = (
        ExpertLoadScene {
            model: spec.name.clone(),
            corpus: asked.read.name(),
            n_inputs: 0,
            layers: Vec::new(),
            loads: Vec::new(),
        },
        Vec::new(),
    );
    for (nth, item) in list.items.iter().take(n).enumerate() {
        let go_on = |_: Progress| -> Result<(), Cancelled> {
            show_progress(Progress { stage: Stage::Inputs, done: nth, total: n })
        };
        let run = model
            .encode(&input_of(&item.content, asked.read.how.chosen()))
            .and_then(|input| model.forward(&input, &plan, &go_on));
        match run {
            Ok(capture) => add(&mut scene, &LayerRouting::all(&capture, kind)),
            Err(ModelError::Cancelled(stop)) => return Err(failed(stop.to_string())),
            Err(error) => left_out.push((nth, error.to_string())),
        }
    }
    show_progress(Progress { stage: Stage::Inputs, done: n, total: n }).ok();
    if let Some((input, why)) = left_out.first() {
        log::warn!("{} left out, such as number {}: {why}", counted(left_out.len(), "input"), input + 1);
    }
    if scene.loads.is_empty() {
        return Err(failed("none of the inputs can be run; the warnings say why".to_owned()));
    }
    let document = document(&scene, &left_out, asked);
    if asked.out.is_empty() {
        // A closed pipe is not an error.
        io::stdout().lock().write_all(told(&scene).as_bytes()).ok();
    }
    write_each(&asked.out, (&scene, &document), (&EXPERTS, "Which experts do tokens go to?"), || rows(&scene))
}

/// Adds an input.
fn add(scene: &mut ExpertLoadScene, layers: &[LayerRouting]) {
    scene.n_inputs += 1;
    let loads = layers.iter().map(LayerRouting::load);
    if scene.loads.is_empty() {
        scene.layers = layers.iter().map(|routing| routing.layer).collect();
        scene.loads = loads.collect();
    } else {
        scene.loads.iter_mut().zip(loads).for_each(|(all, load)| all.add(&load));
    }
}

fn document(scene: &ExpertLoadScene, left_out: &[(usize, String)], asked: &ExpertArguments) -> Value {
    let layers = scene.layers.iter().zip(&scene.loads).map(
        |(layer, load)| json!({ "layer": layer, "tokens": load.tokens, "share": load.shares(), "even": load.even() }),
    );
    json!({
        "method": EXPERTS.name,
        "parameters": { "corpus": asked.read.corpus, "text_column": asked.read.text_column, "limit": asked.limit },
        "model": scene.model,
        "caveat": EXPERTS.caveat,
        "result": {
            "n": scene.n_inputs,
            "n_tokens": scene.loads.first().map_or(0, |load| load.n_tokens),
            "left_out": left_out.iter().map(|(input, why)| json!({ "input": input, "why": why })).collect::<Vec<_>>(),
            "layers": layers.collect::<Vec<_>>(),
        },
    })
}

/// A row for each expert of each layer.
fn rows(scene: &ExpertLoadScene) -> Table {
    let each = || scene.layers.iter().zip(&scene.loads);
    let experts = || each().flat_map(|(layer, load)| (0..load.tokens.len()).map(move |expert| (layer, load, expert)));
    let index = |of: &dyn Fn((&usize, &ExpertLoad, usize)) -> usize| {
        DataValues::Index(experts().map(|it| of(it) as u32).collect())
    };
    Table::of([
        ("layer", index(&|(layer, ..)| *layer)),
        ("expert", index(&|(_, _, expert)| expert)),
        ("tokens", index(&|(_, load, expert)| load.tokens[expert])),
        ("share", DataValues::Number(each().flat_map(|(_, load)| load.shares()).map(|share| share as f32).collect())),
        ("even", DataValues::Number(experts().map(|(_, load, _)| load.even() as f32).collect())),
    ])
}

fn told(scene: &ExpertLoadScene) -> String {
    let mut out = String::new();
    let mut line = |text: String| writeln!(out, "{text}").unwrap_or_default();
    let n_tokens = scene.loads.first().map_or(0, |load| load.n_tokens);
    line(format!(
        "{}, {} of {}, {}",
        scene.model,
        counted(scene.n_inputs, "input"),
        scene.corpus,
        counted(n_tokens, "token")
    ));
    for (layer, load) in scene.layers.iter().zip(&scene.loads) {
        let shares: Vec<String> = load.shares().into_iter().map(share_text).collect();
        let idle = load.n_idle();
        let even = share_text(load.even());
        line(format!("layer {layer}: {} (even: {even}); without a token: {idle}", shares.join(", ")));
    }
    line(EXPERTS.caveat.to_owned());
    out
}
