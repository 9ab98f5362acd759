//! Norm-based attention (Kobayashi et al. 2020, 2021): weights times the length of what they move.
//!
//! ```text
//! f_h(x_j) = (x_j W_V + b_V) W_O^h             [d] for each head and key
//! ‖Σ_h α^h_ij f_h(x_j)‖² = α_ijᵀ G_j α_ij,     G_j[h, h'] = ⟨f_h(x_j), f_h'(x_j)⟩
//! ```
//!
//! The bias of the values belongs to `f`, that of the output does not. The products `G_j` spare the
//! `heads · n² · d` numbers that the published code writes down. Rows do not sum to 1.
//!
//! In models that norm before attention, `x` is the normed input and the residual stream is not; the third
//! mixing ratio, behind the norm, is theirs only where the norm follows the attention.

use rayon::prelude::*;

use super::{
    ExplainError,
    dense::{Dense, dot},
};
use crate::capture::{Matrix, PerHead};

/// What each head moves from each key: `f`.
#[derive(Clone, Debug)]
pub struct Moved {
    /// `[keys, d]` for each query head.
    heads: Vec<Dense>,
}

/// The norm behind the attention, applied to parts of its input.
#[derive(Clone, Copy, Debug)]
pub struct NormAfter<'a> {
    /// What the norm reads: the residual stream with the attention's output, `[n, d]`. Its variance is that
    /// of the real sum.
    pub input: &'a Matrix,
    /// The norm's weight, `[d]`; its bias belongs to no part.
    pub weight: &'a [f32],
    pub epsilon: f64,
}

impl Moved {
    /// From the values `[kv_heads, keys, d_head]`, with their bias, and the output projection by head
    /// `[heads, d_head, d]`. Query heads share grouped values.
    pub fn new(values: &PerHead, output: &PerHead) -> Result<Self, ExplainError> {
        let ([n_groups, n_keys, d_head], [n_heads, _, width]) = (values.shape(), output.shape());
        ExplainError::check_shape("the output projection", &[n_heads, d_head, width], &output.shape())?;
        if n_groups == 0 || !n_heads.is_multiple_of(n_groups) || n_heads == 0 {
            return Err(ExplainError::shape("the values", &[n_heads, n_keys, d_head], &values.shape()));
        }
        let of_head = |head: usize| {
            let values = values.head(head / (n_heads / n_groups)).ok_or(ExplainError::Nothing("values"))?;
            let output = output.head(head).ok_or(ExplainError::Nothing("output projections"))?;
            Dense::from(&values).product(&Dense::from(&output))
        };
        Ok(Self { heads: (0..n_heads).into_par_iter().map(of_head).collect::<Result<_, _>>()? })
    }

    fn n_keys(&self) -> usize {
        self.heads.first().map_or(0, Dense::n_rows)
    }

    fn check(&self, pattern: &PerHead) -> Result<[usize; 3], ExplainError> {
        let shape = pattern.shape();
        ExplainError::check_shape("the attention pattern", &[self.heads.len(), shape[1], self.n_keys()], &shape)?;
        Ok(shape)
    }

    /// `‖f_h(x_j)‖`, `[heads, keys]`.
    pub fn lengths(&self) -> Matrix {
        self.dense_lengths().to_matrix()
    }

    fn dense_lengths(&self) -> Dense {
        Dense::from_fn(self.heads.len(), self.n_keys(), |head, key| length(self.heads[head].row(key)))
    }

    /// `‖α^h_ij f_h(x_j)‖` of each head, `[heads, queries, keys]`.
    pub fn by_head(&self, pattern: &PerHead) -> Result<PerHead, ExplainError> {
        let [_, n_queries, n_keys] = self.check(pattern)?;
        let lengths = self.dense_lengths();
        let size = (n_queries * n_keys).max(1);
        let of_entry =
            |(nth, weight): (usize, &f32)| (f64::from(weight.abs()) * lengths.at(nth / size, nth % n_keys)) as f32;
        let values: Vec<f32> = pattern.as_slice().iter().enumerate().map(of_entry).collect();
        PerHead::new(values, pattern.shape()).map_err(|_| ExplainError::Nothing("heads"))
    }

