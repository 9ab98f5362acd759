//! The laboratory: methods that explain a prediction, and have to run the model again for it.
//!
//! What they compute from recordings is in `analysis::explain`; here is what has to be recorded, changed and
//! run. Every method takes a [`LabRun`] and answers with a [`Report`], for window, command line and files alike.

mod aim;
mod block_f64;
mod cost_estimate;
mod debate;
mod feature_sources;
mod head_outputs;
mod head_writes;
mod identifiability;
mod lens_heads;
mod method;
mod methods;
mod options;
mod outcome;
mod patterns;
mod propagation;
mod read_row;
mod row_map;
mod stream;

use std::sync::OnceLock;

use crate::{
    analysis::explain::{ExplainError, report::Report},
    capture::{Ablate, Capture},
    ids::HeadId,
    model::{
        Cancelled, Control, Edit, Encoded, Logits, Model, ModelError, Progress, RunPlan, Site, Sites, Stage, Variant,
    },
};

pub use aim::{Aim, Target};
pub use cost_estimate::{Estimate, TimeLimit};
pub use debate::{debate, debate_readings};
pub use feature_sources::{FeatureSources, feature_sources};
pub use head_writes::{HeadWrites, TokenWritten, head_writes};
pub use identifiability::identifiability;
pub use method::{LabFocus, Method, MethodPreset, MethodRefusal};
pub use methods::*;
pub use options::{FieldValue, FieldValues, OptionField, Scope, joined, split_texts};
pub use outcome::outcome_id;

/// Tokens, classes or memories that are listed by default.
const TOP: usize = 5;
/// Logits of the explained run that are kept: more are computed again where they are wanted.
const MOST_LOGITS: usize = 1 << 22;

/// What a method works with.
pub struct LabRun<'a> {
    pub model: &'a Model,
    /// What it reads; the text of a decoder is there.
    pub input: &'a Encoded,
    /// Changes that every run is made with.
    pub edits: &'a [Edit],
    /// Takes note of the progress and says whether to go on.
    pub control: &'a Control<'a>,
    /// Is shown what there is already, now and then.
    pub partial: &'a (dyn Fn(&Report) + Sync),
    time_limit: TimeLimit,
    plain: OnceLock<Capture>,
}

/// What a method answered.
#[derive(Clone, Debug)]
pub struct LabAnswer {
    /// The run that is explained, with patterns and prediction.
    pub capture: Capture,
    pub report: Report,
}

/// Why a method has no answer.
#[derive(Debug, thiserror::Error)]
pub enum LabError {
    /// The model could not be run.
    #[error(transparent)]
    Model(#[from] ModelError),
    /// The numbers do not allow it.
    #[error(transparent)]
    Explain(#[from] ExplainError),
    /// It would take long, and nobody has said that it may.
    #[error("{0}")]
    TakesLong(Estimate),
    /// The question does not suit the model or the input.
    #[error("{0}")]
    Unsuited(String),
}

impl LabError {
    pub(crate) fn unsuited(what: impl Into<String>) -> Self {
        Self::Unsuited(what.into())
    }

    /// Whether somebody said stop.
    pub const fn is_cancelled(&self) -> bool {
        matches!(self, Self::Explain(ExplainError::Cancelled) | Self::Model(ModelError::Cancelled(_)))
    }
}

impl From<Cancelled> for LabError {
    fn from(stop: Cancelled) -> Self {
        Self::Model(stop.into())
    }
}

impl<'a> LabRun<'a> {
    /// A run of a method; a decoder that was given no text writes its own first.
    pub const fn new(
        model: &'a Model,
        input: &'a Encoded,
        edits: &'a [Edit],
        control: &'a Control<'a>,
        partial: &'a (dyn Fn(&Report) + Sync),
    ) -> Self {
        Self { model, input, edits, control, partial, time_limit: TimeLimit::DEFAULT, plain: OnceLock::new() }
    }

    /// The same with another limit: what takes longer is not begun ([`LabError::TakesLong`]).
    #[must_use]
    pub fn with_time_limit(self, time_limit: TimeLimit) -> Self {
        Self { time_limit, ..self }
    }

    /// The changes of every run with one more, which takes the place of what it contradicts.
    pub fn with(&self, edit: Edit) -> Vec<Edit> {
        let mut edits: Vec<Edit> = self.edits.iter().filter(|other| !edit.contradicts(other)).cloned().collect();
        edits.push(edit);
        edits
    }

    /// Whether a head is switched off in every run.
    pub fn is_off(&self, head: HeadId) -> bool {
        self.edits.iter().any(|edit| matches!(edit, Edit::Ablate(Ablate { head: off, .. }) if *off == head))
    }

    /// The run that is explained, with patterns, values and prediction.
    ///
    /// # Errors
    /// When the model cannot be run.
    pub fn plain(&self) -> Result<&Capture, LabError> {
        if let Some(plain) = self.plain.get() {
            return Ok(plain);
        }
        let n = self.input.tokens.values().map(Vec::len).max().unwrap_or(0);
        let few = n * self.model.n_outcomes() <= MOST_LOGITS;
        let capture =
            self.run(Sites::of(&[Site::Pattern, Site::V]), if few { Logits::Keep } else { Logits::Predict })?;
        Ok(self.plain.get_or_init(|| capture))
    }

    /// [`Self::plain`] to keep.
    ///
    /// # Errors
    /// When the model cannot be run.
    pub fn into_plain(self) -> Result<Capture, LabError> {
        self.plain()?;
        self.plain.into_inner().ok_or_else(|| LabError::unsuited("nothing was run"))
    }

    /// A row of logits of the run that is explained.
    fn logits(&self, row: usize) -> Result<Vec<f32>, LabError> {
        if let Some(kept) = self.plain()?.logits().and_then(|logits| logits.row(row)) {
            return Ok(kept.to_vec());
        }
        let mut found = Vec::new();
        let variant = Variant::of(self.input, self.edits, row);
        self.model.logits_of(&[variant], self.control, &mut |_, logits| found = logits.to_vec())?;
        Ok(found)
    }

    /// A run of the input that records other sites.
    fn run(&self, sites: Sites, logits: Logits) -> Result<Capture, LabError> {
        Ok(self.model.forward(self.input, &self.plan(sites, logits), self.control)?)
    }

    fn plan(&self, sites: Sites, logits: Logits) -> RunPlan {
        RunPlan { sites, logits, pattern_budget_bytes: u64::MAX, edits: self.edits.to_vec(), ..RunPlan::default() }
    }

    /// Between steps of a method.
    fn step(&self, done: usize, total: usize) -> Result<(), LabError> {
        let progress = Progress { stage: Stage::Variants, done, total };
        (self.control)(progress).map_err(|cancelled| LabError::Model(cancelled.into()))
    }
}
