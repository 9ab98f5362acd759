//! `attnscope analyze accuracy`: what a model says of every input of a corpus, against its labels.

use std::{
    collections::BTreeMap,
    fmt::Write as _,
    io::{self, Write as _},
    path::PathBuf,
};

use clap::Args;
use serde_json::{Value, json};

use super::{document, over_corpus::ReadInputs, write};
use crate::{
    analysis::{
        accuracy::{Agreement, METHOD, Verdict, token_losses},
        explain::report::spec_json,
        head_statistics::{Moments, Tally},
    },
    cli::{CliError, open_model, show_progress},
    corpus::list::{Content, InputList, Item},
    export,
    ids::Side,
    model::{Logits, Model, ModelError, RunPlan, Sites},
    outputs::OutputKind,
    spec::HeadKind,
    text::{counted, decimal_text, weight_text},
    worker::corpus,
};

/// The column that is taken where none is named.
const LABEL: &str = "label";
/// Inputs with the largest losses that the table names, and characters of each.
const N_WORST: usize = 5;
const MOST_CHARS: usize = 60;
/// Larger confusion tables are for files.
const MOST_CLASSES: usize = 12;

/// The model, the inputs, and their labels.
#[derive(Debug, Args)]
pub struct AccuracyOptions {
    /// A classifier or a language model: a model folder, a bundled model such as demo:bilstm, or a hub id that is in the
    /// local cache
    #[arg(long)]
    model: String,
    #[command(flatten)]
    inputs: ReadInputs,
    /// Column with the name or the number of the right class [default: label, where there is one]
    #[arg(long, value_name = "NAME")]
    label_column: Option<String>,
    /// Write JSON (.json) or a row for each input (.csv) instead of a table; - is JSON on stdout
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
}

/// What is said of one input.
struct Told<'a> {
    /// Its place in the list.
    source: usize,
    name: &'a str,
    label: Option<&'a str>,
    of: Of,
}

enum Of {
    Class(Verdict),
    /// Losses of its tokens.
    Tokens(Tally),
}

impl Of {
    /// The loss in nats: of the label, or of a token on average.
    fn loss(&self) -> Option<f64> {
        match self {
            Self::Class(verdict) => verdict.loss,
            Self::Tokens(tally) => Some(tally.sum / tally.weight),
        }
    }
}

/// All of it.
struct Answer<'a> {
    told: Vec<Told<'a>>,
    /// Names of the classes that a label or a verdict is.
    names: BTreeMap<usize, String>,
    agreement: Agreement,
    /// Losses of the tokens of a language model.
    tokens: Moments,
    is_of_tokens: bool,
    left_out: Vec<(usize, String)>,
}

pub fn run(options: &AccuracyOptions) -> Result<(), CliError> {
    let list = options.inputs.list()?;
    let model = open_model(&options.model, &options.inputs.engine()?)?;
    let is_of_tokens = match model.spec().head {
        Some(HeadKind::TextClass | HeadKind::ImageClass) => false,
        Some(HeadKind::NextToken) if model.spec().modality.target().is_none() => true,
        _ => {
            return Err(CliError::Usage(format!(
                "{} says nothing that labels of inputs or the next tokens of texts could be held against: name a classifier or \
                 a language model that reads from left to right",
                options.model
            )));
        }
    };
    let labels = labels(&list, options, is_of_tokens)?;
    let answer = answer(&model, &list, &labels, options, is_of_tokens)?;
    for (source, reason) in &answer.left_out {
        log::warn!("left out: input {source}: {reason}");
    }
    if answer.told.is_empty() {
        return Err(CliError::Failed("none of the inputs can be run; the warnings say why".to_owned()));
    }
    match &options.out {
        Some(out) if out.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("csv")) => {
            let text = csv(&answer);
            export::atomic_write(out, |out| out.write_all(text.as_bytes()))
                .map_err(|error| CliError::Failed(error.to_string()))
        }
        Some(out) => {
            let parameters =
                json!({ "corpus": options.inputs.corpus, "label_column": labels.name, "inputs": list.items.len() });
            let mut document = document(&METHOD, &parameters, &[], &result(&answer));
            document["model"] = spec_json(model.spec());
            write(&document, out)
        }
        None => {
            // A closed pipe is not an error.
            io::stdout().lock().write_all(table(&answer).as_bytes()).ok();
            Ok(())
        }
    }
}

/// The labels of a list.
struct LabelColumn {
    name: Option<String>,
    column: Option<usize>,
}

impl LabelColumn {
    fn of<'a>(&self, item: &'a Item) -> Option<&'a str> {
        item.values.get(self.column?)?.as_deref()
    }
}

