//! The one transformer block that serves every family, instrumented at every site.

use candle_core::{D, Tensor};

use super::{
    ModelError, Site,
    kernels::{self, Activation, Linear, Norm},
    run::Run,
};
use crate::spec::LayerSpec;

/// Where a block's norms stand.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NormPlace {
    /// Before attention and MLP (GPT-2, vision transformers).
    Before,
    /// After each residual addition (BERT).
    After,
}

/// Multi-head self-attention.
#[derive(Debug)]
pub(crate) struct Attention {
    /// `[d_model, (heads + 2 · kv_heads) · d_head]`: queries, keys, values.
    pub qkv: Linear,
    /// `[heads · d_head, d_model]`.
    pub out: Linear,
    pub spec: LayerSpec,
    pub causal: bool,
}

impl Attention {
    /// `z` of all heads side by side; `out` maps it back to the stream.
    ///
    /// # Shapes
    /// - `x`: `[n, d_model]`
    /// - result: `[n, heads · d_head]`
    fn forward(&self, layer: usize, x: &Tensor, run: &mut Run<'_>) -> Result<Tensor, ModelError> {
        let LayerSpec { n_heads, n_kv_heads, d_head, scale } = self.spec;
        let n = x.dim(0)?;
        // Heads are strided views of one product: the kernels read them in place.
        let qkv = self.qkv.forward(x)?.reshape((n, n_heads + 2 * n_kv_heads, d_head))?.transpose(0, 1)?;
        let q = run.at(Site::Q, layer, qkv.narrow(0, 0, n_heads)?)?;
        let k = run.at(Site::K, layer, qkv.narrow(0, n_heads, n_kv_heads)?)?;
        let v = run.at(Site::V, layer, qkv.narrow(0, n_heads + n_kv_heads, n_kv_heads)?)?;
        let scores = run.at(Site::Scores, layer, kernels::scores(&q, &k, scale, self.causal)?)?;
        let pattern = if run.is_differentiated() {
            kernels::softmax(&scores, self.causal)?
        } else {
            kernels::softmax_in_place(scores, self.causal)?
        };
        let given = pattern.id();
        let pattern = run.at(Site::Pattern, layer, pattern)?;
        // Only an untouched pattern is sure to be zero beyond the diagonal.
        let causal = self.causal && pattern.id() == given;
        let mut z = kernels::attend(&pattern, &v, causal)?;
        if run.needs(Site::Z, layer) {
            let by_head = z.reshape((n, n_heads, d_head))?.transpose(0, 1)?;
            let by_head = run.at(Site::Z, layer, by_head)?;
            z = by_head.transpose(0, 1)?.contiguous()?.reshape((n, n_heads * d_head))?;
        }
        Ok(z)
    }
}

/// Two linear maps around a non-linearity.
#[derive(Debug)]
pub(crate) struct Mlp {
    pub up: Linear,
    pub activation: Activation,
    pub down: Linear,
}

impl Mlp {
    /// The hidden layer; `down` maps it back to the stream.
    fn forward(&self, x: &Tensor, run: &Run<'_>) -> candle_core::Result<Tensor> {
        let hidden = self.up.forward(x)?;
        if run.is_differentiated() {
            kernels::activation(&hidden, self.activation)
        } else {
            kernels::activation_in_place(hidden, self.activation)
        }
    }
}

/// Attention and MLP around a residual stream.
#[derive(Debug)]
pub(crate) struct Block {
    pub attention: Attention,
    pub attention_norm: Norm,
    pub mlp: Mlp,
    pub mlp_norm: Norm,
    pub norms: NormPlace,
}

impl Block {
    fn forward(&self, layer: usize, x: Tensor, run: &mut Run<'_>) -> Result<Tensor, ModelError> {
        let resid = run.at(Site::ResidPre, layer, x)?;
        let z = match self.norms {
            NormPlace::Before => self.attention.forward(layer, &self.attention_norm.forward(&resid)?, run)?,
            NormPlace::After => self.attention.forward(layer, &resid, run)?,
        };
        let mut resid = add_to_stream(&self.attention.out, &z, resid, (Site::AttnOut, layer), run)?;
        if self.norms == NormPlace::After {
            resid = self.attention_norm.forward(&resid)?;
        }
        run.checkpoint(layer)?;
        let resid = run.at(Site::ResidMid, layer, resid)?;
        let hidden = match self.norms {
            NormPlace::Before => self.mlp.forward(&self.mlp_norm.forward(&resid)?, run)?,
            NormPlace::After => self.mlp.forward(&resid, run)?,
        };
        let resid = add_to_stream(&self.mlp.down, &hidden, resid, (Site::MlpOut, layer), run)?;
        match self.norms {
            NormPlace::Before => Ok(resid),
            NormPlace::After => Ok(self.mlp_norm.forward(&resid)?),
        }
    }
}

/// `resid + map(x)`, in one pass unless somebody changes what is added.
fn add_to_stream(
    map: &Linear,
    x: &Tensor,
    resid: Tensor,
    (site, layer): (Site, usize),
    run: &mut Run<'_>,
) -> Result<Tensor, ModelError> {
    if !run.edits(site, layer) {
        return Ok(map.forward_add(x, &resid)?);
    }
    let added = run.at(site, layer, map.forward(x)?)?;
    Ok((resid + added)?)
}

/// Blocks and what follows the last of them.
#[derive(Debug)]
pub(crate) struct Stack {
    pub blocks: Vec<Block>,
    pub final_norm: Option<Norm>,
}

impl Stack {
    /// # Shapes
    /// - `x`, result: `[n, d_model]`; the result is after the final norm
    pub fn forward(&self, mut x: Tensor, run: &mut Run<'_>) -> Result<Tensor, ModelError> {
        for (layer, block) in self.blocks.iter().enumerate() {
            run.checkpoint(layer)?;
            x = block.forward(layer, x, run)?;
        }
        run.checkpoint(self.blocks.len())?;
        if let Some(norm) = &self.final_norm {
            x = norm.forward(&x)?;
        }
        let n_layers = self.blocks.len();
        let x = run.at(Site::ResidFinal, n_layers, x)?;
        // A single infinity reaches the sum, so one number tells.
        let sum = x.sum_keepdim(D::Minus1)?.flatten_all()?.to_vec1::<f32>()?;
        if sum.iter().all(|sum| sum.is_finite()) {
            Ok(x)
        } else {
            Err(ModelError::NotFinite { what: "output".to_owned() })
        }
    }
}
