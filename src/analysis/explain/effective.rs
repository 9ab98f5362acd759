//! Effective attention (Brunner et al. 2020): the part of a head's weights that can change its output.
//!
//! ```text
//! T = X W_V W_O^h, without b_V        [n, d], of rank at most d_head
//! A_eff = A · U Uᵀ                    U = left singular vectors of T whose value is not 0
//! ```
//!
//! `A_eff · T = A · T`. With more keys than `T` has rank, other weights give the same output, so that the
//! weights cannot be told from it. Effective weights may be negative, and rows need not sum to 1. Where
//! `W_O^h` has full rank, which trained ones have, the values without their bias do in place of `T`.

use rayon::prelude::*;

use super::{
    ExplainError,
    dense::{Dense, wide},
    svd::Svd,
};
use crate::capture::Matrix;

/// Singular values below this part of the largest count as 0: values are `f32`.
const TOLERANCE: f64 = 1e-6;

/// One head's effective attention.
#[derive(Clone, Debug, PartialEq)]
pub struct Effective {
    /// `A_eff`, `[queries, keys]`.
    pub pattern: Matrix,
    /// Whether the weights of each query can be told from the head's output.
    pub identifiable: Vec<bool>,
    /// The rank of `T` over all keys.
    pub rank: usize,
}

/// Effective attention of one head: `pattern` is `[queries, keys]`, `values` `[keys, width]`.
///
/// Under a causal mask, query `i` sees the first `i + 1` keys alone, so that each row has a null space of
/// its own.
pub fn effective(pattern: &Matrix, values: &Matrix, causal: bool) -> Result<Effective, ExplainError> {
    let [n_query, n_key] = pattern.shape();
    ExplainError::check_shape("the values", &[n_key, values.n_cols()], &values.shape())?;
    let whole = Svd::of(&Dense::from(values))?;
    let rank = whole.rank(TOLERANCE);
    let mut prefixes = Prefixes::new(values);
    // Rows that see more keys than there are directions, one after the other; none where that is no safe way.
    let quick: Vec<Option<Vec<f64>>> = (0..n_query)
        .map(|query| if causal && query < n_key { prefixes.next(pattern.row(query).unwrap_or(&[])) } else { None })
        .collect();
    let row = |(query, quick): (usize, Option<Vec<f64>>)| -> Result<(Vec<f64>, bool), ExplainError> {
        let n_visible = if causal { n_key.min(query + 1) } else { n_key };
        if let Some(mut row) = quick {
            row.resize(n_key, 0.0);
            return Ok((row, false));
        }
        let weights = wide(pattern.row(query).unwrap_or(&[]));
        if n_visible == n_key {
            return Ok((whole.project(&weights, TOLERANCE), rank == n_key));
        }
        let seen = values.window(0..n_visible).ok_or(ExplainError::Nothing("values"))?;
        let svd = Svd::of(&Dense::from(&seen))?;
        let mut row = svd.project(&weights[..n_visible], TOLERANCE);
        row.resize(n_key, 0.0);
        Ok((row, svd.rank(TOLERANCE) == n_visible))
    };
    let rows: Vec<(Vec<f64>, bool)> =
        quick.into_par_iter().enumerate().map(row).collect::<Result<_, ExplainError>>()?;
    Ok(Effective {
        pattern: Dense::from_fn(n_query, n_key, |query, key| rows[query].0[key]).to_matrix(),
        identifiable: rows.iter().map(|(_, identifiable)| *identifiable).collect(),
        rank,
    })
}

/// The values of the first keys, one more at a time: `R` of `T = Q R`, kept by rotations.
///
/// Taking each prefix apart anew would cost `n` times as much.
struct Prefixes {
    values: Dense,
    /// Upper triangle, `[width, width]`.
    triangle: Dense,
    n: usize,
}

impl Prefixes {
    fn new(values: &Matrix) -> Self {
        let width = values.n_cols();
        Self { values: Dense::from(values), triangle: Dense::zeros(width, width), n: 0 }
    }