    /// `‖Σ_h α^h_ij f_h(x_j)‖`: all heads of the layer together, `[queries, keys]`.
    pub fn together(&self, pattern: &PerHead) -> Result<Matrix, ExplainError> {
        let [n_heads, n_queries, n_keys] = self.check(pattern)?;
        let weights = pattern.as_slice();
        let of_key = |key: usize| {
            let products = Dense::from_fn(n_heads, n_heads, |a, b| dot(self.heads[a].row(key), self.heads[b].row(key)));
            let of_query = |query: usize| {
                let alpha = |head: usize| f64::from(weights[(head * n_queries + query) * n_keys + key]);
                let square: f64 = (0..n_heads)
                    .map(|a| alpha(a) * (0..n_heads).map(|b| products.at(a, b) * alpha(b)).sum::<f64>())
                    .sum();
                // Vectors that cancel leave rounding of either sign.
                square.max(0.0).sqrt()
            };
            (0..n_queries).map(of_query).collect::<Vec<f64>>()
        };
        let columns: Vec<Vec<f64>> = (0..n_keys).into_par_iter().map(of_key).collect();
        Ok(Dense::from_fn(n_queries, n_keys, |query, key| columns[key][query]).to_matrix())
    }

    /// How much of each output comes from other tokens: `‖Σ_{j≠i} c_ij‖ / (‖Σ_{j≠i} c_ij‖ + ‖c_ii‖)`, one
    /// for each query.
    ///
    /// `c_ij = Σ_h α^h_ij f_h(x_j)` alone; with `residual`, `[n, d]`, what the token itself brings along is
    /// added to `c_ii`; with `norm`, all of it goes through the norm behind the attention. Only for
    /// attention of tokens to themselves.
    pub fn mixing_ratios(
        &self,
        pattern: &PerHead,
        residual: Option<&Matrix>,
        norm: Option<NormAfter<'_>>,
    ) -> Result<Vec<f32>, ExplainError> {
        let [n_heads, n, n_keys] = self.check(pattern)?;
        ExplainError::check_shape("attention of tokens to themselves", &[n_heads, n, n], &[n_heads, n, n_keys])?;
        let width = self.heads.first().map_or(0, Dense::n_cols);
        if let Some(residual) = residual {
            ExplainError::check_shape("the residual stream", &[n, width], &residual.shape())?;
        }
        if let Some(norm) = norm {
            ExplainError::check_shape("the norm's input", &[n, width], &norm.input.shape())?;
            ExplainError::check_shape("the norm's weight", &[width], &[norm.weight.len()])?;
        }
        let weights = pattern.as_slice();
        let ratio = |query: usize| {
            let (mut own, mut others) = (vec![0.0; width], vec![0.0; width]);
            for (head, moved) in self.heads.iter().enumerate() {
                let row = &weights[(head * n + query) * n..][..n];
                for ((key, weight), vector) in row.iter().enumerate().zip(moved.rows()).filter(|((_, w), _)| **w != 0.0)
                {
                    let sum = if key == query { &mut own } else { &mut others };
                    for (sum, value) in sum.iter_mut().zip(vector) {
                        *sum += f64::from(*weight) * value;
                    }
                }
            }
            for (own, value) in own.iter_mut().zip(residual.and_then(|residual| residual.row(query)).unwrap_or(&[])) {
                *own += f64::from(*value);
            }
            if let Some((norm, input)) = norm.and_then(|norm| Some((norm, norm.input.row(query)?))) {
                norm.apply(input, &mut own);
                norm.apply(input, &mut others);
            }
            let (own, others) = (length(&own), length(&others));
            if own + others > 0.0 { (others / (own + others)) as f32 } else { f32::NAN }
        };
        Ok((0..n).into_par_iter().map(ratio).collect())
    }
}

