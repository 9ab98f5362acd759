//! Affinities of points: symmetric joint probabilities from nearest neighbours, as t-SNE wants them.

#![expect(clippy::inline_always, reason = "compiled for an instruction set only where it is inlined")]

use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use super::{dispatch::dispatch, lanes, neighbors::Neighbors};

/// Rows of the sparse matrix are filled up to a multiple of this with entries of weight 0, so that whole vectors
/// can be read.
pub(super) const PADDING: usize = 8;

/// A sparse symmetric matrix of non-negative weights, by row.
#[derive(Clone, Debug, PartialEq)]
pub struct Affinities {
    pub(super) starts: Vec<usize>,
    pub(super) columns: Vec<u32>,
    pub(super) weights: Vec<f32>,
}

impl Affinities {
    /// `P`: conditional probabilities of the given perplexity over the neighbours of each point, made symmetric
    /// and of sum 1 (van der Maaten, 2014, eq. 2 and 3).
    ///
    /// The bandwidth of each point is found to an entropy error of 1e-5. A perplexity of the number of neighbours
    /// or more makes all neighbours equal.
    pub fn of(neighbors: &Neighbors, perplexity: f32) -> Self {
        let k = neighbors.k();
        let mut conditional = vec![0.0f32; neighbors.n() * k];
        if k > 0 {
            let rows = conditional.par_chunks_mut(k * 64).zip(neighbors.distances().par_chunks(k * 64));
            rows.for_each(|(weights, distances)| {
                dispatch(PerplexitySearch { k, perplexity, distances, weights });
            });
        }
        let half = 0.5 / neighbors.n() as f32;
        Self::symmetric(neighbors, &conditional, |there, back| (there + back) * half)
    }

    /// Joins the weights of both directions (0 where there is none).
    pub(super) fn symmetric(neighbors: &Neighbors, weights: &[f32], join: impl Fn(f32, f32) -> f32) -> Self {
        let (n, k) = (neighbors.n(), neighbors.k());
        // Who has a point as its neighbour, by a counting sort.
        let mut ends = vec![0usize; n + 1];
        for &j in neighbors.indices() {
            ends[j as usize + 1] += 1;
        }
        for i in 0..n {
            ends[i + 1] += ends[i];
        }
        let mut next = ends.clone();
        let mut back = vec![(0u32, 0.0f32); n * k];
        for (at, (&j, &weight)) in neighbors.indices().iter().zip(weights).enumerate() {
            let slot = &mut next[j as usize];
            back[*slot] = ((at / k) as u32, weight);
            *slot += 1;
        }
        drop(next);
        let most = 2 * n * k + n * PADDING;
        let mut matrix = Self {
            starts: Vec::with_capacity(n + 1),
            columns: Vec::with_capacity(most.min(n * k * 3 / 2 + n * PADDING)),
            weights: Vec::with_capacity(most.min(n * k * 3 / 2 + n * PADDING)),
        };
        matrix.starts.push(0);
        // Where in the row that is being made a column lies, if it does.
        let mut place = vec![usize::MAX; n];
        for i in 0..n {
            let start = matrix.columns.len();
            for (&j, &weight) in neighbors.of(i).0.iter().zip(&weights[i * k..(i + 1) * k]) {
                place[j as usize] = matrix.columns.len();
                matrix.columns.push(j);
                matrix.weights.push(weight);
            }
            let mutual_end = matrix.columns.len();
            let mut answered = vec![0.0f32; mutual_end - start];
            for &(j, weight) in &back[ends[i]..ends[i + 1]] {
                let at = place[j as usize];
                if (start..mutual_end).contains(&at) {
                    answered[at - start] = weight;
                } else {
                    matrix.columns.push(j);
                    matrix.weights.push(join(0.0, weight));
                }
            }
            for (weight, back) in matrix.weights[start..mutual_end].iter_mut().zip(&answered) {
                *weight = join(*weight, *back);
            }
            while !(matrix.columns.len() - start).is_multiple_of(PADDING) {
                matrix.columns.push(i as u32);
                matrix.weights.push(0.0);
            }
            matrix.starts.push(matrix.columns.len());
        }
        matrix
    }

