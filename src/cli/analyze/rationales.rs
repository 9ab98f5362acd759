//! `attnscope analyze rationales`: how well methods agree with the words that people marked.

use std::{collections::BTreeMap, fmt::Write as _};

use clap::Args;
use serde_json::{Value, json};

use super::over_corpus::MeasuredInputs;
use crate::{
    analysis::{
        bootstrap::Estimate,
        explain::{
            compare,
            report::{LabQuestion, Report},
        },
        rationale::{NamedTokens, Plausibility, RATIONALES, RationaleRow},
    },
    capture::Capture,
    cli::{CliError, open_model, show_progress},
    corpus::list::Item,
    figure::{
        data::{DataValues, Table},
        rationale::RationaleSummary,
    },
    ids::{HeadId, Side},
    lab::{self, FieldValues, LabFocus, LabRun, MethodPreset, Target, split_texts},
    model::{Model, Progress, Stage},
    text::{counted, decimal_text},
    worker::corpus::input_of,
};

/// The model, the texts with marked words, and the methods.
#[derive(Debug, Args)]
pub struct RationaleArguments {
    /// A model folder, a bundled model such as demo:sentiment, or a hub id that is in the local cache
    #[arg(long)]
    model: String,
    #[command(flatten)]
    inputs: MeasuredInputs,
    /// Column of the corpus with the marked words, several with | between them
    #[arg(long, value_name = "NAME", default_value = "reasons")]
    reasons_column: String,
    /// Methods, by the names of their columns in the laboratory [default: those that are there at first and take no minutes]
    #[arg(long, value_delimiter = ',', value_name = "NAME,…")]
    methods: Vec<String>,
}

/// A text, and the words of it that were marked.
struct MarkedText {
    /// Its place in the corpus, from 0.
    number: usize,
    item: Item,
    phrases: Vec<String>,
}

/// What was measured of one text.
struct MeasuredText {
    number: usize,
    n_tokens: usize,
    n_named: usize,
    /// By the name of the column.
    of: BTreeMap<&'static str, Plausibility>,
}

pub fn run(asked: &RationaleArguments) -> Result<(), CliError> {
    let methods = methods(&asked.methods)?;
    let marked = marked(asked)?;
    let model = open_model(&asked.model, &asked.inputs.read.engine()?)?;
    let n = asked.inputs.n_of(marked.len());
    let (mut texts, mut left_out) = (Vec::new(), Vec::new());
    for (nth, text) in marked.iter().take(n).enumerate() {
        show_progress(Progress { stage: Stage::Inputs, done: nth, total: n })
            .map_err(|stop| CliError::Failed(stop.to_string()))?;
        match measure(&model, text, &methods, asked) {
            Ok(found) => texts.push(found),
            Err(why) => left_out.push((text.number, why)),
        }
    }
    show_progress(Progress { stage: Stage::Inputs, done: n, total: n }).ok();
    if let Some((input, why)) = left_out.first() {
        log::warn!("{} left out, such as number {}: {why}", counted(left_out.len(), "input"), input + 1);
    }
    let scene = scene(asked, &model, &methods, &texts)?;
    let document = document(asked, &scene, &left_out);
    let question = "Do methods call important what a person would?";
    asked.inputs.tell((&scene.figure(), &document), (&RATIONALES, question), || rows(&texts), || table(&scene))
}

/// The columns of these names.
fn methods(names: &[String]) -> Result<Vec<&'static MethodPreset>, CliError> {
    let all = || MethodPreset::under(LabQuestion::Depends);
    if names.is_empty() {
        return Ok(all().filter(|column| column.starts && !column.method.is_long).collect());
    }
    let named = |name: &String| {
        all().find(|column| column.name == name).ok_or_else(|| {
            let known: Vec<&str> = all().map(|column| column.name).collect();
            CliError::Usage(format!("there is no method {name}; there are {}", known.join(", ")))
        })
    };
    names.iter().map(named).collect()
}

/// The inputs in which words were marked.
fn marked(asked: &RationaleArguments) -> Result<Vec<MarkedText>, CliError> {
    let list = asked.inputs.read.list()?;
    let name = &asked.reasons_column;
    let column = list.columns.iter().position(|column| column == name).ok_or_else(|| {
        let others = list.columns.join(", ");
        CliError::Usage(format!("the corpus has no column “{name}” with marked words; name one of them: {others}"))
    })?;
    let of = |(number, item): (usize, Item)| {
        let phrases = item.values.get(column)?.as_deref().map(split_texts)?;
        (!phrases.is_empty()).then_some(MarkedText { number, item, phrases })
    };
    let found: Vec<MarkedText> = list.items.into_iter().enumerate().filter_map(of).collect();
    if found.is_empty() {
        return Err(CliError::Usage(format!("no input has words in its column “{name}”")));
    }
    Ok(found)
}

