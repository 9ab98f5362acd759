//! What a model says about its input: logits, and the most probable outcomes.

use std::{iter::repeat_n, ops::Range, sync::Arc};

use candle_core::Tensor;
use rayon::prelude::*;

use super::{
    Logits, ModelError,
    kernels::{self, Activation, Linear, Norm, with_values},
};
use crate::{
    capture::{Matrix, Prediction, PredictionItem, PredictionRow},
    spec::HeadKind,
};

/// Outcomes kept for each position.
const N_TOP: usize = 5;
/// The vocabulary is cut into multiples of this many outcomes. Whole panels of weights, and no power of
/// two: rows that far apart would share their cache lines.
const OUTCOMES_STEP: usize = 33 * 64;
/// About how many logits exist at the same time, besides those that are kept.
const LOGITS_AT_ONCE: usize = 4_000_000;
/// Above this many logits only the last position is predicted, unless all logits are wanted.
const MAX_PREDICTED: usize = 16_000_000;

/// A prediction head.
#[derive(Debug)]
pub(crate) enum Head {
    /// BERT: dense, activation, norm, then the vocabulary.
    MaskedLm { dense: Linear, activation: Activation, norm: Norm, decoder: Linear },
    /// GPT: straight to the vocabulary.
    NextToken { decoder: Linear },
    /// A class for the text, read from its first or last token.
    TextClass { pooler: Option<Linear>, from_last: bool, classifier: Linear, labels: Vec<String> },
    /// A class for the picture, read from CLS.
    ImageClass { classifier: Linear, labels: Vec<String> },
}

/// What became of the head.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub logits: Option<Matrix>,
    pub prediction: Option<Prediction>,
    pub note: Option<String>,
}

impl Head {
    pub const fn kind(&self) -> HeadKind {
        match self {
            Self::MaskedLm { .. } => HeadKind::MaskedLm,
            Self::NextToken { .. } => HeadKind::NextToken,
            Self::TextClass { .. } => HeadKind::TextClass,
            Self::ImageClass { .. } => HeadKind::ImageClass,
        }
    }

    /// Logits of some positions of the stream; a classifier has a single row in any case.
    ///
    /// # Shapes
    /// - `x`: `[n, d_model]`, after the final norm
    /// - result: `[rows.len(), n_vocab]` or `[1, classes]`
    pub fn logits(&self, x: &Tensor, rows: Range<usize>) -> candle_core::Result<Tensor> {
        self.output().forward(&self.features(x, rows)?)
    }

    /// The last linear map.
    const fn output(&self) -> &Linear {
        match self {
            Self::MaskedLm { decoder: output, .. }
            | Self::NextToken { decoder: output }
            | Self::TextClass { classifier: output, .. }
            | Self::ImageClass { classifier: output, .. } => output,
        }
    }

    /// What the last linear map reads.
    fn features(&self, x: &Tensor, rows: Range<usize>) -> candle_core::Result<Tensor> {
        match self {
            Self::MaskedLm { dense, activation, norm, .. } => {
                let x = dense.forward(&x.narrow(0, rows.start, rows.len())?)?;
                norm.forward(&kernels::activation(&x, *activation)?)
            }
            Self::NextToken { .. } => x.narrow(0, rows.start, rows.len()),
            Self::TextClass { pooler, from_last, .. } => {
                let row = if *from_last { x.dim(0)? - 1 } else { 0 };
                let x = x.narrow(0, row, 1)?;
                let Some(pooler) = pooler else { return Ok(x) };
                kernels::activation(&pooler.forward(&x)?, Activation::Tanh)
            }
            Self::ImageClass { .. } => x.narrow(0, 0, 1),
        }
    }

    /// Class names; `None` for heads over the vocabulary.
    const fn labels(&self) -> Option<&Vec<String>> {
        match self {
            Self::MaskedLm { .. } | Self::NextToken { .. } => None,
            Self::TextClass { labels, .. } | Self::ImageClass { labels, .. } => Some(labels),
        }
    }

