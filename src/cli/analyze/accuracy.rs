//! `attnscope analyze accuracy`: what a model says of every input of a corpus, against its labels.

use std::{
    fmt::Write as _,
    io::{self, Write as _},
    path::PathBuf,
};

use clap::Args;
use serde_json::{Value, json};

use super::{document, over_corpus::ReadInputs, write};
use crate::{
    analysis::{
        accuracy::{Judgements, METHOD, Said, Speech},
        explain::report::spec_json,
    },
    cli::{CliError, open_model, show_progress},
    corpus::list::{Content, InputList, Item},
    export,
    text::{counted, decimal_text, weight_text},
    worker::corpus::{self, JudgeError, JudgeOrder},
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

/// What was said, of which inputs.
struct Answer<'a> {
    list: &'a InputList,
    labels: LabelColumn,
    speech: Speech,
    judgements: Judgements,
}

impl Answer<'_> {
    /// What to call an input.
    fn name(&self, source: usize) -> &str {
        let item = &self.list.items[source];
        item.name.as_deref().or(item.content.text()).unwrap_or(match &item.content {
            Content::BundledPicture(name) => name,
            _ => "picture",
        })
    }

    fn label(&self, source: usize) -> Option<&str> {
        self.labels.of(&self.list.items[source])
    }
}

