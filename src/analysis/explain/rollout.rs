//! Attention rollout (Abnar and Zuidema 2020): attention of all layers multiplied up.
//!
//! ```text
//! F_l = fuse over heads of A_l          [n, n]
//! Â_l = rownorm(w·I + (1-w)·F_l)
//! R_l = Â_l · R_(l-1),  R before the first layer = I
//! ```
//!
//! `R[i, j]` is the share of input token `j` in output `i`, and rows sum to 1. A later layer stands on the
//! left, because rows are queries. Rows are divided by their own sums: one published code divides columns,
//! which nobody notices as long as rows sum to 1 already.

use super::{
    ExplainError,
    dense::{Dense, check_square, mean_over_heads},
};
use crate::capture::{Matrix, PerHead};

/// How the heads of a layer become one matrix.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Fuse {
    /// The mean, as published.
    #[default]
    Mean,
    /// The largest weight of any head.
    Max,
    /// The smallest weight of any head.
    Min,
}

vocabulary! {
    Fuse: name, title;
    Mean("mean", "Mean"),
    Max("max", "Largest"),
    Min("min", "Smallest"),
}

/// What is assumed about heads and the residual stream.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RolloutOptions {
    pub fuse: Fuse,
    /// The fraction of each layer's fused weights that is set to 0, the smallest first, `0..=1`.
    ///
    /// They are chosen from the whole matrix, not from each row; equal ones go in the order of the matrix.
    /// The very first entry stays: the published code wanted to keep the class token, and keeps this one cell.
    pub discard: f64,
    /// The share of the residual stream `w`, `0..=1`: an assumption, not a measurement.
    pub residual: f64,
    /// Layers before this one are left out.
    pub start_layer: usize,
}

impl Default for RolloutOptions {
    fn default() -> Self {
        Self { fuse: Fuse::Mean, discard: 0.0, residual: 0.5, start_layer: 0 }
    }
}

/// The rollout after each layer from `start_layer` on, `[n, n]` each; the last one is the answer.
///
/// `patterns` are the layers of one stack whose queries and keys are the same tokens, `[heads, n, n]`.
pub fn rollout(patterns: &[PerHead], options: RolloutOptions) -> Result<Vec<Matrix>, ExplainError> {
    Ok(multiplied(augmented(patterns, options)?)?.iter().map(Dense::to_matrix).collect())
}

/// The rollout of attention weighted by its gradient: the fused matrix is `relu(mean over heads of A ⊙ G)`.
///
/// The cut at 0 comes after the mean (Gildenblat 2020); in [`relevance`](super::relevance) it comes before.
/// Discarding spares no cell here, and `fuse` is not used.
///
/// `gradients` are those of the target by `patterns`, of the same shapes.
pub fn gradient_rollout(
    patterns: &[PerHead],
    gradients: &[PerHead],
    options: RolloutOptions,
) -> Result<Vec<Matrix>, ExplainError> {
    check(patterns, options)?;
    ExplainError::check_shape("the gradients of the layers", &[patterns.len()], &[gradients.len()])?;
    check_square("gradients", gradients)?;
    let layers = patterns.iter().zip(gradients).skip(options.start_layer).map(|(pattern, gradient)| {
        let mut fused = mean_over_heads(pattern, gradient, |a, g| a * g)?;
        fused.as_mut_slice().iter_mut().for_each(|value| *value = value.max(0.0));
        discard(&mut fused, options.discard, false);
        Ok(with_residual(&fused, options.residual))
    });
    Ok(multiplied(layers.collect::<Result<_, ExplainError>>()?)?.iter().map(Dense::to_matrix).collect())
}

/// Weights of every layer with its residual stream, rows normalised: `Â_l` from the start layer on.
pub(super) fn augmented(patterns: &[PerHead], options: RolloutOptions) -> Result<Vec<Dense>, ExplainError> {
    check(patterns, options)?;
    let layers = patterns.iter().skip(options.start_layer).map(|pattern| {
        let mut fused = fused(pattern, options.fuse);
        discard(&mut fused, options.discard, true);
        with_residual(&fused, options.residual)
    });
    Ok(layers.collect())
}

fn check(patterns: &[PerHead], options: RolloutOptions) -> Result<(), ExplainError> {
    check_square("attention patterns", patterns)?;
    ExplainError::check_fraction("the fraction that is discarded", options.discard)?;
    ExplainError::check_fraction("the share of the residual stream", options.residual)?;
    if options.start_layer >= patterns.len() {
        return Err(ExplainError::option("the first layer", options.start_layer, "a layer of the stack"));
    }
    Ok(())
}

fn fused(pattern: &PerHead, fuse: Fuse) -> Dense {
    let [n_heads, n, _] = pattern.shape();
    let mut heads = pattern.as_slice().chunks_exact((n * n).max(1));
    let first = heads.next().unwrap_or(&[]);
    let mut fused = Dense::from_fn(n, n, |row, col| f64::from(first[row * n + col]));
    for head in heads {
        for (fused, weight) in fused.as_mut_slice().iter_mut().zip(head) {
            let weight = f64::from(*weight);
            *fused = match fuse {
                Fuse::Mean => *fused + weight,
                Fuse::Max => fused.max(weight),
                Fuse::Min => fused.min(weight),
            };
        }
    }
    if fuse == Fuse::Mean {
        fused.as_mut_slice().iter_mut().for_each(|weight| *weight /= n_heads as f64);
    }
    fused
}

fn discard(fused: &mut Dense, fraction: f64, spare_first: bool) {
    let values = fused.as_mut_slice();
    let n_discarded = (values.len() as f64 * fraction).floor() as usize;
    let mut order: Vec<usize> = (0..values.len()).collect();
    order.sort_by(|&a, &b| values[a].total_cmp(&values[b]));
    for &entry in order.iter().take(n_discarded).filter(|&&entry| entry > 0 || !spare_first) {
        values[entry] = 0.0;
    }
}

