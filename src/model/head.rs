//! What a model says about its input: logits, and the most probable outcomes.

use candle_core::Tensor;
use rayon::prelude::*;

use super::{
    Logits, ModelError,
    kernels::{self, Activation, Linear, Norm, share, with_values},
};
use crate::{
    capture::{Matrix, Prediction, PredictionItem, PredictionRow},
    spec::HeadKind,
};

/// Outcomes kept for each position.
const N_TOP: usize = 5;
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
    pub fn logits(&self, x: &Tensor, rows: std::ops::Range<usize>) -> candle_core::Result<Tensor> {
        match self {
            Self::MaskedLm { dense, activation, norm, decoder } => {
                let x = dense.forward(&x.narrow(0, rows.start, rows.len())?)?;
                decoder.forward(&norm.forward(&kernels::activation(&x, *activation)?)?)
            }
            Self::NextToken { decoder } => decoder.forward(&x.narrow(0, rows.start, rows.len())?),
            Self::TextClass { pooler, from_last, classifier, .. } => {
                let row = if *from_last { x.dim(0)? - 1 } else { 0 };
                let mut x = x.narrow(0, row, 1)?;
                if let Some(pooler) = pooler {
                    x = kernels::activation(&pooler.forward(&x)?, Activation::Tanh)?;
                }
                classifier.forward(&x)
            }
            Self::ImageClass { classifier, .. } => classifier.forward(&x.narrow(0, 0, 1)?),
        }
    }

    /// Logits and predictions as planned. `label` names a vocabulary id.
    pub fn run(&self, x: &Tensor, plan: Logits, label: &dyn Fn(u32) -> String) -> Result<Outcome, ModelError> {
        let n = x.dim(0)?;
        let (decoder, labels) = match self {
            Self::MaskedLm { decoder, .. } | Self::NextToken { decoder } => (decoder, None),
            Self::TextClass { classifier, labels, .. } | Self::ImageClass { classifier, labels } => {
                (classifier, Some(labels))
            }
        };
        let n_outcomes = decoder.dims()?.1;
        let mut outcome = Outcome::default();
        let positions = match (plan, labels) {
            (Logits::Skip, _) => return Ok(outcome),
            (_, Some(_)) => 0..1,
            (Logits::Keep, None) => 0..n,
            (Logits::Predict, None) if n * n_outcomes > MAX_PREDICTED => {
                outcome.note = Some(format!("Only the last of {n} positions is predicted, to save time"));
                n - 1..n
            }
            (Logits::Predict, None) => 0..n,
        };
        let class_label = |id: u32| labels.and_then(|labels| labels.get(id as usize)).cloned();
        let label = |id: u32| class_label(id).unwrap_or_else(|| label(id));
        let logits = self.logits(x, positions.clone())?;
        let mut rows = Vec::with_capacity(positions.len());
        let tops = with_values(&logits, |values| most_probable(values, n_outcomes))?;
        for (offset, top) in tops.into_iter().enumerate() {
            // Nothing compares with NaN, so it leaves a row short.
            if top.len() < N_TOP.min(n_outcomes) || top.iter().any(|(_, probability)| !probability.is_finite()) {
                return Err(ModelError::NotFinite { what: "logits".to_owned() });
            }
            let item = |(id, probability)| PredictionItem { id, label: label(id), probability };
            let position = labels.is_none().then_some(positions.start + offset);
            rows.push(PredictionRow { position, top: top.into_iter().map(item).collect() });
        }
        if plan == Logits::Keep {
            outcome.logits = Some(Matrix::new(share(&logits)?, logits.dims2()?.into())?);
        }
        outcome.prediction = Some(Prediction { kind: self.kind(), rows });
        Ok(outcome)
    }
}

/// The most probable outcomes of each row of `n_outcomes` logits, best first.
fn most_probable(logits: &[f32], n_outcomes: usize) -> Vec<Vec<(u32, f32)>> {
    logits.par_chunks_exact(n_outcomes.max(1)).map(top_of_row).collect()
}

fn top_of_row(row: &[f32]) -> Vec<(u32, f32)> {
    /// Logits looked at together: most groups have none that is large enough.
    const GROUP: usize = 64;
    let mut best: Vec<(u32, f32)> = Vec::with_capacity(N_TOP + 1);
    let mut least = f32::NEG_INFINITY;
    for (group_idx, group) in row.chunks(GROUP).enumerate() {
        if best.len() == N_TOP
            && group.iter().fold(f32::NEG_INFINITY, |max, x| if *x > max { *x } else { max }) <= least
        {
            continue;
        }
        for (idx, &logit) in group.iter().enumerate() {
            if logit > least || best.len() < N_TOP {
                let at = best.partition_point(|(_, other)| *other >= logit);
                best.insert(at, ((group_idx * GROUP + idx) as u32, logit));
                best.truncate(N_TOP);
                least = best.last().map_or(least, |(_, logit)| *logit);
            }
        }
    }
    let max = best.first().map_or(0.0, |(_, logit)| *logit);
    let sum = kernels::exp_sum(row, max);
    best.into_iter().map(|(id, logit)| (id, (logit - max).exp() / sum)).collect()
}
