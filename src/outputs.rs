//! Outputs of prediction heads: their names, and how they become probabilities where they do.

use serde::{Deserialize, Serialize};

use crate::{
    spec::HeadKind,
    text::{decimal_text, share_text},
};

/// The kind of a head's outcomes. Capture files say it in these words.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum OutputKind {
    /// Tokens, of which one is right: softmax.
    Tokens,
    /// Classes, of which one is right: softmax.
    Classes,
    /// Labels, each of which holds or not, whatever the others do: sigmoid.
    Labels,
    /// Numbers that stand for themselves.
    Scores,
}

/// The name of a head's only score, where the configuration has none.
pub const SCORE: &str = "score";

impl OutputKind {
    /// What a head of this kind gives where nobody says otherwise.
    pub const fn of(head: HeadKind) -> Self {
        match head {
            HeadKind::MaskedLm | HeadKind::NextToken => Self::Tokens,
            HeadKind::TextClass | HeadKind::ImageClass | HeadKind::TokenClass | HeadKind::PairClass => Self::Classes,
            HeadKind::Similarity => Self::Labels,
        }
    }

    /// Whether an outcome has a probability.
    pub const fn has_probabilities(self) -> bool {
        !matches!(self, Self::Scores)
    }

    /// What one outcome is called.
    pub const fn noun(self) -> &'static str {
        match self {
            Self::Tokens => "token",
            Self::Classes => "class",
            Self::Labels => "label",
            Self::Scores => SCORE,
        }
    }

    /// What is told of an outcome.
    pub const fn measure(self) -> &'static str {
        if self.has_probabilities() { "probability" } else { SCORE }
    }

    /// What the number of an outcome before any function is called.
    pub const fn raw(self) -> &'static str {
        if self.has_probabilities() { "logit" } else { SCORE }
    }

    /// The function that makes probabilities of logits.
    pub const fn function(self) -> Option<&'static str> {
        match self {
            Self::Tokens | Self::Classes => Some("softmax"),
            Self::Labels => Some("sigmoid"),
            Self::Scores => None,
        }
    }

    /// What is told of each outcome of a row of logits: its probability, or the score itself.
    pub fn values(self, logits: &[f32]) -> Vec<f64> {
        match self {
            Self::Tokens | Self::Classes => softmax(logits),
            Self::Labels => logits.iter().map(|logit| sigmoid(f64::from(*logit))).collect(),
            Self::Scores => logits.iter().map(|logit| f64::from(*logit)).collect(),
        }
    }

    /// What is told of one outcome; NaN where there is no such one.
    pub fn value(self, logits: &[f32], id: u32) -> f64 {
        let Some(logit) = logits.get(id as usize).map(|logit| f64::from(*logit)) else { return f64::NAN };
        match self {
            Self::Tokens | Self::Classes => {
                let max = largest(logits);
                (logit - max).exp() / logits.iter().map(|logit| (f64::from(*logit) - max).exp()).sum::<f64>()
            }
            Self::Labels => sigmoid(logit),
            Self::Scores => logit,
        }
    }

    /// The probabilities by which two outputs are compared when outcome `id` is explained: of all outcomes where one of
    /// them is right, of the label and of its absence where each is for itself; `None` of scores, which have none.
    pub fn distribution(self, logits: &[f32], id: u32) -> Option<Vec<f64>> {
        match self {
            Self::Tokens | Self::Classes => Some(softmax(logits)),
            Self::Labels => {
                let p = self.value(logits, id);
                Some(vec![p, 1.0 - p])
            }
            Self::Scores => None,
        }
    }

    /// A probability or a score as people read it.
    pub fn text(self, value: impl Into<f64>) -> String {
        if self.has_probabilities() { share_text(value) } else { decimal_text(value) }
    }
}

fn largest(logits: &[f32]) -> f64 {
    f64::from(logits.iter().copied().fold(f32::NEG_INFINITY, f32::max))
}

fn softmax(logits: &[f32]) -> Vec<f64> {
    let max = largest(logits);
    let powers: Vec<f64> = logits.iter().map(|logit| (f64::from(*logit) - max).exp()).collect();
    let sum: f64 = powers.iter().sum();
    powers.into_iter().map(|power| power / sum).collect()
}

fn sigmoid(logit: f64) -> f64 {
    1.0 / (1.0 + (-logit).exp())
}

/// The id that a text names as one: `#17`.
pub fn id_of(text: &str) -> Option<u32> {
    text.trim().strip_prefix('#')?.trim().parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_kind_has_its_own_function() {
        let logits = [2.0f32, -1.0, 0.5];
        let near = |found: &[f64], right: [f64; 3]| found.iter().zip(right).all(|(a, b)| (a - b).abs() < 1e-6);
        let softmax = [0.785_597, 0.039_112, 0.175_290];
        assert!(near(&OutputKind::Classes.values(&logits), softmax));
        assert!(near(&OutputKind::Labels.values(&logits), [0.880_797, 0.268_941, 0.622_459]));
        assert!(near(&OutputKind::Scores.values(&logits), [2.0, -1.0, 0.5]));
        for kind in [OutputKind::Tokens, OutputKind::Classes, OutputKind::Labels, OutputKind::Scores] {
            let all = kind.values(&logits);
            assert!((0..3).all(|id| (kind.value(&logits, id) - all[id as usize]).abs() < 1e-12));
            assert!(kind.value(&logits, 3).is_nan());
        }
        assert_eq!(OutputKind::Labels.distribution(&[0.0, 5.0], 0), Some(vec![0.5, 0.5]));
        assert_eq!(OutputKind::Scores.distribution(&logits, 0), None);
        assert_eq!((id_of(" # 17 "), id_of("17"), id_of("#x")), (Some(17), None, None));
    }
}