    /// Takes one more key in and projects `weights` onto the columns of the values so far.
    ///
    /// None while there are no more keys than columns, and where the columns are nearly dependent. The
    /// answer is checked: a row in the column space that gives the same output is the projection.
    fn next(&mut self, weights: &[f32]) -> Option<Vec<f64>> {
        let width = self.values.n_cols();
        let mut row = self.values.row(self.n).to_vec();
        self.n += 1;
        for at in 0..width {
            let (own, new) = (self.triangle.at(at, at), row[at]);
            let length = own.hypot(new);
            if new == 0.0 || length == 0.0 {
                continue;
            }
            let (cosine, sine) = (own / length, new / length);
            for (kept, new) in self.triangle.row_mut(at)[at..].iter_mut().zip(&mut row[at..]) {
                (*kept, *new) = (cosine * *kept + sine * *new, cosine * *new - sine * *kept);
            }
        }
        let diagonal = || (0..width).map(|at| self.triangle.at(at, at).abs());
        let (least, most) = (diagonal().fold(f64::INFINITY, f64::min), diagonal().fold(0.0, f64::max));
        if self.n <= width || least < 1e-4 * most {
            return None;
        }
        let weights = wide(weights.get(..self.n)?);
        let output = self.output(&weights);
        let mut projected = vec![0.0; self.n];
        // Once, and once more for what rounding left.
        for _ in 0..2 {
            let left: Vec<f64> = output.iter().zip(self.output(&projected)).map(|(whole, done)| whole - done).collect();
            let along = self.solve(left);
            for (projected, row) in projected.iter_mut().zip(self.values.rows()) {
                *projected += row.iter().zip(&along).map(|(value, along)| value * along).sum::<f64>();
            }
        }
        let size = output.iter().fold(0.0f64, |size, value| size.max(value.abs()));
        let same = output.iter().zip(self.output(&projected)).all(|(a, b)| (a - b).abs() <= 1e-9 * size);
        same.then_some(projected)
    }

    /// `weights · T`.
    fn output(&self, weights: &[f64]) -> Vec<f64> {
        let mut output = vec![0.0; self.values.n_cols()];
        for (weight, row) in weights.iter().zip(self.values.rows()) {
            output.iter_mut().zip(row).for_each(|(output, value)| *output += weight * value);
        }
        output
    }

    /// `(Rᵀ R)⁻¹ x`.
    fn solve(&self, mut x: Vec<f64>) -> Vec<f64> {
        let width = x.len();
        for at in 0..width {
            let known: f64 = (0..at).map(|above| self.triangle.at(above, at) * x[above]).sum();
            x[at] = (x[at] - known) / self.triangle.at(at, at);
        }
        for at in (0..width).rev() {
            let known: f64 = (at + 1..width).map(|behind| self.triangle.at(at, behind) * x[behind]).sum();
            x[at] = (x[at] - known) / self.triangle.at(at, at);
        }
        x
    }
}

/// How many tokens of a sequence can still be told from each other in a layer: the share whose hidden state
/// is nearest, by its angle, to its own input embedding. `hidden` and `embeddings` are `[n, d]`.
pub fn identified_tokens(hidden: &Matrix, embeddings: &Matrix) -> Result<f64, ExplainError> {
    ExplainError::check_shape("the hidden states", &embeddings.shape(), &hidden.shape())?;
    let unit = |matrix: &Matrix| {
        let mut dense = Dense::from(matrix);
        for row in dense.rows_mut() {
            let length = row.iter().map(|x| x * x).sum::<f64>().sqrt().max(f64::MIN_POSITIVE);
            for value in row {
                *value /= length;
            }
        }
        dense
    };
    let cosines = unit(hidden).product(&unit(embeddings).transposed())?;
    let own = |(token, row): &(usize, &[f64])| row.iter().all(|cosine| *cosine <= row[*token]);
    Ok(cosines.rows().enumerate().filter(own).count() as f64 / hidden.n_rows().max(1) as f64)
}

#[cfg(test)]
mod tests {
    use super::{super::toy, *};
    use crate::random::SplitMix;

