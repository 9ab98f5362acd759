//! `attnscope analyze likeness`: which input token each state still is, and how alike states are, by layer.

use std::fmt::Write as _;

use clap::Args;
use serde_json::{Value, json};

use super::over_corpus::MeasuredInputs;
use crate::{
    analysis::{
        bootstrap::Estimate,
        likeness::{LIKENESS, LikenessRow, StateLikeness, likeness_rows},
    },
    capture::Capture,
    cli::{CliError, open_model, show_progress},
    figure::{
        data::{DataValues, Table},
        likeness::LikenessScene,
    },
    ids::StackKind,
    model::{Cancelled, Logits, ModelError, Progress, RunPlan, Site, Sites, Stage},
    text::{counted, decimal_text, share_text},
    worker::corpus::input_of,
};

/// The model and its texts.
#[derive(Debug, Args)]
pub struct LikenessArguments {
    /// A model folder, a bundled model such as demo:bert, or a hub id that is in the local cache
    #[arg(long)]
    model: String,
    #[command(flatten)]
    inputs: MeasuredInputs,
}

pub fn run(asked: &LikenessArguments) -> Result<(), CliError> {
    let failed = |error: String| CliError::Failed(error);
    let list = asked.inputs.read.list()?;
    let model = open_model(&asked.model, &asked.inputs.read.engine()?)?;
    let kind = model.spec().stacks.first().map(|stack| stack.kind).unwrap_or_default();
    let sites = Sites::of(&[Site::ResidPre, Site::ResidPost]);
    let plan = RunPlan { sites, logits: Logits::Skip, ..RunPlan::default() };
    let n = asked.inputs.n_of(list.items.len());
    let (mut texts, mut chances, mut left_out) = (Vec::new(), 0.0, Vec::new());
    for (nth, item) in list.items.iter().take(n).enumerate() {
        let go_on = |_: Progress| -> Result<(), Cancelled> {
            show_progress(Progress { stage: Stage::Inputs, done: nth, total: n })
        };
        let run = model
            .encode(&input_of(&item.content, asked.inputs.read.how.chosen()))
            .and_then(|input| model.forward(&input, &plan, &go_on));
        match run.map(|capture| of_capture(&capture, kind)) {
            Ok(Some((n_tokens, found))) => {
                chances += 1.0 / n_tokens as f64;
                texts.push(found);
            }
            Ok(None) => left_out.push((nth, "it has a single token, or its layers have no stream".to_owned())),
            Err(ModelError::Cancelled(stop)) => return Err(failed(stop.to_string())),
            Err(error) => left_out.push((nth, error.to_string())),
        }
    }
    show_progress(Progress { stage: Stage::Inputs, done: n, total: n }).ok();
    if let Some((input, why)) = left_out.first() {
        log::warn!("{} left out, such as number {}: {why}", counted(left_out.len(), "input"), input + 1);
    }
    if texts.is_empty() {
        return Err(failed("none of the inputs can be measured; the warnings say why".to_owned()));
    }
    let scene = LikenessScene {
        model: model.spec().name.clone(),
        corpus: asked.inputs.read.name(),
        n_texts: texts.len(),
        chance: chances / texts.len() as f64,
        rows: likeness_rows(&texts, asked.inputs.samples(), asked.inputs.seed),
    };
    let document = document(&scene, &left_out, asked);
    let question = "Which input is a state still, and how alike are states?";
    asked.inputs.tell((&scene, &document), (&LIKENESS, question), || rows(&scene.rows), || table(&scene))
}

/// Number of tokens, and the embeddings and each layer of a run.
fn of_capture(capture: &Capture, kind: StackKind) -> Option<(usize, Vec<StateLikeness>)> {
    let tokens = capture.query_tokens(kind);
    let only: Vec<usize> = (0..tokens.len()).filter(|position| !tokens[*position].special).collect();
    let layers = &capture.stack(kind)?.layers;
    let embeddings = layers.first()?.resid_pre()?;
    let streams = layers.iter().map(|layer| layer.rows(Site::ResidPost));
    let of = |states| StateLikeness::of(states, embeddings, &only);
    let found: Option<Vec<_>> = std::iter::once(Some(embeddings)).chain(streams).map(|states| of(states?)).collect();
    Some((only.len(), found?))
}

/// What a row is of.
fn name(nth: usize) -> String {
    nth.checked_sub(1).map_or_else(|| "embeddings".to_owned(), |layer| format!("layer {layer}"))
}

fn document(scene: &LikenessScene, left_out: &[(usize, String)], asked: &LikenessArguments) -> Value {
    let number = |of: Estimate| json!({ "value": of.value, "low": of.low, "high": of.high });
    let rows = scene.rows.iter().enumerate().map(|(nth, row)| {
        json!({
            "place": name(nth), "own": number(row.own), "cosine": number(row.cosine), "conicity": number(row.conicity),
        })
    });
    json!({
        "method": LIKENESS.name,
        "parameters": asked.inputs.parameters(json!({ "seed": asked.inputs.seed })),
        "model": scene.model,
        "caveat": LIKENESS.caveat,
        "result": {
            "n": scene.n_texts, "chance": scene.chance,
            "left_out": left_out.iter().map(|(input, why)| json!({ "input": input, "why": why })).collect::<Vec<_>>(),
            "layers": rows.collect::<Vec<_>>(),
        },
    })
}

/// A row for the embeddings and for each layer.
fn rows(rows: &[LikenessRow]) -> Table {
    let number = |of: fn(&LikenessRow) -> f64| DataValues::Number(rows.iter().map(|row| of(row) as f32).collect());
    Table::of([
        ("place", DataValues::Text((0..rows.len()).map(name).collect())),
        ("own", number(|row| row.own.value)),
        ("own_low", number(|row| row.own.low)),
        ("own_high", number(|row| row.own.high)),
        ("cosine", number(|row| row.cosine.value)),
        ("cosine_low", number(|row| row.cosine.low)),
        ("cosine_high", number(|row| row.cosine.high)),
        ("conicity", number(|row| row.conicity.value)),
        ("conicity_low", number(|row| row.conicity.low)),
        ("conicity_high", number(|row| row.conicity.high)),
    ])
}

fn table(scene: &LikenessScene) -> String {
    let mut out = String::new();
    let mut line = |text: String| writeln!(out, "{text}").unwrap_or_default();
    line(format!(
        "{}, {} of {}: by chance {} of the states would be nearest to their own token; 95 % intervals over texts",
        scene.model,
        counted(scene.n_texts, "text"),
        scene.corpus,
        share_text(scene.chance)
    ));
    for (nth, row) in scene.rows.iter().enumerate() {
        line(format!(
            "{}: own token {} ({} to {}), cosine of two states {}, with their mean {}",
            name(nth),
            share_text(row.own.value),
            share_text(row.own.low),
            share_text(row.own.high),
            decimal_text(row.cosine.value),
            decimal_text(row.conicity.value)
        ));
    }
    line(LIKENESS.caveat.to_owned());
    out
}
