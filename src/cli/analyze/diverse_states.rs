//! `attnscope analyze diverse-states`: twins of a recurrent classifier whose states are kept apart while they are trained.

use std::fmt::Write as _;

use clap::Args;
use serde_json::{Value, json};

use super::{over_corpus::MeasuredInputs, twins::TrainingArguments};
use crate::{
    analysis::{
        bootstrap::Estimate,
        debate::diversity::{DIVERSE_STATES, DiverseRow, DiverseText, PUBLISHED},
    },
    cli::{CliError, open_model, show_progress},
    figure::{
        data::{DataValues, Table},
        diversity::DiverseScene,
    },
    text::{counted, decimal_text, share_text, weight_text},
    worker::{
        debate_twins::TwinOrder,
        diverse_states::{self, DiverseStudy},
    },
};

/// The classifier, its texts, and how its twins are trained.
#[derive(Debug, Args)]
pub struct DiverseArguments {
    /// A classifier: a model folder, a bundled model such as demo:bilstm, or a hub id that is in the local cache
    #[arg(long)]
    model: String,
    #[command(flatten)]
    inputs: MeasuredInputs,
    /// Weight of the conicity of states in the loss of each twin
    #[arg(long, value_name = "λ,λ,…", value_delimiter = ',', default_values_t = [0.02, 0.05, 0.1, 0.2])]
    lambda: Vec<f64>,
    #[command(flatten)]
    training: TrainingArguments,
}

pub fn run(asked: &DiverseArguments) -> Result<(), CliError> {
    let options = asked.training.options(&asked.lambda, asked.inputs.seed)?;
    let inputs = &asked.inputs;
    let mut list = inputs.read.list()?;
    list.items.truncate(inputs.n_of(list.items.len()));
    let model = open_model(&asked.model, &inputs.read.engine()?)?;
    let order = TwinOrder { model: &model, list: &list, others: &[], how: inputs.read.how.chosen(), options: &options };
    let study = diverse_states::run(order, inputs.samples(), &show_progress)
        .map_err(|error| CliError::Failed(error.to_string()))?;
    if let Some((input, why)) = study.left_out.first() {
        let left_out = counted(study.left_out.len(), "text");
        log::warn!("{left_out} left out, such as number {}: {why}", input + 1);
    }
    let scene = DiverseScene {
        model: model.spec().name.clone(),
        corpus: inputs.read.name(),
        n_trained: study.n_trained,
        rows: study.rows.clone(),
    };
    let parameters = inputs.parameters(json!({ "options": options }));
    let document = document(&scene, &study, &parameters);
    let question = "Does attention explain where states are told apart?";
    inputs.tell((&scene, &document), (&DIVERSE_STATES, question), || rows(&study), || table(&scene))
}

fn document(scene: &DiverseScene, study: &DiverseStudy, parameters: &Value) -> Value {
    let number = |of: &Estimate| json!({ "value": of.value, "low": of.low, "high": of.high });
    let twins = scene.rows.iter().map(|row| {
        json!({
            "title": row.twin.title(), "lambda": row.twin.lambda(), "conicity": number(&row.conicity),
            "tau_gradient": row.tau.as_ref().map(number), "permuted": number(&row.permuted), "tvd": number(&row.tvd),
            "decides_alike": row.agrees, "accuracy": row.accuracy.as_ref().map(number), "losses": row.losses,
            "settled": row.has_settled(),
        })
    });
    json!({
        "method": DIVERSE_STATES.name,
        "parameters": parameters,
        "model": scene.model,
        "caveat": DIVERSE_STATES.caveat,
        "published": PUBLISHED,
        "trained": "LSTMs, attention (begun by chance) and output; word embeddings are the model's",
        "result": {
            "n_trained_on": study.n_trained, "n_held_out": scene.n_held_out(),
            "left_out": study.left_out.iter().map(|(input, why)| json!({ "input": input, "why": why })).collect::<Vec<_>>(),
            "twins": twins.collect::<Vec<_>>(),
        },
    })
}

/// A row for each twin and held-out text.
fn rows(study: &DiverseStudy) -> Table {
    let all: Vec<(&DiverseRow, &DiverseText)> =
        study.rows.iter().flat_map(|row| row.texts.iter().map(move |text| (row, text))).collect();
    let number = |of: fn(&DiverseText) -> Option<f64>| {
        DataValues::Number(all.iter().map(|(_, text)| of(text).map_or(f32::NAN, |value| value as f32)).collect())
    };
    Table::of([
        ("input", DataValues::Index(all.iter().map(|(_, text)| study.texts[text.text] as u32).collect())),
        ("twin", DataValues::Text(all.iter().map(|(row, _)| row.twin.title()).collect())),
        ("conicity", number(|text| Some(text.conicity))),
        ("tau_gradient", number(|text| text.tau)),
        ("permuted", number(|text| Some(text.permuted))),
        ("tvd", number(|text| Some(text.tvd))),
    ])
}

fn table(scene: &DiverseScene) -> String {
    let mut out = String::new();
    let mut line = |text: String| writeln!(out, "{text}").unwrap_or_default();
    line(format!(
        "{}, {}: {} to train on, {} held out; 95 % intervals over held-out texts",
        scene.model,
        scene.corpus,
        counted(scene.n_trained, "text"),
        counted(scene.n_held_out(), "text")
    ));
    let interval = |of: Estimate, text: fn(f64) -> String| {
        let [value, low, high] = [of.value, of.low, of.high].map(text);
        format!("{value} ({low} to {high})")
    };
    for row in &scene.rows {
        let accuracy = row.accuracy.map_or_else(String::new, |of| format!(", accuracy {}", interval(of, share_text)));
        let tau = row.tau.map_or_else(|| "none".to_owned(), |of| interval(of, decimal_text));
        let falls = if row.has_settled() == Some(false) { ", its loss still fell" } else { "" };
        line(format!(
            "{:<28} conicity {}, τ with gradient {tau}, change under shuffled weights {}, TVD {}{accuracy}, decides alike \
             in {}{falls}",
            row.twin.title(),
            interval(row.conicity, decimal_text),
            interval(row.permuted, weight_text),
            interval(row.tvd, weight_text),
            share_text(row.agrees),
        ));
    }
    line(format!("{PUBLISHED}."));
    line(DIVERSE_STATES.caveat.to_owned());
    out
}
