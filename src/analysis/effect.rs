//! Effect of a change of the run on one outcome: its logit and its probability, before and after.

use crate::{
    capture::{Capture, Matrix, Prediction, PredictionRow, Token, words},
    ids::Side,
    outputs::OutputKind,
    text::{change_text, decimal_text, points_text},
};

/// Which outcome, at which position.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Outcome {
    /// The position that is predicted from; without it the one that says most.
    pub position: Option<usize>,
    /// Token or class; without it the most probable one of the unchanged run.
    pub id: Option<u32>,
    /// Another one whose logit is subtracted.
    pub against: Option<u32>,
}

/// Of an outcome in one run.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Said {
    /// Its logit, less that of the outcome it is told apart from.
    pub logit: f64,
    /// Its probability, `0..=1`; of a score the score itself.
    pub value: f64,
}

/// What a change did to an outcome.
#[derive(Clone, Debug, PartialEq)]
pub struct Effect {
    /// The position; `None` where the model says one thing about the whole.
    pub position: Option<usize>,
    pub id: u32,
    /// What its logit is held against.
    pub against: Option<u32>,
    pub outputs: OutputKind,
    pub before: Said,
    pub after: Said,
}

/// Why there is no effect to speak of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NoEffect {
    /// The model has no head.
    #[error("The model predicts nothing")]
    NoPrediction,
    /// The position is in one of the runs alone, or is not predicted.
    #[error("Position {0} is not predicted in both runs")]
    NotThere(usize),
    /// Logits of this position were not kept.
    #[error("In a text this long the logits of the last position alone are kept: choose that one")]
    NotKept,
    /// There is no such outcome.
    #[error("The model has no outcome #{0}")]
    NoSuch(u32),
}

/// Whose tokens are predicted, or stand for the whole.
pub fn predicted_side(capture: &Capture) -> Side {
    let sides = [Side::Decoder, Side::Text, Side::Only];
    sides.into_iter().find(|side| !capture.tokens(*side).is_empty()).unwrap_or(Side::Only)
}

/// The row that says most: what comes next after the whole text; where each token has one, that of the mask, or of the
/// first word.
pub fn telling_row<'a>(prediction: &'a Prediction, tokens: &[Token]) -> Option<&'a PredictionRow> {
    let position = prediction.default_position(tokens, words::is_mask);
    let row = position.and_then(|position| prediction.rows.iter().find(|row| row.position == Some(position)));
    row.or_else(|| prediction.rows.last())
}

impl Effect {
    /// Compares two runs of the same input. What is written on behind it may differ, so there the position that says
    /// most is the last of what both read.
    ///
    /// # Errors
    /// When one of them does not say it.
    pub fn of(before: &Capture, after: &Capture, outcome: Outcome) -> Result<Self, NoEffect> {
        let prediction = before.prediction().ok_or(NoEffect::NoPrediction)?;
        let tokens = before.tokens(predicted_side(before));
        let read =
            before.generated().filter(|it| it.side == predicted_side(before)).and_then(|it| it.first.checked_sub(1));
        let wanted = outcome.position.or(read);
        let row = match wanted.filter(|_| prediction.rows.iter().any(|row| row.position.is_some())) {
            Some(position) => {
                prediction.rows.iter().find(|row| row.position == Some(position)).ok_or(NoEffect::NotThere(position))?
            }
            None => telling_row(prediction, tokens).ok_or(NoEffect::NoPrediction)?,
        };
        let best = row.top.first().map(|item| item.id).ok_or(NoEffect::NoPrediction)?;
        let (id, against) = (outcome.id.unwrap_or(best), outcome.against);
        let outputs = prediction.outputs;
        let said = |capture: &Capture| said(outputs, logits(capture, row.position)?, id, against);
        Ok(Self { position: row.position, id, against, outputs, before: said(before)?, after: said(after)? })
    }

    /// The line that says it; `label` names an outcome.
    pub fn text(&self, label: impl Fn(u32) -> String) -> String {
        let name = match self.against {
            Some(against) => format!("{} − {}", label(self.id), label(against)),
            None => label(self.id),
        };
        let [before, after] = [self.before, self.after];
        if !self.outputs.has_probabilities() {
            let [was, is] = [before, after].map(|said| decimal_text(said.logit));
            return format!("{name}: {was} → {is} ({})", change_text(after.logit - before.logit));
        }
        let what = if self.against.is_some() { "logit difference" } else { "logit" };
        let [was_logit, is_logit] = [before, after].map(|said| decimal_text(said.logit));
        let logits = format!("{what} {was_logit} → {is_logit} ({})", change_text(after.logit - before.logit));
        let of = if self.against.is_some() { format!(" of {}", label(self.id)) } else { String::new() };
        let [was, is, points] = points_text(before.value, after.value);
        format!("{name}: {logits}, probability{of} {was} → {is} ({points} points)")
    }
}

