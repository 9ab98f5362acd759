//! Contacts between the residues of a protein, as ESM predicts them of all its attention maps (Rao et al. 2021).

use super::ExplainError;
use crate::capture::{Matrix, PerHead};

/// The regression that a checkpoint has for it (`EsmContactPredictionHead`).
#[derive(Clone, Debug, PartialEq)]
pub struct ContactMap {
    /// A factor for each head, by layer, then head.
    pub weights: Vec<f32>,
    pub bias: f32,
    /// The token that ends a sequence: its rows and columns count as 0.
    pub end: u32,
}

impl ContactMap {
    /// The probability that two residues touch, `[token, token]`: maps are made symmetric, what their rows and columns have
    /// in common is taken away (average product correction), and a logistic regression adds them up. The first and the last
    /// token are no residues and have NaN.
    ///
    /// # Shapes
    /// - `layers`: `[head, token, token]` each
    /// - `ids`: of each token
    ///
    /// # Errors
    /// When there is no residue, or the maps are not those that the regression is for.
    pub fn probabilities(&self, layers: &[PerHead], ids: &[Option<u32>]) -> Result<Matrix, ExplainError> {
        let (n, n_maps) = (ids.len(), layers.iter().map(|layer| layer.shape()[0]).sum::<usize>());
        let residues = 1..n.saturating_sub(1);
        if residues.is_empty() {
            return Err(ExplainError::Nothing("residues"));
        }
        if n_maps != self.weights.len() {
            return Err(ExplainError::Nothing("maps for all weights of the regression"));
        }
        let is_end: Vec<bool> = ids.iter().map(|id| *id == Some(self.end)).collect();
        let m = residues.len();
        let mut logits = vec![f64::from(self.bias); m * m];
        let maps = layers.iter().flat_map(|layer| (0..layer.shape()[0]).filter_map(|head| layer.head(head)));
        for (map, weight) in maps.zip(&self.weights) {
            let value = |from: usize, to: usize| {
                let out = is_end[from] || is_end[to];
                map.get(from, to).filter(|_| !out).map_or(0.0, f64::from)
            };
            let both = |i: usize, j: usize| value(i + 1, j + 1) + value(j + 1, i + 1);
            let sums: Vec<f64> = (0..m).map(|i| (0..m).map(|j| both(i, j)).sum()).collect();
            let all: f64 = sums.iter().sum();
            for (i, row) in logits.chunks_exact_mut(m).enumerate() {
                for (j, logit) in row.iter_mut().enumerate() {
                    *logit += f64::from(*weight) * (both(i, j) - sums[i] * sums[j] / all);
                }
            }
        }
        let mut values = vec![f32::NAN; n * n];
        for (i, row) in logits.chunks_exact(m).enumerate() {
            for (j, logit) in row.iter().enumerate() {
                values[(i + 1) * n + j + 1] = (1.0 / (1.0 + (-logit).exp())) as f32;
            }
        }
        Matrix::new(values, [n, n]).map_err(|_| ExplainError::Nothing("residues"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_and_columns_in_common_are_taken_away() {
        // Two residues between a beginning and an end: S = [[0.4, 0.7], [0.7, 0.2]], sums 1.1 and 0.9 of 2.
        let map = [
            0.0, 0.0, 0.0, 0.0, //
            0.1, 0.2, 0.3, 0.4, //
            0.5, 0.4, 0.1, 0.0, //
            0.0, 0.0, 0.0, 0.0,
        ];
        let layers = [PerHead::new(map.to_vec(), [1, 4, 4]).unwrap()];
        let contacts = ContactMap { weights: vec![2.0], bias: -0.5, end: 2 };
        let found = contacts.probabilities(&layers, &[Some(0), Some(7), Some(8), Some(2)]).unwrap();
        let expected = |logit: f64| (1.0 / (1.0 + (-logit).exp())) as f32;
        assert!((found.get(1, 1).unwrap() - expected(-0.5 + 2.0 * (0.4 - 1.1 * 1.1 / 2.0))).abs() < 1e-6);
        assert!((found.get(1, 2).unwrap() - expected(-0.5 + 2.0 * (0.7 - 1.1 * 0.9 / 2.0))).abs() < 1e-6);
        assert_eq!(found.get(1, 2), found.get(2, 1));
        assert!(found.get(0, 1).unwrap().is_nan() && found.get(2, 3).unwrap().is_nan());
        assert!(contacts.probabilities(&layers, &[Some(0), Some(2)]).is_err(), "no residue");
    }
}
