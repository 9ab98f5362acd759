//! `attnscope analyze trained-adversary`: twins of a recurrent classifier that are trained here, beside other checkpoints.

use std::{cell::RefCell, fmt::Write as _, fs, io, path::Path};

use clap::Args;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::over_corpus::{KeptMeasures, MeasuredInputs};
use crate::{
    analysis::{
        bootstrap::Estimate,
        debate::twins::{PUBLISHED, TWINS, TwinKind, TwinPoint, TwinStudy, TwinSummary},
    },
    cli::{CliError, note, open_identified, show_progress},
    export,
    figure::{
        data::{DataValues, Table},
        twins::TwinScene,
    },
    model::{Cancelled, Model},
    text::{bytes_text, counted, decimal_text, share_text, unreadable},
    worker::{
        corpus::{inputs_key, model_key},
        debate_twins::{self, TwinOptions, TwinOrder, TwinState},
    },
};

const FORMAT: &str = "attnscope-twins";
const VERSION: u32 = 2;
/// Larger files are refused.
const MAX_BYTES: u64 = 1 << 30;

/// The classifier, its texts, and what is trained.
#[derive(Debug, Args)]
pub struct TwinArguments {
    /// A classifier: a model folder, a bundled model such as demo:bilstm, or a hub id that is in the local cache
    #[arg(long)]
    model: String,
    #[command(flatten)]
    inputs: MeasuredInputs,
    #[command(flatten)]
    kept: KeptMeasures,
    /// Another checkpoint of the same task and tokenizer, such as one of another seed or demo:bilstm-deceiving; again for
    /// each further one
    #[arg(long, value_name = "MODEL")]
    against: Vec<String>,
    /// Weight of the distance of attention in the loss of each adversary
    #[arg(long, value_name = "λ,λ,…", value_delimiter = ',', default_values_t = TwinOptions::default().lambdas)]
    lambda: Vec<f64>,
    #[command(flatten)]
    training: TrainingArguments,
}

/// How twins are trained.
#[derive(Debug, Args)]
pub struct TrainingArguments {
    /// Column with the class of each text [default: one whose values are the model's classes]
    #[arg(long, value_name = "NAME")]
    label_column: Option<String>,
    /// Seeds of what is trained in several ways by chance, such as twins that are only to say the same
    #[arg(long, default_value_t = 3, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=20))]
    seeds: u16,
    /// How often each twin sees the texts
    #[arg(long, default_value_t = TwinOptions::default().n_epochs as u16, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    epochs: u16,
    /// Texts that a twin sees at a time
    #[arg(long, default_value_t = TwinOptions::default().batch as u16, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    batch: u16,
    /// Share of the texts that no twin is trained on: distances are of these
    #[arg(long, default_value_t = 0.2, value_name = "SHARE")]
    held_out: f64,
    /// Learning rate of the twins
    #[arg(long, default_value_t = TwinOptions::default().learning_rate, value_name = "RATE")]
    learning_rate: f64,
}

/// The file that a later run goes on from.
#[derive(Serialize, Deserialize)]
struct KeptTwins {
    format: String,
    version: u32,
    /// What was asked: models, texts and options.
    asked: Value,
    state: TwinState,
}

impl TrainingArguments {
    /// The options, with the weights of what each twin is trained for beside saying the same.
    pub fn options(&self, lambdas: &[f64], seed: u64) -> Result<TwinOptions, CliError> {
        if !(0.05..=0.9).contains(&self.held_out) {
            return Err(CliError::Usage("--held-out is a share from 0.05 to 0.9, such as 0.2".to_owned()));
        }
        if lambdas.iter().any(|lambda| !(lambda.is_finite() && *lambda > 0.0)) {
            let what = "--lambda is above 0; twins without it are the seeds (--seeds)";
            return Err(CliError::Usage(what.to_owned()));
        }
        if !(self.learning_rate > 0.0 && self.learning_rate <= 1.0) {
            return Err(CliError::Usage("--learning-rate is above 0 and at most 1, such as 0.001".to_owned()));
        }
        let mut lambdas = lambdas.to_vec();
        lambdas.sort_by(f64::total_cmp);
        lambdas.dedup();
        Ok(TwinOptions {
            lambdas,
            n_seeds: self.seeds.into(),
            n_epochs: self.epochs.into(),
            batch: self.batch.into(),
            learning_rate: self.learning_rate,
            held_out: self.held_out,
            seed,
            label_column: self.label_column.clone(),
        })
    }
}

