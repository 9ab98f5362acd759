//! Objectives of gradients: numbers computed from the output.

use std::sync::Arc;

use candle_core::Tensor;

use super::Model;
use crate::{
    model::{ModelError, network::Streams, run::Run},
    outputs::OutputKind,
};

/// A number computed from the output, to be differentiated.
#[derive(Clone, Debug, PartialEq)]
pub enum Objective {
    /// One logit; `row` is a token position (0 for classifiers).
    Logit {
        /// Row of the logits.
        row: usize,
        /// Token or class.
        id: u32,
    },
    /// The difference of two logits of one row.
    LogitDifference {
        /// Row of the logits.
        row: usize,
        /// Token or class whose logit counts positive.
        id: u32,
        /// Token or class whose logit counts negative.
        against: u32,
    },
    /// The logarithm of the probability of all of these outcomes, each given those before it. Scores have none.
    LogProbability {
        /// Row of the logits, and token or class.
        of: Vec<(usize, u32)>,
    },
    /// How far the probabilities of an output are from others, `KL(from ‖ p)`. Scores have none.
    Divergence {
        /// Row of the logits.
        row: usize,
        /// The label that is compared with its absence, of labels that are each for themselves.
        id: u32,
        /// The other probabilities, as [`OutputKind::distribution`](crate::outputs::OutputKind::distribution) has
        /// them.
        from: Arc<[f32]>,
    },
    /// The squared length of one position of the final stream, for models without a head.
    SquaredNorm { position: usize },
}

impl Model {
    pub(super) fn objective(
        &self,
        streams: &Streams,
        objective: Objective,
        run: &mut Run<'_>,
    ) -> Result<Tensor, ModelError> {
        let x = streams.main();
        let mut logits =
            |row: usize| -> Result<Tensor, ModelError> { Ok(self.network.logits(streams, row, run)?.flatten_all()?) };
        let pick = |logits: &Tensor, id: u32| -> Result<Tensor, ModelError> {
            if id as usize >= logits.dim(0)? {
                return Err(ModelError::Edit(format!("there is no outcome {id}")));
            }
            Ok(logits.get(id as usize)?)
        };
        // With 0 beside it, a label's logit is one of two that exclude each other.
        let alone = |logits: &Tensor, id: u32| -> Result<Tensor, ModelError> {
            let logit = pick(logits, id)?.reshape(1)?;
            Ok(Tensor::cat(&[&logit, &logit.zeros_like()?], 0)?)
        };
        let outputs = self.outputs();
        if outputs == Some(OutputKind::Scores)
            && matches!(objective, Objective::LogProbability { .. } | Objective::Divergence { .. })
        {
            return Err(ModelError::Edit("a score has no probability".to_owned()));
        }
        let is_each = outputs == Some(OutputKind::Labels);
        match objective {
            Objective::Logit { row, id } => pick(&logits(row)?, id),
            Objective::LogitDifference { row, id, against } => {
                let logits = logits(row)?;
                Ok((pick(&logits, id)? - pick(&logits, against)?)?)
            }
            Objective::LogProbability { of } => {
                let mut sum: Option<Tensor> = None;
                for (row, id) in of {
                    let logits = logits(row)?;
                    let (logits, id) = if is_each { (alone(&logits, id)?, 0) } else { (logits, id) };
                    let shifted = logits.broadcast_sub(&logits.max(0)?.detach())?;
                    let one = (pick(&shifted, id)? - shifted.exp()?.sum_all()?.log()?)?;
                    sum = Some(match sum {
                        Some(sum) => (sum + one)?,
                        None => one,
                    });
                }
                sum.ok_or_else(|| ModelError::Edit("no outcome was named".to_owned()))
            }
            Objective::Divergence { row, id, from } => {
                let logits = logits(row)?;
                let logits = if is_each { alone(&logits, id)? } else { logits };
                if from.len() != logits.dim(0)? {
                    let what = format!("{} probabilities were given for {} outcomes", from.len(), logits.dim(0)?);
                    return Err(ModelError::Edit(what));
                }
                let own: f64 = from.iter().map(|p| f64::from(*p)).filter(|p| *p > 0.0).map(|p| p * p.ln()).sum();
                let from = Tensor::from_slice(&from, from.len(), logits.device())?;
                // Less the largest, so that nothing overflows.
                let logits = logits.broadcast_sub(&logits.max_keepdim(0)?.detach())?;
                let total = logits.exp()?.sum_all()?.log()?;
                Ok(((total - (logits * from)?.sum_all()?)? + own)?)
            }
            Objective::SquaredNorm { position } if position < x.dim(0)? => {
                Ok(x.narrow(0, position, 1)?.sqr()?.sum_all()?)
            }
            Objective::SquaredNorm { position } => Err(ModelError::Edit(format!("there is no position {position}"))),
        }
    }
}
