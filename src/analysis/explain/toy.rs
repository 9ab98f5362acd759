//! The tensors of worked examples, and random ones, for tests.

use super::dense::Dense;
use crate::{
    capture::{Matrix, PerHead},
    random::SplitMix,
};

fn layers(values: [[[[f32; 3]; 3]; 2]; 2]) -> Vec<PerHead> {
    values.iter().map(|layer| PerHead::new(layer.as_flattened().as_flattened().to_vec(), [2, 3, 3]).unwrap()).collect()
}

/// Two layers of two heads over three tokens.
pub fn patterns() -> Vec<PerHead> {
    layers([
        [[[0.6, 0.3, 0.1], [0.2, 0.5, 0.3], [0.1, 0.1, 0.8]], [[0.2, 0.5, 0.3], [0.4, 0.1, 0.5], [0.3, 0.3, 0.4]]],
        [[[0.1, 0.7, 0.2], [0.3, 0.4, 0.3], [0.5, 0.25, 0.25]], [[0.3, 0.3, 0.4], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6]]],
    ])
}

/// Gradients of a target by [`patterns`].
pub fn gradients() -> Vec<PerHead> {
    layers([
        [[[0.5, -1.0, 0.2], [1.0, 0.5, -0.5], [0.0; 3]], [[-0.2, 0.4, 0.6], [0.3, -0.3, 0.1], [0.0; 3]]],
        [[[1.0, 2.0, -1.0], [0.0; 3], [0.0; 3]], [[-1.0, 1.0, 0.5], [0.0; 3], [0.0; 3]]],
    ])
}

/// [`patterns`] with keys behind the query cut off and rows normalised again.
pub fn causal() -> Vec<PerHead> {
    let of_layer = |layer: PerHead| {
        let mut values = layer.as_slice().to_vec();
        for (nth, row) in values.chunks_exact_mut(3).enumerate() {
            row[nth % 3 + 1..].fill(0.0);
            let sum: f32 = row.iter().sum();
            for weight in row.iter_mut() {
                *weight /= sum;
            }
        }
        PerHead::new(values, layer.shape()).unwrap()
    };
    patterns().into_iter().map(of_layer).collect()
}

/// Peaked random attention: `n_layers` times `[n_heads, n, n]`.
pub fn random(n: usize, n_layers: usize, n_heads: usize, seed: u64) -> Vec<PerHead> {
    let mut random = SplitMix::new(seed);
    let mut layer = || {
        let mut values: Vec<f32> = (0..n_heads * n * n).map(|_| (4.0 * random.unit()).exp() as f32).collect();
        for row in values.chunks_exact_mut(n) {
            let sum: f32 = row.iter().sum();
            for weight in row.iter_mut() {
                *weight /= sum;
            }
        }
        PerHead::new(values, [n_heads, n, n]).unwrap()
    };
    (0..n_layers).map(|_| layer()).collect()
}

/// A matrix from its rows.
pub fn matrix<const C: usize>(rows: &[[f64; C]]) -> Matrix {
    dense(rows).to_matrix()
}

/// A matrix from its rows.
pub fn dense<const C: usize>(rows: &[[f64; C]]) -> Dense {
    Dense::from_fn(rows.len(), C, |row, col| rows[row][col])
}

/// One matrix of one head.
pub fn head<const C: usize>(rows: &[[f64; C]]) -> PerHead {
    PerHead::new(matrix(rows).as_slice().to_vec(), [1, rows.len(), C]).unwrap()
}

/// Equal to six decimals, as worked examples are written.
pub fn assert_near<T: Copy + Into<f64>>(actual: &[T], expected: &[f64]) {
    assert_eq!(actual.len(), expected.len());
    for (nth, (&actual, expected)) in actual.iter().zip(expected).enumerate() {
        let actual: f64 = actual.into();
        let limit = 1.1e-6 * expected.abs().max(1.0);
        assert!((actual - expected).abs() <= limit, "value {nth} is {actual}, not {expected}");
    }
}

/// One query over four tokens, and a yes or no above it.
pub mod logistic {
    const TOKENS: [[f64; 2]; 4] = [[1.0, 0.5], [-0.5, 1.0], [0.2, -1.0], [2.0, 0.3]];
    const WEIGHT: [f64; 2] = [1.2, -0.7];
    const BIAS: f64 = 0.1;

    /// What a token adds to the logit where all attention is on it.
    pub fn content(token: usize) -> f64 {
        TOKENS[token][0] * WEIGHT[0] + TOKENS[token][1] * WEIGHT[1]
    }

    /// Attention.
    pub fn weights() -> Vec<f64> {
        super::super::normalizers::softmax(&[0.2, 1.0, -0.3, 0.5])
    }

    /// The probability of yes.
    pub fn p(weights: &[f64]) -> f64 {
        let logit: f64 = (0..4).map(|token| weights[token] * content(token)).sum::<f64>() + BIAS;
        1.0 / (1.0 + (-logit).exp())
    }
}
