//! Similarity of a picture and a text: each stream is pooled to one vector, the vectors are mapped to
//! one space, and the angle between them is what counts.

use candle_core::Tensor;

use super::{
    attention::{Attention as _, MultiHead},
    head::Outcome,
    mlp::{Dense, Mlp as _},
    pass::Pass,
};
use crate::{
    capture::{Matrix, Prediction, PredictionItem, PredictionRow},
    model::{
        ModelError,
        kernels::{Linear, Norm},
        run::{At, Logits, Run},
    },
    outputs::OutputKind,
    spec::HeadKind,
};

/// What compares the two towers.
#[derive(Debug)]
pub(crate) struct Similarity {
    pub vision: Pool,
    pub text: Pool,
    pub reads: TextPosition,
    /// Factor on the cosine of the two vectors.
    pub scale: f32,
    /// Added to the scaled cosine.
    pub bias: f32,
    /// Labels where each text has a probability by itself (SigLIP), classes where it has one among several texts
    /// (CLIP), of which a single one has all.
    pub outputs: OutputKind,
}

/// How a stream becomes one vector.
#[derive(Debug)]
pub(crate) enum Pool {
    /// One position, normed where the model does so here, and mapped.
    Position { norm: Option<Norm>, projection: Linear },
    /// A learned query attends to all positions (SigLIP).
    Probe(Box<Probe>),
}

/// A learned query with attention and an MLP of its own.
#[derive(Debug)]
pub(crate) struct Probe {
    /// `[1, d_model]`.
    pub query: Tensor,
    pub attention: MultiHead,
    pub norm: Norm,
    pub mlp: Dense,
    /// Where its sites are: behind the last layer of the stack that it reads.
    pub at: At,
}

/// Which position of a text stands for the whole.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum TextPosition {
    /// The first token of this id (CLIP).
    First(u32),
    /// The first token of the highest id (CLIP checkpoints whose configuration names a wrong end).
    HighestId,
    /// The last, of a text that is filled up to the model's length with this id (SigLIP).
    Last { padding: u32 },
}

impl TextPosition {
    pub fn of(self, ids: &[u32]) -> usize {
        match self {
            // Position 0 when there is none, as in the reference.
            Self::First(id) => ids.iter().position(|other| *other == id).unwrap_or(0),
            Self::HighestId => {
                let highest = ids.iter().max();
                ids.iter().position(|id| Some(id) == highest).unwrap_or(0)
            }
            Self::Last { .. } => ids.len().saturating_sub(1),
        }
    }
}

impl Similarity {
    /// The logit of a picture and a text, `[1, 1]`.
    ///
    /// # Shapes
    /// - `vision`, `text`: `[n, d_model]` of each tower, after its final norm
    pub fn logits(
        &self,
        vision: &Tensor,
        text: &Tensor,
        position: usize,
        run: &mut Run<'_>,
    ) -> Result<Tensor, ModelError> {
        let vision = unit(&self.vision.forward(vision, 0, run)?)?;
        let text = unit(&self.text.forward(text, position, run)?)?;
        let cosine = (vision * text)?.sum_keepdim(1)?;
        Ok(cosine.affine(f64::from(self.scale), f64::from(self.bias))?)
    }

    /// What the logit says.
    pub fn outcome(&self, logits: &Tensor, plan: Logits) -> Result<Outcome, ModelError> {
        let logit = logits.flatten_all()?.to_vec1::<f32>()?.first().copied().unwrap_or(f32::NAN);
        if !logit.is_finite() {
            return Err(ModelError::NotFinite { what: "similarity".to_owned() });
        }
        let cosine = (logit - self.bias) / self.scale;
        let convention = match self.outputs {
            OutputKind::Labels => "the sigmoid of the logit",
            _ => "the softmax over the texts, which is 1 for one text",
        };
        let value = self.outputs.value(&[logit], 0) as f32;
        let label = format!("Cosine {cosine:.3}, logit {logit:.2}; the percentage is {convention}");
        let top = vec![PredictionItem { id: 0, label, value }];
        let rows = vec![PredictionRow { position: None, top }];
        Ok(Outcome {
            logits: matches!(plan, Logits::Keep | Logits::KeepFew)
                .then(|| Matrix::new(vec![logit], [1, 1]))
                .transpose()?,
            prediction: Some(Prediction { kind: HeadKind::Similarity, outputs: self.outputs, rows }),
            note: None,
        })
    }
}

impl Similarity {
    /// Whether the picture's vector is made of all its patches.
    pub const fn pools_vision(&self) -> bool {
        matches!(self.vision, Pool::Probe(_))
    }
}

impl Pool {
    /// `[1, d_shared]`.
    fn forward(&self, x: &Tensor, position: usize, run: &mut Run<'_>) -> Result<Tensor, ModelError> {
        match self {
            Self::Position { norm, projection } => {
                let mut x = x.narrow(0, position, 1)?;
                if let Some(norm) = norm {
                    x = norm.forward(&x)?;
                }
                Ok(projection.forward(&x)?)
            }
            Self::Probe(probe) => {
                let mut pass = Pass::decoding(Some(x), None);
                let z = probe.attention.forward(probe.at, &probe.query, &mut pass, run)?;
                let resid = probe.attention.out.forward(&z)?;
                Ok(probe.mlp.forward(probe.at, &probe.norm.forward(&resid)?, run)?.onto(&resid)?)
            }
        }
    }
}

/// A row at the length one.
pub(super) fn unit(x: &Tensor) -> candle_core::Result<Tensor> {
    x.broadcast_div(&x.sqr()?.sum_keepdim(1)?.sqrt()?)
}