    /// Points.
    pub fn n(&self) -> usize {
        self.starts.len() - 1
    }

    /// Columns and weights of one row; some weights at the end may be 0.
    pub fn row(&self, i: usize) -> (&[u32], &[f32]) {
        let row = self.starts[i]..self.starts[i + 1];
        (&self.columns[row.clone()], &self.weights[row])
    }
}

/// Conditional probabilities of some points.
struct PerplexitySearch<'a> {
    k: usize,
    perplexity: f32,
    distances: &'a [f32],
    weights: &'a mut [f32],
}

impl WithSimd for PerplexitySearch<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { k, perplexity, distances, weights } = self;
        // Whole vectors; what is beyond the last neighbour is infinitely far.
        let mut squares = vec![f32::INFINITY; k.next_multiple_of(S::F32_LANES)];
        let mut powers = vec![0.0f32; squares.len()];
        for (distances, weights) in distances.chunks_exact(k).zip(weights.chunks_exact_mut(k)) {
            // In units of the farthest neighbour and from the nearest on: nothing overflows or vanishes.
            let (near, far) = (f64::from(distances[0]), f64::from(distances[k - 1]));
            let scale = far * far - near * near;
            if scale.is_nan() || scale <= 0.0 {
                weights.fill(1.0 / k as f32);
                continue;
            }
            for (square, &distance) in squares.iter_mut().zip(distances) {
                let distance = f64::from(distance);
                *square = ((distance * distance - near * near) / scale) as f32;
            }
            // All the same as far as the last bits of the farthest can tell.
            let sum = bandwidth(simd, &squares, &mut powers, perplexity.min(k as f32 * 0.999).max(1.0).ln());
            weights.iter_mut().zip(&powers).for_each(|(weight, power)| *weight = power / sum);
        }
    }
}

/// Finds β with the entropy `target` (in nats) of `exp(−β d²) / Σ`; leaves the powers and returns their sum.
#[inline(always)]
fn bandwidth<S: Simd>(simd: S, squares: &[f32], powers: &mut [f32], target: f32) -> f32 {
    let (squares, powers) = (S::as_simd_f32s(squares).0, S::as_mut_simd_f32s(powers).0);
    let mut beta = 1.0f32;
    let (mut low, mut high) = (0.0f32, f32::INFINITY);
    let mut total = 1.0;
    for _ in 0..64 {
        let zero = simd.splat_f32s(0.0);
        let (mut sum, mut first, mut second) = (zero, zero, zero);
        let minus_beta = simd.splat_f32s(-beta);
        for (&square, power) in squares.iter().zip(&mut *powers) {
            // Infinite squares have the power 0; they must not be multiplied with it.
            let finite = simd.min_f32s(square, simd.splat_f32s(1.0));
            let p = lanes::exp(simd, simd.mul_f32s(minus_beta, square));
            let p = simd.select_f32s(simd.less_than_f32s(square, simd.splat_f32s(2.0)), p, zero);
            *power = p;
            let weighted = simd.mul_f32s(p, finite);
            sum = simd.add_f32s(sum, p);
            first = simd.add_f32s(first, weighted);
            second = simd.mul_add_e_f32s(weighted, finite, second);
        }
        total = simd.reduce_sum_f32s(sum);
        let (mean, mean_square) = (simd.reduce_sum_f32s(first) / total, simd.reduce_sum_f32s(second) / total);
        let excess = total.ln() + beta * mean - target;
        if excess.abs() < 1e-5 {
            break;
        }
        if excess > 0.0 {
            low = beta;
        } else {
            high = beta;
        }
        // Newton's step in ln β: the entropy falls by β² Var(d²).
        let slope = beta * beta * (mean_square - mean * mean);
        let newton = beta * (excess / slope).clamp(-2.0, 2.0).exp();
        beta = if slope > 1e-6 && newton > low && newton < high {
            newton
        } else if high.is_finite() {
            0.5 * (low + high)
        } else {
            beta * 4.0
        };
        if !(1e-30..1e30).contains(&beta) {
            break;
        }
    }
    total
}
