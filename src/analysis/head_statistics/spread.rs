//! How weights and scores of a row are spread over its keys.

use super::{
    metric::Quantity,
    row::{SeenRow, Tallies},
};
use crate::analysis::stats::entropy;

/// Fewer visible keys have no shape.
const LEAST_KEYS: usize = 3;
/// The logarithm of a smaller weight is not known well enough: single precision ends soon below.
const LEAST_WEIGHT: f32 = 1e-30;

/// Adds entropies, and the shape of the scores.
pub fn add(row: &SeenRow<'_>, tallies: &mut Tallies<'_>) {
    if tallies.has(Quantity::Entropy) {
        let entropy = entropy(row.weights, row.logs, row.sink);
        tallies.add(Quantity::Entropy, entropy);
        let n_choices = row.seen.len() + usize::from(row.sink.is_some());
        if n_choices > 1 {
            tallies.add(Quantity::EntropyFraction, entropy / (n_choices as f64).ln());
        }
    }
    if let Some(sink) = row.sink {
        tallies.add(Quantity::Sink, sink);
    }
    if tallies.has(Quantity::ScoreSpread) && row.seen.len() >= LEAST_KEYS {
        add_scores(row, tallies);
    }
}

/// Whether the weights of a row with a shape do not tell its scores.
pub fn wants_scores(weights: &[f32], seen: &[usize]) -> bool {
    seen.len() >= LEAST_KEYS && seen.iter().any(|key| weights.get(*key).is_none_or(|weight| *weight < LEAST_WEIGHT))
}

/// Scores are the logarithms of weights but for a number that all keys of a row share, so differences of both are the same.
/// Where a weight is below [`LEAST_WEIGHT`] they are those that were recorded, or follow from queries and keys; a row without
/// them does not qualify, nor does one in which a key that is seen has none.
fn add_scores(row: &SeenRow<'_>, tallies: &mut Tallies<'_>) {
    let n = row.seen.len() as f64;
    let score = |key: &usize| match row.scores {
        Some(scores) => scores.get(*key).copied().map_or(f64::NEG_INFINITY, f64::from),
        None => row.logs.get(*key).copied().unwrap_or(f64::NEG_INFINITY),
    };
    let scores = || row.seen.iter().map(score);
    let are_known = row.scores.is_some() || !wants_scores(row.weights, row.seen);
    if !are_known || scores().any(|score| !score.is_finite()) {
        return;
    }
    let mean = scores().sum::<f64>() / n;
    let (mut best, mut second, mut squares) = (f64::NEG_INFINITY, f64::NEG_INFINITY, 0.0);
    for score in scores() {
        squares += (score - mean) * (score - mean);
        if score > best {
            (best, second) = (score, best);
        } else {
            second = second.max(score);
        }
    }
    let deviation = (squares / n).sqrt();
    tallies.add(Quantity::ScoreSpread, deviation);
    tallies.add(Quantity::ScoreMargin, best - second);
    if deviation > 0.0 {
        tallies.add(Quantity::ScoreZ, (best - mean) / deviation);
    }
}
