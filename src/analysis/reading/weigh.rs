//! Weights by the length of what they move: a key with a long value vector moves the output more than one
//! with the same weight and a short value (Kobayashi et al. 2020, whose transformed vector is left out here:
//! the lengths are those of the head's own value vectors, as in AttentionViz, Yeh et al. 2023).

use super::Refusal;
use crate::{
    capture::{Capture, Matrix},
    ids::HeadId,
};

/// `a_ij · ‖v_j‖`, each row scaled back to the sum it had: for a row that sums to 1 the same as
/// `a_ij · ‖v_j‖ / Σ_j a_ij · ‖v_j‖`.
///
/// `pattern` is `[query, key]` of `head`. A row whose weighted sum is 0 or not finite stays as it is: nothing
/// could be shared out in it.
///
/// # Errors
/// When the values of the head were not recorded.
pub(super) fn by_value_norm(capture: &Capture, head: HeadId, pattern: &Matrix) -> Result<Matrix, Refusal> {
    let values = capture.v(head).ok_or(Refusal::NoValues(head))?;
    let own = weighed(pattern, &lengths(&values)).ok_or(Refusal::NoValues(head))?;
    let global = capture.global_tokens(head);
    if global.is_empty() {
        return Ok(own);
    }
    // Tokens that see all move other values.
    let values = capture.v_global(head).ok_or(Refusal::NoValues(head))?;
    let others = weighed(pattern, &lengths(&values)).ok_or(Refusal::NoValues(head))?;
    let row = |query: usize| if global.binary_search(&query).is_ok() { others.row(query) } else { own.row(query) };
    let rows: Vec<f32> = (0..own.n_rows()).filter_map(row).flatten().copied().collect();
    Matrix::new(rows, own.shape()).map_err(|_| Refusal::NoValues(head))
}

/// The Euclidean length of each row.
fn lengths(values: &Matrix) -> Vec<f64> {
    let length = |row: &[f32]| row.iter().map(|&entry| f64::from(entry).powi(2)).sum::<f64>().sqrt();
    values.rows().map(length).collect()
}

/// The pattern with every column multiplied by its length, rows with the sums they had; `None` where there is
/// not one length per column.
fn weighed(pattern: &Matrix, lengths: &[f64]) -> Option<Matrix> {
    let [n_rows, n_cols] = pattern.shape();
    if lengths.len() != n_cols {
        return None;
    }
    let mut weighed = Vec::with_capacity(n_rows * n_cols);
    for row in pattern.rows() {
        let products = || row.iter().zip(lengths).map(|(&weight, length)| f64::from(weight) * length);
        let (before, after) = (row.iter().map(|&weight| f64::from(weight)).sum::<f64>(), products().sum::<f64>());
        let scale = before / after;
        if after > 0.0 && after.is_finite() && scale.is_finite() {
            weighed.extend(products().map(|product| (product * scale) as f32));
        } else {
            weighed.extend_from_slice(row);
        }
    }
    Matrix::new(weighed, pattern.shape()).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(weights: &[f32], lengths: &[f64], expected: &[f32]) {
        let n = lengths.len();
        let pattern = Matrix::new(weights.to_vec(), [weights.len() / n, n]).unwrap();
        let found = weighed(&pattern, lengths).unwrap();
        for (found, expected) in found.as_slice().iter().zip(expected) {
            let same = found.to_bits() == expected.to_bits() || (found - expected).abs() < 1e-7;
            assert!(same, "{found} is not {expected}: {weights:?} by {lengths:?}");
        }
    }

    #[test]
    fn weights_are_shared_out_by_the_lengths_of_the_values() {
        // 0.5·1, 0.25·2, 0.25·4 are 0.5, 0.5, 1 of 2; 0.8·1, 0, 0.2·4 are half each.
        check(&[0.5, 0.25, 0.25, 0.8, 0.0, 0.2], &[1.0, 2.0, 4.0], &[0.25, 0.25, 0.5, 0.5, 0.0, 0.5]);
        // A row keeps the sum it had: 0.2·1 and 0.2·3 are a quarter and three quarters of 0.4.
        check(&[0.2, 0.2], &[1.0, 3.0], &[0.1, 0.3]);
        // Nothing to share out: all lengths that are attended to are 0, the row is empty, or not a number.
        check(&[1.0, 0.0, 0.0, 0.0], &[0.0, 2.0], &[1.0, 0.0, 0.0, 0.0]);
        check(&[f32::NAN, 1.0], &[1.0, 1.0], &[f32::NAN, 1.0]);
        check(&[0.5, 0.5], &[f64::INFINITY, 1.0], &[0.5, 0.5]);
        let values = Matrix::new(vec![3.0, 4.0, 0.0, 0.0, -1.0, 0.0], [3, 2]).unwrap();
        assert_eq!(lengths(&values), [5.0, 0.0, 1.0]);
    }

    #[test]
    fn values_of_one_length_change_nothing() {
        let weights = [0.125, 0.625, 0.25, 0.01, 0.29, 0.7];
        for length in [1e-6, 1.0, 17.3] {
            check(&weights, &[length; 3], &weights);
        }
        assert!(weighed(&Matrix::new(weights.to_vec(), [2, 3]).unwrap(), &[1.0; 2]).is_none());
    }
}
