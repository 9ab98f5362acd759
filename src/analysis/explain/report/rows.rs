//! A report as one long table: a line for each number, with the layer, head and tokens that it is about.

use super::{Axis, ColumnValues, Leaf, Report, Value};
use crate::{capture::Matrix, ids::Side};

/// The columns of the table, in their order.
pub const ROW_NAMES: [&str; 10] =
    ["value", "layer", "head", "row", "row_side", "row_token", "column", "column_side", "column_token", "result"];

/// One line of the table.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct ReportRow {
    /// The value's name, with those of the groups around it: `relevance.cross`.
    pub value: String,
    /// Layer, from 0.
    pub layer: Option<usize>,
    /// Head, from 0.
    pub head: Option<usize>,
    /// Position of the row's token, or number of the row.
    pub row: Option<usize>,
    pub row_side: Option<Side>,
    /// Position of the column's token.
    pub column: Option<usize>,
    /// Whose token the column is.
    pub column_side: Option<Side>,
    /// The number; none where the result is words.
    pub number: Option<f64>,
    /// The words; none where the result is a number.
    pub text: Option<String>,
}

impl ReportRow {
    /// The cells by [`ROW_NAMES`]; empty ones for what the row is not about.
    ///
    /// `token(side, position)` is what a person reads for a token.
    pub fn cells(&self, token: impl Fn(Side, usize) -> String) -> [String; ROW_NAMES.len()] {
        let index = |value: Option<usize>| value.map_or_else(String::new, |value| value.to_string());
        let side = |side: Option<Side>| side.map_or_else(String::new, |side| side.name().to_owned());
        let text =
            |side: Option<Side>, at: Option<usize>| side.zip(at).map_or_else(String::new, |(s, at)| token(s, at));
        let result = match (&self.text, self.number) {
            (Some(text), _) => text.clone(),
            (None, Some(number)) if number.is_finite() => number.to_string(),
            // As Python reads it.
            (None, Some(number)) if number.is_nan() => "nan".to_owned(),
            (None, Some(number)) => if number > 0.0 { "inf" } else { "-inf" }.to_owned(),
            (None, None) => String::new(),
        };
        [
            self.value.clone(),
            index(self.layer),
            index(self.head),
            index(self.row),
            side(self.row_side),
            text(self.row_side, self.row),
            index(self.column),
            side(self.column_side),
            text(self.column_side, self.column),
            result,
        ]
    }
}

impl Report {
    /// Every number of the report, in the order of its values, row by row.
    pub fn rows(&self) -> Vec<ReportRow> {
        let mut rows = Vec::new();
        for Leaf { name, layer, value } in self.leaves() {
            add(value, &ReportRow { value: name, layer, ..ReportRow::default() }, &mut rows);
        }
        rows
    }
}

/// `f32` as the `f64` with the same shortest decimal, so that no digits appear that nobody computed.
fn shortest(value: f32) -> f64 {
    if value.is_finite() { value.to_string().parse().unwrap_or_else(|_| f64::from(value)) } else { f64::from(value) }
}

fn add(value: &Value, at: &ReportRow, out: &mut Vec<ReportRow>) {
    let mut number = |row: ReportRow, number: f64| out.push(ReportRow { number: Some(number), ..row });
    match value {
        Value::Matrix { rows, cols, values } => matrix(values, rows, cols, at, out),
        Value::Heads { rows, cols, values } => {
            for (head, values) in (0..values.shape()[0]).filter_map(|head| Some((head, values.head(head)?))) {
                matrix(&values, rows, cols, &ReportRow { head: Some(head), ..at.clone() }, out);
            }
        }
        Value::Tokens { axis, values } => {
            for (nth, value) in values.iter().enumerate() {
                number(with_row(at, axis, nth), shortest(*value));
            }
        }
        Value::Grid { axis, first_layer, values } => {
            for (nth, row) in values.rows().enumerate() {
                for (layer, value) in row.iter().enumerate() {
                    let at = ReportRow { layer: Some(first_layer + layer), ..with_row(at, axis, nth) };
                    number(at, shortest(*value));
                }
            }
        }
        Value::Table(columns) => {
            for column in columns {
                let at = ReportRow { value: format!("{}.{}", at.value, column.name), ..at.clone() };
                for nth in 0..column.cells.len() {
                    out.push(cell(&column.cells, nth, ReportRow { row: Some(nth), ..at.clone() }));
                }
            }
        }
        Value::List(values) => {
            for (nth, value) in values.iter().enumerate() {
                number(ReportRow { row: Some(nth), ..at.clone() }, *value);
            }
        }
        Value::Number(value) => number(at.clone(), *value),
        Value::Count(value) => number(at.clone(), *value as f64),
        Value::Flag(value) => out.push(ReportRow { text: Some(value.to_string()), ..at.clone() }),
        Value::Text(text) | Value::Missing(text) => out.push(ReportRow { text: Some(text.clone()), ..at.clone() }),
        // Taken apart before.
        Value::Layers(_) | Value::Group(_) => {}
    }
}

fn matrix(values: &Matrix, rows: &Axis, cols: &Axis, at: &ReportRow, out: &mut Vec<ReportRow>) {
    for (nth, row) in values.rows().enumerate() {
        let at = with_row(at, rows, nth);
        out.extend(row.iter().enumerate().map(|(nth, value)| ReportRow {
            column: Some(cols.position(nth)),
            column_side: Some(cols.side),
            number: Some(shortest(*value)),
            ..at.clone()
        }));
    }
}

fn with_row(at: &ReportRow, axis: &Axis, nth: usize) -> ReportRow {
    ReportRow { row: Some(axis.position(nth)), row_side: Some(axis.side), ..at.clone() }
}

fn cell(cells: &ColumnValues, nth: usize, row: ReportRow) -> ReportRow {
    let several = |words: Vec<String>| Some(words.join(" "));
    match cells {
        ColumnValues::Index(cells) => ReportRow { number: cells.get(nth).map(|&index| index as f64), ..row },
        ColumnValues::Number(cells) => ReportRow { number: cells.get(nth).copied(), ..row },
        ColumnValues::Text(cells) => ReportRow { text: cells.get(nth).cloned(), ..row },
        ColumnValues::Texts(cells) => ReportRow { text: cells.get(nth).cloned().and_then(several), ..row },
        ColumnValues::Numbers(cells) => {
            let words = cells.get(nth).map(|numbers| numbers.iter().map(f64::to_string).collect());
            ReportRow { text: words.and_then(several), ..row }
        }
    }
}
