//! `attnscope analyze head`: one head over many inputs.

use std::{
    fmt::Write as _,
    io::{self, Write as _},
    path::{Path, PathBuf},
};

use clap::Args;
use serde_json::{Map, Value, json};

use super::{document, write};
use crate::{
    analysis::{
        detect::Undefined,
        explain::report::spec_json,
        head_page::{DistanceMass, HeadPage, METHOD, PageSequence, PageSize, Snippet, StrongPair, TokenTable},
        head_statistics::{Metric, RankedStatistic, StackTable, Thresholds},
    },
    cli::{CliError, compute::ComputeOptions, inputs::InputOptions, open_identified, show_progress},
    export,
    ids::{HeadId, StackKind},
    lab::{HeadWrites, TokenWritten, head_writes},
    model::Model,
    protocol::LeftOut,
    text::{change_text, counted, decimal_text, grouped, ordinal_text, told, weight_text},
    worker::corpus::{StatisticsOrder, head_page},
};

/// Rows of each part of the table.
const N_ROWS: usize = 8;
/// Tokens that the head raises and lowers, of each that it reads; the summary has fewer.
const N_WRITTEN: usize = 20;
const N_WRITTEN_TOLD: usize = 5;

/// Which head, over which inputs, and how much is kept.
#[derive(Debug, Args)]
pub struct HeadOptions {
    /// A model folder, a bundled model such as demo:gpt, or a hub id that is in the local cache
    #[arg(long)]
    model: String,
    #[command(flatten)]
    input: InputOptions,
    /// Layer of the head, from 0
    #[arg(long, value_name = "L")]
    layer: usize,
    /// Number of the head in its layer, from 0
    #[arg(long, value_name = "H")]
    head: usize,
    /// Stack of the head, where a model has several [default: the first]
    #[arg(long, value_name = "STACK")]
    stack: Option<StackKind>,
    /// Intervals of activation with the same number of inputs
    #[arg(long, default_value_t = 10, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=100))]
    intervals: u16,
    /// Inputs that are kept of each interval
    #[arg(long, default_value_t = 5, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=100))]
    samples: u16,
    /// Strongest pairs that are kept
    #[arg(long, default_value_t = 20, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=1000))]
    pairs: u16,
    /// Write all of it as JSON, or as a table (.csv), instead of a summary; - is JSON on stdout
    #[arg(long, value_name = "FILE")]
    out: Option<PathBuf>,
    #[command(flatten)]
    compute: ComputeOptions,
}

/// What is told of the head.
struct Told<'a> {
    page: &'a HeadPage,
    table: &'a StackTable,
    model: &'a Model,
    /// By its weights alone.
    writes: &'a HeadWrites,
}

pub fn run(options: &HeadOptions) -> Result<(), CliError> {
    let list = options.input.corpus()?.filter(|_| options.input.only_list());
    let list = list.ok_or_else(|| CliError::Usage("name a --corpus to read, and no other input".to_owned()))?;
    let engine = options.compute.engine()?;
    let (model, _) = open_identified(&options.model, &engine)?;
    let first = model.spec().stacks.first().map(|stack| stack.kind).unwrap_or_default();
    let head = HeadId { stack: options.stack.unwrap_or(first), layer: options.layer, head: options.head };
    if model.spec().layer_of(head).is_none_or(|layer| head.head >= layer.n_heads) {
        let stacks: Vec<String> = model.spec().stacks.iter().map(|stack| stack.kind.to_string()).collect();
        let message = format!("the model has no head {head} in the stack {}; it has {}", head.stack, stacks.join(", "));
        return Err(CliError::Usage(message));
    }
    let size = PageSize {
        n_intervals: options.intervals.into(),
        n_samples: options.samples.into(),
        n_pairs: options.pairs.into(),
    };
    let order = StatisticsOrder { model: &model, list: &list, how: options.input.preparation() };
    let found = head_page(order, head, size, &show_progress)?;
    let left_out = found.statistics.left_out(&list);
    for LeftOut { name, reason, .. } in &left_out {
        log::warn!("left out: {name}: {reason}");
    }
    let tables = found.statistics.statistics().tables();
    let table = tables.iter().find(|table| table.stack == head.stack);
    let Some(table) = table.filter(|_| found.page.n_inputs > 0) else {
        return Err(CliError::Failed("none of the inputs can be run; the warnings say why".to_owned()));
    };
    let writes = head_writes(&model, head, &found.page.read_most(), N_WRITTEN, &show_progress)
        .map_err(|error| CliError::Failed(error.to_string()))?;
    let told = Told { page: &found.page, table, model: &model, writes: &writes };
    match &options.out {
        Some(out) if out.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("csv")) => write_csv(&told, out),
        Some(out) => {
            let parameters = json!({
                "stack": head.stack, "layer": head.layer, "head": head.head, "intervals": size.n_intervals,
                "samples": size.n_samples, "pairs": size.n_pairs, "n_inputs": found.page.n_inputs,
                "left_out": left_out.iter().map(|one| json!({ "input": one.source, "reason": one.reason })).collect::<Vec<_>>(),
            });
            let mut document = document(&METHOD, &parameters, &[], &result(&told));
            document["model"] = spec_json(model.spec());
            write(&document, out)
        }
        None => {
            // A closed pipe is not an error.
            io::stdout().lock().write_all(summary(&told).as_bytes()).ok();
            Ok(())
        }
    }
}

