//! Head of a model: logits, and the most probable outcomes.

use std::{iter::repeat_n, ops::Range, sync::Arc};

use candle_core::Tensor;
use rayon::prelude::*;

use crate::{
    capture::{Matrix, Prediction, PredictionItem, PredictionRow},
    model::{
        ModelError,
        kernels::{self, Activation, Linear, Norm, with_values},
        run::Logits,
    },
    outputs::OutputKind,
    spec::HeadKind,
    text::grouped,
};

/// Tokens or classes kept for each position.
const N_TOP: usize = 5;
/// Labels and scores kept: each says something by itself.
const N_EACH: usize = 20;
/// The vocabulary is cut into multiples of this many outcomes. Whole panels of weights, and no power of
/// two: rows that far apart would share their cache lines.
const OUTCOMES_STEP: usize = 33 * 64;
/// About how many logits exist at the same time, besides those that are kept.
const LOGITS_AT_ONCE: usize = 4_000_000;
/// Above this many logits only the last position is predicted, unless all logits are wanted.
const MAX_PREDICTED: usize = 16_000_000;
/// Up to this many logits are few: 32 MB.
pub(super) const FEW_LOGITS: usize = 1 << 23;

/// A prediction head: which positions it reads, what it makes of them, and a linear map to outcomes.
#[derive(Debug)]
pub(crate) struct Head {
    pub kind: HeadKind,
    pub outputs: OutputKind,
    pub reads: Reads,
    pub transform: Transform,
    /// To the vocabulary or the classes.
    pub output: Linear,
    /// Class names; `None` for heads over the vocabulary.
    pub labels: Option<Vec<String>>,
    /// Logits `x` become `cap · tanh(x / cap)` (Gemma 2).
    pub softcap: Option<f32>,
}

/// What a classifier says: of which kind its numbers are, and what each is called.
#[derive(Clone, Debug)]
pub(crate) struct Outcomes {
    pub kind: OutputKind,
    pub names: Vec<String>,
}

/// Which positions of the stream a head reads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Reads {
    /// Each position for itself.
    Each,
    /// The first: CLS.
    First,
    /// The last, or the last that is not padding.
    Last { padding: Option<u32> },
    /// Where the text that is classified ends: the last of these tokens (BART, which reads the text twice).
    End { token: u32 },
    /// The mean of all after `n_prefix` tokens (BEiT).
    Mean { n_prefix: usize },
    /// The mean of what is made of each before the last linear map (EuroBERT).
    MeanOfEach,
    /// The first beside the mean of all after `n_prefix` tokens (DINOv2).
    FirstAndMean { n_prefix: usize },
    /// The first two side by side: CLS and distillation token (DeiT).
    FirstTwo,
}

/// What happens between the stream and the last linear map, in this order.
#[derive(Debug, Default)]
pub(crate) struct Transform {
    /// A factor (T5's tied output).
    pub scale: Option<f32>,
    pub dense: Option<Linear>,
    pub activation: Option<Activation>,
    pub norm: Option<Norm>,
}

impl Transform {
    /// Whether there is none, but for a factor.
    pub const fn is_none(&self) -> bool {
        self.dense.is_none() && self.activation.is_none() && self.norm.is_none()
    }
}

/// What became of the head.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub logits: Option<Matrix>,
    pub prediction: Option<Prediction>,
    pub note: Option<String>,
}

impl Reads {
    /// Where a head of a whole text reads it; `None` when it has no such place.
    pub fn place(self, ids: &[u32]) -> Option<usize> {
        match self {
            // A text of padding alone is read at its first token.
            Self::Last { padding } => Some(ids.iter().rposition(|id| Some(*id) != padding).unwrap_or(0)),
            Self::End { token } => ids.iter().rposition(|id| *id == token),
            _ => Some(0),
        }
    }

    /// The rows of the stream that row `row` of the logits is read from, where it is some of them; `place` is
    /// where a head of the whole reads it.
    pub fn rows(self, row: usize, place: usize) -> Option<Range<usize>> {
        match self {
            Self::Each => Some(row..row + 1),
            Self::First => Some(0..1),
            Self::FirstTwo => Some(0..2),
            Self::Last { .. } | Self::End { .. } => Some(place..place + 1),
            Self::Mean { .. } | Self::MeanOfEach | Self::FirstAndMean { .. } => None,
        }
    }
}

impl Head {
    /// A head that says what follows each position.
    pub fn next_token(output: Linear) -> Self {
        Self {
            kind: HeadKind::NextToken,
            outputs: OutputKind::Tokens,
            reads: Reads::Each,
            transform: Transform::default(),
            output,
            labels: None,
            softcap: None,
        }
    }

    /// A head that says which token stands at each position.
    pub const fn masked_lm(dense: Linear, activation: Activation, norm: Norm, output: Linear) -> Self {
        let transform = Transform { scale: None, dense: Some(dense), activation: Some(activation), norm: Some(norm) };
        let (kind, outputs) = (HeadKind::MaskedLm, OutputKind::Tokens);
        Self { kind, outputs, reads: Reads::Each, transform, output, labels: None, softcap: None }
    }

