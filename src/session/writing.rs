//! Options of generation, remembered between runs.

use std::ops::RangeInclusive;

use serde::{Deserialize, Serialize};

use super::{Document, Experiment};
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
    /// How many texts are written at once where nothing is chosen by chance; the best of them is taken.
    pub beams: usize,
    /// The power of the length that the log probability of each of them is divided by.
    pub length_penalty: f64,
    /// Logits are divided by it before chance decides.
    pub temperature: f64,
    /// Chance decides among the most probable tokens that together have this probability.
    pub top_p: f64,
    /// The same seed writes the same text.
    pub seed: u64,
    /// How many texts are written where tokens are chosen by chance, each with the next seed.
    pub texts: usize,
}

impl Default for WritingOptions {
    fn default() -> Self {
        Self {
            max_tokens: 64,
            sampled: false,
            beams: 1,
            length_penalty: 1.0,
            temperature: 1.0,
            top_p: 0.95,
            seed: 0,
            texts: 1,
        }
    }
}

impl WritingOptions {
    /// The most tokens that can be asked for.
    pub const MAX_TOKENS: usize = 512;
    /// The most texts that are written at once.
    pub const MAX_BEAMS: usize = 8;
    /// The most texts that are drawn by chance.
    pub const MAX_TEXTS: usize = 8;
    /// The power of the length is between these.
    pub const LENGTH_PENALTY: RangeInclusive<f64> = -5.0..=5.0;

    /// What the model is told, whatever a settings file says.
    pub fn generation(&self) -> Generation {
        let temperature = if self.temperature.is_finite() { self.temperature.clamp(0.05, 5.0) } else { 1.0 };
        let (least, most) = Self::LENGTH_PENALTY.into_inner();
        let length_penalty = if self.length_penalty.is_finite() { self.length_penalty.clamp(least, most) } else { 1.0 };
        let top_p = if self.top_p.is_finite() { self.top_p.clamp(0.01, 1.0) } else { 1.0 };
        Generation {
            max_new_tokens: self.max_tokens.clamp(1, Self::MAX_TOKENS),
            choice: match self.beams.min(Self::MAX_BEAMS) {
                _ if self.sampled => TokenChoice::Sample { temperature, top_p, seed: self.seed },
                0 | 1 => TokenChoice::Greedy,
                width => TokenChoice::Beams { width, length_penalty },
            },
            n_texts: if self.sampled { self.texts.clamp(1, Self::MAX_TEXTS) } else { 1 },
            ..Generation::default()
        }
    }
}

impl Document {
    /// Whether a run of `model` lets it write its own target.
    pub fn writes_target(&self, model: &ModelSpec) -> bool {
        model.modality.target().is_some() && self.experiment.target.trim().is_empty()
    }

    /// What was run before, where it wrote a text of the same input in another way.
    pub(super) fn written_before(&self) -> Option<&Experiment> {
        let before = self.undo.previous()?;
        let with_this_text = Experiment {
            begun: self.experiment.begun.clone(),
            continued: self.experiment.continued,
            writing: self.experiment.writing,
            ..before.clone()
        };
        (with_this_text == self.experiment && *before != self.experiment).then_some(before)
    }

    /// Whether the run before wrote a text of the same input in another way.
    pub fn was_written_otherwise(&self) -> bool {
        self.written_before().is_some()
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
