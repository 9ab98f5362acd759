//! Structure and maps of a block: for explanations that follow a value through it by hand.

use candle_core::Tensor;

use super::{FinalNorm, Model, Projection};
use crate::{
    capture::{Matrix, Site},
    ids::{Side, StackKind},
    model::{
        ModelError,
        input::{Encoded, Payload},
        kernels::{self, Activation, to_host},
        network::{
            Body, Tower,
            attention::{HeadNorm, MultiHead, Projections},
            block::{Block, Norms},
            embedding::Embedding,
            head::Reads,
            mlp::Maps,
        },
    },
};

/// The norms around a branch of the residual stream.
#[derive(Clone, Debug, PartialEq)]
pub struct BranchNorms {
    /// Of what the branch reads.
    pub before: Option<FinalNorm>,
    /// Whether what the branch adds has a norm of its own.
    pub is_normed: bool,
    /// Of the stream after the addition.
    pub after: Option<FinalNorm>,
    /// Whether the branch adds to what it reads, and not to the stream.
    pub carries: bool,
}

/// How a block is put together.
#[derive(Clone, Debug, PartialEq)]
pub struct BlockShape {
    /// Around attention within the sequence.
    pub attention: BranchNorms,
    /// Around attention to another one, where there is some.
    pub cross: Option<BranchNorms>,
    pub mlp: BranchNorms,
    /// Whether attention and MLP read the same stream.
    pub parallel: bool,
    /// Whether one half of the MLP scales the other.
    pub gated: bool,
    pub activation: Activation,
}

/// The maps of one head's queries and keys.
#[derive(Clone, Debug, PartialEq)]
pub struct HeadMaps {
    /// `[d_model, d_head]`.
    pub query: Projection,
    /// `[d_model, d_head]`; several heads may share it.
    pub key: Projection,
    /// Of queries, before they are turned.
    pub query_norm: Option<FinalNorm>,
    /// Of keys, before they are turned.
    pub key_norm: Option<FinalNorm>,
}

/// What the stream begins with.
#[derive(Clone, Debug, PartialEq)]
pub struct StreamStart {
    /// Factor on what stands for each token.
    pub scale: f32,
    /// What is added to it, `[n, d_model]` each, by name.
    pub added: Vec<(&'static str, Matrix)>,
    pub norm: Option<FinalNorm>,
}

impl BranchNorms {
    fn of(norms: &Norms) -> Result<Self, ModelError> {
        let read = |norm: &Option<kernels::Norm>| norm.as_ref().map(FinalNorm::of).transpose();
        Ok(Self {
            before: read(&norms.before)?,
            is_normed: norms.branch.is_some(),
            after: read(&norms.after)?,
            carries: norms.carries,
        })
    }
}

impl Model {
    /// How a block is put together; `None` where the network is made of something else.
    ///
    /// # Errors
    /// When the weights cannot be read.
    pub fn block_shape(&self, stack: StackKind, layer: usize) -> Result<Option<BlockShape>, ModelError> {
        let plain = self.stack(stack).is_some_and(|stack| stack.convolution.is_none());
        let block = self.block(stack, layer).filter(|block| plain && block.only_adds_branches());
        let Some(block) = block else { return Ok(None) };
        let Block { attention_norms, cross, mlp, mlp_norms, parallel, .. } = block;
        let Some(Maps { gated, activation, .. }) = mlp.maps() else { return Ok(None) };
        Ok(Some(BlockShape {
            attention: BranchNorms::of(attention_norms)?,
            cross: cross.as_ref().map(|(_, norms)| BranchNorms::of(norms)).transpose()?,
            mlp: BranchNorms::of(mlp_norms)?,
            parallel: *parallel,
            gated,
            activation,
        }))
    }

