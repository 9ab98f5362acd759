//! Which token is written next.

use crate::{model::run::Choice, random::SplitMix};

/// Below this temperature only the most probable token is left.
const COLD: f64 = 1e-3;

/// Chooses tokens one after the other.
pub struct Sampler {
    choice: Choice,
    random: SplitMix,
}

impl Sampler {
    /// The same choice, with its seed, takes the same tokens.
    pub const fn new(choice: Choice) -> Self {
        let seed = match choice {
            Choice::Greedy => 0,
            Choice::Sample { seed, .. } => seed,
        };
        Self { choice, random: SplitMix::new(seed) }
    }

    /// The id of the next token, from the `[vocab]` logits of which at least one is finite and none NaN.
    ///
    /// By chance means: from the smallest set of most probable tokens that together have `top_p` (Holtzman et al.
    /// 2020), each as often as it is probable. Of equal logits the first counts as the larger one.
    pub fn next(&mut self, logits: &[f32]) -> u32 {
        let mut order: Vec<u32> = (0..).take(logits.len()).collect();
        let logit = |id: &u32| logits[*id as usize];
        let largest = *order.iter().rev().max_by(|a, b| logit(a).total_cmp(&logit(b))).unwrap_or(&0);
        let Choice::Sample { temperature, top_p, .. } = self.choice else { return largest };
        if temperature < COLD || top_p <= 0.0 {
            return largest;
        }
        order.sort_by(|a, b| logit(b).total_cmp(&logit(a)));
        let weight = |id: &u32| (f64::from(logit(id) - logit(&largest)) / temperature).exp();
        let mut sums: Vec<f64> = Vec::with_capacity(order.len());
        for id in &order {
            sums.push(sums.last().copied().unwrap_or(0.0) + weight(id));
        }
        let whole = sums.last().copied().unwrap_or(0.0);
        let n_kept = sums.partition_point(|sum| *sum < top_p * whole) + 1;
        sums.truncate(n_kept);
        let drawn = self.random.unit() * sums.last().copied().unwrap_or(0.0);
        order.get(sums.partition_point(|sum| *sum <= drawn)).copied().unwrap_or(largest)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(logits: &[f32], temperature: f64, top_p: f64) -> Vec<f64> {
        let mut sampler = Sampler::new(Choice::Sample { temperature, top_p, seed: 3 });
        let n = 20_000;
        let mut counts = vec![0.0; logits.len()];
        for _ in 0..n {
            counts[sampler.next(logits) as usize] += 1.0 / f64::from(n);
        }
        counts
    }

    #[test]
    fn tokens_come_as_often_as_they_are_probable() {
        let logits = [0.5f32.ln(), 0.1f32.ln(), f32::NEG_INFINITY, 0.3f32.ln(), 0.1f32.ln()];
        let near = |found: Vec<f64>, expected: [f64; 5]| {
            for (found, expected) in found.iter().zip(expected) {
                assert!((found - expected).abs() < 0.015, "{found} {expected}");
                assert!(*found == 0.0 || expected > 0.0);
            }
        };
        near(share(&logits, 1.0, 1.0), [0.5, 0.1, 0.0, 0.3, 0.1]);
        // Half the temperature squares the odds.
        near(share(&logits, 0.5, 1.0), [25.0 / 36.0, 1.0 / 36.0, 0.0, 9.0 / 36.0, 1.0 / 36.0]);
        near(share(&logits, 1.0, 0.7), [0.625, 0.0, 0.0, 0.375, 0.0]);
        near(share(&logits, 1.0, 0.4), [1.0, 0.0, 0.0, 0.0, 0.0]);
        near(share(&logits, 0.0, 1.0), [1.0, 0.0, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn the_first_of_equal_ones_is_the_most_probable() {
        assert_eq!(Sampler::new(Choice::Greedy).next(&[1.0, 2.0, 2.0, 0.0]), 1);
    }
}
