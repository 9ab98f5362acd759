//! Logits as an affine function of one row of attention.

/// How far a logit may be from that of a run, of the largest logit or of 1.
const TOLERANCE: f64 = 1e-4;

/// `logits = b + Σ_j w_j ℓ_j` over the keys of a row.
#[derive(Clone, Debug)]
pub(super) struct RowMap {
    /// Logits where no key has any weight.
    without: Vec<f64>,
    /// By key what a whole weight on it adds to each logit; nothing for keys that are not seen.
    by_key: Vec<Vec<f64>>,
}

impl RowMap {
    /// Rows of `n` keys whose logits say all of it: no weight at all, and then all weight on each of `keys` in turn.
    pub fn probes(n: usize, keys: &[usize]) -> Vec<Vec<f64>> {
        let on = |key: &usize| {
            let mut row = vec![0.0; n];
            row[*key] = 1.0;
            row
        };
        std::iter::once(vec![0.0; n]).chain(keys.iter().map(on)).collect()
    }

    /// Of the logits of [`Self::probes`].
    pub fn of(n: usize, keys: &[usize], probed: &[Vec<f32>]) -> Self {
        let doubles = |logits: &Vec<f32>| logits.iter().map(|logit| f64::from(*logit)).collect::<Vec<f64>>();
        let without = probed.first().map(doubles).unwrap_or_default();
        let mut by_key = vec![Vec::new(); n];
        for (key, logits) in keys.iter().zip(probed.iter().skip(1)) {
            by_key[*key] = doubles(logits).iter().zip(&without).map(|(on, off)| on - off).collect();
        }
        Self { without, by_key }
    }

    /// The logits of a row.
    pub fn logits(&self, row: &[f64]) -> Vec<f32> {
        let mut sums = self.without.clone();
        for (weight, added) in row.iter().zip(&self.by_key) {
            sums.iter_mut().zip(added).for_each(|(sum, added)| *sum += weight * added);
        }
        sums.iter().map(|sum| *sum as f32).collect()
    }

    /// The slope of a sum of logits, each times its factor, by the weight of a key.
    pub fn slope(&self, key: usize, of_logits: &[(u32, f64)]) -> f64 {
        let added = |id: u32| self.by_key.get(key).and_then(|added| added.get(id as usize)).copied().unwrap_or(0.0);
        of_logits.iter().map(|(id, factor)| factor * added(*id)).sum()
    }

    /// Whether a run with this row had these logits.
    pub fn is_near(&self, row: &[f64], logits: &[f32]) -> bool {
        let most = logits.iter().fold(1.0f64, |most, logit| most.max(f64::from(logit.abs())));
        let own = self.logits(row);
        own.len() == logits.len()
            && own.iter().zip(logits).all(|(own, run)| f64::from((own - run).abs()) <= TOLERANCE * most)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Two logits of three keys, of which the second is not seen.
    fn affine(row: &[f64]) -> Vec<f32> {
        [0.5 + 2.0 * row[0] - row[2], -1.0 + row[0] + 4.0 * row[2]].map(|logit| logit as f32).to_vec()
    }

    #[test]
    fn an_affine_function_is_found_with_its_slopes_and_another_one_is_not_taken_for_one() {
        let keys = [0, 2];
        let found = |of: &dyn Fn(&[f64]) -> Vec<f32>| {
            RowMap::of(3, &keys, &RowMap::probes(3, &keys).iter().map(|row| of(row)).collect::<Vec<_>>())
        };
        let map = found(&affine);
        for row in [[0.2, 0.0, 0.8], [0.0, 0.0, 0.0], [0.5, 0.0, 0.1]] {
            assert!(map.is_near(&row, &affine(&row)), "{row:?}");
        }
        assert!((map.slope(2, &[(0, 1.0), (1, -0.5)]) + 3.0).abs() < 1e-6);
        assert_eq!(map.slope(1, &[(0, 1.0)]), 0.0, "what is not seen moves nothing");
        let square = |row: &[f64]| vec![(row[0] * row[0]) as f32];
        assert!(!found(&square).is_near(&[0.5, 0.0, 0.5], &square(&[0.5, 0.0, 0.5])));
    }
}
