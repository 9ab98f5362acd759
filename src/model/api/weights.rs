//! Weights that explanations need, as plain numbers.

use candle_core::Tensor;

use super::Model;
use crate::{
    capture::{Matrix, PredictionRow},
    ids::StackKind,
    model::{
        ModelError,
        kernels::{Linear, NormKind, to_host},
        network::{
            Body,
            attention::Projections,
            block::{Block, Stack},
            head::Head,
        },
        run::Logits,
    },
    spec::SIMILARITY,
};

/// A linear map, `x · weight + bias`.
#[derive(Clone, Debug, PartialEq)]
pub struct Projection {
    /// `[d_in, d_out]`.
    pub weight: Matrix,
    /// `[d_out]`.
    pub bias: Option<Vec<f32>>,
}

/// The norm between the last layer and the head.
#[derive(Clone, Debug, PartialEq)]
pub struct FinalNorm {
    /// Whether the mean is taken away first: layer norm, and not RMS norm.
    pub centred: bool,
    /// `[d_model]`.
    pub weight: Vec<f32>,
    /// `[d_model]`.
    pub bias: Option<Vec<f32>>,
    pub eps: f32,
}

impl FinalNorm {
    pub(super) fn of(norm: &crate::model::kernels::Norm) -> Result<Self, ModelError> {
        Ok(Self {
            centred: norm.kind == NormKind::Layer,
            weight: norm.weight.to_vec1()?,
            bias: norm.bias.as_ref().map(Tensor::to_vec1).transpose()?,
            eps: norm.eps,
        })
    }
}

impl Projection {
    pub(super) fn of(linear: &Linear) -> Result<Self, ModelError> {
        let weight = linear.matrix()?.contiguous()?;
        let bias = linear.bias.as_ref().map(Tensor::to_vec1).transpose()?;
        Ok(Self { weight: Matrix::new(to_host(&weight)?, weight.dims2()?.into())?, bias })
    }
}

impl Model {
    /// What maps `z` of all heads of a layer side by side back to the stream, `[heads · d_value, d_model]`; `None`
    /// for networks without such a map, and where a gate or a norm stands before it.
    ///
    /// # Errors
    /// When the weights cannot be read.
    pub fn attention_output(&self, stack: StackKind, layer: usize) -> Result<Option<Projection>, ModelError> {
        let mixer = self.block(stack, layer).and_then(|block| block.mixer(stack));
        mixer.filter(|mixer| !mixer.spec().gated).map(|mixer| Projection::of(mixer.out())).transpose()
    }

    /// What is added to every value of a layer, `[kv_heads · d_value]`; `None` where nothing is.
    ///
    /// # Errors
    /// When the weights cannot be read.
    pub fn value_bias(&self, stack: StackKind, layer: usize) -> Result<Option<Vec<f32>>, ModelError> {
        let Some(attention) = self.attention(stack, layer) else { return Ok(None) };
        let width = attention.spec.n_kv_heads * attention.spec.d_value;
        // Values come last in both.
        let linear = match &attention.projections {
            Projections::Fused(linear) | Projections::Cross { kv: linear, .. } => linear,
            Projections::Latent(maps) => &maps.kv,
            Projections::Borrowed { .. } => return Ok(None),
        };
        let last = |bias: &Tensor| bias.narrow(0, bias.dim(0)? - width, width)?.to_vec1();
        Ok(linear.bias.as_ref().map(last).transpose()?)
    }

    /// The norm of the stream after a layer's attention was added (BERT); `None` where there is none.
    ///
    /// # Errors
    /// When the weights cannot be read.
    pub fn norm_after_attention(&self, stack: StackKind, layer: usize) -> Result<Option<FinalNorm>, ModelError> {
        let norms = self.block(stack, layer).and_then(|block| block.norms(stack));
        norms.and_then(|norms| norms.after.as_ref()).map(FinalNorm::of).transpose()
    }

    /// What maps the activations inside a layer's MLP back to the stream, `[d_mlp, d_model]`: its rows are the
    /// values of feed-forward memories.
    ///
    /// # Errors
    /// When the weights cannot be read.
    pub fn mlp_output(&self, stack: StackKind, layer: usize) -> Result<Option<Projection>, ModelError> {
        let maps = self.block(stack, layer).and_then(|block| block.mlp.maps());
        maps.map(|maps| Projection::of(maps.down)).transpose()
    }

    /// The norm between the last layer of a stack and what reads it; `None` where there is none.
    ///
    /// # Errors
    /// When the weights cannot be read.
    pub fn final_norm(&self, stack: StackKind) -> Result<Option<FinalNorm>, ModelError> {
        let norm = self.stack(stack).and_then(|stack| stack.final_norm.as_ref());
        norm.map(FinalNorm::of).transpose()
    }

    /// Whether a stream before the head adds up from what layers add to it: no layer norms the sum.
    pub fn is_additive(&self, stack: StackKind) -> bool {
        self.stack(stack).is_some_and(|stack| {
            stack.convolution.is_none()
                && stack.blocks.iter().all(|block| {
                    if !block.only_adds_branches() {
                        return false;
                    }
                    let norms = block.cross.as_ref().map(|(_, norms)| norms);
                    let mut all = [Some(&block.attention_norms), norms, Some(&block.mlp_norms)].into_iter().flatten();
                    all.all(|norms| norms.after.is_none() && !norms.carries)
                })
        })
    }

