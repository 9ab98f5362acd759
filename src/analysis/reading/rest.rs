//! Columns for what of a row went to no key: to a learned sink, or to keys that an incomplete file lacks.

use std::ops::Range;

use super::{Aggregate, Heads, Reading, Rest};
use crate::{
    analysis::attention,
    capture::{Capture, Matrix, RowMass},
    ids::{HeadId, StackKind},
};

/// Which of them a reading has. All heads of a stack have the same, so that columns stay when the head changes.
pub(super) fn kinds(capture: &Capture, reading: &Reading) -> Vec<Rest> {
    if reading.source.explained().is_some() { Vec::new() } else { rest_of(capture, reading.heads.stack()) }
}

/// What of the attention of a stack went to no key.
pub fn rest_of(capture: &Capture, kind: StackKind) -> Vec<Rest> {
    let Some(stack) = capture.stack(kind) else { return Vec::new() };
    let is_there = |mass: RowMass| {
        (0..stack.layers.len()).any(|layer| capture.row_mass(HeadId { stack: kind, layer, head: 0 }) == mass)
    };
    let sink = is_there(RowMass::Sink).then_some(Rest::Sink);
    let missing = is_there(RowMass::Partial).then_some(Rest::Missing);
    sink.into_iter().chain(missing).collect()
}

/// `base`, `[query, key]` from the query `first` on, with a column for each of `kinds`, which `heads` share as they share
/// the keys.
pub(super) fn beside(
    (base, first): (Matrix, usize),
    capture: &Capture,
    reading: &Reading,
    heads: &[HeadId],
    kinds: &[Rest],
) -> Matrix {
    if kinds.is_empty() {
        return base;
    }
    let how = match &reading.heads {
        Heads::One(_) => Aggregate::Mean,
        Heads::Many(many) => many.how,
    };
    let n_query = base.n_rows();
    let queries = first..first + n_query;
    let columns: Vec<Vec<f64>> = kinds.iter().map(|kind| together(capture, heads, *kind, how, &queries)).collect();
    let rows = base.rows().enumerate();
    let line = |(query, row): (usize, &[f32])| {
        row.iter().copied().chain(columns.iter().map(move |column| column[query] as f32)).collect::<Vec<_>>()
    };
    let values = rows.flat_map(line).collect::<Vec<_>>();
    // One value more per row and column.
    Matrix::new(values, [n_query, base.n_cols() + kinds.len()]).unwrap_or(base)
}

/// One column of several heads.
fn together(capture: &Capture, heads: &[HeadId], kind: Rest, how: Aggregate, queries: &Range<usize>) -> Vec<f64> {
    let combine: fn(f64, f64) -> f64 = match how {
        Aggregate::Mean | Aggregate::Sum => |sum, weight| sum + weight,
        Aggregate::Max => f64::max,
        Aggregate::Min => f64::min,
    };
    let columns = heads.iter().map(|head| of_head(capture, *head, kind, queries));
    let all = columns.reduce(|all, column| all.into_iter().zip(column).map(|(a, b)| combine(a, b)).collect());
    let n = if how == Aggregate::Mean { heads.len().max(1) as f64 } else { 1.0 };
    all.map_or_else(|| vec![0.0; queries.len()], |all| all.into_iter().map(|sum| sum / n).collect())
}

/// What each of these queries of one head gave to no key; 0 in a layer that has nothing of the kind.
fn of_head(capture: &Capture, head: HeadId, kind: Rest, queries: &Range<usize>) -> Vec<f64> {
    let column: Option<Vec<f64>> = match kind {
        Rest::Sink => {
            let sink = capture.sink(head).and_then(|sink| sink.get(queries.clone()));
            sink.map(|sink| sink.iter().map(|&part| f64::from(part)).collect())
        }
        Rest::Missing if capture.row_mass(head) == RowMass::Partial => {
            let lacks = |row: &[f32]| (1.0 - row.iter().map(|&weight| f64::from(weight)).sum::<f64>()).max(0.0);
            attention::pattern_rows(capture, head, queries.clone()).map(|pattern| pattern.rows().map(lacks).collect())
        }
        Rest::Missing => None,
    };
    column.filter(|column| column.len() == queries.len()).unwrap_or_else(|| vec![0.0; queries.len()])
}
