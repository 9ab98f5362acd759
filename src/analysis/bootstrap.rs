//! Intervals of 95 % by the bootstrap (Efron 1979): what a number would be for other samples of the same size.

use std::ops::Range;

use crate::random::SplitMix;

/// The share of resampled numbers that an interval leaves out at either end.
const TAIL: f64 = 0.025;

/// A number with its 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    pub value: f64,
    pub low: f64,
    pub high: f64,
}

impl Estimate {
    /// A value and the middle 95 % of what resampling gave.
    pub fn of(value: f64, resampled: impl Iterator<Item = f64>) -> Self {
        let mut sorted: Vec<f64> = resampled.collect();
        sorted.sort_by(f64::total_cmp);
        Self { value, low: quantile(&sorted, TAIL), high: quantile(&sorted, 1.0 - TAIL) }
    }

    /// The mean of values, with as many of them drawn anew `samples` times. The same seed draws the same ones. `None` of
    /// no values.
    pub fn of_mean(values: &[f64], samples: usize, seed: u64) -> Option<Self> {
        let n = values.len();
        let mean = |sum: f64| sum / n as f64;
        let mut random = SplitMix::new(seed);
        let drawn = (0..samples).map(|_| mean((0..n).map(|_| values[random.below(n)]).sum()));
        (n > 0).then(|| Self::of(mean(values.iter().sum()), drawn))
    }

    /// Whether the interval has zero outside.
    pub fn differs(self) -> bool {
        self.low > 0.0 || self.high < 0.0
    }
}

/// The value below which a part of sorted values lies, between two of them where it has to be.
pub fn quantile(sorted: &[f64], part: f64) -> f64 {
    let place = part * sorted.len().saturating_sub(1) as f64;
    let Range { start, end } = place.floor() as usize..place.ceil() as usize;
    let [Some(below), Some(above)] = [start, end].map(|idx| sorted.get(idx)) else { return f64::NAN };
    below + (above - below) * place.fract()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_lie_between_values() {
        let sorted = [1.0, 2.0, 4.0, 8.0];
        assert_eq!([0.0, 0.5, 1.0].map(|part| quantile(&sorted, part)), [1.0, 3.0, 8.0]);
        assert!((quantile(&sorted, 0.025) - 1.075).abs() < 1e-12);
        assert!(quantile(&[], 0.5).is_nan());
    }

    #[test]
    fn the_interval_of_a_mean_is_that_of_its_standard_error() {
        // Coins: ±1.96 √(0.25 / 400) = ±0.049.
        let values: Vec<f64> = (0..400).map(|nth| f64::from(nth % 2)).collect();
        let found = Estimate::of_mean(&values, 1000, 3).unwrap();
        assert!((found.value - 0.5).abs() < 1e-12);
        assert!([found.high - 0.5, 0.5 - found.low].iter().all(|half| (0.043..0.056).contains(half)), "{found:?}");
        assert_eq!(Some(found), Estimate::of_mean(&values, 1000, 3));
        assert_eq!(Estimate::of_mean(&[], 1000, 3), None);
    }
}
