//! Aim of a method: one output of the model.

use std::borrow::Cow;

use serde_json::{Value, json};

use super::{LabError, LabRun};
pub use crate::analysis::{effect::predicted_side, explain::Target};
use crate::{
    capture::{Capture, Token, words},
    ids::{Side, StackKind},
    model::{HeadReads, Objective},
    outputs::OutputKind,
    spec::HeadKind,
};

/// The output that is explained.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Aim {
    /// Row of the logits.
    pub row: usize,
    /// Token or class.
    pub id: u32,
    /// What it is told apart from.
    pub against: Option<u32>,
    /// What the numbers of the head are.
    pub outputs: OutputKind,
    /// Whose tokens are predicted.
    pub side: Side,
    /// The stack whose stream the head reads of them.
    pub stack: StackKind,
    /// What of them the head reads for this output.
    pub reads: HeadReads,
}

impl Aim {
    /// What is differentiated.
    pub const fn objective(&self) -> Objective {
        match self.against {
            Some(against) => Objective::LogitDifference { row: self.row, id: self.id, against },
            None => Objective::Logit { row: self.row, id: self.id },
        }
    }

    /// The logit, or the difference of two, in a row of logits.
    pub fn value(&self, logits: &[f32]) -> f64 {
        let of = |id: u32| logits.get(id as usize).map_or(f64::NAN, |logit| f64::from(*logit));
        of(self.id) - self.against.map_or(0.0, of)
    }

    /// Its probability in a row of logits, or the score itself.
    pub fn told(&self, logits: &[f32]) -> f64 {
        self.outputs.value(logits, self.id)
    }

    /// The probabilities by which outputs are compared; `None` where it is a score.
    pub fn distribution(&self, logits: &[f32]) -> Option<Vec<f64>> {
        self.outputs.distribution(logits, self.id)
    }

    /// What a report says about it.
    pub fn parameters(&self, lab: &LabRun<'_>) -> Vec<(Cow<'static, str>, Value)> {
        let named = |id: u32| json!({ "id": id, "label": lab.model.outcome_label(id) });
        let mut all = vec![
            (Cow::Borrowed("position"), json!(self.row)),
            (Cow::Borrowed("class"), named(self.id)),
            (Cow::Borrowed("against"), self.against.map_or(Value::Null, named)),
        ];
        if matches!(self.outputs, OutputKind::Labels | OutputKind::Scores) {
            all.push((Cow::Borrowed("outputs"), json!(self.outputs)));
        }
        all
    }
}

impl Target {
    /// The output that is meant, after a plain run.
    ///
    /// # Errors
    /// When the model predicts nothing, or not at this position, or has no such outcome.
    pub fn aim(self, lab: &LabRun<'_>) -> Result<Aim, LabError> {
        let capture = lab.plain()?;
        let Some(prediction) = capture.prediction() else {
            let what = "the model has no head, so there is no prediction to explain; open a checkpoint with its head";
            return Err(LabError::unsuited(what));
        };
        let side = predicted_side(capture);
        let n = capture.tokens(side).len();
        let whole = prediction.rows.first().is_some_and(|row| row.position.is_none());
        if whole && self.position.is_some_and(|position| position > 0) {
            let what = "this model predicts one thing for the whole input, not for a position: leave the position out";
            return Err(LabError::unsuited(what));
        }
        let row = match self.position {
            _ if whole => 0,
            Some(position) if position < n => position,
            Some(position) => return Err(LabError::unsuited(format!("there is no position {position} among {n}"))),
            None => {
                let mask = lab.model.mask_id();
                let is_mask = |token: &Token| words::is_mask(token) || token.id.is_some() && token.id == mask;
                prediction.default_position(capture.tokens(side), is_mask).unwrap_or(n.saturating_sub(1))
            }
        };
        let most_probable = || {
            let best = prediction.rows.iter().find(|found| whole || found.position == Some(row))?.top.first()?;
            Some(best.id)
        };
        let id = self.class.or_else(most_probable).ok_or_else(|| {
            LabError::unsuited(format!("position {row} was not predicted, to save time: name the token to explain"))
        })?;
        let n_outcomes = lab.model.n_outcomes();
        if let Some(wrong) = [Some(id), self.against].into_iter().flatten().find(|id| *id as usize >= n_outcomes) {
            let noun = prediction.outputs.noun();
            return Err(LabError::unsuited(format!("there is no {noun} {wrong} among {n_outcomes}")));
        }
        if self.against == Some(id) {
            return Err(LabError::unsuited("an output cannot be contrasted with itself: choose another one"));
        }
        let reads = lab.model.head_reads(lab.input, row);
        let stack = capture.model().last_stack(side);
        Ok(Aim { row, id, against: self.against, outputs: prediction.outputs, side, stack, reads })
    }
}

/// Refuses heads of scores where a method needs the probabilities of an output, which is `why`.
pub fn probabilities(capture: &Capture, why: &str) -> Result<(), LabError> {
    match capture.prediction() {
        Some(prediction) if !prediction.outputs.has_probabilities() => {
            Err(LabError::unsuited(format!("the head gives scores, which have no probabilities: {why}")))
        }
        _ => Ok(()),
    }
}

/// Refuses heads that read two streams at once, where a method reads the stream of one by the head.
pub fn one_stream(lab: &LabRun<'_>) -> Result<(), LabError> {
    if lab.model.joins_streams() {
        let what = "the head reads the first tokens of both streams side by side, so no stream has outcomes by itself";
        return Err(LabError::unsuited(what));
    }
    Ok(())
}

/// Refuses models of two towers, whose single number leaves nothing to decide between.
pub fn one_number(capture: &Capture) -> Result<(), LabError> {
    if capture.model().head == Some(HeadKind::Similarity) {
        let what = "the model gives one number for picture and text together: there are no outcomes to contrast";
        return Err(LabError::unsuited(what));
    }
    Ok(())
}