pub fn run(asked: &TwinArguments) -> Result<(), CliError> {
    let options = asked.training.options(&asked.lambda, asked.inputs.seed)?;
    let failed = |error: String| CliError::Failed(error);
    let inputs = &asked.inputs;
    let mut list = inputs.read.list()?;
    list.items.truncate(inputs.n_of(list.items.len()));
    let engine = inputs.read.engine()?;
    let (model, identity) = open_identified(&asked.model, &engine)?;
    if let Err(why) = model.check_twins() {
        if asked.against.is_empty() {
            return Err(CliError::Usage(format!("{why}; --against compares it with other checkpoints")));
        }
        note(&format!("{why}: it is compared with other checkpoints alone"));
    }
    let prepared = inputs.read.how.chosen();
    let mut keys = vec![model_key(&identity, &model)];
    let mut others: Vec<(String, Model)> = Vec::new();
    for name in &asked.against {
        let (other, identity) = open_identified(name, &engine)?;
        keys.push(model_key(&identity, &other));
        others.push((other.spec().name.clone(), other));
    }
    let order = TwinOrder { model: &model, list: &list, others: &others, how: prepared, options: &options };
    let key = json!({ "models": keys, "inputs": inputs_key(&list, prepared), "options": options });
    let mut state = match asked.kept.resume.as_deref() {
        Some(path) => read(path, &key)?,
        None => TwinState::default(),
    };
    let kept = RefCell::new(Ok(()));
    let mut told = |state: &TwinState| {
        let Some(path) = asked.kept.resume.as_deref() else { return Ok(()) };
        let found = keep(path, &key, state);
        let is_kept = found.is_ok();
        *kept.borrow_mut() = found;
        if is_kept { Ok(()) } else { Err(Cancelled) }
    };
    let ran = debate_twins::run(order, &mut state, &show_progress, &mut told);
    kept.into_inner()?;
    ran.map_err(|error| failed(error.to_string()))?;
    if let Some((input, why)) = state.left_out.first() {
        let left_out = counted(state.left_out.len(), "text");
        log::warn!("{left_out} left out, such as number {}: {why}", input + 1);
    }
    let study = debate_twins::study(order, &state).map_err(|error| failed(error.to_string()))?;
    let summary = study.summary(inputs.samples(), inputs.seed);
    let scene = TwinScene { model: model.spec().name.clone(), corpus: inputs.read.name(), summary };
    let document = document(&scene, &state, (&options, asked));
    inputs.tell(
        (&scene, &document),
        (&TWINS, "Is attention not not explanation?"),
        || rows(&study, &state, &scene.summary),
        || table(&scene),
    )
}

fn keep(path: &Path, asked: &Value, state: &TwinState) -> Result<(), CliError> {
    let kept =
        KeptTwins { format: FORMAT.to_owned(), version: VERSION, asked: asked.clone(), state: TwinState::clone(state) };
    export::atomic_write(path, |out| Ok(serde_json::to_writer(out, &kept)?))
        .map_err(|error| CliError::Failed(error.to_string()))
}

/// The state of a file, or the beginning where there is none.
fn read(path: &Path, asked: &Value) -> Result<TwinState, CliError> {
    let failed = |why: String| CliError::Failed(format!("the state cannot be read: {why}: {}", path.display()));
    match fs::metadata(path) {
        Ok(file) if file.len() > MAX_BYTES => {
            return Err(failed(format!("it is larger than {}", bytes_text(MAX_BYTES))));
        }
        Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(TwinState::default()),
        _ => {}
    }
    let bytes = fs::read(path).map_err(|error| failed(unreadable(&error)))?;
    let kept: KeptTwins =
        serde_json::from_slice(&bytes).map_err(|_| failed("it is no state of this command".to_owned()))?;
    if kept.format != FORMAT || kept.version != VERSION {
        return Err(failed("it is of another program or version".to_owned()));
    }
    let parts = [
        ("models", "weights (another model, or the same name after it was trained or copied anew)"),
        ("inputs", "texts"),
        ("options", "options"),
    ];
    let other = parts.into_iter().filter(|(part, _)| kept.asked.get(part) != asked.get(part)).map(|(_, name)| name);
    let other: Vec<&str> = other.collect();
    if !other.is_empty() {
        return Err(CliError::Usage(format!(
            "the state was begun with other {}: give the same, or another file to --resume: {}",
            other.join(" and "),
            path.display()
        )));
    }
    Ok(kept.state)
}