    /// A head that says something of the whole, or of each token, in classes, labels or scores.
    pub fn class(kind: HeadKind, reads: Reads, transform: Transform, output: Linear, outcomes: Outcomes) -> Self {
        let Outcomes { kind: outputs, names } = outcomes;
        Self { kind, outputs, reads, transform, output, labels: Some(names), softcap: None }
    }

    /// Logits of some positions of the stream; a head that reads no single positions has one row in any
    /// case, and reads the whole at `place` if anywhere.
    ///
    /// # Shapes
    /// - `x`: `[n, d_model]`, after the final norm
    /// - result: `[rows.len(), n_vocab]` or `[1, classes]`
    pub fn logits(&self, x: &Tensor, rows: Range<usize>, place: usize) -> candle_core::Result<Tensor> {
        self.logits_of(&self.features(x, rows, place)?)
    }

    /// Logits of what [`Self::features`] made.
    pub fn logits_of(&self, features: &Tensor) -> candle_core::Result<Tensor> {
        self.cap(self.output.forward(features)?)
    }

    fn cap(&self, logits: Tensor) -> candle_core::Result<Tensor> {
        match self.softcap {
            Some(cap) => kernels::softcap(&logits, cap),
            None => Ok(logits),
        }
    }

    /// What the last linear map reads.
    pub fn features(&self, x: &Tensor, rows: Range<usize>, place: usize) -> candle_core::Result<Tensor> {
        let n = x.dim(0)?;
        let mean = |n_prefix: usize| x.narrow(0, n_prefix, n - n_prefix)?.mean_keepdim(0);
        let mut x = match self.reads {
            Reads::Each => x.narrow(0, rows.start, rows.len())?,
            Reads::First => x.narrow(0, 0, 1)?,
            Reads::Last { .. } | Reads::End { .. } => x.narrow(0, place, 1)?,
            Reads::Mean { n_prefix } => mean(n_prefix)?,
            Reads::MeanOfEach => x.clone(),
            Reads::FirstAndMean { n_prefix } => Tensor::cat(&[x.narrow(0, 0, 1)?, mean(n_prefix)?], 1)?,
            Reads::FirstTwo => x.narrow(0, 0, 2)?.reshape((1, 2 * x.dim(1)?))?,
        };
        let Transform { scale, dense, activation, norm } = &self.transform;
        if let Some(scale) = scale {
            x = (x * f64::from(*scale))?;
        }
        if let Some(dense) = dense {
            x = dense.forward(&x)?;
        }
        if let Some(activation) = activation {
            x = kernels::activation(&x, *activation)?;
        }
        if let Some(norm) = norm {
            x = norm.forward(&x)?;
        }
        if self.reads == Reads::MeanOfEach { x.mean_keepdim(0) } else { Ok(x) }
    }

    /// Logits and predictions as planned. `label` names a vocabulary id; `checkpoint` is called
    /// between steps and may stop the work.
    ///
    /// # Shapes
    /// - `x`: `[n, d_model]`, after the final norm
    pub fn run(
        &self,
        x: &Tensor,
        place: usize,
        plan: Logits,
        label: &dyn Fn(u32) -> String,
        checkpoint: &dyn Fn() -> Result<(), ModelError>,
    ) -> Result<Outcome, ModelError> {
        let n = x.dim(0)?;
        let labels = self.labels.as_ref();
        let whole = self.reads != Reads::Each;
        let n_outcomes = self.output.dims()?.1;
        let mut outcome = Outcome::default();
        let positions = match plan {
            Logits::Skip => return Ok(outcome),
            _ if whole => 0..1,
            Logits::Predict | Logits::KeepFew if n * n_outcomes > MAX_PREDICTED => {
                outcome.note = Some(format!("Only the last of {} positions is predicted, to save time", grouped(n)));
                n - 1..n
            }
            Logits::Predict | Logits::KeepFew | Logits::Keep => 0..n,
        };
        // Of the last positions.
        let n_kept = match plan {
            Logits::Skip | Logits::Predict => 0,
            Logits::KeepFew if positions.len() * n_outcomes > FEW_LOGITS => 1,
            Logits::KeepFew | Logits::Keep => positions.len(),
        };
        let mut ranking = vec![Ranking::of(self.outputs); positions.len()];
        let mut kept: Option<Arc<[f32]>> = (n_kept > 0).then(|| repeat_n(0.0, n_kept * n_outcomes).collect());
        let at_once = OUTCOMES_STEP * (LOGITS_AT_ONCE / (OUTCOMES_STEP * positions.len().max(1))).max(1);
        // A part of the vocabulary at a time: the logits of all of it would be larger than the model's
        // other activations together, and take too long to be stopped.
        let features = self.features(x, positions.clone(), place)?;
        let mut start = 0;
        while start < n_outcomes {
            checkpoint()?;
            let part = start..n_outcomes.min(start + at_once);
            let logits = self.cap(self.output.columns(part.clone())?.forward(&features)?)?;
            with_values(&logits, |values| {
                rank(&mut ranking, values, start);
                if let Some(kept) = kept.as_mut().and_then(Arc::get_mut) {
                    let last = values.par_chunks_exact(part.len()).skip(positions.len() - n_kept);
                    let rows = kept.par_chunks_exact_mut(n_outcomes).zip(last);
                    rows.for_each(|(kept, part_of_row)| kept[part.clone()].copy_from_slice(part_of_row));
                }
            })?;
            start = part.end;
        }
        if let Some(kept) = kept {
            outcome.logits = Some(Matrix::new(kept, [n_kept, n_outcomes])?);
        }
        let class_label = |id: u32| labels.and_then(|labels| labels.get(id as usize)).cloned();
        let item = |(id, value)| PredictionItem { id, label: class_label(id).unwrap_or_else(|| label(id)), value };
        let mut rows = Vec::with_capacity(ranking.len());
        for (position, ranking) in positions.zip(ranking) {
            let top = ranking.values();
            if top.iter().any(|(_, value)| !value.is_finite()) {
                return Err(ModelError::NotFinite { what: "logits".to_owned() });
            }
            let position = (!whole).then_some(position);
            rows.push(PredictionRow { position, top: top.into_iter().map(item).collect() });
        }
        outcome.prediction = Some(Prediction { kind: self.kind, outputs: self.outputs, rows });
        Ok(outcome)
    }
}

