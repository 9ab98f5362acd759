//! Gates that are open, closed or in between, and can be learnt: stretched binary concrete distributions
//! (Louizos et al. 2018).
//!
//! A noisy logit goes through a sigmoid, is stretched to `low..high` and cut to `0..=1`, so that exactly 0
//! and exactly 1 have a probability. Used for pruning heads (Voita et al. 2019) and for masks of tokens
//! (De Cao et al. 2020).

/// A gate's distribution, up to its logit.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gate {
    /// How hard it is: near 0 it is open or closed.
    pub temperature: f64,
    /// Below 0.
    pub low: f64,
    /// Above 1; 1 where the gate is stretched downwards alone.
    pub high: f64,
}

impl Gate {
    /// As heads were pruned by Voita et al. (2019).
    pub const HEADS: Self = Self { temperature: 0.33, low: -0.1, high: 1.1 };
    /// As inputs were masked by De Cao et al. (2020).
    pub const INPUTS: Self = Self { temperature: 0.2, low: -0.2, high: 1.0 };

    /// The probability that it is not closed, `P(g > 0)`.
    pub fn p_open(&self, logit: f64) -> f64 {
        sigmoid(logit - self.temperature * (-self.low / self.high).ln())
    }

    /// The slope of [`Self::p_open`] by the logit.
    pub fn p_open_slope(&self, logit: f64) -> f64 {
        let p = self.p_open(logit);
        p * (1.0 - p)
    }

    /// Its value for noise `u` in `0 < u < 1`, with the slope by the logit.
    pub fn sample(&self, logit: f64, u: f64) -> (f64, f64) {
        let open = sigmoid(((u / (1.0 - u)).ln() + logit) / self.temperature);
        let stretched = open * (self.high - self.low) + self.low;
        let slope = open * (1.0 - open) / self.temperature * (self.high - self.low);
        // Where it is cut, the logit changes nothing.
        (stretched.clamp(0.0, 1.0), if (0.0..=1.0).contains(&stretched) { slope } else { 0.0 })
    }

    /// Its value without noise; the temperature plays no part.
    pub fn value(&self, logit: f64) -> f64 {
        (sigmoid(logit) * (self.high - self.low) + self.low).clamp(0.0, 1.0)
    }
}

fn sigmoid(x: f64) -> f64 {
    1.0 / (1.0 + (-x).exp())
}

#[cfg(test)]
mod tests {
    use super::{super::toy, *};
    use crate::random::SplitMix;

    #[test]
    fn the_worked_examples() {
        let heads = [0.0, -3.0, 3.0];
        toy::assert_near(&heads.map(|logit| Gate::HEADS.value(logit)), &[0.5, 0.0, 1.0]);
        toy::assert_near(&heads.map(|logit| Gate::HEADS.p_open(logit)), &[0.688_112, 0.098_972, 0.977_932]);
        let inputs = [5.0, 0.0, -5.0].map(|logit| Gate::INPUTS.p_open(logit));
        toy::assert_near(&inputs, &[0.995_140, 0.579_784, 0.009_211]);
    }

    #[test]
    fn samples_are_open_as_often_as_they_should_be_and_have_the_right_slope() {
        let mut random = SplitMix::new(1);
        for gate in [Gate::HEADS, Gate::INPUTS] {
            let n_open = (0..20_000).filter(|_| gate.sample(0.3, random.unit().max(1e-12)).0 > 0.0).count();
            assert!((n_open as f64 / 20_000.0 - gate.p_open(0.3)).abs() < 0.01);
            let (_, slope) = gate.sample(0.1, 0.4);
            let expected = (gate.sample(0.1 + 1e-6, 0.4).0 - gate.sample(0.1 - 1e-6, 0.4).0) / 2e-6;
            assert!((slope - expected).abs() < 1e-6 && slope > 0.0);
            let expected = (gate.p_open(1e-6) - gate.p_open(-1e-6)) / 2e-6;
            assert!((gate.p_open_slope(0.0) - expected).abs() < 1e-6);
        }
    }
}
