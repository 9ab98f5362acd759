//! How active a head is in an input: one number for each head and input.

use crate::{analysis::detect::TokenFacts, capture::Matrix};

/// A query, a key and the weight between them.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct WeightedPair {
    pub query: usize,
    pub key: usize,
    pub weight: f32,
}

/// The pairs that count for the activation, row by row: off the first query, the first key, the diagonal (where queries
/// and keys are the same sequence) and special keys.
pub fn telling_pairs(pattern: &Matrix, tokens: &TokenFacts, square: bool) -> impl Iterator<Item = WeightedPair> {
    pattern.rows().enumerate().skip(1).flat_map(move |(query, row)| {
        let keys = row.iter().enumerate().skip(1);
        let others = keys.filter(move |(key, _)| (!square || *key != query) && !tokens.is_special_key(*key));
        others.map(move |(key, weight)| WeightedPair { query, key, weight: *weight })
    })
}

/// The largest weight of [`telling_pairs`]; `None` where there is no such pair.
pub fn activation(pattern: &Matrix, tokens: &TokenFacts, square: bool) -> Option<f32> {
    telling_pairs(pattern, tokens, square).map(|pair| pair.weight).max_by(f32::total_cmp)
}