/// Asks each method about the most probable output of a text.
fn measure(
    model: &Model,
    text: &MarkedText,
    methods: &[&'static MethodPreset],
    asked: &RationaleArguments,
) -> Result<MeasuredText, String> {
    let input = model
        .encode(&input_of(&text.item.content, asked.inputs.read.how.chosen()))
        .map_err(|error| error.to_string())?;
    let quiet = |_: &Report| {};
    let run = || LabRun::new(model, &input, &[], &show_progress, &quiet);
    let capture = run().into_plain().map_err(|error| error.to_string())?;
    let side = read_side(&capture).ok_or("it has no text")?;
    let tokens = capture.tokens(side);
    let found = NamedTokens::find(tokens, &text.phrases);
    if !found.missing.is_empty() {
        return Err(format!("its text does not have the words {}", found.missing.join(", ")));
    }
    let ranked = compare::ranked_positions(tokens, false);
    let is_named: Vec<bool> = ranked.iter().map(|at| found.is_named[*at]).collect();
    let stack = capture.model().stacks.first().map(|stack| stack.kind).unwrap_or_default();
    let focus = LabFocus {
        capture: &capture,
        head: HeadId { stack, ..HeadId::default() },
        query: None,
        key: None,
        reverse: None,
    };
    let mut of_methods = BTreeMap::new();
    for column in methods {
        let Ok(call) = column.ask(&focus, &FieldValues::default()) else { continue };
        let Ok(answer) = lab::answer(run(), &call, Target::default()) else { continue };
        let Some(scores) = compare::scores(&answer.report, side).filter(|scores| scores.len() == tokens.len()) else {
            continue;
        };
        let sizes: Vec<f64> = ranked.iter().map(|at| f64::from(scores[*at].abs())).collect();
        if sizes.iter().all(|size| size.is_finite())
            && let Some(plausibility) = Plausibility::of(&sizes, &is_named)
        {
            of_methods.insert(column.name, plausibility);
        }
    }
    if of_methods.is_empty() {
        return Err("no method says something of each of its tokens, or all of them are marked".to_owned());
    }
    let n_named = is_named.iter().filter(|named| **named).count();
    Ok(MeasuredText { number: text.number, n_tokens: ranked.len(), n_named, of: of_methods })
}

/// The text that is read before anything is predicted.
fn read_side(capture: &Capture) -> Option<Side> {
    let is_text = |side: &Side| !capture.tokens(*side).is_empty() && capture.picture_side() != Some(*side);
    [Side::Encoder, Side::Only, Side::Text, Side::Decoder].into_iter().find(is_text)
}

fn scene(
    asked: &RationaleArguments,
    model: &Model,
    methods: &[&'static MethodPreset],
    texts: &[MeasuredText],
) -> Result<RationaleSummary, CliError> {
    let row = |column: &&'static MethodPreset| {
        let of: Vec<Plausibility> = texts.iter().filter_map(|text| text.of.get(column.name).copied()).collect();
        RationaleRow::of((column.name, column.title), &of, asked.inputs.samples(), asked.inputs.seed)
    };
    let mut rows: Vec<RationaleRow> = methods.iter().filter_map(row).collect();
    rows.sort_by(|a, b| b.precision.value.total_cmp(&a.precision.value).then(a.name.cmp(b.name)));
    let chances: Vec<f64> = texts.iter().filter_map(|text| Some(text.of.values().next()?.chance)).collect();
    if rows.is_empty() {
        let what = "no method could be asked about any of the inputs; the warnings say why";
        return Err(CliError::Failed(what.to_owned()));
    }
    Ok(RationaleSummary {
        model: model.spec().name.clone(),
        corpus: asked.inputs.read.name(),
        rows,
        chance: chances.iter().sum::<f64>() / chances.len() as f64,
        n_texts: texts.len(),
    })
}

fn document(asked: &RationaleArguments, scene: &RationaleSummary, left_out: &[(usize, String)]) -> Value {
    let number = |of: Estimate| json!({ "value": of.value, "low": of.low, "high": of.high });
    let row = |row: &RationaleRow| {
        json!({
            "method": row.name, "title": row.title, "n": row.n_texts, "average_precision": number(row.precision),
            "recall_at_k": number(row.recall), "above_chance": number(row.gain),
        })
    };
    json!({
        "method": RATIONALES.name,
        "parameters": asked.inputs.parameters(json!({ "reasons_column": asked.reasons_column, "seed": asked.inputs.seed })),
        "model": scene.model,
        "caveat": RATIONALES.caveat,
        "result": {
            "n": scene.n_texts, "chance": scene.chance,
            "left_out": left_out.iter().map(|(input, why)| json!({ "input": input, "why": why })).collect::<Vec<_>>(),
            "methods": scene.rows.iter().map(row).collect::<Vec<_>>(),
        },
    })
}

/// A row for each text and method.
fn rows(texts: &[MeasuredText]) -> Table {
    let all: Vec<(&MeasuredText, &'static str, Plausibility)> =
        texts.iter().flat_map(|text| text.of.iter().map(move |(name, found)| (text, *name, *found))).collect();
    let index =
        |of: fn(&MeasuredText) -> usize| DataValues::Index(all.iter().map(|(text, ..)| of(text) as u32).collect());
    let number =
        |of: fn(&Plausibility) -> f64| DataValues::Number(all.iter().map(|(.., found)| of(found) as f32).collect());
    Table::of([
        ("input", index(|text| text.number)),
        ("tokens", index(|text| text.n_tokens)),
        ("marked", index(|text| text.n_named)),
        ("method", DataValues::Text(all.iter().map(|(_, name, _)| (*name).to_owned()).collect())),
        ("average_precision", number(|found| found.precision)),
        ("recall_at_k", number(|found| found.recall)),
        ("chance", number(|found| found.chance)),
    ])
}

fn table(scene: &RationaleSummary) -> String {
    let mut out = String::new();
    let mut line = |text: String| writeln!(out, "{text}").unwrap_or_default();
    line(format!(
        "{}, {} of {}: average precision of the marked words, {} by chance; 95 % intervals over texts",
        scene.model,
        counted(scene.n_texts, "text"),
        scene.corpus,
        decimal_text(scene.chance)
    ));
    for row in &scene.rows {
        line(format!(
            "{}: {} ({} to {}), recall at k {}, {}",
            row.title,
            decimal_text(row.precision.value),
            decimal_text(row.precision.low),
            decimal_text(row.precision.high),
            decimal_text(row.recall.value),
            counted(row.n_texts, "text")
        ));
    }
    line(RATIONALES.caveat.to_owned());
    out
}