/// The logits of a position, where they were kept.
fn logits(capture: &Capture, position: Option<usize>) -> Result<&[f32], NoEffect> {
    let kept: &Matrix = capture.logits().ok_or(NoEffect::NotKept)?;
    let n = capture.tokens(predicted_side(capture)).len();
    let row = match position {
        None => 0,
        Some(position) if position >= n => return Err(NoEffect::NotThere(position)),
        // Of the last positions.
        Some(position) => (position + kept.n_rows()).checked_sub(n).ok_or(NoEffect::NotKept)?,
    };
    kept.row(row).ok_or(NoEffect::NotKept)
}

fn said(outputs: OutputKind, logits: &[f32], id: u32, against: Option<u32>) -> Result<Said, NoEffect> {
    let of = |id: u32| logits.get(id as usize).map(|logit| f64::from(*logit)).ok_or(NoEffect::NoSuch(id));
    let logit = of(id)?;
    let less = against.map(of).transpose()?.unwrap_or(0.0);
    Ok(Said { logit: logit - less, value: outputs.value(logits, id) })
}

/// What is told of every outcome at a position, where its logits were kept: probabilities, or scores.
pub fn values(capture: &Capture, position: Option<usize>) -> Option<Vec<f64>> {
    let outputs = capture.prediction()?.outputs;
    Some(outputs.values(logits(capture, position).ok()?))
}

/// The same of one outcome.
pub fn value(capture: &Capture, position: Option<usize>, id: u32) -> Option<f64> {
    let outputs = capture.prediction()?.outputs;
    Some(outputs.value(logits(capture, position).ok()?, id)).filter(|value| value.is_finite())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn effect(before: [f64; 2], after: [f64; 2], against: Option<u32>) -> String {
        of_kind(OutputKind::Tokens, before, after, against)
    }

    fn of_kind(outputs: OutputKind, before: [f64; 2], after: [f64; 2], against: Option<u32>) -> String {
        let said = |[logit, value]: [f64; 2]| Said { logit, value };
        let effect = Effect { position: Some(3), id: 1, against, outputs, before: said(before), after: said(after) };
        effect.text(|id| if id == 1 { "her" } else { "his" }.to_owned())
    }

    #[test]
    fn an_effect_is_one_line_with_its_signs() {
        assert_eq!(
            effect([4.12, 0.848], [2.31, 0.112], None),
            "her: logit 4.12 → 2.31 (−1.81), probability 84.8 % → 11.2 % (−73.6 points)"
        );
        assert_eq!(
            effect([-0.5, 0.4], [0.25, 0.4], Some(2)),
            "her − his: logit difference −0.50 → 0.25 (+0.75), probability of her 40.0 % → 40.0 % (0.0 points)"
        );
        assert_eq!(
            effect([1.0, 0.402_11], [1.001, 0.402_31], None),
            "her: logit 1.00 → 1.00 (<+0.01), probability 40.21 % → 40.23 % (+0.02 points)"
        );
        assert_eq!(
            effect([-9.0, 3e-7], [-9.5, 0.0], None),
            "her: logit −9.00 → −9.50 (−0.50), probability <0.1 % → 0.0 % (>−0.1 points)"
        );
    }

    #[test]
    fn a_score_is_one_number_before_and_after() {
        let scores = |against| of_kind(OutputKind::Scores, [1.234, 1.234], [0.98, 0.98], against);
        assert_eq!(scores(None), "her: 1.23 → 0.98 (−0.25)");
        assert_eq!(scores(Some(2)), "her − his: 1.23 → 0.98 (−0.25)");
    }

    #[test]
    fn logits_become_the_probability_of_all_outcomes() {
        let logits = [1.0f32, 3.0, 2.0];
        let found = said(OutputKind::Tokens, &logits, 1, Some(0)).unwrap();
        let sum: f64 = logits.iter().map(|logit| f64::from(*logit).exp()).sum();
        assert!((found.value - 3f64.exp() / sum).abs() < 1e-12 && found.logit == 2.0);
        let each = said(OutputKind::Labels, &logits, 0, None).unwrap();
        assert!((each.value - 0.731_058_578).abs() < 1e-9, "whatever the others are");
        assert_eq!(said(OutputKind::Tokens, &logits, 3, None), Err(NoEffect::NoSuch(3)));
    }
}
