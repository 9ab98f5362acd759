//! `attnscope analyze lengths`: quality by the length of the source.

use std::{
    fmt::Write as _,
    io::{self, Write as _},
    path::PathBuf,
};

use clap::Args;
use serde_json::{Value, json};

use super::{over_corpus::ReadInputs, write_scene};
use crate::{
    analysis::lengths::{self, Estimate, Graded, LengthCurve, LengthOptions, METHOD, Measure, Tally},
    capture::PredictionRow,
    cli::{CliError, open_model, show_progress},
    corpus::list::{Content, InputList, Item},
    figure::lengths::{LengthScene, slope_text, with_interval},
    ids::Side,
    model::{Engine, Input, Logits, Model, ModelError, RunPlan, Sites, TextInput},
    spec::Modality,
    text::{change_text, counted},
};

/// The models, the pairs, and how they are counted.
#[derive(Debug, Args)]
pub struct LengthsOptions {
    /// A translator: a model folder, a bundled model such as demo:classic, or a hub id that is in the local cache; twice
    /// for the difference of two
    #[arg(long, required = true, value_name = "MODEL")]
    model: Vec<String>,
    #[command(flatten)]
    read: ReadInputs,
    /// Column of the corpus with the translation, as demo:pairs has it
    #[arg(long, value_name = "NAME", default_value = "target")]
    target_column: String,
    /// What is counted: accuracy (tokens that are the first guess, the translation given), bleu (of what is written freely)
    #[arg(long, value_name = "MEASURE", default_value = Measure::default().name())]
    measure: Measure,
    /// First lengths of all bins but the first, in words; bins of fewer than 30 sentences are joined
    #[arg(long, value_delimiter = ',', value_name = "N,N,…", default_values_t = lengths::EDGES)]
    edges: Vec<usize>,
    /// Leave out sentences of more words, such as those longer than any that the models were trained on
    #[arg(long, value_name = "N")]
    longest: Option<usize>,
    /// How often the sentences are drawn anew for the intervals
    #[arg(long, default_value_t = 1000, value_name = "N", value_parser = clap::value_parser!(u32).range(100..=100_000))]
    samples: u32,
    /// The same seed gives the same intervals
    #[arg(long, default_value_t = 0, value_name = "N")]
    seed: u64,
    /// Write JSON (.json), or a figure (.svg, .pdf, .png), instead of a table; - is JSON on stdout
    #[arg(long, value_name = "FILE")]
    out: Vec<PathBuf>,
}

/// A sentence and its translation.
struct Pair {
    text: String,
    target: String,
}

pub fn run(options: &LengthsOptions) -> Result<(), CliError> {
    if options.model.len() > 2 {
        return Err(CliError::Usage("at most two models are compared: name --model once or twice".to_owned()));
    }
    if options.edges.is_empty() || options.edges.windows(2).any(|pair| pair[0] >= pair[1]) {
        return Err(CliError::Usage("the edges have to rise, such as --edges 5,10,20".to_owned()));
    }
    let pairs = pairs(options)?;
    let engine = options.read.engine()?;
    let answers = options.model.iter().map(|name| answers_of(name, &pairs, options, &engine));
    let answers = answers.collect::<Result<Vec<Answers>, _>>()?;
    let mut graded = graded(&pairs, &answers);
    graded.retain(|sentence| options.longest.is_none_or(|longest| sentence.length <= longest));
    if graded.is_empty() {
        return Err(CliError::Failed(
            "none of the pairs is left: the warnings say which cannot be run, and --longest may leave out all"
                .to_owned(),
        ));
    }
    let how = LengthOptions {
        measure: options.measure,
        edges: options.edges.clone(),
        samples: options.samples as usize,
        seed: options.seed,
    };
    let curve = lengths::curve(&graded, answers.len(), &how);
    let scene = LengthScene { models: answers.into_iter().map(|answers| answers.model).collect(), curve };
    if options.out.is_empty() {
        // A closed pipe is not an error.
        io::stdout().lock().write_all(table(&scene).as_bytes()).ok();
    }
    let document = document(&scene, options);
    let question = "Does a longer sentence cost more?";
    options.out.iter().try_for_each(|out| write_scene(out, &scene, (&METHOD, question), &document))
}

/// What was counted of one model.
struct Answers {
    /// What the model is called.
    model: String,
    /// What a text begins with that is no word of it.
    tags: Vec<String>,
    /// By pair; `None` where it cannot be run.
    of_pairs: Vec<Option<Tally>>,
}

fn pairs(options: &LengthsOptions) -> Result<Vec<Pair>, CliError> {
    let InputList { items, columns, .. } = options.read.list()?;
    let name = &options.target_column;
    let column = columns.iter().position(|column| column == name).ok_or_else(|| {
        let others = columns.join(", ");
        CliError::Usage(format!("the corpus has no column “{name}” with translations; name one of them: {others}"))
    })?;
    let pair = |Item { content, values, .. }: Item| {
        let (Content::Text(text), Some(Some(target))) = (content, values.into_iter().nth(column)) else { return None };
        Some(Pair { text, target })
    };
    Ok(items.into_iter().filter_map(pair).collect())
}