    #[test]
    fn the_worked_example() {
        let pattern = toy::patterns()[0].head(0).unwrap();
        let values = toy::matrix(&[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]);
        let found = effective(&pattern, &values, false).unwrap();
        let expected = [0.333_333, 0.033_333, 0.366_667, 0.066_667, 0.366_667, 0.433_333, 0.3, 0.3, 0.6];
        toy::assert_near(found.pattern.as_slice(), &expected);
        let sums: Vec<f64> = found.pattern.rows().map(|row| row.iter().map(|&w| f64::from(w)).sum()).collect();
        toy::assert_near(&sums, &[0.733_333, 0.866_667, 1.2]);
        assert_eq!((found.identifiable, found.rank), (vec![false; 3], 2));
    }

    #[test]
    fn the_output_stays_and_weights_that_matter_all_stay_as_they_are() {
        let mut random = SplitMix::new(3);
        for (n, width, causal) in [(12, 4, false), (12, 4, true), (5, 8, false)] {
            let mut pattern = toy::random(n, 1, 1, 7)[0].clone();
            if causal {
                let cut = |(nth, weight): (usize, &f32)| if nth % n > nth / n { 0.0 } else { *weight };
                let values: Vec<f32> = pattern.as_slice().iter().enumerate().map(cut).collect();
                pattern = crate::capture::PerHead::new(values, [1, n, n]).unwrap();
            }
            let pattern = pattern.head(0).unwrap();
            let values: Vec<f32> = (0..n * width).map(|_| random.normal() as f32).collect();
            let values = Matrix::new(values, [n, width]).unwrap();
            let found = effective(&pattern, &values, causal).unwrap();
            let output = |pattern: &Matrix| Dense::from(pattern).product(&Dense::from(&values)).unwrap();
            for (a, b) in output(&found.pattern).as_slice().iter().zip(output(&pattern).as_slice()) {
                assert!((a - b).abs() < 1e-5);
            }
            for (query, identifiable) in found.identifiable.iter().enumerate() {
                let n_visible = if causal { query + 1 } else { n };
                assert_eq!(*identifiable, n_visible <= width);
                if *identifiable {
                    let rows = found.pattern.row(query).unwrap().iter().zip(pattern.row(query).unwrap());
                    assert!(rows.into_iter().all(|(a, b)| (a - b).abs() < 1e-5));
                }
            }
        }
    }

    /// Prefix by prefix, in one go and by taking each apart, also where values are dependent.
    #[test]
    fn causal_rows_are_those_of_their_prefix_alone() {
        let mut random = SplitMix::new(8);
        let pattern = toy::random(10, 1, 1, 2)[0].head(0).unwrap();
        let cut: Vec<f32> =
            pattern.as_slice().iter().enumerate().map(|(at, w)| if at % 10 > at / 10 { 0.0 } else { *w }).collect();
        let pattern = Matrix::new(cut, [10, 10]).unwrap();
        for dependent in [false, true] {
            let mut values: Vec<f32> = (0..30).map(|_| random.normal() as f32).collect();
            if dependent {
                values.chunks_exact_mut(3).for_each(|row| row[2] = 2.0 * row[0] - row[1]);
            }
            let values = Matrix::new(values, [10, 3]).unwrap();
            let found = effective(&pattern, &values, true).unwrap();
            for query in 0..10 {
                let seen = values.window(0..query + 1).unwrap();
                let row = Matrix::new(pattern.row(query).unwrap()[..=query].to_vec(), [1, query + 1]).unwrap();
                let alone = effective(&row, &seen, false).unwrap();
                let pairs = alone.pattern.as_slice().iter().zip(found.pattern.row(query).unwrap());
                assert!(pairs.into_iter().all(|(a, b)| (a - b).abs() < 1e-5));
                assert_eq!(alone.identifiable[0], found.identifiable[query]);
            }
        }
    }

    #[test]
    fn tokens_are_told_by_their_angles() {
        let embeddings = toy::matrix(&[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]);
        assert_eq!(identified_tokens(&embeddings, &embeddings).unwrap(), 1.0);
        let hidden = toy::matrix(&[[3.0, 0.1], [1.0, 1.2], [1.0, 1.1]]);
        assert!((identified_tokens(&hidden, &embeddings).unwrap() - 2.0 / 3.0).abs() < 1e-12);
    }
}
