//! The laboratory: methods that explain a prediction, and have to run the model again for it.
//!
//! What they compute from recordings is in `analysis::explain`; here is what has to be recorded, changed and
//! run. Every method takes a [`Bench`] and answers with a [`Report`], for window, command line and files alike.

mod ablate;
mod aim;
mod aligns;
mod ask;
mod attend;
mod believe;
mod columns;
pub mod defaults;
mod depends;
mod edges;
mod effort;
mod fact;
mod knobs;
mod knockout;
mod masking;
mod moves;
mod normal;
mod object;
mod outcome;
mod precise;
mod propagation;
mod rewrite;
mod slopes;
mod stream;
mod trace;

use std::sync::OnceLock;

use crate::{
    analysis::explain::{ExplainError, report::Report},
    capture::Capture,
    ids::HeadId,
    model::{Control, Edit, Encoded, Logits, Model, ModelError, Progress, RunPlan, Site, Sites, Stage, Variant},
};

pub use aim::{Aim, Target};
pub use aligns::{Reverse, are_two_directions, two_texts};
pub use ask::{Ask, LeaveOut, Of, Rule};
pub use believe::FaithfulnessOptions;
pub use columns::{Column, Sight, Unasked};
pub use edges::{EdgeOptions, Than};
pub use effort::{Estimate, Patience};
pub use knobs::{Knob, Settings, Slot};
pub use knockout::KnockoutOptions;
pub use masking::{Baseline, Depth, MaskingOptions};
pub use outcome::outcome_id;
pub use rewrite::{RewriteOptions, edit_of};
pub use trace::{Restore, Subject, TraceOptions};

/// Logits of the explained run that are kept: more are computed again where they are wanted.
const MOST_LOGITS: usize = 1 << 22;

/// What a method works with.
pub struct Bench<'a> {
    /// The model.
    pub model: &'a Model,
    /// What it reads; the text of a decoder is there.
    pub input: &'a Encoded,
    /// Changes that every run is made with.
    pub edits: &'a [Edit],
    /// Takes note of the progress and says whether to go on.
    pub control: &'a Control<'a>,
    /// Is shown what there is already, now and then.
    pub partial: &'a (dyn Fn(&Report) + Sync),
    patience: Patience,
    plain: OnceLock<Capture>,
}

/// What a method answered.
#[derive(Clone, Debug)]
pub struct Answer {
    /// The run that is explained, with patterns and prediction.
    pub capture: Capture,
    /// The explanation.
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
    fn unsuited(what: impl Into<String>) -> Self {
        Self::Unsuited(what.into())
    }

    /// Whether somebody said stop.
    pub const fn is_cancelled(&self) -> bool {
        matches!(self, Self::Explain(ExplainError::Cancelled) | Self::Model(ModelError::Cancelled(_)))
    }
}

impl<'a> Bench<'a> {
    /// A bench; a decoder that was given no text writes its own first.
    pub const fn new(
        model: &'a Model,
        input: &'a Encoded,
        edits: &'a [Edit],
        control: &'a Control<'a>,
        partial: &'a (dyn Fn(&Report) + Sync),
    ) -> Self {
        Self { model, input, edits, control, partial, patience: Patience::DEFAULT, plain: OnceLock::new() }
    }

    /// The same with another patience: what takes longer is not begun ([`LabError::TakesLong`]).
    #[must_use]
    pub fn with_patience(self, patience: Patience) -> Self {
        Self { patience, ..self }
    }

    /// The changes of every run with one more, which takes the place of what it contradicts.
    pub fn with(&self, edit: Edit) -> Vec<Edit> {
        let mut edits: Vec<Edit> = self.edits.iter().filter(|other| !edit.contradicts(other)).cloned().collect();
        edits.push(edit);
        edits
    }

    /// Whether a head is switched off in every run.
    pub fn is_off(&self, head: HeadId) -> bool {
        self.edits.iter().any(|edit| matches!(edit, Edit::Ablate { head: off, .. } if *off == head))
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

/// Answers a question.
///
/// # Errors
/// When the question does not suit the model or the input, a run fails, or somebody says stop.
pub fn answer(bench: Bench<'_>, ask: &Ask, target: Target) -> Result<Answer, LabError> {
    let mut report = match ask {
        Ask::Attention { layer, head } => attend::attention(&bench, *layer, *head, target)?,
        Ask::Rollout(options) => depends::rollout(&bench, *options, target)?,
        Ask::Flow { query, options } => depends::flow(&bench, *query, *options, target)?,
        Ask::Relevance { rule, start_layer } => depends::relevance(&bench, *rule, *start_layer, target)?,
        Ask::Gradients { of, times_input, steps } => slopes::gradients(&bench, *of, *times_input, *steps, target)?,
        Ask::LeaveOneOut { by } => depends::leave_one_out(&bench, *by, target)?,
        Ask::Norms => moves::norms(&bench)?,
        Ask::Effective => moves::effective(&bench)?,
        Ask::Edges(options) => edges::edges(&bench, *options)?,
        Ask::Lens { n_top } => fact::lens(&bench, *n_top, target)?,
        Ask::DirectLogits => fact::direct(&bench, target)?,
        Ask::Trace(options) => trace::trace(&bench, options, target)?,
        Ask::Knockout(options) => knockout::knockout(&bench, *options, target)?,
        Ask::Ablation(with) => ablate::ablation(&bench, *with, target)?,
        Ask::Faithfulness(options) => believe::faithfulness(&bench, *options, target)?,
        Ask::Normalizers { alpha } => normal::normalizers(&bench, *alpha, target)?,
        Ask::Alignment { setting, gold, reverse } => {
            aligns::alignment(&bench, *setting, gold.as_deref(), reverse.as_ref())?
        }
        Ask::Masks(options) => masking::masks(&bench, *options, target)?,
        Ask::RankOne(options) => rewrite::rewrite(&bench, options, target)?,
        Ask::Memories { layer, n_top } => fact::memories(&bench, *layer, *n_top, target)?,
    };
    let mut parameters = ask.parameters();
    parameters.append(&mut report.parameters);
    report.parameters = parameters;
    let Some(capture) = bench.plain.into_inner() else { return Err(LabError::unsuited("nothing was run")) };
    Ok(Answer { capture, report })
}
