//! Bias added to the scores of a layer, kept no larger than it has to be.

use super::{LayerCapture, PerHead};

/// The shape that a bias must have: as it is declared where that is one of the forms of
/// [`LayerCapture::bias`], else `[heads, query, key]`.
pub(super) fn expected_shape(bias: &PerHead, n_heads: usize, [n_query, n_key]: [usize; 2]) -> [usize; 3] {
    match bias.shape() {
        [_, 1, n] if n == n_key || n + 1 == n_query + n_key => [n_heads, 1, n],
        _ => [n_heads, n_query, n_key],
    }
}

impl LayerCapture {
    /// What is added to the scores that query `query` of `n_query` has with each of `n_key` keys; `None` without a
    /// bias.
    pub fn bias_row(&self, head: usize, query: usize, [n_query, n_key]: [usize; 2]) -> Option<&[f32]> {
        let bias = self.bias.as_ref()?;
        let [n_heads, n_rows, n_cols] = bias.shape();
        if head >= n_heads || query >= n_query {
            return None;
        }
        let within = match n_rows {
            1 if n_cols == n_key => 0,
            // By distance: a query's keys lie one further left than those of the query before.
            1 => n_query - 1 - query,
            _ => query * n_cols,
        };
        bias.as_slice().get(head * n_rows * n_cols + within..)?.get(..n_key)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layer(values: &[f32], shape: [usize; 3]) -> LayerCapture {
        LayerCapture { bias: Some(PerHead::new(values.to_vec(), shape).unwrap()), ..LayerCapture::default() }
    }

    #[test]
    fn rows_are_the_same_however_a_bias_is_kept() {
        // Two queries at the end of three keys: distances −2 to 1 of two heads.
        let by_distance = layer(&[-2.0, -1.0, 0.0, 1.0, -20.0, -10.0, 0.0, 10.0], [2, 1, 4]);
        let full = [[-1.0, 0.0, 1.0], [-2.0, -1.0, 0.0], [-10.0, 0.0, 10.0], [-20.0, -10.0, 0.0]];
        let in_full = layer(full.as_flattened(), [2, 2, 3]);
        for (nth, row) in full.iter().enumerate() {
            let (head, query) = (nth / 2, nth % 2);
            assert_eq!(by_distance.bias_row(head, query, [2, 3]), Some(&row[..]));
            assert_eq!(in_full.bias_row(head, query, [2, 3]), Some(&row[..]));
        }
        let of_keys = layer(&[5.0, 6.0, 7.0], [1, 1, 3]);
        assert_eq!(of_keys.bias_row(0, 1, [2, 3]), Some(&[5.0, 6.0, 7.0][..]));
        assert_eq!(of_keys.bias_row(1, 0, [2, 3]), None);
        assert_eq!(of_keys.bias_row(0, 2, [2, 3]), None);
    }

    #[test]
    fn a_bias_of_another_shape_does_not_fit() {
        let fits = |shape: [usize; 3]| {
            let bias = PerHead::new(vec![0.0; shape.iter().product()], shape).unwrap();
            expected_shape(&bias, 2, [4, 6]) == shape
        };
        assert!([[2, 4, 6], [2, 1, 6], [2, 1, 9]].into_iter().all(fits));
        assert!(![[2, 1, 10], [2, 1, 4], [1, 1, 9], [2, 4, 9], [2, 6, 4]].into_iter().any(fits));
    }
}