/// What is there as JSON, or why it is not.
fn or_reason<T>(of: &Result<T, Undefined>, json: impl Fn(&T) -> Value) -> Value {
    of.as_ref().map_or_else(|reason| json!({ "undefined": reason.to_string() }), json)
}

fn result(told: &Told<'_>) -> Value {
    let Told { page, table, .. } = told;
    let numbers = Metric::ALL.into_iter().filter_map(|metric| {
        let RankedStatistic { statistic, rank, n_ranked } = table.cell(metric, page.head)?;
        let number = json!({
            "value": statistic.value, "error": statistic.error, "n": statistic.n_rows, "rank": rank, "of": n_ranked,
        });
        Some((metric.name().to_owned(), number))
    });
    let undefined =
        table.undefined.iter().map(|(metric, reason)| (metric.name().to_owned(), reason.to_string().into()));
    let intervals = page.intervals.of.iter().map(|interval| {
        json!({
            "interval": interval.number, "range": interval.range, "n_inputs": interval.n_inputs,
            "histogram": page.activation_bars(Some(interval.number)),
            "sequences": page.of_interval(interval.number).map(sequence_json).collect::<Vec<_>>(),
        })
    });
    let snippet =
        |of: &Snippet| json!({ "position": of.position, "before": of.before, "token": of.token, "after": of.after });
    let pair = |pair: &StrongPair| json!({ "input": pair.input, "weight": pair.weight, "query": snippet(&pair.query), "key": snippet(&pair.key) });
    let tokens = |table: &TokenTable| {
        let row = |token: &crate::analysis::head_page::TokenMass| {
            let [share, times] = table.share(token);
            json!({
                "token": token.text, "id": token.id, "weight": token.mass, "share": share, "times_chance": times,
                "n": token.n,
            })
        };
        json!({
            "concentration": table.concentration, "entropy": table.entropy, "n_tokens": table.n_tokens,
            "tokens": table.tokens.iter().map(row).collect::<Vec<_>>(),
        })
    };
    let distances = |mass: &DistanceMass| {
        let bins = |of: &[[f64; 2]]| -> Vec<Value> {
            let bins = of.iter().enumerate();
            bins.map(
                |(bin, [mass, even])| json!({ "distance": DistanceMass::bin_text(bin), "mass": mass, "uniform": even }),
            )
            .collect()
        };
        json!({ "back": bins(&mass.back), "ahead": bins(&mass.ahead), "n": mass.n_rows })
    };
    json!({
        "metrics": numbers.collect::<Map<String, Value>>(),
        "undefined": undefined.collect::<Map<String, Value>>(),
        "tied_at_the_top": page.intervals.n_tied,
        "intervals": intervals.collect::<Vec<_>>(),
        "pairs": page.pairs.iter().map(pair).collect::<Vec<_>>(),
        "keys": or_reason(&page.keys, tokens),
        "queries": or_reason(&page.queries, tokens),
        "distances": or_reason(&page.distances, distances),
        "weights": page.weights,
        "writes": writes_json(told),
    })
}

