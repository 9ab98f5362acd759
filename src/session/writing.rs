//! Options of generation, remembered between runs.

use serde::{Deserialize, Serialize};

use super::Document;
use crate::{
    model::{Generation, TokenChoice},
    spec::{HeadKind, Modality, ModelSpec},
};

/// How the model writes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct WritingOptions {
    /// At most this many tokens.
    pub max_tokens: usize,
    /// Whether tokens are chosen by chance; else always the most probable one.
    pub sampled: bool,
    /// Logits are divided by it before chance decides.
    pub temperature: f64,
    /// Chance decides among the most probable tokens that together have this probability.
    pub top_p: f64,
    /// The same seed writes the same text.
    pub seed: u64,
}

impl Default for WritingOptions {
    fn default() -> Self {
        Self { max_tokens: 64, sampled: false, temperature: 1.0, top_p: 0.95, seed: 0 }
    }
}

impl WritingOptions {
    /// The most tokens that can be asked for.
    pub const MAX_TOKENS: usize = 512;

    /// What the model is told, whatever a settings file says.
    pub fn generation(&self) -> Generation {
        let temperature = if self.temperature.is_finite() { self.temperature.clamp(0.05, 5.0) } else { 1.0 };
        let top_p = if self.top_p.is_finite() { self.top_p.clamp(0.01, 1.0) } else { 1.0 };
        Generation {
            max_new_tokens: self.max_tokens.clamp(1, Self::MAX_TOKENS),
            choice: if self.sampled {
                TokenChoice::Sample { temperature, top_p, seed: self.seed }
            } else {
                TokenChoice::Greedy
            },
            ..Generation::default()
        }
    }
}

impl Document {
    /// Whether a run of `model` lets it write its own target.
    pub fn writes_target(&self, model: &ModelSpec) -> bool {
        model.modality.target().is_some() && self.experiment.target.trim().is_empty()
    }

    /// Lets the next run write a text that begins with some tokens.
    pub(super) fn write_from(&mut self, ids: Vec<u32>) {
        self.experiment.continued = self.model.latest().is_some_and(|model| can_continue(&model.spec));
        (self.experiment.begun, self.experiment.target) = (ids, String::new());
    }
}

/// Whether `model` can write on behind its input.
pub fn can_continue(model: &ModelSpec) -> bool {
    matches!(model.modality, Modality::Text(_)) && model.head == Some(HeadKind::NextToken)
}