    /// Logits and predictions as planned. `label` names a vocabulary id; `checkpoint` is called
    /// between steps and may stop the work.
    pub fn run(
        &self,
        x: &Tensor,
        plan: Logits,
        label: &dyn Fn(u32) -> String,
        checkpoint: &dyn Fn() -> Result<(), ModelError>,
    ) -> Result<Outcome, ModelError> {
        let n = x.dim(0)?;
        let labels = self.labels();
        let n_outcomes = self.output().dims()?.1;
        let mut outcome = Outcome::default();
        let positions = match plan {
            Logits::Skip => return Ok(outcome),
            _ if labels.is_some() => 0..1,
            Logits::Predict if n * n_outcomes > MAX_PREDICTED => {
                outcome.note = Some(format!("Only the last of {n} positions is predicted, to save time"));
                n - 1..n
            }
            Logits::Predict | Logits::Keep => 0..n,
        };
        let mut ranking = vec![Ranking::default(); positions.len()];
        let mut kept: Option<Arc<[f32]>> =
            (plan == Logits::Keep).then(|| repeat_n(0.0, positions.len() * n_outcomes).collect());
        let at_once = OUTCOMES_STEP * (LOGITS_AT_ONCE / (OUTCOMES_STEP * positions.len().max(1))).max(1);
        // A part of the vocabulary at a time: the logits of all of it would be larger than the model's
        // other activations together, and take too long to be stopped.
        let features = self.features(x, positions.clone())?;
        let mut start = 0;
        while start < n_outcomes {
            checkpoint()?;
            let part = start..n_outcomes.min(start + at_once);
            let logits = self.output().columns(part.clone())?.forward(&features)?;
            with_values(&logits, |values| {
                rank(&mut ranking, values, start);
                if let Some(kept) = kept.as_mut().and_then(Arc::get_mut) {
                    let rows = kept.par_chunks_exact_mut(n_outcomes).zip(values.par_chunks_exact(part.len()));
                    rows.for_each(|(kept, part_of_row)| kept[part.clone()].copy_from_slice(part_of_row));
                }
            })?;
            start = part.end;
        }
        if let Some(kept) = kept {
            outcome.logits = Some(Matrix::new(kept, [positions.len(), n_outcomes])?);
        }
        let class_label = |id: u32| labels.and_then(|labels| labels.get(id as usize)).cloned();
        let item =
            |(id, probability)| PredictionItem { id, label: class_label(id).unwrap_or_else(|| label(id)), probability };
        let mut rows = Vec::with_capacity(ranking.len());
        for (position, ranking) in positions.zip(ranking) {
            let top = ranking.probabilities();
            if top.iter().any(|(_, probability)| !probability.is_finite()) {
                return Err(ModelError::NotFinite { what: "logits".to_owned() });
            }
            let position = labels.is_none().then_some(position);
            rows.push(PredictionRow { position, top: top.into_iter().map(item).collect() });
        }
        outcome.prediction = Some(Prediction { kind: self.kind(), rows });
        Ok(outcome)
    }
}

/// Takes the next logits of every row into account; `first` is the outcome of the first column.
fn rank(ranking: &mut [Ranking], logits: &[f32], first: usize) {
    let width = logits.len() / ranking.len().max(1);
    let rows = logits.par_chunks_exact(width.max(1));
    ranking.par_iter_mut().zip(rows).for_each(|(ranking, row)| ranking.add(row, first));
}

/// The largest logits of one position so far, and the normaliser of its softmax.
#[derive(Clone, Debug, Default)]
struct Ranking {
    /// Outcome and logit, largest first.
    best: Vec<(u32, f32)>,
    /// `Σ exp(logit − largest)`; NaN as soon as a logit is.
    sum: f32,
}

impl Ranking {
    fn add(&mut self, logits: &[f32], first: usize) {
        /// Logits looked at together: most groups have none that is large enough.
        const GROUP: usize = 64;
        let largest = |best: &[(u32, f32)]| best.first().map(|(_, logit)| *logit);
        let before = largest(&self.best);
        let mut least = if self.best.len() < N_TOP { f32::NEG_INFINITY } else { self.best[N_TOP - 1].1 };
        for (group_idx, group) in logits.chunks(GROUP).enumerate() {
            let max = group.iter().fold(f32::NEG_INFINITY, |max, x| if *x > max { *x } else { max });
            if max <= least {
                continue;
            }
            for (idx, &logit) in group.iter().enumerate() {
                if logit > least {
                    let at = self.best.partition_point(|(_, other)| *other >= logit);
                    self.best.insert(at, ((first + group_idx * GROUP + idx) as u32, logit));
                    self.best.truncate(N_TOP);
                    if self.best.len() == N_TOP {
                        least = self.best[N_TOP - 1].1;
                    }
                }
            }
        }
        let max = largest(&self.best).unwrap_or(0.0);
        self.sum = before.map_or(0.0, |before| self.sum * (before - max).exp()) + kernels::exp_sum(logits, max);
    }

    /// Outcomes and their softmax probabilities, best first.
    fn probabilities(self) -> Vec<(u32, f32)> {
        let max = self.best.first().map_or(0.0, |(_, logit)| *logit);
        if self.best.is_empty() {
            // Every logit is NaN or minus infinity.
            return vec![(0, f32::NAN)];
        }
        self.best.into_iter().map(|(id, logit)| (id, (logit - max).exp() / self.sum)).collect()
    }
}
