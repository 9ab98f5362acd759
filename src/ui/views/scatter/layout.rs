//! Which point is meant and who its partners are. Pure geometry, without an egui context.

use std::ops::Range;

use crate::{analysis::reading::ReadPattern, session::Focus};

/// Divides `n` positions into at most `n_bins` runs; each comes with its middle, `0..=1`.
pub fn position_bins(n: usize, n_bins: usize) -> impl Iterator<Item = (Range<usize>, f32)> {
    let n_bins = n_bins.min(n).max(1);
    (0..n_bins).map(move |bin| {
        let middle = if n_bins == 1 { 0.0 } else { bin as f32 / (n_bins - 1) as f32 };
        (bin * n / n_bins..(bin + 1) * n / n_bins, middle)
    })
}

/// The strongest partners of a token: keys of a query, queries of a key; of a word its first piece.
pub fn partners(pattern: &ReadPattern, focus: Focus, n: usize) -> Vec<(Focus, f32)> {
    let (rows, cols) = (&pattern.rows, &pattern.cols);
    let found = match focus {
        Focus { query: Some(query), .. } => rows.group_of(query).map(|row| {
            let keys = pattern.ranked_cols(row).into_iter();
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bins_cover_every_position_once() {
        for (n, n_bins) in [(10, 3), (2, 12), (1, 1), (0, 4)] {
            let covered: Vec<usize> = position_bins(n, n_bins).flat_map(|(range, _)| range).collect();
            assert_eq!(covered, (0..n).collect::<Vec<_>>());
        }
    }
}