fn labels(list: &InputList, options: &AccuracyOptions, is_of_tokens: bool) -> Result<LabelColumn, CliError> {
    let named = options.label_column.as_deref();
    if is_of_tokens && named.is_some() {
        let message = "a language model says no class: leave out --label-column".to_owned();
        return Err(CliError::Usage(message));
    }
    let name = named.unwrap_or(LABEL);
    let column = list.columns.iter().position(|known| known == name).filter(|_| !is_of_tokens);
    if let (Some(name), None) = (named, column) {
        let known = if list.columns.is_empty() { "none".to_owned() } else { list.columns.join(", ") };
        return Err(CliError::Usage(format!("the corpus has no column {name}: it has {known}")));
    }
    Ok(LabelColumn { name: column.map(|_| name.to_owned()), column })
}

fn answer<'a>(
    model: &Model,
    list: &'a InputList,
    labels: &LabelColumn,
    options: &AccuracyOptions,
    is_of_tokens: bool,
) -> Result<Answer<'a>, CliError> {
    let plan = RunPlan { sites: Sites::NONE, logits: Logits::Keep, ..RunPlan::default() };
    let (agreement, tokens, names) = (Agreement::default(), Moments::default(), BTreeMap::new());
    let mut answer = Answer { told: Vec::new(), names, agreement, tokens, is_of_tokens, left_out: Vec::new() };
    let mut unknown: Vec<&str> = Vec::new();
    for (source, item) in list.items.iter().enumerate() {
        let run = model
            .encode(&corpus::input_of(&item.content, options.inputs.how.chosen()))
            .and_then(|input| model.forward(&input, &plan, &show_progress));
        let capture = match run {
            Ok(capture) => capture,
            Err(ModelError::Cancelled(stop)) => return Err(CliError::Failed(stop.to_string())),
            Err(error) => {
                answer.left_out.push((source, error.to_string()));
                continue;
            }
        };
        let outputs = capture.prediction().map(|prediction| prediction.outputs);
        if outputs.is_some_and(|outputs| matches!(outputs, OutputKind::Labels | OutputKind::Scores)) {
            let message = "the head of the model gives scores or labels of which several may hold, so that no class is right: \
                           capture --corpus has its numbers";
            return Err(CliError::Usage(message.to_owned()));
        }
        let label = labels.of(item);
        let of = capture.logits().and_then(|logits| {
            if is_of_tokens {
                let ids: Vec<Option<u32>> = capture.tokens(Side::Only).iter().map(|token| token.id).collect();
                return token_losses(logits, &ids).map(Of::Tokens);
            }
            let row = logits.rows().next()?;
            let class = label.and_then(|label| class_of(model, row.len(), label));
            if let (Some(label), None) = (label, class)
                && !unknown.contains(&label)
            {
                unknown.push(label);
            }
            Verdict::of(row, class).map(Of::Class)
        });
        let Some(of) = of else {
            let reason = if is_of_tokens { "the text has a single token" } else { "the output is not finite" };
            answer.left_out.push((source, reason.to_owned()));
            continue;
        };
        match &of {
            Of::Class(verdict) => {
                answer.agreement.add(verdict);
                for class in [verdict.label, Some(verdict.class)].into_iter().flatten() {
                    answer.names.entry(class).or_insert_with(|| model.outcome_label(class as u32));
                }
            }
            Of::Tokens(tally) => answer.tokens.add(*tally),
        }
        let name = item.name.as_deref().or(item.content.text()).unwrap_or(match &item.content {
            Content::BundledPicture(name) => name,
            _ => "picture",
        });
        answer.told.push(Told { source, name, label, of });
    }
    if !unknown.is_empty() && answer.agreement.n() == 0 {
        let names: Vec<&str> = answer.names.values().map(String::as_str).collect();
        return Err(CliError::Usage(format!(
            "no label is the name or the number of a class: the labels are {}, the model says {}",
            unknown.join(", "),
            names.join(", ")
        )));
    }
    if !unknown.is_empty() {
        log::warn!("labels that are no class of the model are left out: {}", unknown.join(", "));
    }
    Ok(answer)
}

/// The class that a label names, by its name in whatever case or its number.
fn class_of(model: &Model, n: usize, label: &str) -> Option<usize> {
    let label = label.trim();
    let is_named = |class: &usize| model.outcome_label(*class as u32).to_lowercase() == label.to_lowercase();
    (0..n).find(is_named).or_else(|| label.parse().ok().filter(|class| *class < n))
}

fn result(answer: &Answer<'_>) -> Value {
    let name = |class: usize| answer.names.get(&class).map_or("", String::as_str);
    let inputs: Vec<Value> = answer
        .told
        .iter()
        .map(|told| match &told.of {
            Of::Class(verdict) => json!({
                "input": told.source, "name": told.name, "label": told.label, "class": name(verdict.class),
                "probability": verdict.probability, "loss": verdict.loss, "right": verdict.is_right(),
            }),
            Of::Tokens(tally) => json!({
                "input": told.source, "name": told.name, "loss": told.of.loss(), "tokens": tally.n_rows,
            }),
        })
        .collect();
    let loss = if answer.is_of_tokens { answer.tokens.statistic() } else { answer.agreement.loss() };
    let loss = loss.map(|loss| json!({ "value": loss.value, "error": loss.error, "n": loss.n_rows }));
    let accuracy = answer.agreement.accuracy().map(|accuracy| {
        json!({ "value": accuracy.value, "low": accuracy.low, "high": accuracy.high, "n": answer.agreement.n() })
    });
    let classes = answer.agreement.classes();
    let counts: Vec<Vec<u64>> = classes
        .iter()
        .map(|label| classes.iter().map(|class| answer.agreement.count(*label, *class)).collect())
        .collect();
    let names: Vec<&str> = classes.iter().map(|class| name(*class)).collect();
    let confusion = json!({ "classes": names, "rows": "label", "columns": "class", "counts": counts });
    let left_out: Vec<Value> =
        answer.left_out.iter().map(|(source, reason)| json!({ "input": source, "reason": reason })).collect();
    json!({ "accuracy": accuracy, "loss": loss, "confusion": confusion, "inputs": inputs, "left_out": left_out })
}

