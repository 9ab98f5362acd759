//! Maps of one head from what it reads to what is said, by the weights alone.

use std::ops::Range;

use candle_core::Tensor;

use super::{FinalNorm, Model, Projection, wiring::columns};
use crate::{
    capture::Matrix,
    ids::{HeadId, Side, StackKind},
    model::{
        ModelError,
        kernels::{Linear, to_host},
        network::{
            Body, Tower,
            attention::Projections,
            embedding::{Embedding, TextEmbedding},
            head::Head,
        },
    },
};

/// The maps between the stream that a head reads its values from and the one that it writes to, without their biases.
#[derive(Clone, Debug, PartialEq)]
pub struct ValueMaps {
    /// `[d_in, d_value]`; several heads may share it.
    pub value: Matrix,
    /// `[d_value, d_model]`.
    pub output: Matrix,
}

impl Model {
    /// The maps of one head's values; `None` where the network has no such head, and where a norm stands between its maps.
    ///
    /// # Errors
    /// When the weights cannot be read.
    pub fn value_maps(&self, head: HeadId) -> Result<Option<ValueMaps>, ModelError> {
        let HeadId { stack, layer, head } = head;
        let Some(attention) = self.attention(stack, layer) else { return Ok(None) };
        let spec = attention.spec;
        let (d_head, d) = (spec.d_head, spec.d_value);
        let normed = attention.qk_norm.as_ref().is_some_and(|norms| norms.v.is_some());
        if head >= spec.n_heads || spec.gated || normed {
            return Ok(None);
        }
        let shared = head / (spec.n_heads / spec.n_kv_heads.max(1)).max(1);
        // Values come last in both.
        let value = match &attention.projections {
            Projections::Fused(qkv) => {
                columns(&Projection::of(qkv)?, (spec.n_heads + spec.n_kv_heads) * d_head + shared * d, d)?
            }
            Projections::Cross { kv, .. } => columns(&Projection::of(kv)?, spec.n_kv_heads * d_head + shared * d, d)?,
            Projections::Latent(_) | Projections::Borrowed { .. } => return Ok(None),
        };
        let output = Projection::of(&attention.out)?.weight;
        let width = output.n_cols();
        let own = output.as_slice().get(head * d * width..(head + 1) * d * width);
        let Some(own) = own else { return Ok(None) };
        Ok(Some(ValueMaps { value: value.weight, output: Matrix::new(own, [d, width])? }))
    }

    /// Number of tokens that the keys of a stack are made of, `None` where they are none of a vocabulary.
    pub fn n_read(&self, stack: StackKind) -> Option<usize> {
        self.embedding(stack.key_side())?.word.n_vocab().ok()
    }

    /// What stands for tokens in the stream that the keys of a stack are read from, before anything is added to it,
    /// `[ids.len(), d_model]`.
    ///
    /// # Errors
    /// When it reads no tokens, there is no such id, or a map stands behind the sum of token and position.
    pub fn read_tokens(&self, stack: StackKind, ids: &[u32]) -> Result<Matrix, ModelError> {
        let rows = self.engine.install(|| self.token_rows(stack, ids))?;
        Ok(Matrix::new(to_host(&rows.contiguous()?)?, rows.dims2()?.into())?)
    }

    /// The norm that tokens with their positions go through before the first layer of what a stack's keys are read from.
    ///
    /// # Errors
    /// When the weights cannot be read.
    pub fn embedding_norm(&self, stack: StackKind) -> Result<Option<FinalNorm>, ModelError> {
        let norm = self.embedding(stack.key_side()).and_then(|embedding| embedding.norm.as_ref());
        norm.map(FinalNorm::of).transpose()
    }

    /// What rows of a stream `[n, d_model]` behind the final norm add to some logits, `[n, outcomes.len()]`: without the
    /// biases, and before a cap.
    ///
    /// # Errors
    /// When the model has no head, or its head is more than one linear map of one position.
    pub fn said_by(&self, stream: &Matrix, outcomes: Range<usize>) -> Result<Matrix, ModelError> {
        let x = Tensor::from_slice(stream.as_slice(), (stream.n_rows(), stream.n_cols()), self.engine.device())?;
        let said = self.engine.install(|| self.logits_without_bias(&x, outcomes))?;
        Ok(Matrix::new(to_host(&said.contiguous()?)?, said.dims2()?.into())?)
    }

