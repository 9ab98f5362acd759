//! Permutation of attention weights (Jain and Wallace 2019): what the output does when the same weights lie
//! on other tokens.

use super::ExplainError;
use crate::random::SplitMix;

/// Rows in which the weights at `movable` positions have changed places; the others, special tokens and
/// keys that the query cannot see, stay. The same seed gives the same rows.
pub fn permuted(weights: &[f64], movable: &[usize], count: usize, seed: u64) -> Result<Vec<Vec<f64>>, ExplainError> {
    if movable.len() < 2 {
        return Err(ExplainError::Nothing("two weights that could change places"));
    }
    if let Some(key) = movable.iter().find(|&&key| key >= weights.len()) {
        return Err(ExplainError::option("a weight to move", key, "the position of a key"));
    }
    let mut random = SplitMix::new(seed);
    let row = |_| {
        let mut places = movable.to_vec();
        random.shuffle(&mut places);
        let mut row = weights.to_vec();
        for (&to, &from) in movable.iter().zip(&places) {
            row[to] = weights[from];
        }
        row
    };
    Ok((0..count).map(row).collect())
}

/// How far outputs are from the original: the mean over outputs of `|p̃ - p|`, as published for outputs that
/// are probabilities on their own. For a distribution [`tvd`](super::divergence::tvd) is the measure.
pub fn mean_change(changed: &[f64], original: &[f64]) -> f64 {
    let sum: f64 = changed.iter().zip(original).map(|(a, b)| (a - b).abs()).sum();
    sum / original.len().max(1) as f64
}

/// The statistic of the test: the median of the changes; none where there are none.
pub fn median(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let upper = sorted.get(sorted.len() / 2)?;
    let lower = sorted.get((sorted.len() - 1) / 2)?;
    Some(f64::midpoint(*lower, *upper))
}

#[cfg(test)]
mod tests {
    use super::{super::toy, *};

    /// All orders of four weights.
    fn all_orders() -> Vec<[usize; 4]> {
        let digits = (0..256).map(|code: usize| [code & 3, code >> 2 & 3, code >> 4 & 3, code >> 6]);
        digits.filter(|order| (0..4).all(|key| order.contains(&key))).collect()
    }

    #[test]
    fn the_median_over_all_orders_of_the_worked_example() {
        let alpha = toy::logistic::weights();
        let original = toy::logistic::p(&alpha);
        toy::assert_near(&[original], &[0.595_370]);
        let change = |order: &[usize; 4]| mean_change(&[toy::logistic::p(&order.map(|key| alpha[key]))], &[original]);
        let changes: Vec<f64> = all_orders().iter().map(change).collect();
        assert_eq!(changes.len(), 24);
        toy::assert_near(&[median(&changes).unwrap()], &[0.097_026]);
        toy::assert_near(&[toy::logistic::p(&[0.25; 4])], &[0.683_521]);
    }

    /// Importance by gradient and by leaving out, of the same example.
    #[test]
    fn gradients_and_leaving_out_of_the_worked_example() {
        let alpha = toy::logistic::weights();
        toy::assert_near(&alpha, &[0.192_978, 0.429_481, 0.117_047, 0.260_493]);
        let p = toy::logistic::p(&alpha);
        let slope = |key: usize| p * (1.0 - p) * alpha[key] * toy::logistic::content(key);
        toy::assert_near(&[0, 1, 2, 3].map(slope), &[0.039_516, -0.134_503, 0.026_505, 0.137_431]);
        let without = |key: usize| p - toy::logistic::p(&super::super::erasure::erased(&alpha, &[key]));
        toy::assert_near(&[0, 1, 2, 3].map(without), &[-0.032_850, 0.233_876, -0.021_040, -0.165_996].map(|x: f64| -x));
    }

    #[test]
    fn only_what_may_move_moves_and_nothing_is_lost() {
        let weights = [0.1, 0.2, 0.3, 0.15, 0.25];
        let rows = permuted(&weights, &[1, 2, 3], 40, 7).unwrap();
        assert!(rows.iter().any(|row| row[1] != 0.2));
        for row in &rows {
            assert_eq!((row[0], row[4]), (0.1, 0.25));
            let mut sorted = row.clone();
            sorted.sort_by(f64::total_cmp);
            assert_eq!(sorted, [0.1, 0.15, 0.2, 0.25, 0.3]);
        }
        assert_eq!(rows, permuted(&weights, &[1, 2, 3], 40, 7).unwrap());
        assert!(permuted(&weights, &[1], 1, 0).is_err() && permuted(&weights, &[1, 5], 1, 0).is_err());
        assert_eq!((median(&[]), median(&[3.0, 1.0])), (None, Some(2.0)));
    }
}