    /// The maps of one head's queries and keys; `None` where the network has no such head, clips queries and keys, norms
    /// the vectors of all heads side by side, so that none of them has maps of its own, or reads them from latents.
    ///
    /// # Errors
    /// When the weights cannot be read.
    pub fn head_maps(&self, stack: StackKind, layer: usize, head: usize) -> Result<Option<HeadMaps>, ModelError> {
        let own = self.attention(stack, layer).filter(|attention| attention.clip.is_none());
        let Some(attention) = own else { return Ok(None) };
        let spec = attention.spec;
        let group = (spec.n_heads / spec.n_kv_heads.max(1)).max(1);
        let d = spec.d_head;
        let side_by_side = |norm: &HeadNorm| Ok::<_, ModelError>(norm.norm.weight.dim(0)? != d);
        if let Some(norms) = &attention.qk_norm
            && (side_by_side(&norms.q)? || norms.k.as_ref().map(side_by_side).transpose()?.unwrap_or(false))
        {
            return Ok(None);
        }
        let (query, key) = match &attention.projections {
            Projections::Fused(qkv) => {
                let all = Projection::of(qkv)?;
                (columns(&all, head * d, d)?, columns(&all, (spec.n_heads + head / group) * d, d)?)
            }
            Projections::Cross { q, kv } => {
                (columns(&Projection::of(q)?, head * d, d)?, columns(&Projection::of(kv)?, head / group * d, d)?)
            }
            Projections::Latent(_) | Projections::Borrowed { .. } => return Ok(None),
        };
        let norms = attention.qk_norm.as_ref();
        Ok(Some(HeadMaps {
            query,
            key,
            query_norm: norms.map(|norms| of_head(&norms.q, head)).transpose()?,
            key_norm: norms.and_then(|norms| norms.k.as_ref()).map(|norm| of_head(norm, head / group)).transpose()?,
        }))
    }

    /// Queries, keys and values of all heads side by side, `[d_model, (heads + 2 · kv_heads) · d_head]`; `None` where
    /// they are not read from one stream as they are, or values have another width.
    ///
    /// # Errors
    /// When the weights cannot be read.
    pub fn joint_projection(&self, stack: StackKind, layer: usize) -> Result<Option<Projection>, ModelError> {
        let plain = |attention: &&MultiHead| {
            let is_linear = attention.qk_norm.is_none() && attention.clip.is_none();
            let one_width = attention.spec.d_value == attention.spec.d_head;
            is_linear && one_width && attention.rotary.is_none() && attention.bias.is_none()
        };
        match self.attention(stack, layer).filter(plain).map(|attention| &attention.projections) {
            Some(Projections::Fused(qkv)) => Projection::of(qkv).map(Some),
            _ => Ok(None),
        }
    }

    /// What maps the stream to the inside of a layer's MLP, `[d_model, d_mlp]` or both halves of a gated one.
    ///
    /// # Errors
    /// When the weights cannot be read.
    pub fn mlp_input(&self, stack: StackKind, layer: usize) -> Result<Option<Projection>, ModelError> {
        let maps = self.block(stack, layer).and_then(|block| block.mlp.maps());
        maps.map(|maps| Projection::of(maps.up)).transpose()
    }

    /// The linear maps of the head from one row of the stream to one outcome, each with what it reads; what stands
    /// between them is an activation or a norm.
    ///
    /// # Errors
    /// When the model has no head or no such outcome, or the head reads more than one row.
    pub fn head_path(&self, row: &[f32], id: u32) -> Result<Vec<(Vec<f32>, Projection)>, ModelError> {
        let head = self.head()?;
        let single = matches!(head.reads, Reads::Each | Reads::First | Reads::Last { .. } | Reads::End { .. });
        if !single || head.softcap.is_some() || head.transform.scale.is_some() {
            let what = "its head is not a chain of linear maps of one position: it reads several, scales or caps";
            return Err(ModelError::Edit(what.to_owned()));
        }
        let x = Tensor::from_slice(row, (1, row.len()), self.engine.device())?;
        let features: Vec<f32> = self.engine.install(|| head.features(&x, 0..1, 0))?.flatten_all()?.to_vec1()?;
        let column = to_host(&head.output.columns_as_rows(&[id])?.contiguous()?)?;
        let output = Projection { weight: Matrix::new(column.to_vec(), [features.len(), 1])?, bias: None };
        let dense = head.transform.dense.as_ref().map(Projection::of).transpose()?;
        Ok(dense.map(|dense| (row.to_vec(), dense)).into_iter().chain([(features, output)]).collect())
    }

