//! Plan of a run: what it records and changes. Plain data: shapes are checked when it is run.

use std::sync::Arc;

use super::Sites;
use crate::capture::Edit;

/// What becomes of the model's head.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Logits {
    /// It does not run: no prediction.
    Skip,
    /// The most probable outcomes are kept.
    #[default]
    Predict,
    /// Logits are kept too, of all positions where they are few, else of the last one, so that two runs can be compared
    /// in any outcome.
    KeepFew,
    /// All logits are kept too.
    Keep,
}

/// What one run records and changes.
#[derive(Clone, Debug)]
pub struct RunPlan {
    /// What to record. Sites a capture has no place for are ignored.
    pub sites: Sites,
    /// Layers to record; `None` is all of them.
    pub layers: Option<Vec<usize>>,
    /// Bytes that recorded patterns and scores may take together. Layers that would exceed it are
    /// left out; they can be recomputed from q and k.
    pub pattern_budget_bytes: u64,
    /// What becomes of the model's head.
    pub logits: Logits,
    /// Changes, in order.
    pub edits: Vec<Edit>,
    /// How a decoder writes when it is given no target; a text model continues its input only when this
    /// is present.
    pub generate: Option<Generation>,
}

impl Default for RunPlan {
    fn default() -> Self {
        Self {
            sites: Sites::standard(),
            layers: None,
            pattern_budget_bytes: 768 << 20,
            logits: Logits::default(),
            edits: Vec::new(),
            generate: None,
        }
    }
}

impl RunPlan {
    /// Nothing is recorded, and the head does not run.
    pub fn silent() -> Self {
        Self { sites: Sites::NONE, logits: Logits::Skip, ..Self::default() }
    }
}

/// Which gradients a pass is asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Taps {
    /// Sites whose gradients are wanted, in every layer that the plan records.
    pub sites: Sites,
    /// Whether patterns count as given, so that nothing flows back through queries and keys.
    pub fixed_patterns: bool,
}

impl Taps {
    /// No gradient: a plain pass.
    pub const NONE: Self = Self { sites: Sites::NONE, fixed_patterns: false };

    /// The gradients of these sites.
    pub const fn of(sites: &[crate::capture::Site]) -> Self {
        Self { sites: Sites::of(sites), fixed_patterns: false }
    }

    /// Whether this pass is differentiated.
    pub const fn any(self) -> bool {
        !self.sites.is_empty()
    }
}

/// How a text is written.
#[derive(Clone, Debug, PartialEq)]
pub struct Generation {
    /// At most this many tokens.
    pub max_new_tokens: usize,
    /// How each token is chosen.
    pub choice: TokenChoice,
    /// Ids of the tokens that the text begins with; the model chooses those after them.
    pub begun: Arc<[u32]>,
    /// Of a choice by chance: how many texts are written behind those tokens, each with the next seed. The first is read.
    pub n_texts: usize,
}

/// How the next token is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum TokenChoice {
    /// Always the most probable one.
    #[default]
    Greedy,
    /// By chance, from the most probable tokens that together have the probability `top_p`.
    Sample {
        /// Logits are divided by it; above 1 more adventurous, below 1 less.
        temperature: f64,
        /// In `0..=1`; 1 is all tokens.
        top_p: f64,
        /// The same seed writes the same text.
        seed: u64,
    },
    /// The best of several texts that are written at once.
    Beams {
        /// How many are kept.
        width: usize,
        /// The power of the length that a log probability is divided by to be the score of a text.
        length_penalty: f64,
    },
}

impl TokenChoice {
    /// The choice for the text with this number among several, from 0: by chance, but with a seed of its own.
    #[must_use]
    pub const fn of_text(self, nth: usize) -> Self {
        match self {
            Self::Sample { temperature, top_p, seed } => {
                Self::Sample { temperature, top_p, seed: seed.wrapping_add(nth as u64) }
            }
            Self::Greedy | Self::Beams { .. } => self,
        }
    }
}

impl Default for Generation {
    fn default() -> Self {
        Self { max_new_tokens: 64, choice: TokenChoice::Greedy, begun: Arc::default(), n_texts: 1 }
    }
}
