//! What a model says of inputs, held against their labels; of a language model the loss of the tokens themselves.

use std::collections::BTreeMap;

use super::{
    explain::report::{LabQuestion, MethodSpec},
    head_statistics::{Moments, Statistic, Tally},
    lengths::{Estimate, wilson},
};
use crate::{
    capture::Matrix,
    spec::{HeadKind, ModelSpec},
};

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

/// What a model says that inputs can be judged by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Speech {
    /// One class of each input.
    Classes,
    /// The next token, from left to right.
    Tokens,
}

impl Speech {
    /// Of a model; none where it says nothing that labels or the tokens themselves could be held against.
    pub fn of(model: &ModelSpec) -> Option<Self> {
        match model.head {
            Some(HeadKind::TextClass | HeadKind::ImageClass | HeadKind::PairClass) => Some(Self::Classes),
            Some(HeadKind::NextToken) if model.modality.target().is_none() => Some(Self::Tokens),
            _ => None,
        }
    }
}

/// What a model says of one input.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Said {
    Class(Verdict),
    /// Losses of its tokens.
    Tokens(Tally),
}

impl Said {
    /// The loss in nats: of the label, or of a token on average.
    pub fn loss(&self) -> Option<f64> {
        match self {
            Self::Class(verdict) => verdict.loss,
            Self::Tokens(tally) => Some(tally.sum / tally.weight),
        }
    }

    /// The verdict of a classifier.
    pub const fn verdict(&self) -> Option<&Verdict> {
        match self {
            Self::Class(verdict) => Some(verdict),
            Self::Tokens(_) => None,
        }
    }
}

/// What a model says of the inputs of a list, as far as they were run.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Judgements {
    /// By the place of the input in the list.
    said: BTreeMap<usize, Said>,
    /// Names of the classes that a label or a verdict is.
    names: BTreeMap<usize, String>,
    agreement: Agreement,
    tokens: Moments,
    /// Inputs of which nothing can be said, with the reason.
    left_out: Vec<(usize, String)>,
    /// Labels that are no class of the model, each once.
    unknown: Vec<String>,
}

impl Judgements {
    /// Adds what is said of an input.
    pub fn add(&mut self, source: usize, said: Said, name: impl Fn(usize) -> String) {
        match &said {
            Said::Class(verdict) => {
                self.agreement.add(verdict);
                for class in [verdict.label, Some(verdict.class)].into_iter().flatten() {
                    self.names.entry(class).or_insert_with(|| name(class));
                }
            }
            Said::Tokens(tally) => self.tokens.add(*tally),
        }
        self.said.insert(source, said);
    }

    /// Notes that nothing can be said of an input.
    pub fn leave_out(&mut self, source: usize, reason: String) {
        self.left_out.push((source, reason));
    }

    /// Notes a label that is no class of the model.
    pub fn note_unknown(&mut self, label: &str) {
        if !self.unknown.iter().any(|known| known == label) {
            self.unknown.push(label.to_owned());
        }
    }

    /// What is said of an input, by its place in the list.
    pub fn of(&self, source: usize) -> Option<&Said> {
        self.said.get(&source)
    }

    /// Every input of which something is said, with its place in the list.
    pub fn all(&self) -> impl Iterator<Item = (usize, &Said)> {
        self.said.iter().map(|(source, said)| (*source, said))
    }

    /// The name of a class that a label or a verdict is; else empty.
    pub fn name(&self, class: usize) -> &str {
        self.names.get(&class).map_or("", String::as_str)
    }

    /// Names of all classes that a label or a verdict is.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.names.values().map(String::as_str)
    }

    /// How verdicts and labels agree.
    pub const fn agreement(&self) -> &Agreement {
        &self.agreement
    }

    /// The loss of a token in nats, with its standard error over inputs; none of a classifier.
    pub fn token_loss(&self) -> Option<Statistic> {
        self.tokens.statistic()
    }

    /// Inputs of which nothing can be said, with the reason.
    pub fn left_out(&self) -> &[(usize, String)] {
        &self.left_out
    }

    /// Labels that are no class of the model.
    pub fn unknown(&self) -> &[String] {
        &self.unknown
    }

    /// Inputs that were run or left out.
    pub fn n_done(&self) -> usize {
        self.said.len() + self.left_out.len()
    }

    /// The place in the list of the first input that was not run yet, where they are run in their order.
    pub fn next(&self) -> usize {
        let said = self.said.last_key_value().map_or(0, |(source, _)| source + 1);
        self.left_out.last().map_or(0, |(source, _)| source + 1).max(said)
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