    /// What a logit is the product of with the normed stream: the column of one outcome `[d_model]` and its bias.
    ///
    /// # Errors
    /// When the model has no head, its head is more than one linear map or reads more than one row of the stream, or
    /// there is no such outcome.
    pub fn unembedding(&self, id: u32) -> Result<(Vec<f32>, f32), ModelError> {
        let head = self.head()?;
        if !head.transform.is_none() || head.softcap.is_some() {
            let what = "between the stream and the logits there is more than one linear map, so a logit is not a sum";
            return Err(ModelError::Edit(what.to_owned()));
        }
        let (width, n_outcomes) = head.output.dims()?;
        if width != self.network.d_model {
            let what = "the head reads several positions side by side, so a logit is not a product with one of them";
            return Err(ModelError::Edit(what.to_owned()));
        }
        if id as usize >= n_outcomes {
            return Err(ModelError::Edit(format!("there is no outcome {id}")));
        }
        let column = to_host(&head.output.columns_as_rows(&[id])?.contiguous()?)?.to_vec();
        let scale = head.transform.scale.unwrap_or(1.0);
        let bias = match &head.output.bias {
            Some(bias) => bias.get(id as usize)?.to_scalar::<f32>()?,
            None => 0.0,
        };
        Ok((column.into_iter().map(|value| value * scale).collect(), bias))
    }

    /// The logits that the head gives for a stream that is not the model's own, such as that of an earlier layer:
    /// rows of `stream` `[n, d_model]` that stand in for the stream before (`normed` is false) or after the
    /// final norm. A head that reads the whole text or picture answers with one row, and looks for it in row
    /// `place` where it reads one place ([`Self::head_reads`]).
    ///
    /// # Errors
    /// When the model has no head, the width is another one, or the stream has no such row.
    pub fn unembed(&self, stack: StackKind, stream: &Matrix, normed: bool, place: usize) -> Result<Matrix, ModelError> {
        self.engine.install(|| {
            let x = self.stream(stack, stream, normed, place)?;
            let n = x.dim(0)?;
            let logits = self.head()?.logits(&x, 0..n, place)?.contiguous()?;
            Ok(Matrix::new(to_host(&logits)?, logits.dims2()?.into())?)
        })
    }

    /// The most probable outcomes that the head reads from such a stream, as [`Self::unembed`] does.
    ///
    /// # Errors
    /// As [`Self::unembed`].
    pub fn lens(
        &self,
        stack: StackKind,
        stream: &Matrix,
        normed: bool,
        place: usize,
    ) -> Result<Vec<PredictionRow>, ModelError> {
        self.engine.install(|| {
            let x = self.stream(stack, stream, normed, place)?;
            let label = |id| self.reader.label(id);
            let outcome = self.head()?.run(&x, place, Logits::Predict, &label, &|| Ok(()))?;
            Ok(outcome.prediction.map(|prediction| prediction.rows).unwrap_or_default())
        })
    }

    /// What people call an outcome: a token, a class, or how well a picture and a text fit.
    pub fn outcome_label(&self, id: u32) -> String {
        if matches!(self.network.body, Body::TwoTowers { .. }) {
            return SIMILARITY.to_owned();
        }
        let class = self.network.head.as_ref().and_then(|head| head.labels.as_ref()?.get(id as usize));
        class.cloned().unwrap_or_else(|| self.reader.label(id))
    }

    fn stream(&self, stack: StackKind, stream: &Matrix, normed: bool, place: usize) -> Result<Tensor, ModelError> {
        let [n, width] = stream.shape();
        if place >= n {
            return Err(ModelError::Edit(format!("a stream of {n} rows has no row {place}")));
        }
        if width != self.network.d_model {
            let what =
                format!("a stream of width {width} is not one of this model, whose width is {}", self.network.d_model);
            return Err(ModelError::Edit(what));
        }
        let x = Tensor::from_slice(stream.as_slice(), (n, width), self.engine.device())?;
        match self.stack(stack) {
            Some(stack) if !normed => Ok(stack.normed(x)?),
            _ => Ok(x),
        }
    }

    pub(super) fn head(&self) -> Result<&Head, ModelError> {
        let missing = || ModelError::Edit("it has no head, so there are no logits".to_owned());
        if self.network.joins_streams() {
            let what = "its head reads both streams at once, so none of them has logits by itself";
            return Err(ModelError::Edit(what.to_owned()));
        }
        self.network.head.as_ref().ok_or_else(missing)
    }

    pub(super) fn stack(&self, kind: StackKind) -> Option<&Stack> {
        let kind = kind.host();
        self.network.transformers().into_iter().find(|stack| stack.kind == kind)
    }

    pub(super) fn block(&self, stack: StackKind, layer: usize) -> Option<&Block> {
        self.stack(stack)?.blocks.get(layer).map(|block| &**block)
    }
}