/// Rows that have nothing, because everything was discarded and there is no residual stream, stay 0.
fn with_residual(fused: &Dense, share: f64) -> Dense {
    let own = |row: usize, col: usize| if row == col { share } else { 0.0 };
    let [n_rows, n_cols] = fused.shape();
    Dense::from_fn(n_rows, n_cols, |row, col| own(row, col) + (1.0 - share) * fused.at(row, col)).with_normalised_rows()
}

fn multiplied(layers: Vec<Dense>) -> Result<Vec<Dense>, ExplainError> {
    let mut products: Vec<Dense> = Vec::with_capacity(layers.len());
    for layer in layers {
        products.push(match products.last() {
            Some(before) => layer.product(before)?,
            None => layer,
        });
    }
    Ok(products)
}

#[cfg(test)]
mod tests {
    use super::{super::toy, *};

    fn last(options: RolloutOptions) -> Matrix {
        rollout(&toy::patterns(), options).unwrap().pop().unwrap()
    }

    #[test]
    fn the_worked_example_with_every_fusion() {
        let layers = rollout(&toy::patterns(), RolloutOptions::default()).unwrap();
        toy::assert_near(layers[0].row(0).unwrap(), &[0.7, 0.2, 0.1]);
        let expected = [0.4725, 0.2975, 0.23, 0.2, 0.55, 0.25, 0.210_625, 0.179_375, 0.61];
        toy::assert_near(layers[1].as_slice(), &expected);
        let of = |fuse| last(RolloutOptions { fuse, ..RolloutOptions::default() });
        toy::assert_near(of(Fuse::Max).row(0).unwrap(), &[0.430_556, 0.315_972, 0.253_472]);
        toy::assert_near(of(Fuse::Min).row(0).unwrap(), &[0.546_875, 0.265_625, 0.1875]);
        let alone = last(RolloutOptions { residual: 0.0, ..RolloutOptions::default() });
        toy::assert_near(alone.row(0).unwrap(), &[0.29, 0.29, 0.42]);
    }

    /// Dividing columns, as a published code does, would give 0.412698, 0.427083, 0.298501.
    #[test]
    fn rows_are_divided_by_their_own_sums_after_discarding() {
        let kept = last(RolloutOptions { fuse: Fuse::Max, discard: 0.5, ..RolloutOptions::default() });
        toy::assert_near(kept.row(0).unwrap(), &[0.412_698, 0.347_718, 0.239_583]);
    }

    #[test]
    fn causal_attention_stays_causal() {
        let layers = rollout(&toy::causal(), RolloutOptions::default()).unwrap();
        let expected = [1.0, 0.0, 0.0, 0.369_728, 0.630_272, 0.0, 0.276_786, 0.153_214, 0.57];
        toy::assert_near(layers[1].as_slice(), &expected);
    }

    #[test]
    fn rows_sum_to_one_whatever_is_discarded_and_a_later_start_leaves_layers_out() {
        for fuse in Fuse::ALL {
            for discard in [0.0, 0.3, 0.9, 1.0] {
                for layer in
                    rollout(&toy::random(7, 5, 3, 11), RolloutOptions { fuse, discard, ..Default::default() }).unwrap()
                {
                    let sums = layer.rows().map(|row| row.iter().map(|&w| f64::from(w)).sum::<f64>());
                    assert!(sums.into_iter().all(|sum| (sum - 1.0).abs() < 1e-6));
                }
            }
        }
        let late = last(RolloutOptions { start_layer: 1, ..RolloutOptions::default() });
        let alone = rollout(&toy::patterns()[1..], RolloutOptions::default()).unwrap();
        assert_eq!(late, alone[0]);
    }

    /// By hand for one layer: relu of the mean of A ⊙ G, then half of it and half of the identity.
    #[test]
    fn gradients_are_cut_at_zero_after_the_mean_over_heads() {
        let layers = gradient_rollout(&toy::patterns(), &toy::gradients(), RolloutOptions::default()).unwrap();
        let fused: [f64; 3] = [0.5 * (0.3 - 0.04), 0.0, 0.5 * (0.02 + 0.18)];
        let sum = 0.5 + 0.5 * fused.iter().sum::<f64>();
        let expected = [(0.5 + 0.5 * fused[0]) / sum, 0.0, 0.5 * fused[2] / sum];
        toy::assert_near(layers[0].row(0).unwrap(), &expected);
        // A row without gradient keeps to itself.
        toy::assert_near(layers[0].row(2).unwrap(), &[0.0, 0.0, 1.0]);
    }

    #[test]
    fn what_cannot_be_rolled_out_is_said() {
        let of = |options| rollout(&toy::patterns(), options).unwrap_err().to_string();
        let late = of(RolloutOptions { start_layer: 2, ..RolloutOptions::default() });
        assert_eq!(late, "the first layer is 2, but must be a layer of the stack");
        let odd = of(RolloutOptions { discard: 1.5, ..RolloutOptions::default() });
        assert_eq!(odd, "the fraction that is discarded is 1.5, but must be between 0 and 1");
        assert!(rollout(&[], RolloutOptions::default()).is_err());
        let cross = PerHead::new(vec![0.5; 6], [1, 2, 3]).unwrap();
        assert!(rollout(&[cross], RolloutOptions::default()).is_err());
        let broken = PerHead::new(vec![f32::NAN; 4], [1, 2, 2]).unwrap();
        assert!(rollout(&[broken], RolloutOptions::default()).unwrap_err().to_string().contains("not finite"));
    }
}
