//! Editing an association by a change of rank one (Meng et al. 2022).
//!
//! The second matrix `W` of a feed-forward layer is taken for a memory that answers keys with values. A key
//! `k` is to have the value `v`, while the answers to all other keys change as little as possible:
//!
//! ```text
//! minimise ‖W' K - W K‖ over keys K of a corpus, with W' k = v
//! W' = W + (v - W k) (C⁻¹ k)ᵀ / (kᵀ C⁻¹ k),     C = K Kᵀ / samples + ridge
//! ```

use super::{
    ExplainError,
    dense::{Dense, dot},
};
use crate::capture::Matrix;

/// What the squares of what is left are brought down to, relative to the key's.
const TOLERANCE: f64 = 1e-20;

/// A change of rank one: `W' = W + left · rightᵀ`.
#[derive(Clone, Debug, PartialEq)]
pub struct RankOne {
    /// By output, `[d_out]`.
    pub left: Vec<f64>,
    /// By input, `[d_in]`.
    pub right: Vec<f64>,
}

impl RankOne {
    /// What the change adds to the layer's answer to `input`, `[d_out]`.
    pub fn added(&self, input: &[f64]) -> Vec<f64> {
        let along = dot(&self.right, input);
        self.left.iter().map(|left| left * along).collect()
    }

    /// The change as a matrix `[d_out, d_in]`.
    pub fn matrix(&self) -> Dense {
        Dense::from_fn(self.left.len(), self.right.len(), |row, col| self.left[row] * self.right[col])
    }
}

/// The change that gives `key` the value `value` where it has `now = W key` (without the bias).
///
/// `samples` are keys of a corpus, `[samples, d_in]`, whose answers should stay. `ridge`, above 0, is a part of
/// their mean square that is added to every direction: it stands for keys that the corpus does not have, and
/// is needed where there are fewer samples than directions.
pub fn rank_one(
    key: &[f64],
    value: &[f64],
    now: &[f64],
    samples: &Matrix,
    ridge: f64,
) -> Result<RankOne, ExplainError> {
    let width = key.len();
    ExplainError::check_shape("the keys of the corpus", &[samples.n_rows(), width], &samples.shape())?;
    ExplainError::check_shape("the value", &[now.len()], &[value.len()])?;
    if samples.n_rows() == 0 {
        return Err(ExplainError::Nothing("keys of a corpus"));
    }
    if !(ridge > 0.0 && ridge.is_finite()) {
        return Err(ExplainError::option("the ridge", ridge, "above 0"));
    }
    let finite = samples.as_slice().iter().all(|x| x.is_finite());
    if !finite || !key.iter().chain(value).chain(now).all(|x| x.is_finite()) {
        return Err(ExplainError::NotFinite("keys and values"));
    }
    let direction = solve(&Dense::from(samples), key, ridge);
    let along = dot(&direction, key);
    if along <= 0.0 {
        return Err(ExplainError::Nothing("keys that are not 0"));
    }
    let left = value.iter().zip(now).map(|(value, now)| value - now).collect();
    Ok(RankOne { left, right: direction.iter().map(|x| x / along).collect() })
}

/// `C⁻¹ key` by conjugate gradients (Hestenes and Stiefel 1952), without writing `C` down.
fn solve(samples: &Dense, key: &[f64], ridge: f64) -> Vec<f64> {
    let n = samples.n_rows() as f64;
    let mean_square = dot(samples.as_slice(), samples.as_slice()) / samples.as_slice().len().max(1) as f64;
    // Where all samples are 0, nothing has to stay.
    let ridge = if mean_square > 0.0 { ridge * mean_square } else { 1.0 };
    let apply = |x: &[f64]| {
        let mut out: Vec<f64> = x.iter().map(|x| ridge * x).collect();
        for row in samples.rows() {
            let along = dot(row, x) / n;
            out.iter_mut().zip(row).for_each(|(out, value)| *out += along * value);
        }
        out
    };
    let mut solution = vec![0.0; key.len()];
    let mut rest = key.to_vec();
    let mut direction = rest.clone();
    let mut square = dot(&rest, &rest);
    let enough = TOLERANCE * square;
    // Rounding makes a few more steps than directions necessary.
    for _ in 0..4 * key.len() + 10 {
        if square <= enough {
            break;
        }
        let applied = apply(&direction);
        let step = square / dot(&direction, &applied);
        solution.iter_mut().zip(&direction).for_each(|(x, direction)| *x += step * direction);
        rest.iter_mut().zip(&applied).for_each(|(rest, applied)| *rest -= step * applied);
        let now = dot(&rest, &rest);
        let keep = now / square;
        direction.iter_mut().zip(&rest).for_each(|(direction, rest)| *direction = rest + keep * *direction);
        square = now;
    }
    solution
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::random::SplitMix;

    fn random(n: usize, width: usize, seed: u64) -> Matrix {
        let mut random = SplitMix::new(seed);
        Matrix::new((0..n * width).map(|_| random.normal() as f32).collect::<Vec<_>>(), [n, width]).unwrap()
    }

    #[test]
    fn the_key_gets_its_value_and_other_keys_keep_theirs_as_far_as_possible() {
        let (d_in, d_out) = (6, 3);
        let samples = random(40, d_in, 1);
        let (key, value, now) = (
            super::super::dense::wide(random(1, d_in, 2).as_slice()),
            super::super::dense::wide(random(1, d_out, 3).as_slice()),
            super::super::dense::wide(random(1, d_out, 4).as_slice()),
        );
        let edit = rank_one(&key, &value, &now, &samples, 1e-9).unwrap();
        for ((added, value), now) in edit.added(&key).iter().zip(&value).zip(&now) {
            assert!((now + added - value).abs() < 1e-9);
        }
        let harm = |change: &Dense| {
            let moved = Dense::from(&samples).product(&change.transposed()).unwrap();
            dot(moved.as_slice(), moved.as_slice())
        };
        let least = harm(&edit.matrix());
        let mut random = SplitMix::new(5);
        for _ in 0..100 {
            // Any other change that answers the key alike: what is added leaves the key alone.
            let mut other = edit.matrix();
            for row in other.rows_mut() {
                let step: Vec<f64> = (0..d_in).map(|_| 0.1 * random.normal()).collect();
                let along = dot(&step, &key) / dot(&key, &key);
                row.iter_mut().zip(step.iter().zip(&key)).for_each(|(x, (step, key))| *x += step - along * key);
            }
            assert!(harm(&other) > least);
        }
    }

    #[test]
    fn fewer_samples_than_directions_need_the_ridge() {
        let samples = random(2, 8, 6);
        let key = [1.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0];
        let edit = rank_one(&key, &[2.0], &[0.5], &samples, 1e-3).unwrap();
        assert!((edit.added(&key)[0] - 1.5).abs() < 1e-9);
        // What the corpus has is spared: its keys' answers change less than a change along the key would do.
        let moved =
            |right: &[f64]| samples.rows().map(|row| dot(&super::super::dense::wide(row), right).powi(2)).sum::<f64>();
        assert!(moved(&edit.right) < 1e-3 * moved(&key));
        assert!(rank_one(&key, &[2.0], &[0.5], &samples, 0.0).is_err());
        assert!(rank_one(&[0.0; 8], &[2.0], &[0.5], &samples, 1e-3).is_err());
        assert!(rank_one(&key[1..], &[2.0], &[0.5], &samples, 1e-3).is_err());
    }
}
