//! Memberships of neighbours, and the fuzzy union of both directions.

use rayon::prelude::*;

use crate::projection::{Affinities, Neighbors};

/// Sharpest membership that is allowed, in units of the mean distance (umap-learn's `MIN_K_DIST_SCALE`).
const SHARPEST: f32 = 1e-3;

/// The graph of `McInnes` et al. §3: `w + w' − w w'` of the memberships of both directions, in 0 … 1.
pub(super) fn fuzzy(neighbors: &Neighbors) -> Affinities {
    let k = neighbors.k();
    let mut weights = vec![0.0f32; neighbors.n() * k];
    if k > 0 {
        // Rounding of the sum must not depend on threads.
        let sum: f64 = neighbors.distances().iter().map(|&d| f64::from(d)).sum();
        let mean = (sum / (neighbors.n() * (k + 1)) as f64) as f32;
        let rows = weights.par_chunks_mut(k).zip(neighbors.distances().par_chunks(k)).with_min_len(64);
        rows.for_each(|(weights, distances)| memberships(distances, mean, weights));
    }
    Affinities::symmetric(neighbors, &weights, |there, back| there + back - there * back)
}

/// `exp(−(d − ρ) / σ)`, with σ such that they sum to `log₂(k + 1)`; ρ is the distance of the nearest that is not
/// the same.
fn memberships(distances: &[f32], mean_of_all: f32, weights: &mut [f32]) {
    // umap-learn counts the point itself among its neighbours.
    let count = (distances.len() + 1) as f32;
    let target = count.log2();
    let nearest = distances.iter().copied().find(|&d| d > 0.0).unwrap_or(0.0);
    let fill = |weights: &mut [f32], sigma: f32| {
        let mut sum = 0.0;
        for (weight, &d) in weights.iter_mut().zip(distances) {
            let beyond = d - nearest;
            *weight = if beyond > 0.0 && sigma > 0.0 { (-beyond / sigma).exp() } else { 1.0 };
            sum += *weight;
        }
        sum
    };
    let mean = distances.iter().sum::<f32>() / count;
    // In units of the mean: umap-learn starts from 1, and small or large data would need many doublings.
    let unit = if mean > 0.0 { mean } else { 1.0 };
    let (mut low, mut high, mut middle) = (0.0f32, f32::INFINITY, unit);
    for _ in 0..64 {
        let excess = fill(weights, middle) - target;
        if excess.abs() < 1e-5 {
            break;
        }
        if excess > 0.0 {
            high = middle;
        } else {
            low = middle;
        }
        middle = if high.is_finite() { 0.5 * (low + high) } else { middle * 2.0 };
    }
    let sharpest = SHARPEST * if nearest > 0.0 { mean } else { mean_of_all };
    if middle < sharpest {
        fill(weights, sharpest);
    }
}
