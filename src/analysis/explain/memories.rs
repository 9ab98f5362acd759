//! Feed-forward layers as memories (Geva et al. 2021, 2022): which keys fire, and what their values promote.
//!
//! ```text
//! m = act(x Kᵀ + b)          FF(x) = Σ_i m_i v_i + b'
//! contribution of i = |m_i| · ‖v_i‖          tokens that v_i promotes: softmax(E v_i)
//! ```
//!
//! Coefficients of smooth activations can be negative: such a memory takes its value away.

use super::{
    ExplainError,
    dense::{Dense, wide},
    normalizers::softmax,
    rank::descending,
};

/// One memory that fires.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Memory {
    /// Which one, a row of keys and values.
    pub index: usize,
    /// `m_i`.
    pub coefficient: f64,
    /// `|m_i| · ‖v_i‖`.
    pub contribution: f64,
}

/// The coefficients `m` of an input; `keys` are `[memories, d]`, `bias` one for each memory or empty.
pub fn coefficients(
    x: &[f64],
    keys: &Dense,
    bias: &[f64],
    activation: impl Fn(f64) -> f64,
) -> Result<Vec<f64>, ExplainError> {
    ExplainError::check_shape("the keys of a feed-forward layer", &[keys.n_rows(), x.len()], &keys.shape())?;
    let of_memory = |(nth, key): (usize, &[f64])| {
        let dot: f64 = key.iter().zip(x).map(|(key, x)| key * x).sum();
        activation(dot + bias.get(nth).copied().unwrap_or(0.0))
    };
    Ok(keys.rows().enumerate().map(of_memory).collect())
}

/// All memories by their contribution, the largest first; `norms` are `‖v_i‖`.
pub fn ranked(coefficients: &[f64], norms: &[f64]) -> Result<Vec<Memory>, ExplainError> {
    ExplainError::check_shape("the norms of the values", &[coefficients.len()], &[norms.len()])?;
    let contributions: Vec<f64> = coefficients.iter().zip(norms).map(|(m, norm)| m.abs() * norm).collect();
    let memory = |index: usize| Memory { index, coefficient: coefficients[index], contribution: contributions[index] };
    Ok(descending(&contributions).into_iter().map(memory).collect())
}

/// Lengths of the rows of `values`, `[memories, d]`.
pub fn norms(values: &Dense) -> Vec<f64> {
    values.rows().map(|row| row.iter().map(|x| x * x).sum::<f64>().sqrt()).collect()
}

/// Memories that fire with a coefficient above 0 and whose value is not 0.
pub fn n_active(coefficients: &[f64], norms: &[f64]) -> usize {
    coefficients.iter().zip(norms).filter(|(m, norm)| **m * **norm > 0.0).count()
}

/// The tokens that a value promotes most, with their probabilities; `embedding` is `[vocabulary, d]`.
///
/// The final norm is left out, as published. Whoever wants its weight in hands in an embedding that has it.
pub fn promoted(value: &[f64], embedding: &Dense, n_top: usize) -> Result<Vec<(usize, f64)>, ExplainError> {
    ExplainError::check_shape("the embedding", &[embedding.n_rows(), value.len()], &embedding.shape())?;
    let dot = |row: &[f64]| row.iter().zip(value).map(|(a, b)| a * b).sum::<f64>();
    let p = softmax(&embedding.rows().map(dot).collect::<Vec<f64>>());
    Ok(descending(&p).into_iter().take(n_top).map(|token| (token, p[token])).collect())
}

/// [`promoted`] of a row of `f32`.
pub fn promoted_by(value: &[f32], embedding: &Dense, n_top: usize) -> Result<Vec<(usize, f64)>, ExplainError> {
    promoted(&wide(value), embedding, n_top)
}

#[cfg(test)]
mod tests {
    use super::{super::toy, *};

    #[test]
    fn the_worked_example() {
        let keys = toy::dense(&[[1.0, 0.0, 1.0], [0.0, 1.0, 0.0], [2.0, 1.0, 0.0], [-1.0, -1.0, 1.0]]);
        let values = toy::dense(&[[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 2.0], [1.0, 1.0, 1.0]]);
        let m = coefficients(&[1.0, -1.0, 0.5], &keys, &[0.0, 0.5, -0.5, 0.2], |x| x.max(0.0)).unwrap();
        toy::assert_near(&m, &[1.5, 0.0, 0.5, 0.7]);
        let norms = norms(&values);
        let ranked = ranked(&m, &norms).unwrap();
        assert_eq!(ranked.iter().map(|memory| memory.index).collect::<Vec<_>>(), [0, 3, 2, 1]);
        toy::assert_near(
            &ranked.iter().map(|memory| memory.contribution).collect::<Vec<_>>(),
            &[1.5, 1.212_436, 1.0, 0.0],
        );
        assert_eq!(n_active(&m, &norms), 3);
        let embedding = toy::dense(&[[1.0, 0.0, 0.0], [0.0, 2.0, 0.0], [0.0, 0.0, 1.0]]);
        let expected = [(0, 0.576_117), (1, 0.786_986), (2, 0.786_986), (1, 0.576_117)];
        for (value, (token, p)) in values.rows().zip(expected) {
            let top = promoted(value, &embedding, 1).unwrap();
            assert_eq!(top[0].0, token);
            toy::assert_near(&[top[0].1], &[p]);
        }
    }

    #[test]
    fn a_negative_coefficient_is_ranked_by_its_size_and_does_not_count_as_active() {
        let ranked = ranked(&[-2.0, 1.0], &[1.0, 1.0]).unwrap();
        assert_eq!((ranked[0].index, ranked[0].coefficient, ranked[0].contribution), (0, -2.0, 2.0));
        assert_eq!(n_active(&[-2.0, 1.0], &[1.0, 1.0]), 1);
        assert!(coefficients(&[1.0], &toy::dense(&[[1.0, 2.0]]), &[], |x| x).is_err());
    }
}
