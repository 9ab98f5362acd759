//! Causal tracing (Meng et al. 2022) and attention knockout (Geva et al. 2023): the arithmetic around the
//! runs.
//!
//! ```text
//! P = p(answer), P* = p(answer) with noise on the subject, the mean over samples
//! total effect = P - P*          indirect effect of (token, layer) = P*(restored there) - P*
//! ```

use std::ops::Range;

use super::ExplainError;
use crate::random::SplitMix;

/// The layers in which something is restored or cut around `layer`: `width` of them where there are so many.
///
/// An even width has one more layer before than behind, as published.
pub fn window(layer: usize, n_layers: usize, width: usize) -> Range<usize> {
    let start = layer.saturating_sub(width / 2).min(n_layers);
    start..(layer + width.div_ceil(2)).clamp(start, n_layers)
}

/// What restoring does to the probability of the answer.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Effects {
    /// `P - P*`.
    pub total: f64,
    /// `P*(restored) - P*`.
    pub indirect: f64,
    /// The indirect effect as a part of the total one; none where noise changes nothing.
    pub normalised: Option<f64>,
}

impl Effects {
    /// From the probability of the answer in the clean, the corrupted and the restored run.
    pub fn of(clean: f64, corrupted: f64, restored: f64) -> Self {
        let (total, indirect) = (clean - corrupted, restored - corrupted);
        Self { total, indirect, normalised: (total.abs() > f64::EPSILON).then(|| indirect / total) }
    }
}

/// The unbiased standard deviation of all values; none of fewer than two.
pub fn standard_deviation(values: impl Iterator<Item = f64> + Clone) -> Option<f64> {
    let n = values.clone().count();
    if n < 2 {
        return None;
    }
    let mean = values.clone().sum::<f64>() / n as f64;
    Some((values.map(|value| (value - mean).powi(2)).sum::<f64>() / (n - 1) as f64).sqrt())
}

/// Numbers from the standard normal distribution; the same seed gives the same ones.
pub fn noise(count: usize, seed: u64) -> Vec<f64> {
    let mut random = SplitMix::new(seed);
    (0..count).map(|_| random.normal()).collect()
}

/// The tokens that a stretch of text covers: from the first to the last with a character of it.
///
/// `tokens` are the texts of the tokens, spaces included, as they stand one after the other.
pub fn token_span(tokens: &[&str], text: &str) -> Option<Range<usize>> {
    let whole: String = tokens.concat();
    let start = whole.find(text.trim()).filter(|_| !text.trim().is_empty())?;
    let end = start + text.trim().len();
    let mut at = 0;
    let mut covered = tokens.iter().enumerate().filter_map(|(nth, token)| {
        let from = at;
        at += token.len();
        (from < end && at > start).then_some(nth)
    });
    let first = covered.next()?;
    Some(first..covered.last().unwrap_or(first) + 1)
}

/// How an edge from a query to a key is cut.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Cut {
    /// Before the softmax: what is left is divided by its sum.
    Hide,
    /// Behind it: the weight is lost.
    Drop,
}

/// A row of attention without the keys in `blocked`.
///
/// Hiding every key that has weight leaves no row, which is an error: the softmax of nothing is no number,
/// or, where masks are only very negative, uniform attention to what should be hidden.
pub fn without_keys(row: &[f64], blocked: &[usize], cut: Cut) -> Result<Vec<f64>, ExplainError> {
    let mut left = row.to_vec();
    for &key in blocked {
        match left.get_mut(key) {
            Some(weight) => *weight = 0.0,
            None => return Err(ExplainError::option("a key to be cut off", key, "the position of a key")),
        }
    }
    if cut == Cut::Hide {
        let sum: f64 = left.iter().sum();
        if sum <= 0.0 {
            return Err(ExplainError::Nothing("keys that the query may still see"));
        }
        for weight in &mut left {
            *weight /= sum;
        }
    }
    Ok(left)
}

/// The change of a probability in percent of what it was.
pub fn relative_change(before: f64, after: f64) -> f64 {
    100.0 * (after - before) / before
}

#[cfg(test)]
mod tests {
    use super::{super::toy, *};

    #[test]
    fn the_worked_example() {
        let effects = Effects::of(0.9, 0.1, 0.55);
        toy::assert_near(&[effects.total, effects.indirect, effects.normalised.unwrap()], &[0.8, 0.45, 0.5625]);
        assert_eq!(Effects::of(0.5, 0.5, 0.6).normalised, None);
        assert_eq!([0, 3, 11].map(|layer| window(layer, 12, 10)), [0..5, 0..8, 6..12]);
        assert_eq!(window(5, 12, 3), 4..7);
        assert_eq!((window(5, 12, 1), window(0, 2, 10)), (5..6, 0..2));
        let deviation = standard_deviation([0.1, -0.2, 0.3, 0.0, -0.1, 0.2].into_iter()).unwrap();
        toy::assert_near(&[deviation], &[0.187_083]);
        assert_eq!(standard_deviation([1.0].into_iter()), None);
    }

    #[test]
    fn a_stretch_of_text_covers_tokens() {
        let tokens = ["The", " Space", " Need", "le", " is", " in"];
        assert_eq!(token_span(&tokens, "Space Needle"), Some(1..4));
        assert_eq!(token_span(&tokens, "e"), Some(0..1));
        assert_eq!((token_span(&tokens, "Tower"), token_span(&tokens, " ")), (None, None));
    }

    #[test]
    fn edges_are_cut_before_or_behind_the_softmax() {
        let row = [0.5, 0.3, 0.2];
        toy::assert_near(&without_keys(&row, &[0], Cut::Hide).unwrap(), &[0.0, 0.6, 0.4]);
        toy::assert_near(&without_keys(&row, &[0], Cut::Drop).unwrap(), &[0.0, 0.3, 0.2]);
        let all = without_keys(&row, &[0, 1, 2], Cut::Hide).unwrap_err();
        assert_eq!(all.to_string(), "there is nothing to explain: no keys that the query may still see were given");
        assert_eq!(without_keys(&row, &[0, 1, 2], Cut::Drop).unwrap(), [0.0; 3]);
        assert!(without_keys(&row, &[3], Cut::Drop).is_err());
        assert_eq!(relative_change(0.5, 0.25), -50.0);
    }
}
