//! `attnscope analyze heads --against`: heads over one corpus held against the same heads over another one, or against those of
//! another model.

use std::{
    fmt::Write as _,
    io::{self, Write as _},
    path::Path,
};

use serde_json::{Map, Value, json};

use super::{corpus_heads::CorpusHeadsOptions, document, write};
use crate::{
    analysis::{
        detect,
        explain::report::spec_json,
        head_statistics::{ContrastCell, ContrastColumn, ContrastTable, HeadStatistics, LEVEL, contrast},
        welch::{Contrast, Correction},
    },
    cli::CliError,
    export,
    spec::ModelSpec,
    text::{counted, decimal_text, weight_text},
};

/// Heads that the table names for each metric.
const N_LARGEST: usize = 3;

/// What is held against each other.
#[derive(Clone, Copy)]
pub struct Sides<'a> {
    /// What each side is called.
    pub names: [&'a str; 2],
    pub models: [&'a ModelSpec; 2],
    pub statistics: [&'a HeadStatistics; 2],
}

/// Writes what differs.
///
/// # Errors
/// When it cannot be written.
pub fn tell(
    sides: Sides<'_>,
    how: &CorpusHeadsOptions,
    correction: Correction,
    out: Option<&Path>,
) -> Result<(), CliError> {
    let [a, b] = sides.statistics;
    let mut tables = contrast(a, b, correction);
    for table in &mut tables {
        table.columns.retain(|column| how.wants(column.metric));
        if let Some((layer, head)) = how.head {
            let is_it = |at: usize| (table.heads[at].layer, table.heads[at].head) == (layer, head);
            for column in &mut table.columns {
                let mut at = 0..;
                column.cells.retain(|_| at.next().is_some_and(is_it));
            }
            table.heads.retain(|id| (id.layer, id.head) == (layer, head));
        }
    }
    if let Some((layer, head)) = how.head.filter(|_| tables.iter().all(|table| table.heads.is_empty())) {
        return Err(CliError::Usage(format!("the model has no head L{layer}H{head}")));
    }
    match out {
        Some(out) if out.extension().is_some_and(|ending| ending.eq_ignore_ascii_case("csv")) => {
            let text = csv(&tables);
            export::atomic_write(out, |out| out.write_all(text.as_bytes()))
                .map_err(|error| CliError::Failed(error.to_string()))
        }
        Some(out) => {
            let parameters = json!({
                "sides": sides.names, "correction": correction.name(),
                "n_inputs": [a.inputs().len(), b.inputs().len()],
            });
            let mut document = document(&detect::METHOD, &parameters, &[], &result(&tables));
            document["model"] = spec_json(sides.models[0]);
            document["other_model"] = spec_json(sides.models[1]);
            write(&document, out)
        }
        None => {
            // A closed pipe is not an error.
            io::stdout().lock().write_all(text(&tables, sides.names, correction).as_bytes()).ok();
            Ok(())
        }
    }
}

fn cell_json(ContrastCell { a, b, contrast, corrected }: &ContrastCell) -> Value {
    let side = |sample: &crate::analysis::welch::Sample| json!({ "mean": sample.mean, "deviation": sample.variance.sqrt(), "inputs": sample.n });
    let test = contrast.map(|Contrast { difference, d, t, freedom, p }| {
        json!({ "difference": difference, "d": d, "t": t, "degrees_of_freedom": freedom, "p": p, "p_corrected": corrected })
    });
    json!({ "a": side(a), "b": side(b), "contrast": test })
}

fn result(tables: &[ContrastTable]) -> Value {
    let of_stack = |table: &ContrastTable| {
        let heads = table.heads.iter().enumerate().map(|(at, head)| {
            let number = |column: &ContrastColumn| {
                let cell = column.cells[at].as_ref().map_or(Value::Null, cell_json);
                (column.metric.name().to_owned(), cell)
            };
            let metrics: Map<String, Value> = table.columns.iter().map(number).collect();
            json!({ "layer": head.layer, "head": head.head, "metrics": metrics })
        });
        let of = json!({ "n_inputs": table.n_inputs, "heads": heads.collect::<Vec<_>>() });
        (table.stack.name().to_owned(), of)
    };
    Value::Object(tables.iter().map(of_stack).collect())
}

/// A line for each head and metric.
fn csv(tables: &[ContrastTable]) -> String {
    let mut text = "stack,layer,head,metric,a,b,difference,d,t,degrees_of_freedom,p,p_corrected,n_a,n_b\n".to_owned();
    for table in tables {
        for (at, head) in table.heads.iter().enumerate() {
            for column in &table.columns {
                let Some(ContrastCell { a, b, contrast, corrected }) = column.cells[at] else { continue };
                write!(text, "{},{},{},{},", head.stack, head.layer, head.head, column.metric.name()).ok();
                write!(text, "{},{},", a.mean, b.mean).ok();
                let numbers = contrast.map(|Contrast { difference, d, t, freedom, p }| [difference, d, t, freedom, p]);
                for number in numbers.map_or([None; 5], |numbers| numbers.map(Some)).into_iter().chain([corrected]) {
                    text.push_str(&number.map(|number| number.to_string()).unwrap_or_default());
                    text.push(',');
                }
                writeln!(text, "{},{}", a.n, b.n).ok();
            }
        }
    }
    text
}

/// The largest effects by metric.
fn text(tables: &[ContrastTable], [a, b]: [&str; 2], correction: Correction) -> String {
    let n = tables.first().map_or([0; 2], |table| table.n_inputs).map(|n| counted(n, "input"));
    let mut text = format!(
        "Largest effects, {b} ({}) less {a} ({}): means over inputs, Cohen’s d; * p < {LEVEL} by Welch’s test, corrected over \
         the heads of a stack for each number by itself ({})\n",
        n[1],
        n[0],
        correction.title()
    );
    for table in tables {
        writeln!(text, "\n{}, {}", table.stack, counted(table.heads.len(), "head")).ok();
        for column in &table.columns {
            let order = column.order();
            let tested = || column.cells.iter().flatten().filter_map(|cell| cell.corrected);
            let n_found = tested().filter(|p| *p < LEVEL).count();
            write!(text, "  {:<18} {:>9}", column.metric.name(), format!("{n_found} of {}", tested().count())).ok();
            for at in order.into_iter().take(N_LARGEST) {
                let Some(ContrastCell { a, b, contrast: Some(contrast), corrected }) = column.cells[at] else {
                    continue;
                };
                let mark = if corrected.is_some_and(|p| p < LEVEL) { '*' } else { ' ' };
                let means = format!("{} → {}", weight_text(a.mean), weight_text(b.mean));
                write!(
                    text,
                    "  {:<6} {means:>15} d {:>6}{mark}",
                    table.heads[at].to_string(),
                    decimal_text(contrast.d)
                )
                .ok();
            }
            text.push('\n');
        }
    }
    text
}