/// A row for each input.
fn csv(answer: &Answer<'_>) -> String {
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let mut text = "input,name,label,class,probability,loss,right,tokens\n".to_owned();
    for told in &answer.told {
        write!(text, "{},{},{},", told.source, quoted(told.name), told.label.map(quoted).unwrap_or_default()).ok();
        let loss = told.of.loss().map(|loss| loss.to_string()).unwrap_or_default();
        match &told.of {
            Of::Class(verdict) => {
                let class = quoted(answer.names.get(&verdict.class).map_or("", String::as_str));
                let right = verdict.is_right().map(|right| right.to_string()).unwrap_or_default();
                writeln!(text, "{class},{},{loss},{right},", verdict.probability).ok();
            }
            Of::Tokens(tally) => {
                writeln!(text, ",,{loss},,{}", tally.n_rows).ok();
            }
        }
    }
    text
}

fn table(answer: &Answer<'_>) -> String {
    let mut text = String::new();
    let n = counted(answer.told.len(), "input");
    let with_error = |error: Option<f64>| error.map(|error| format!(" ± {}", weight_text(error))).unwrap_or_default();
    if let Some(accuracy) = answer.agreement.accuracy() {
        let [value, low, high] = [accuracy.value, accuracy.low, accuracy.high].map(decimal_text);
        let labelled = answer.agreement.n();
        writeln!(text, "Accuracy {value} ({low} to {high}, 95 %) of {}", counted(labelled as usize, "labelled input"))
            .ok();
    } else if !answer.is_of_tokens {
        writeln!(text, "{n}; no label to hold classes against: name its column with --label-column").ok();
    }
    if let Some(loss) = answer.agreement.loss() {
        writeln!(text, "Mean loss {}{} nats", decimal_text(loss.value), with_error(loss.error)).ok();
    }
    if let Some(loss) = answer.tokens.statistic() {
        let tokens = counted(loss.n_rows as usize, "token");
        let (value, error) = (decimal_text(loss.value), with_error(loss.error));
        let perplexity = decimal_text(loss.value.exp());
        writeln!(text, "Mean loss {value}{error} nats per token, perplexity {perplexity}, {tokens} of {n}").ok();
    }
    confusion(&mut text, answer);
    let mut worst: Vec<(f64, &Told<'_>)> =
        answer.told.iter().filter_map(|told| Some((told.of.loss()?, told))).collect();
    worst.sort_by(|a, b| b.0.total_cmp(&a.0));
    if !worst.is_empty() {
        text.push_str("\nLargest losses\n");
    }
    for (loss, told) in worst.into_iter().take(N_WORST) {
        let name: String = told.name.chars().take(MOST_CHARS).collect();
        let rest = if told.name.chars().nth(MOST_CHARS).is_some() { "…" } else { "" };
        let class = match (&told.of, told.label) {
            (Of::Class(verdict), Some(label)) => {
                let class = answer.names.get(&verdict.class).map_or("", String::as_str);
                format!("{label}, said {class} {}  ", decimal_text(verdict.probability))
            }
            _ => String::new(),
        };
        writeln!(text, "  {:>6}  {class}{name}{rest}", decimal_text(loss)).ok();
    }
    text
}

/// Inputs by label, downwards, and class, across.
fn confusion(text: &mut String, answer: &Answer<'_>) {
    let classes = answer.agreement.classes();
    if classes.is_empty() {
        return;
    }
    if classes.len() > MOST_CLASSES {
        writeln!(text, "{} classes: --out has the table of labels and classes", classes.len()).ok();
        return;
    }
    let name = |class: &usize| answer.names.get(class).map_or("", String::as_str);
    let width = classes.iter().map(|class| name(class).chars().count()).max().unwrap_or(0).max(5);
    text.push_str("\nInputs by label (rows) and class (columns)\n");
    write!(text, "  {:width$}", "").ok();
    for class in &classes {
        write!(text, "  {:>width$}", name(class)).ok();
    }
    text.push('\n');
    for label in &classes {
        write!(text, "  {:width$}", name(label)).ok();
        for class in &classes {
            write!(text, "  {:>width$}", answer.agreement.count(*label, *class)).ok();
        }
        text.push('\n');
    }
}
