//! The point that is meant, and its partners. Pure geometry, without an egui context.

use crate::{analysis::reading::ReadPattern, session::Focus};

/// The strongest partners of a token: keys of a query, queries of a key; of a word its first piece.
pub fn partners(pattern: &ReadPattern, focus: Focus, n: usize) -> Vec<(Focus, f32)> {
    let (rows, cols) = (&pattern.rows, &pattern.cols);
    let found = match focus {
        Focus { query: Some(query), .. } => rows.group_of(query).map(|row| {
            let keys = points(pattern, row);
            keys.filter_map(|(col, weight)| Some((Focus::key(cols.position(col)?), weight))).take(n).collect()
        }),
        Focus { key: Some(key), .. } => cols.group_of(key).map(|col| {
            let queries = pattern.ranked_rows(col).into_iter();
            queries.filter_map(|(row, weight)| Some((Focus::query(rows.position(row)?), weight))).take(n).collect()
        }),
        _ => None,
    };
    found.unwrap_or_default()
}

/// The keys of a row, strongest first; what went to no key has no point.
fn points(pattern: &ReadPattern, row: usize) -> impl Iterator<Item = (usize, f32)> {
    pattern.ranked_cols(row).into_iter().filter(|(col, _)| pattern.cols.rest_at(*col).is_none())
}

/// The strongest keys of every query: at most `n` each, of at least a weight.
pub fn strongest(pattern: &ReadPattern, n: usize, least: f32) -> Vec<(Focus, Focus, f32)> {
    let of_row = |row: usize| {
        let query = pattern.rows.position(row).map(Focus::query);
        let keys = points(pattern, row).take(n).filter(move |(_, weight)| *weight >= least);
        keys.filter_map(move |(col, weight)| Some((query?, Focus::key(pattern.cols.position(col)?), weight)))
    };
    (0..pattern.rows.len()).flat_map(of_row).collect()
}