fn document(scene: &TwinScene, state: &TwinState, (options, asked): (&TwinOptions, &TwinArguments)) -> Value {
    let number = |of: &Estimate| json!({ "value": of.value, "low": of.low, "high": of.high });
    let TwinSummary { n_trained, n_held_out, base_accuracy, reachable, points, guides } = &scene.summary;
    let points = points.iter().map(|of| {
        json!({
            "kind": of.kind.name(), "title": of.title, "lambda": of.lambda, "seed": of.seed, "tvd": number(&of.tvd),
            "jsd": number(&of.jsd), "kl": of.kl, "decides_alike": of.agrees,
            "accuracy": of.accuracy.as_ref().map(number), "losses": of.losses, "settled": of.has_settled(),
            "shows": of.kind.shows(),
        })
    });
    let guides = guides.iter().map(|of| {
        json!({
            "guide": of.guide, "seeds": of.n_seeds, "accuracy": number(&of.accuracy), "macro_f1": of.f1,
            "macro_f1_std": of.f1_std,
        })
    });
    json!({
        "method": TWINS.name,
        "parameters": asked.inputs.parameters(json!({ "against": asked.against, "options": options })),
        "model": scene.model,
        "caveat": TWINS.caveat,
        "published": PUBLISHED,
        "trained": "LSTMs, attention (begun by chance) and output; word embeddings are the model's",
        "result": {
            "n_trained_on": n_trained, "n_held_out": n_held_out, "reachable": reachable,
            "accuracy": base_accuracy.as_ref().map(number),
            "left_out": state.left_out.iter().map(|(input, why)| json!({ "input": input, "why": why })).collect::<Vec<_>>(),
            "twins": points.collect::<Vec<_>>(),
            "guides": guides.collect::<Vec<_>>(),
        },
    })
}

/// A row for each held-out text and twin.
fn rows<'a>(study: &'a TwinStudy, state: &TwinState, summary: &'a TwinSummary) -> Table {
    let places = || {
        let of_point =
            move |point: &'a TwinPoint| study.held_out.iter().zip(&point.of_texts).map(move |of| (point, of));
        summary.points.iter().flat_map(of_point)
    };
    let texts = |of: &dyn Fn(&TwinPoint) -> String| DataValues::Text(places().map(|(point, _)| of(point)).collect());
    let numbers = |axis: usize| DataValues::Number(places().map(|(_, (_, of))| of[axis] as f32).collect());
    Table::of([
        ("input", DataValues::Index(places().map(|(_, (text, _))| state.texts[*text] as u32).collect())),
        ("kind", texts(&|point| point.kind.name().to_owned())),
        ("twin", texts(&|point| point.title.clone())),
        ("tvd", numbers(0)),
        ("jsd", numbers(1)),
    ])
}

fn table(scene: &TwinScene) -> String {
    let TwinSummary { n_trained, n_held_out, base_accuracy, reachable, points, guides } = &scene.summary;
    let mut out = String::new();
    let mut line = |text: String| writeln!(out, "{text}").unwrap_or_default();
    line(format!(
        "{}, {}: {} to train on, {} held out; distances are from the model, 95 % intervals over held-out texts",
        scene.model,
        scene.corpus,
        counted(*n_trained, "text"),
        counted(*n_held_out, "text")
    ));
    if let Some(of) = base_accuracy {
        let [value, low, high] = [of.value, of.low, of.high].map(share_text);
        line(format!("{:<32} accuracy {value} ({low} to {high})", "the model itself"));
    }
    for point in points {
        line(format!("{:<32} {}", point.title, TwinScene::point_text(point)));
    }
    line(scene.settled_text());
    line(format!("The rows of the model allow a JSD of at most {} in the mean.", decimal_text(*reachable)));
    if !guides.is_empty() {
        line("A model of words alone, its attention given and frozen:".to_owned());
    }
    for row in guides {
        line(format!("  {:<30} {}", row.guide, TwinScene::guide_text(row)));
    }
    for kind in TwinKind::ALL.into_iter().filter(|kind| points.iter().any(|point| point.kind == *kind)) {
        line(format!("{}: {}", kind.title(), kind.shows()));
    }
    line(format!("{PUBLISHED}."));
    line(TWINS.caveat.to_owned());
    out
}
