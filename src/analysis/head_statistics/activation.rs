//! How active a head is in an input: one number for each head and input.

use crate::{analysis::detect::TokenFacts, capture::Matrix};

/// The largest weight off the first query, the first key, the diagonal (where queries and keys are the same sequence) and
/// special keys; `None` where there is no such pair.
pub fn activation(pattern: &Matrix, tokens: &TokenFacts, square: bool) -> Option<f32> {
    let rows = pattern.rows().enumerate().skip(1);
    let in_row = |(query, row): (usize, &[f32])| {
        let keys = row.iter().enumerate().skip(1);
        let others = keys.filter(|(key, _)| (!square || *key != query) && !tokens.is_special_key(*key));
        others.map(|(_, weight)| *weight).max_by(f32::total_cmp)
    };
    rows.filter_map(in_row).max_by(f32::total_cmp)
}