/// Runs a model on every pair.
fn answers_of(name: &str, pairs: &[Pair], options: &LengthsOptions, engine: &Engine) -> Result<Answers, CliError> {
    let model = open_model(name, engine)?;
    if !matches!(model.spec().modality, Modality::TextToText { .. }) {
        let message =
            format!("{name} is no translator: the lengths are those of texts that another text is written from");
        return Err(CliError::Usage(message));
    }
    let of_pair = |(nth, pair): (usize, &Pair)| match tally(&model, pair, options) {
        Ok(found) => Some(found),
        Err(error) => {
            log::warn!("pair {} is left out: {error}", nth + 1);
            None
        }
    };
    let of_pairs = pairs.iter().enumerate().map(of_pair).collect();
    Ok(Answers { model: model.spec().name.clone(), tags: model.language_tags(), of_pairs })
}

/// What is counted of one pair.
fn tally(model: &Model, pair: &Pair, options: &LengthsOptions) -> Result<Tally, ModelError> {
    let how = options.read.how.chosen();
    let text = |text: &str| Input::Text(TextInput { text: text.to_owned(), how, ..TextInput::default() });
    let plan = RunPlan { sites: Sites::NONE, logits: Logits::Predict, ..RunPlan::default() };
    if options.measure == Measure::Bleu {
        let plan = RunPlan { logits: Logits::Skip, ..plan };
        let capture = model.forward(&model.encode(&text(&pair.text))?, &plan, &show_progress)?;
        let written = capture.tokens(Side::Decoder).iter().filter(|token| !token.special);
        let written: String = written.map(|token| token.text.replace('␣', " ")).collect();
        return Ok(Tally::of_texts(&written, &pair.target));
    }
    let input = model.encode(&text(&pair.text).with_target(text(&pair.target)))?;
    let capture = model.forward(&input, &plan, &show_progress)?;
    let tokens = capture.tokens(Side::Decoder);
    let guesses = capture.prediction().map_or(&[][..], |prediction| &prediction.rows);
    let is_right = |row: &&PredictionRow| {
        let next = row.position.and_then(|position| tokens.get(position + 1)).and_then(|token| token.id);
        next.is_some() && row.top.first().map(|guess| guess.id) == next
    };
    Ok(Tally::tokens(guesses.iter().filter(is_right).count(), tokens.len().saturating_sub(1)))
}

/// Pairs that every model could run. A tag of the language is no word.
fn graded(pairs: &[Pair], answers: &[Answers]) -> Vec<Graded> {
    let is_word = |word: &&str| !answers.iter().any(|answers| answers.tags.iter().any(|tag| tag == word));
    let of_pair = |(nth, pair): (usize, &Pair)| {
        let tallies = answers.iter().map(|answers| answers.of_pairs[nth]).collect::<Option<Vec<Tally>>>()?;
        let length = pair.text.split_whitespace().filter(is_word).count();
        Some(Graded { length, tallies })
    };
    pairs.iter().enumerate().filter_map(of_pair).collect()
}

/// The result as JSON.
fn document(scene: &LengthScene, options: &LengthsOptions) -> Value {
    let number = |estimate: &Estimate| json!({ "value": estimate.value, "low": estimate.low, "high": estimate.high });
    let LengthCurve { bins, slope, .. } = &scene.curve;
    let bins: Vec<Value> = bins
        .iter()
        .map(|bin| {
            json!({
                "least": bin.least, "mean": bin.mean, "most": bin.most,
                "sentences": bin.n_sentences, "tokens": bin.n_tokens,
                "quality": bin.quality.iter().map(number).collect::<Vec<_>>(),
                "difference": bin.difference.as_ref().map(number),
            })
        })
        .collect();
    json!({
        "method": METHOD.name,
        "parameters": {
            "measure": options.measure.name(), "corpus": options.read.corpus, "target_column": options.target_column, "edges": options.edges,
            "longest": options.longest,
            "samples": options.samples, "seed": options.seed,
        },
        "models": scene.models,
        "caveat": METHOD.caveat,
        "result": { "bins": bins, "slope": slope.as_ref().map(number) },
    })
}

/// The result as text.
fn table(scene: &LengthScene) -> String {
    let mut table = String::new();
    writeln!(table, "{}: {}", scene.curve.measure.title(), scene.models.join(", ")).ok();
    for bin in &scene.curve.bins {
        let lengths = format!("{}–{}", bin.least, bin.most);
        let shares: Vec<String> = bin.quality.iter().map(|estimate| with_interval(*estimate)).collect();
        write!(table, "{lengths:<7} n {:<4} {}", bin.n_sentences, shares.join("  ")).ok();
        if let Some(Estimate { value, low, high }) = bin.difference {
            let [value, low, high] = [value, low, high].map(|part| change_text(100.0 * part));
            write!(table, "  difference {value} ({low} to {high})").ok();
        }
        table.push('\n');
    }
    if let Some(slope) = scene.curve.slope {
        writeln!(table, "{}", slope_text(slope)).ok();
    }
    let n = scene.curve.bins.iter().map(|bin| bin.n_sentences).sum();
    writeln!(table, "{}, over {}. {}", scene.curve.measure.meaning(), counted(n, "sentence"), METHOD.caveat).ok();
    table
}