pub fn run(options: &AccuracyOptions) -> Result<(), CliError> {
    let list = options.inputs.list()?;
    let model = open_model(&options.model, &options.inputs.engine()?)?;
    let speech = Speech::of(model.spec()).ok_or_else(|| CliError::Usage(corpus::says_nothing(&options.model)))?;
    let labels = labels(&list, options, speech)?;
    let order =
        JudgeOrder { model: &model, list: &list, label_column: labels.column, how: options.inputs.how.chosen() };
    let mut judgements = Judgements::default();
    corpus::judge(order, &mut judgements, &show_progress, &mut |_| Ok(())).map_err(|error| match error {
        JudgeError::Stopped(stop) => CliError::Failed(stop.to_string()),
        JudgeError::Cannot(why) => CliError::Usage(why),
    })?;
    for (source, reason) in judgements.left_out() {
        log::warn!("left out: input {source}: {reason}");
    }
    check_labels(&judgements)?;
    if judgements.all().next().is_none() {
        return Err(CliError::Failed("none of the inputs can be run; the warnings say why".to_owned()));
    }
    let answer = Answer { list: &list, labels, speech, judgements };
    match &options.out {
        Some(out) if out.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("csv")) => {
            let text = csv(&answer);
            export::atomic_write(out, |out| out.write_all(text.as_bytes()))
                .map_err(|error| CliError::Failed(error.to_string()))
        }
        Some(out) => {
            let parameters = json!({ "corpus": options.inputs.corpus, "label_column": answer.labels.name, "inputs": list.items.len() });
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

fn labels(list: &InputList, options: &AccuracyOptions, speech: Speech) -> Result<LabelColumn, CliError> {
    let is_of_tokens = speech == Speech::Tokens;
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

/// Refuses labels of which none is a class; names those that are none.
fn check_labels(judgements: &Judgements) -> Result<(), CliError> {
    let unknown = judgements.unknown();
    if !unknown.is_empty() && judgements.agreement().n() == 0 {
        let names: Vec<&str> = judgements.names().collect();
        return Err(CliError::Usage(format!(
            "no label is the name or the number of a class: the labels are {}, the model says {}",
            unknown.join(", "),
            names.join(", ")
        )));
    }
    if !unknown.is_empty() {
        log::warn!("labels that are no class of the model are left out: {}", unknown.join(", "));
    }
    Ok(())
}

fn result(answer: &Answer<'_>) -> Value {
    let judgements = &answer.judgements;
    let inputs: Vec<Value> = judgements
        .all()
        .map(|(source, said)| match said {
            Said::Class(verdict) => json!({
                "input": source, "name": answer.name(source), "label": answer.label(source),
                "class": judgements.name(verdict.class), "probability": verdict.probability, "loss": verdict.loss,
                "right": verdict.is_right(),
            }),
            Said::Tokens(tally) => json!({
                "input": source, "name": answer.name(source), "loss": said.loss(), "tokens": tally.n_rows,
            }),
        })
        .collect();
    let agreement = judgements.agreement();
    let loss = if answer.speech == Speech::Tokens { judgements.token_loss() } else { agreement.loss() };
    let loss = loss.map(|loss| json!({ "value": loss.value, "error": loss.error, "n": loss.n_rows }));
    let accuracy = agreement.accuracy().map(
        |accuracy| json!({ "value": accuracy.value, "low": accuracy.low, "high": accuracy.high, "n": agreement.n() }),
    );
    let classes = agreement.classes();
    let counts: Vec<Vec<u64>> =
        classes.iter().map(|label| classes.iter().map(|class| agreement.count(*label, *class)).collect()).collect();
    let names: Vec<&str> = classes.iter().map(|class| judgements.name(*class)).collect();
    let confusion = json!({ "classes": names, "rows": "label", "columns": "class", "counts": counts });
    let left_out: Vec<Value> =
        judgements.left_out().iter().map(|(source, reason)| json!({ "input": source, "reason": reason })).collect();
    json!({ "accuracy": accuracy, "loss": loss, "confusion": confusion, "inputs": inputs, "left_out": left_out })
}

/// A row for each input.
fn csv(answer: &Answer<'_>) -> String {
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    let mut text = "input,name,label,class,probability,loss,right,tokens\n".to_owned();
    for (source, said) in answer.judgements.all() {
        let (name, label) = (quoted(answer.name(source)), answer.label(source).map(quoted).unwrap_or_default());
        write!(text, "{source},{name},{label},").ok();
        let loss = said.loss().map(|loss| loss.to_string()).unwrap_or_default();
        match said {
            Said::Class(verdict) => {
                let class = quoted(answer.judgements.name(verdict.class));
                let right = verdict.is_right().map(|right| right.to_string()).unwrap_or_default();
                writeln!(text, "{class},{},{loss},{right},", verdict.probability).ok();
            }
            Said::Tokens(tally) => {
                writeln!(text, ",,{loss},,{}", tally.n_rows).ok();
            }
        }
    }
    text
}

fn table(answer: &Answer<'_>) -> String {
    let mut text = String::new();
    let (judgements, agreement) = (&answer.judgements, answer.judgements.agreement());
    let n = counted(judgements.all().count(), "input");
    let with_error = |error: Option<f64>| error.map(|error| format!(" ± {}", weight_text(error))).unwrap_or_default();
    if let Some(accuracy) = agreement.accuracy() {
        let [value, low, high] = [accuracy.value, accuracy.low, accuracy.high].map(decimal_text);
        let labelled = agreement.n();
        writeln!(text, "Accuracy {value} ({low} to {high}, 95 %) of {}", counted(labelled as usize, "labelled input"))
            .ok();
    } else if answer.speech == Speech::Classes {
        writeln!(text, "{n}; no label to hold classes against: name its column with --label-column").ok();
    }
    if let Some(loss) = agreement.loss() {
        writeln!(text, "Mean loss {}{} nats", decimal_text(loss.value), with_error(loss.error)).ok();
    }
    if let Some(loss) = judgements.token_loss() {
        let tokens = counted(loss.n_rows as usize, "token");
        let (value, error) = (decimal_text(loss.value), with_error(loss.error));
        let perplexity = decimal_text(loss.value.exp());
        writeln!(text, "Mean loss {value}{error} nats per token, perplexity {perplexity}, {tokens} of {n}").ok();
    }
    confusion(&mut text, answer);
    let mut worst: Vec<(f64, usize, &Said)> =
        judgements.all().filter_map(|(source, said)| Some((said.loss()?, source, said))).collect();
    worst.sort_by(|a, b| b.0.total_cmp(&a.0));
    if !worst.is_empty() {
        text.push_str("\nLargest losses\n");
    }
    for (loss, source, said) in worst.into_iter().take(N_WORST) {
        let whole = answer.name(source);
        let name: String = whole.chars().take(MOST_CHARS).collect();
        let rest = if whole.chars().nth(MOST_CHARS).is_some() { "…" } else { "" };
        let class = match (said.verdict(), answer.label(source)) {
            (Some(verdict), Some(label)) => {
                let class = judgements.name(verdict.class);
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
    let (judgements, agreement) = (&answer.judgements, answer.judgements.agreement());
    let classes = agreement.classes();
    if classes.is_empty() {
        return;
    }
    if classes.len() > MOST_CLASSES {
        writeln!(text, "{} classes: --out has the table of labels and classes", classes.len()).ok();
        return;
    }
    let name = |class: &usize| judgements.name(*class);
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
            write!(text, "  {:>width$}", agreement.count(*label, *class)).ok();
        }
        text.push('\n');
    }
}