    /// Turns what stands at some of `n` positions as the layer turns its queries ([`Site::Q`]) or keys there, one matrix
    /// `[any, d_head]` of one shape for each; `None` where it turns nothing.
    ///
    /// # Errors
    /// When the shapes differ, and for patches, which are turned by row and column.
    pub fn turned(
        &self,
        (stack, layer): (StackKind, usize),
        site: Site,
        (positions, n): (&[usize], usize),
        rows: &[Matrix],
    ) -> Result<Option<Vec<Matrix>>, ModelError> {
        let rotary = self.attention(stack, layer).and_then(|attention| attention.rotary);
        let rotary = rotary.and_then(|idx| self.stack(stack)?.rotary.get(idx));
        let (Some(rotary), Some([n_rows, width])) = (rotary, rows.first().map(Matrix::shape)) else { return Ok(None) };
        if rotary.patches.is_some() {
            let what = "its queries and keys are turned by rows and columns of patches, which is not followed here";
            return Err(ModelError::Edit(what.to_owned()));
        }
        let values: Vec<f32> = rows.iter().flat_map(Matrix::as_slice).copied().collect();
        let x = Tensor::from_vec(values, (rows.len(), n_rows, width), self.engine.device())?;
        let rotate = if site == Site::Q { kernels::rotate_queries } else { kernels::rotate };
        let turned = rotate(&x, &rotary.turns(0..n).rows(positions))?.to_vec3::<f32>()?;
        let turned = turned.into_iter().map(|rows| Ok(Matrix::new(rows.concat(), [n_rows, width])?));
        turned.collect::<Result<_, ModelError>>().map(Some)
    }

    /// What the stream of a side begins with; `None` where what stands for tokens is mapped to another width first, or
    /// tokens are patches.
    ///
    /// # Errors
    /// When the weights cannot be read.
    pub fn entry(&self, input: &Encoded, side: Side) -> Result<Option<StreamStart>, ModelError> {
        let tower: Option<(&Tower, &Payload)> = match (&self.network.body, side) {
            (Body::Single(tower), Side::Only) => Some((tower, &input.source)),
            (Body::EncoderDecoder { encoder, .. }, Side::Encoder) => Some((encoder, &input.source)),
            (Body::EncoderDecoder { decoder, .. }, Side::Decoder) => input.target.as_ref().map(|text| (decoder, text)),
            _ => None,
        };
        let Some((Embedding::Text(text), Payload::Text { ids, segments, positions })) =
            tower.map(|(tower, payload)| (&tower.embedding, payload))
        else {
            return Ok(None);
        };
        if text.token_projection.is_some() || text.projection.is_some() {
            return Ok(None);
        }
        let mut added = Vec::new();
        let mut add = |name: &'static str, rows: &Tensor| -> Result<(), ModelError> {
            added.push((name, Matrix::new(to_host(&rows.contiguous()?)?, rows.dims2()?.into())?));
            Ok(())
        };
        if let Some(position) = &text.position {
            add("position embedding", &position.rows_at(ids, 0, positions.as_deref())?)?;
        }
        if let Some(table) = &text.segment {
            let zeros = vec![0u32; ids.len()];
            let segments = if segments.is_empty() { &zeros } else { segments };
            add("segment embedding", &table.index_select(&Tensor::new(segments.as_slice(), table.device())?, 0)?)?;
        }
        Ok(Some(StreamStart { scale: text.scale, added, norm: text.norm.as_ref().map(FinalNorm::of).transpose()? }))
    }

    pub(super) fn attention(&self, stack: StackKind, layer: usize) -> Option<&MultiHead> {
        self.block(stack, layer)?.mixer(stack)?.heads()
    }
}

/// Some columns of a map.
pub(super) fn columns(map: &Projection, first: usize, n: usize) -> Result<Projection, ModelError> {
    let n_rows = map.weight.n_rows();
    let values: Vec<f32> = map.weight.rows().flat_map(|row| row[first..first + n].iter().copied()).collect();
    let bias = map.bias.as_ref().map(|bias| bias[first..first + n].to_vec());
    Ok(Projection { weight: Matrix::new(values, [n_rows, n])?, bias })
}

/// The norm of one head's vectors.
fn of_head(norm: &HeadNorm, head: usize) -> Result<FinalNorm, ModelError> {
    let mut read = FinalNorm::of(&norm.norm)?;
    if let Some(by_head) = &norm.by_head {
        let own: Vec<f32> = by_head.get(head)?.to_vec1()?;
        read.weight.iter_mut().zip(&own).for_each(|(weight, own)| *weight *= own);
        if let Some(bias) = &mut read.bias {
            bias.iter_mut().zip(&own).for_each(|(bias, own)| *bias *= own);
        }
    }
    Ok(read)
}