/// Takes the next logits of every row into account; `first` is the outcome of the first column.
fn rank(ranking: &mut [Ranking], logits: &[f32], first: usize) {
    let width = logits.len() / ranking.len().max(1);
    let rows = logits.par_chunks_exact(width.max(1));
    ranking.par_iter_mut().zip(rows).for_each(|(ranking, row)| ranking.add(row, first));
}

/// The largest logits of one position so far, of scores the first, and the normaliser of its softmax.
#[derive(Clone, Debug)]
struct Ranking {
    kind: OutputKind,
    /// Outcome and logit, largest first; scores in their order.
    best: Vec<(u32, f32)>,
    /// `Σ exp(logit − largest)`; NaN as soon as a logit is.
    sum: f32,
}

impl Ranking {
    const fn of(kind: OutputKind) -> Self {
        Self { kind, best: Vec::new(), sum: 0.0 }
    }

    /// How many outcomes are told.
    const fn n_top(&self) -> usize {
        match self.kind {
            OutputKind::Tokens | OutputKind::Classes => N_TOP,
            OutputKind::Labels | OutputKind::Scores => N_EACH,
        }
    }

    fn add(&mut self, logits: &[f32], first: usize) {
        /// Logits looked at together: most groups have none that is large enough.
        const GROUP: usize = 64;
        let n_top = self.n_top();
        if self.kind == OutputKind::Scores {
            // One is not compared with another.
            let room = n_top.saturating_sub(self.best.len());
            self.best.extend((first as u32..).zip(logits.iter().copied()).take(room));
            return;
        }
        let largest = |best: &[(u32, f32)]| best.first().map(|(_, logit)| *logit);
        let before = largest(&self.best);
        let mut least = if self.best.len() < n_top { f32::NEG_INFINITY } else { self.best[n_top - 1].1 };
        for (group_idx, group) in logits.chunks(GROUP).enumerate() {
            let max = group.iter().fold(f32::NEG_INFINITY, |max, x| if *x > max { *x } else { max });
            if max <= least {
                continue;
            }
            for (idx, &logit) in group.iter().enumerate() {
                if logit > least {
                    let at = self.best.partition_point(|(_, other)| *other >= logit);
                    self.best.insert(at, ((first + group_idx * GROUP + idx) as u32, logit));
                    self.best.truncate(n_top);
                    if self.best.len() == n_top {
                        least = self.best[n_top - 1].1;
                    }
                }
            }
        }
        let max = largest(&self.best).unwrap_or(0.0);
        self.sum = before.map_or(0.0, |before| self.sum * (before - max).exp()) + kernels::exp_sum(logits, max);
    }

    /// Outcomes and their probabilities, best first, or scores in their order.
    fn values(self) -> Vec<(u32, f32)> {
        let max = self.best.first().map_or(0.0, |(_, logit)| *logit);
        if self.best.is_empty() {
            // Every logit is NaN or minus infinity.
            return vec![(0, f32::NAN)];
        }
        let value = |logit: f32| match self.kind {
            OutputKind::Tokens | OutputKind::Classes => (logit - max).exp() / self.sum,
            OutputKind::Labels | OutputKind::Scores => self.kind.value(&[logit], 0) as f32,
        };
        self.best.into_iter().map(|(id, logit)| (id, value(logit))).collect()
    }
}