impl NormAfter<'_> {
    /// A part of the norm's input as a part of its output: the norm is linear once its scale is held fixed.
    fn apply(&self, input: &[f32], part: &mut [f64]) {
        let n = part.len().max(1) as f64;
        let mean = input.iter().map(|&x| f64::from(x)).sum::<f64>() / n;
        let variance = input.iter().map(|&x| (f64::from(x) - mean).powi(2)).sum::<f64>() / n;
        let scale = 1.0 / (variance + self.epsilon).sqrt();
        let own_mean = part.iter().sum::<f64>() / n;
        for (value, weight) in part.iter_mut().zip(self.weight) {
            *value = (*value - own_mean) * scale * f64::from(*weight);
        }
    }
}

fn length(vector: &[f64]) -> f64 {
    dot(vector, vector).sqrt()
}

#[cfg(test)]
mod tests {
    use super::{super::toy, *};

    fn moved() -> Moved {
        let values = [1.0, 0.0, 0.0, 2.0, 1.0, 1.0, 0.5, -1.0, 1.0, 0.0, 0.0, 0.5];
        let output = [1.0, 0.0, 0.0, 1.0, 0.0, 1.0, 0.0, 0.0, 0.0, 0.0, 1.0, 0.0, -1.0, 0.0, 0.0, 0.5];
        let values = PerHead::new(values.to_vec(), [2, 3, 2]).unwrap();
        Moved::new(&values, &PerHead::new(output.to_vec(), [2, 2, 4]).unwrap()).unwrap()
    }

    #[test]
    fn lengths_of_the_worked_example() {
        let (moved, pattern) = (moved(), &toy::patterns()[0]);
        let expected = [2f64.sqrt(), 2.0, 3f64.sqrt(), 1.5f64.sqrt(), 1.0, 0.559_017];
        toy::assert_near(moved.lengths().as_slice(), &expected);
        let heads = moved.by_head(pattern).unwrap();
        toy::assert_near(heads.head(0).unwrap().row(0).unwrap(), &[0.848_528, 0.6, 0.173_205]);
        let expected =
            [0.948_683, 0.781_025, 0.207_666, 0.632_456, 1.004_988, 0.522_614, 0.430_116, 0.360_555, 1.345_362];
        toy::assert_near(moved.together(pattern).unwrap().as_slice(), &expected);
    }

    #[test]
    fn mixing_ratios_of_the_worked_example() {
        let (moved, pattern) = (moved(), &toy::patterns()[0]);
        let of = |residual, norm| moved.mixing_ratios(pattern, residual, norm).unwrap();
        toy::assert_near(&of(None, None), &[0.481_015, 0.460_037, 0.321_127]);
        let x = toy::matrix(&[[1.0, 2.0, 0.0, -1.0], [0.0, 1.0, 1.0, 0.0], [2.0, 0.0, -1.0, 1.0]]);
        toy::assert_near(&of(Some(&x), None), &[0.243_036, 0.272_791, 0.155_145]);
        let mut sum = Dense::from(&x);
        for (head, moved) in moved.heads.iter().enumerate() {
            let weights = Dense::from(&pattern.head(head).unwrap());
            sum = sum.plus(&weights.product(moved).unwrap()).unwrap();
        }
        let (sum, weight) = (sum.to_matrix(), [1.0, 0.5, 2.0, 1.0]);
        let norm = NormAfter { input: &sum, weight: &weight, epsilon: 1e-12 };
        toy::assert_near(&of(Some(&x), Some(norm)), &[0.196_587, 0.248_682, 0.104_058]);
    }

    #[test]
    fn heads_share_grouped_values() {
        let values = PerHead::new(vec![1.0, 2.0], [1, 2, 1]).unwrap();
        let output = PerHead::new(vec![3.0, -5.0], [2, 1, 1]).unwrap();
        let moved = Moved::new(&values, &output).unwrap();
        assert_eq!(moved.lengths().as_slice(), [3.0, 6.0, 5.0, 10.0]);
        let opposite = PerHead::new(vec![0.625, 0.0, 0.375, 0.0], [2, 1, 2]).unwrap();
        assert_eq!(moved.together(&opposite).unwrap().as_slice(), [0.0, 0.0], "what cancels moves nothing");
        let three = PerHead::new(vec![0.0; 3], [3, 1, 1]).unwrap();
        assert!(Moved::new(&PerHead::new(vec![0.0; 2], [2, 1, 1]).unwrap(), &three).is_err());
    }
}
