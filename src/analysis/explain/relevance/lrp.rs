//! Layer-wise relevance propagation: how the relevance of a layer's output is shared out to its inputs
//! (Bach et al. 2015; for attention Chefer et al. 2021).
//!
//! The rules are pure functions; who propagates applies them from the output back, starting from 1 at the
//! target. Softmax, norms, activations and dropout pass relevance on unchanged. Biases get nothing.

use super::super::{ExplainError, dense::Dense};

/// Keeps small denominators from blowing up, as in the published rules.
const SMALL: f64 = 1e-9;

/// `a / b`, 0 where `b` is.
fn shared(a: f64, b: f64) -> f64 {
    if b == 0.0 { 0.0 } else { a / (b.max(SMALL) + b.min(SMALL)) }
}

/// Relevance of the inputs of `y = x Wᵀ` by the positive parts of what they contribute (α = 1, β = 0):
/// `R_i = Σ_o (x_i w_oi)⁺ / Σ_i' (x_i' w_oi')⁺ · R_o`.
///
/// `x` is `[n, in]`, `weight` `[out, in]` and `relevance` `[n, out]`; the answer is `[n, in]`.
pub fn linear(x: &Dense, weight: &Dense, relevance: &Dense) -> Result<Dense, ExplainError> {
    ExplainError::check_shape("the weight of a linear map", &[relevance.n_cols(), x.n_cols()], &weight.shape())?;
    ExplainError::check_shape("the relevance", &[x.n_rows(), weight.n_rows()], &relevance.shape())?;
    // Positive contributions are those of equal signs, so that two products of each kind are enough.
    let part = |of: &Dense, sign: f64| {
        Dense::from_fn(of.n_rows(), of.n_cols(), |row, col| sign * (sign * of.at(row, col)).max(0.0))
    };
    let halves = [1.0, -1.0].map(|sign| (part(x, sign), part(weight, sign)));
    let mut sums = Dense::zeros(relevance.n_rows(), relevance.n_cols());
    for (x, weight) in &halves {
        sums = sums.plus(&x.product(&weight.transposed())?)?;
    }
    let shares = divided(relevance, &sums);
    let mut inputs = Dense::zeros(x.n_rows(), x.n_cols());
    for (x, weight) in &halves {
        inputs = inputs.plus(&times(x, &shares.product(weight)?))?;
    }
    Ok(inputs)
}

/// Relevance of both factors of `Z = A V`, half of it to each: `R_A = A ⊙ (S Vᵀ)/2` and
/// `R_V = V ⊙ (Aᵀ S)/2` with `S = R / Z`.
///
/// `a` is `[n, m]`, `v` `[m, d]` and `relevance` `[n, d]`.
pub fn matmul(a: &Dense, v: &Dense, relevance: &Dense) -> Result<[Dense; 2], ExplainError> {
    let product = a.product(v)?;
    ExplainError::check_shape("the relevance", &product.shape(), &relevance.shape())?;
    let shares = divided(relevance, &product);
    let half = |factor: &Dense, other: Dense| {
        let mut half = times(factor, &other);
        half.as_mut_slice().iter_mut().for_each(|value| *value *= 0.5);
        half
    };
    Ok([half(a, shares.product(&v.transposed())?), half(v, a.transposed().product(&shares)?)])
}

/// Relevance of both terms of `x_0 + x_1`: by their part of the sum, then scaled so that the two totals stand
/// to each other as their sizes do and add up to the whole.
pub fn add(terms: [&Dense; 2], relevance: &Dense) -> Result<[Dense; 2], ExplainError> {
    let sum = terms[0].clone().plus(terms[1])?;
    ExplainError::check_shape("the relevance", &sum.shape(), &relevance.shape())?;
    let shares = divided(relevance, &sum);
    let parts = terms.map(|term| times(term, &shares));
    let total = |of: &Dense| of.as_slice().iter().sum::<f64>();
    let totals = [total(&parts[0]), total(&parts[1])];
    let (whole, sizes) = (total(relevance), totals[0].abs() + totals[1].abs());
    let mut nth = 0;
    Ok(parts.map(|mut part| {
        let factor = shared(shared(totals[nth].abs(), sizes) * whole, totals[nth]);
        part.as_mut_slice().iter_mut().for_each(|value| *value *= factor);
        nth += 1;
        part
    }))
}

/// Relevance of a value that several layers read: the sum of what each gives it back. What is 0 gets nothing.
pub fn copied(x: &Dense, relevances: &[&Dense]) -> Result<Dense, ExplainError> {
    let mut sum = Dense::zeros(x.n_rows(), x.n_cols());
    for relevance in relevances {
        ExplainError::check_shape("the relevance", &x.shape(), &relevance.shape())?;
        sum = sum.plus(&divided(relevance, x))?;
    }
    Ok(times(x, &sum))
}

fn divided(a: &Dense, b: &Dense) -> Dense {
    Dense::from_fn(a.n_rows(), a.n_cols(), |row, col| shared(a.at(row, col), b.at(row, col)))
}

fn times(a: &Dense, b: &Dense) -> Dense {
    Dense::from_fn(a.n_rows(), a.n_cols(), |row, col| a.at(row, col) * b.at(row, col))
}

#[cfg(test)]
mod tests {
    use super::{super::super::toy, *};

    #[test]
    fn a_linear_map_shares_by_positive_parts() {
        let weight = toy::dense(&[[2.0, -1.0, -1.0], [-1.0, 0.5, 1.0]]);
        let shared = linear(&toy::dense(&[[1.0, -2.0, 3.0]]), &weight, &toy::dense(&[[1.0, 2.0]])).unwrap();
        toy::assert_near(shared.as_slice(), &[0.5, 0.5, 2.0]);
        // An output to which nothing contributes gives nothing back, instead of no number.
        let dead = linear(&toy::dense(&[[0.0, 0.0, 0.0]]), &weight, &toy::dense(&[[1.0, 2.0]])).unwrap();
        assert_eq!(dead.as_slice(), [0.0; 3]);
    }

    #[test]
    fn a_sum_shares_by_size() {
        let [a, b] =
            add([&toy::dense(&[[1.0, 2.0]]), &toy::dense(&[[3.0, -1.5]])], &toy::dense(&[[2.0, 1.0]])).unwrap();
        toy::assert_near(a.as_slice(), &[0.25, 2.0]);
        toy::assert_near(b.as_slice(), &[-0.75, 1.5]);
    }

    #[test]
    fn a_product_shares_half_to_each_factor() {
        let (a, v) = (toy::dense(&[[0.7, 0.3], [0.4, 0.6]]), toy::dense(&[[1.0, 2.0], [3.0, -1.0]]));
        let [a, v] = matmul(&a, &v, &toy::dense(&[[1.0, 0.5], [0.2, 0.3]])).unwrap();
        toy::assert_near(a.as_slice(), &[0.536_932, 0.213_068, 0.618_182, -0.368_182]);
        toy::assert_near(v.as_slice(), &[0.236_932, 0.918_182, 0.363_068, -0.518_182]);
        let total: f64 = a.as_slice().iter().chain(v.as_slice()).sum();
        assert!((total - 2.0).abs() < 1e-7, "relevance is kept: {total}");
    }

    #[test]
    fn a_copy_gets_what_all_readers_give_back() {
        let x = toy::dense(&[[2.0, 0.0]]);
        let sum = copied(&x, &[&toy::dense(&[[1.0, 1.0]]), &toy::dense(&[[0.5, -1.0]])]).unwrap();
        toy::assert_near(sum.as_slice(), &[1.5, 0.0]);
    }
}
