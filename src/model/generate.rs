//! Writes a text token by token, with the keys and values of earlier tokens kept.
//!
//! Nothing is recorded on the way: the finished text is run once more as a whole, so that every map is
//! one rectangle and has the numbers of an ordinary forward pass.

use candle_core::Tensor;
use candle_transformers::generation::{LogitsProcessor, Sampling};

use super::{
    Control, ModelError, Progress, RunPlan, Sites, Stage,
    encode::{Decoding, Payload},
    network::Network,
    pass::Cache,
    run::Run,
};

/// How a text is written.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Generation {
    /// At most this many tokens.
    pub max_new_tokens: usize,
    /// How each token is chosen.
    pub choice: Choice,
}

/// How the next token is chosen.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub enum Choice {
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
}

impl Default for Generation {
    fn default() -> Self {
        Self { max_new_tokens: 64, choice: Choice::Greedy }
    }
}

/// What was written after a prompt.
pub(crate) struct Written {
    /// Without the token that ended it.
    pub ids: Vec<u32>,
    /// What the model gave each of them.
    pub probabilities: Vec<f32>,
}

impl Network {
    /// Continues `prompt`, attending to `memory` where there is an encoder, until a token of
    /// `rules.end` or a limit.
    ///
    /// # Errors
    /// When the model has no head over its vocabulary, or as in a forward pass.
    pub fn write(
        &self,
        prompt: &[u32],
        memory: Option<&Tensor>,
        rules: &Decoding,
        (plan, n_ctx): (Generation, usize),
        control: &Control<'_>,
    ) -> Result<Written, ModelError> {
        let Some(head) = self.head.as_ref().filter(|head| head.labels.is_none()) else {
            return Err(ModelError::Input {
                summary: "this model has no head over its vocabulary, so it cannot write".to_owned(),
                details: "Give a target text, or open a checkpoint with a language-model head".to_owned(),
            });
        };
        let mut choose = LogitsProcessor::from_sampling(
            seed(plan.choice),
            match plan.choice {
                Choice::Greedy => Sampling::ArgMax,
                Choice::Sample { temperature, top_p, .. } => Sampling::TopP { p: top_p, temperature },
            },
        );
        let silent = RunPlan { sites: Sites::NONE, ..RunPlan::default() };
        let steps_only = |_: Progress| control(Progress { stage: Stage::Generate, done: 0, total: 0 });
        let limit = plan.max_new_tokens.min(n_ctx.saturating_sub(prompt.len()));
        let mut cache = Cache::default();
        let mut written = Written { ids: Vec::new(), probabilities: Vec::new() };
        let mut next = prompt.to_vec();
        while written.ids.len() < limit {
            control(Progress { stage: Stage::Generate, done: written.ids.len(), total: limit })?;
            let mut run = Run::new(&silent, &[], false, &steps_only);
            let n = next.len();
            let stream = self.decode(&Payload::ids(next), memory, Some(&mut cache), &mut run)?;
            cache.n += n;
            let mut logits = head.logits(&stream, n - 1..n)?.flatten_all()?;
            if let Some(penalty) = rules.penalty(&written.ids, logits.dim(0)?) {
                logits = (logits + Tensor::new(penalty, stream.device())?)?;
            }
            let id = choose.sample(&logits)?;
            if rules.end.contains(&id) {
                break;
            }
            written.probabilities.push(probability(&logits.to_vec1::<f32>()?, id));
            written.ids.push(id);
            next = vec![id];
            if self.turns_change_at() == Some(cache.n + 1) {
                // Keys so far were turned as in a short text, so the long text starts afresh.
                cache = Cache::default();
                next = prompt.iter().chain(&written.ids).copied().collect();
            }
        }
        Ok(written)
    }
}

const fn seed(choice: Choice) -> u64 {
    match choice {
        Choice::Greedy => 0,
        Choice::Sample { seed, .. } => seed,
    }
}

fn probability(logits: &[f32], id: u32) -> f32 {
    let max = logits.iter().copied().fold(f32::NEG_INFINITY, f32::max);
    let sum: f64 = logits.iter().map(|logit| f64::from(logit - max).exp()).sum();
    let chosen = logits.get(id as usize).copied().unwrap_or(f32::NEG_INFINITY);
    (f64::from(chosen - max).exp() / sum) as f32
}