    /// The sum over some tokens of what a head makes of each, `[d_value]`, times what it is said by, `[d_value]`: a part
    /// of `(W_O W_U) (W_E W_V)`, `[d_value, d_value]`, from the maps of a head with the norms in them.
    ///
    /// # Errors
    /// As [`Self::read_tokens`] and [`Self::said_by`].
    pub fn copied(&self, stack: StackKind, maps: &ValueMaps, tokens: Range<usize>) -> Result<Matrix, ModelError> {
        let tensor = |of: &Matrix| Tensor::from_slice(of.as_slice(), (of.n_rows(), of.n_cols()), self.engine.device());
        let ids: Vec<u32> = tokens.clone().map(|id| id as u32).collect();
        let product = self.engine.install(|| -> Result<Tensor, ModelError> {
            let read = self.token_rows(stack, &ids)?.matmul(&tensor(&maps.value)?)?;
            Ok(self.logits_without_bias(&tensor(&maps.output)?, tokens)?.matmul(&read)?)
        })?;
        Ok(Matrix::new(to_host(&product.contiguous()?)?, product.dims2()?.into())?)
    }

    fn token_rows(&self, stack: StackKind, ids: &[u32]) -> Result<Tensor, ModelError> {
        let missing = || ModelError::Edit("it reads no tokens there, so no word has a vector of its own".to_owned());
        let embedding = self.embedding(stack.key_side()).ok_or_else(missing)?;
        let n = embedding.word.n_vocab()?;
        if let Some(wrong) = ids.iter().find(|id| **id as usize >= n) {
            return Err(ModelError::Edit(format!("there is no token {wrong} among {n}")));
        }
        if embedding.projection.is_some() {
            let what = "a map to another width stands behind its embeddings, so no word has a vector of its own";
            return Err(ModelError::Edit(what.to_owned()));
        }
        let rows = (embedding.word.select(ids)?.contiguous()? * f64::from(embedding.scale))?;
        Ok(match &embedding.token_projection {
            Some(map) => map.forward(&rows)?,
            None => rows,
        })
    }

    fn logits_without_bias(&self, x: &Tensor, outcomes: Range<usize>) -> Result<Tensor, ModelError> {
        let head = self.linear_head()?;
        let map = Linear { bias: None, ..head.output.columns(outcomes)? };
        Ok(map.forward(&(x * f64::from(head.transform.scale.unwrap_or(1.0)))?)?)
    }

    /// The head, where a logit but for a cap is a product with the normed stream at one position.
    fn linear_head(&self) -> Result<&Head, ModelError> {
        let head = self.head()?;
        if !head.transform.is_none() {
            let what = "between the stream and its logits there is more than one linear map";
            return Err(ModelError::Edit(what.to_owned()));
        }
        if head.output.dims()?.0 != self.network.d_model {
            let what = "its head reads several positions side by side";
            return Err(ModelError::Edit(what.to_owned()));
        }
        Ok(head)
    }

    /// What the tokens of a side are read by.
    fn embedding(&self, side: Side) -> Option<&TextEmbedding> {
        let tower: Option<&Tower> = match (&self.network.body, side) {
            (Body::Single(tower), Side::Only) => Some(tower),
            (Body::EncoderDecoder { encoder, .. }, Side::Encoder) => Some(encoder),
            (Body::EncoderDecoder { decoder, .. }, Side::Decoder) => Some(decoder),
            (Body::TwoTowers { text, .. }, Side::Text) => Some(text),
            (Body::TwoStreams(body), Side::Text) => Some(&body.text),
            _ => None,
        };
        match &tower?.embedding {
            Embedding::Text(text) => Some(text),
            Embedding::Patches(_) => None,
        }
    }
}
