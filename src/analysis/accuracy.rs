//! What a model says of inputs, held against their labels; of a language model the loss of the tokens themselves.

use std::collections::BTreeMap;

use super::{
    explain::report::{LabQuestion, MethodSpec},
    head_statistics::{Moments, Statistic, Tally},
    lengths::{Estimate, wilson},
};
use crate::capture::Matrix;

/// What `attnscope analyze accuracy` says of itself.
pub const METHOD: MethodSpec = MethodSpec {
    name: "accuracy",
    title: "Accuracy and loss",
    question: LabQuestion::Believe,
    about: "Class, probability and loss of every input of a corpus, right or wrong against its labels; loss per token of \
            language models",
    example: "--model demo:bilstm --corpus demo:reviews --label-column label",
    caveat: "An interval is about other inputs of the same kind; texts that the model was trained on are not such inputs.",
    formula: "right / n with the interval of Wilson; loss = −ln p(label), or the mean of −ln p(token) over the tokens after the \
              first",
    source: "Wilson 1927",
    values: &[],
    ..MethodSpec::EMPTY
};

/// What a classifier says of an input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Verdict {
    /// The most probable class, with its probability.
    pub class: usize,
    pub probability: f64,
    /// The class that its label names.
    pub label: Option<usize>,
    /// −ln of the probability of that class, in nats.
    pub loss: Option<f64>,
}

impl Verdict {
    /// Of the logits of all classes, of which one is right; none where there is none, or they are not finite.
    pub fn of(logits: &[f32], label: Option<usize>) -> Option<Self> {
        let total = log_sum_exp(logits)?;
        let class = (0..logits.len()).reduce(|best, at| if logits[at] > logits[best] { at } else { best })?;
        let log = |class: usize| logits.get(class).map(|logit| f64::from(*logit) - total);
        Some(Self { class, probability: log(class)?.exp(), label, loss: label.and_then(log).map(|log| 0.0 - log) })
    }

    /// Whether the class is the one that the label names; none without a label.
    pub fn is_right(&self) -> Option<bool> {
        self.label.map(|label| label == self.class)
    }
}

/// How verdicts and labels agree.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Agreement {
    /// Inputs by label, then class.
    counts: BTreeMap<(usize, usize), u64>,
    losses: Moments,
}

impl Agreement {
    /// Adds a verdict; one without a label does not count.
    pub fn add(&mut self, verdict: &Verdict) {
        let (Some(label), Some(loss)) = (verdict.label, verdict.loss) else { return };
        *self.counts.entry((label, verdict.class)).or_default() += 1;
        self.losses.add(Tally { sum: loss, weight: 1.0, n_rows: 1 });
    }

    /// Inputs with a label.
    pub fn n(&self) -> u64 {
        self.counts.values().sum()
    }

    /// Inputs with this label and this class.
    pub fn count(&self, label: usize, class: usize) -> u64 {
        self.counts.get(&(label, class)).copied().unwrap_or(0)
    }

    /// Classes that a label or a verdict names, upwards.
    pub fn classes(&self) -> Vec<usize> {
        let mut classes: Vec<usize> = self.counts.keys().flat_map(|(label, class)| [*label, *class]).collect();
        classes.sort_unstable();
        classes.dedup();
        classes
    }

    /// The share that is right, with the interval of 95 % after Wilson; none of no input.
    pub fn accuracy(&self) -> Option<Estimate> {
        let right: u64 = self.counts.iter().filter(|((label, class), _)| label == class).map(|(_, n)| n).sum();
        (self.n() > 0).then(|| wilson(right as usize, self.n() as usize))
    }

    /// The mean loss in nats, with its standard error over inputs; none of no input.
    pub fn loss(&self) -> Option<Statistic> {
        self.losses.statistic()
    }
}

/// The losses of the tokens of a text after the first, in nats, added up: row `i` of the logits `[token, vocabulary]` is what
/// is said of token `i + 1`. None of a single token.
pub fn token_losses(logits: &Matrix, ids: &[Option<u32>]) -> Option<Tally> {
    let mut tally = Tally::default();
    for (row, next) in logits.rows().zip(ids.iter().skip(1)) {
        let logit = f64::from(*row.get((*next)? as usize)?);
        tally.add(log_sum_exp(row)? - logit);
    }
    (tally.n_rows > 0).then_some(tally)
}

/// The logarithm of the sum of exponentials; none of no number, and where it is not finite.
fn log_sum_exp(logits: &[f32]) -> Option<f64> {
    let most = f64::from(logits.iter().copied().reduce(f32::max)?);
    let sum: f64 = logits.iter().map(|logit| (f64::from(*logit) - most).exp()).sum();
    Some(most + sum.ln()).filter(|sum| sum.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn verdicts_agree_with_labels_or_do_not() {
        // Probabilities 1/4 and 3/4.
        let logits = [0.0f32, 3.0f32.ln()];
        let right = Verdict::of(&logits, Some(1)).unwrap();
        let wrong = Verdict::of(&logits, Some(0)).unwrap();
        assert_eq!((right.is_right(), wrong.is_right(), right.class), (Some(true), Some(false), 1));
        assert!((right.probability - 0.75).abs() < 1e-7 && (wrong.loss.unwrap() - 4f64.ln()).abs() < 1e-6);
        let mut agreement = Agreement::default();
        for verdict in [right, right, right, wrong, Verdict::of(&logits, None).unwrap()] {
            agreement.add(&verdict);
        }
        assert_eq!((agreement.n(), agreement.count(1, 1), agreement.count(0, 1), agreement.count(0, 0)), (4, 3, 1, 0));
        let accuracy = agreement.accuracy().unwrap();
        // statsmodels.stats.proportion.proportion_confint(3, 4, method="wilson").
        assert!((accuracy.low - 0.300_642).abs() < 1e-5 && (accuracy.high - 0.954_413).abs() < 1e-5, "{accuracy:?}");
        let loss = agreement.loss().unwrap();
        let mean = (3.0 * (4.0f64 / 3.0).ln() + 4f64.ln()) / 4.0;
        assert!((loss.value - mean).abs() < 1e-6 && loss.n_inputs == 4, "{loss:?}");
        assert_eq!(Agreement::default().accuracy(), None);
        assert_eq!(Verdict::of(&[], None), None);
    }

    #[test]
    fn tokens_are_held_against_the_row_before_them() {
        let logits = Matrix::new(vec![0.0, 0.0, 0.0, 3.0f32.ln(), 9.0, 9.0], [3, 2]).unwrap();
        let tally = token_losses(&logits, &[Some(0), Some(1), Some(0)]).unwrap();
        // ln 2 of the first row, ln 4 of the second; nothing follows the third.
        assert!((tally.sum - 8f64.ln()).abs() < 1e-6 && tally.n_rows == 2, "{tally:?}");
        assert_eq!(token_losses(&logits, &[Some(0)]), None);
    }
}