/// What the head writes by its weights alone.
fn writes_json(Told { model, writes, .. }: &Told<'_>) -> Value {
    let outcome = |(id, logit): &(u32, f32)| json!({ "id": id, "token": model.outcome_label(*id), "value": logit });
    let outcomes = |of: &[(u32, f32)]| of.iter().map(outcome).collect::<Vec<_>>();
    let token = |of: &TokenWritten| {
        json!({
            "id": of.id, "token": of.label, "rank_of_itself": of.own_rank,
            "raised": outcomes(&of.raised), "lowered": outcomes(&of.lowered),
        })
    };
    let score = |of: &Result<f64, String>| match of {
        Ok(score) => json!(score),
        Err(why) => json!({ "undefined": why }),
    };
    let tokens = match &writes.tokens {
        Ok(tokens) => tokens.iter().map(token).collect(),
        Err(why) => json!({ "undefined": why }),
    };
    json!({
        "by": "weights alone, without the context", "tokens": tokens, "n_outcomes": writes.n_outcomes,
        "copying": score(&writes.copying), "copying_of_stream": score(&writes.copying_of_stream),
    })
}

fn sequence_json(of: &PageSequence) -> Value {
    let strongest = of.strongest.map(|pair| json!({ "query": pair.query, "key": pair.key, "weight": pair.weight }));
    json!({
        "input": of.input, "strongest": strongest,
        "queries": { "start": of.queries.start, "n": of.queries.n_tokens, "tokens": of.queries.texts },
        "keys": { "start": of.keys.start, "n": of.keys.n_tokens, "tokens": of.keys.texts },
        "pattern": of.pattern.rows().collect::<Vec<_>>(),
    })
}

/// A line for each number: what it is of, and the number itself beside that of chance.
fn write_csv(told: &Told<'_>, out: &Path) -> Result<(), CliError> {
    let page = told.page;
    let mut text = "part,name,input,query,key,value,chance,n\n".to_owned();
    let quoted = |text: &str| format!("\"{}\"", text.replace('"', "\"\""));
    for metric in Metric::ALL {
        if let Some(cell) = told.table.cell(metric, page.head) {
            writeln!(text, "number,{},,,,{},,{}", metric.name(), cell.statistic.value, cell.statistic.n_rows).ok();
        }
    }
    for (input, interval) in page.intervals.ranked() {
        writeln!(text, "activation,interval {interval},{input},,,{},,", page.activations[input]).ok();
    }
    for pair in &page.pairs {
        let (query, key) = (pair.query.position, pair.key.position);
        let name = quoted(&format!("{} ← {}", pair.query.token, pair.key.token));
        writeln!(text, "pair,{name},{},{query},{key},{},,", pair.input, pair.weight).ok();
    }
    for (part, table) in [("query token", &page.queries), ("key token", &page.keys)] {
        for token in table.iter().flat_map(|table| &table.tokens) {
            let name = quoted(&token.text);
            writeln!(text, "{part},{name},,,,{},{},{}", token.mass, token.chance, token.n).ok();
        }
    }
    if let Ok(mass) = &page.distances {
        for (side, bins) in [("back", &mass.back), ("ahead", &mass.ahead)] {
            for (bin, [mass, even]) in bins.iter().enumerate() {
                writeln!(text, "distance,{side} {},,,,{mass},{even},", DistanceMass::bin_text(bin)).ok();
            }
        }
    }
    for (bar, n) in page.weights.iter().enumerate() {
        let from = bar as f64 / page.weights.len() as f64;
        writeln!(text, "weights,from {from},,,,,,{n}").ok();
    }
    let writes = told.writes;
    for token in writes.tokens.iter().flatten() {
        for (part, of) in [("raised", &token.raised), ("lowered", &token.lowered)] {
            for (id, logit) in of {
                let name = quoted(&format!("{} → {}", token.label, told.model.outcome_label(*id)));
                writeln!(text, "{part},{name},,,,{logit},,").ok();
            }
        }
        if let Some(rank) = token.own_rank {
            writeln!(text, "rank of itself,{},,,,{rank},,{}", quoted(&token.label), writes.n_outcomes).ok();
        }
    }
    for (name, score) in [("copying", &writes.copying), ("copying of stream", &writes.copying_of_stream)] {
        if let Ok(score) = score {
            writeln!(text, "{name},,,,,{score},,").ok();
        }
    }
    export::atomic_write(out, |out| out.write_all(text.as_bytes())).map_err(|error| CliError::Failed(error.to_string()))
}

