//! Choice of the next token.

use candle_core::{Device, Tensor};
use candle_transformers::generation::{LogitsProcessor, Sampling};

use crate::model::{ModelError, run::TokenChoice};

/// Below this temperature only the most probable token is left.
const COLD: f64 = 1e-3;

/// Chooses tokens one after the other, as the library does: what the checkpoint's rules leave is divided by the
/// temperature, then cut off, in the order of transformers. Its cut by probability is that of transformers too: a token
/// is left out when those before it have `top_p` together.
pub struct Sampler(LogitsProcessor);

impl Sampler {
    /// The same choice, with its seed, takes the same tokens.
    pub fn new(choice: TokenChoice) -> Self {
        let (seed, sampling) = match choice {
            // The library would take all tokens for a `top_p` of 0.
            TokenChoice::Sample { temperature, top_p, seed } if temperature >= COLD && top_p > 0.0 => {
                let whole = top_p >= 1.0;
                (seed, if whole { Sampling::All { temperature } } else { Sampling::TopP { p: top_p, temperature } })
            }
            TokenChoice::Greedy | TokenChoice::Sample { .. } | TokenChoice::Beams { .. } => (0, Sampling::ArgMax),
        };
        Self(LogitsProcessor::from_sampling(seed, sampling))
    }

    /// The id of the next token, from the `[vocab]` logits of which at least one is finite and none NaN.
    ///
    /// By chance means: from the smallest set of most probable tokens that together have `top_p` (Holtzman et al.
    /// 2020), each as often as it is probable. Of equal logits the first counts as the larger one.
    ///
    /// # Errors
    /// When the engine refuses.
    pub fn next(&mut self, logits: &[f32]) -> Result<u32, ModelError> {
        Ok(self.0.sample(&Tensor::new(logits, &Device::Cpu)?)?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn share(logits: &[f32], temperature: f64, top_p: f64) -> Vec<f64> {
        let mut sampler = Sampler::new(TokenChoice::Sample { temperature, top_p, seed: 3 });
        let n = 20_000;
        let mut counts = vec![0.0; logits.len()];
        for _ in 0..n {
            counts[sampler.next(logits).unwrap() as usize] += 1.0 / f64::from(n);
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
        near(share(&logits, 1.0, 0.0), [1.0, 0.0, 0.0, 0.0, 0.0]);
    }

    #[test]
    fn the_first_of_equal_ones_is_the_most_probable() {
        assert_eq!(Sampler::new(TokenChoice::Greedy).next(&[1.0, 2.0, 2.0, 0.0]).unwrap(), 1);
    }
}