/// The most telling of all parts.
fn summary(told: &Told<'_>) -> String {
    let Told { page, table, .. } = told;
    let (inputs, queries) = (counted(page.n_inputs, "input"), grouped(page.n_queries as usize));
    let kinds: Vec<&str> =
        table.kinds_of(page.head, &Thresholds::default()).iter().map(|(kind, _)| kind.kind_title()).collect();
    let kinds = if kinds.is_empty() { "no known kind".to_owned() } else { kinds.join(", ") };
    let mut text = format!("{} over {inputs}, {queries} queries: {kinds}\n", page.head);
    for metric in Metric::ALL {
        if let Some(cell) = table.cell(metric, page.head) {
            writeln!(text, "  {:<18} {:>16}, {}", metric.name(), cell.text(), cell.rank_text()).ok();
        }
    }
    text.push_str("\nIntervals of activation\n");
    for interval in &page.intervals.of {
        let [low, high] = interval.range.map(weight_text);
        writeln!(text, "  {:>3}  {low} to {high}, {}", interval.number, counted(interval.n_inputs, "input")).ok();
    }
    if page.intervals.n_tied > 1 {
        writeln!(text, "  {} share the highest activation", counted(page.intervals.n_tied, "input")).ok();
    }
    text.push_str("\nStrongest pairs (query ← key)\n");
    for pair in page.pairs.iter().take(N_ROWS) {
        let marked =
            |of: &Snippet| format!("{}[{}]{}", told_line(&of.before), told_line(&of.token), told_line(&of.after));
        let (query, key) = (marked(&pair.query), marked(&pair.key));
        writeln!(text, "  {}  input {}: {query} ← {key}", weight_text(pair.weight), pair.input).ok();
    }
    for (title, of) in [("Queries", &page.queries), ("Keys", &page.keys)] {
        match of {
            Ok(of) => {
                writeln!(text, "\n{title}: {} nats from chance", decimal_text(of.concentration)).ok();
                for token in of.tokens.iter().take(N_ROWS) {
                    let [share, times] = of.share(token);
                    let name = told_line(&token.text);
                    writeln!(
                        text,
                        "  {name:<18} {} of the weight, {} × chance",
                        weight_text(share),
                        decimal_text(times)
                    )
                    .ok();
                }
            }
            Err(reason) => {
                writeln!(text, "\n{title}: not defined: {reason}").ok();
            }
        }
    }
    match &page.distances {
        Ok(mass) => {
            text.push_str("\nWeight by distance (uniform attention)\n");
            for (side, bins) in [("back", &mass.back), ("ahead", &mass.ahead)] {
                for (bin, [mass, even]) in bins.iter().enumerate().filter(|(_, [_, even])| *even > 0.0) {
                    let name = format!("{} {side}", DistanceMass::bin_text(bin));
                    writeln!(text, "  {name:<18} {} ({})", weight_text(*mass), weight_text(*even)).ok();
                }
            }
        }
        Err(reason) => {
            writeln!(text, "\nDistances: not defined: {reason}").ok();
        }
    }
    text.push_str(&written(told));
    text
}

/// What the head writes by its weights alone, in lines.
fn written(Told { model, writes, .. }: &Told<'_>) -> String {
    let mut text = "\nWrites, by its weights alone (static: the context has no part in it)\n".to_owned();
    let words = |of: &[(u32, f32)]| {
        let words = of.iter().take(N_WRITTEN_TOLD).map(|(id, _)| told_line(&model.outcome_label(*id)));
        words.collect::<Vec<_>>().join(", ")
    };
    match &writes.tokens {
        Ok(tokens) => {
            for token in tokens {
                let own = token.own_rank.map_or_else(String::new, |rank| {
                    format!("; itself {} of {}", ordinal_text(rank), grouped(writes.n_outcomes))
                });
                let name = told_line(&token.label);
                writeln!(text, "  {name:<18} raises {}; lowers {}{own}", words(&token.raised), words(&token.lowered))
                    .ok();
            }
        }
        Err(why) => {
            writeln!(text, "  not defined: {why}").ok();
        }
    }
    for (name, score) in
        [("copying score", &writes.copying), ("copying score of W_V W_O alone", &writes.copying_of_stream)]
    {
        match score {
            Ok(score) => writeln!(text, "  {name}: {}", change_text(*score)).ok(),
            Err(why) => writeln!(text, "  {name}: not defined: {why}").ok(),
        };
    }
    text
}

/// Text on one line.
fn told_line(text: &str) -> String {
    told(text).replace('\n', "⏎")
}
