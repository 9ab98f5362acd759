//! Masks and caps of attention scores.

use candle_core::{CpuStorage, CustomOp1, Device, Layout, Result, Shape, Tensor};
use rayon::prelude::*;

use super::{backend::is_fused, ops::values};
use crate::spec::Mask;

/// `scores` with minus infinity where the mask hides the key.
///
/// # Shapes
/// - `scores`, result: `[head, query, key]`
pub fn mask(scores: &Tensor, mask: Mask) -> Result<Tensor> {
    if mask == Mask::NONE {
        return Ok(scores.clone());
    }
    if is_fused(scores) {
        return scores.contiguous()?.apply_op1(MaskOp(mask));
    }
    let (_, n_query, n_key) = scores.dims3()?;
    scores.broadcast_add(&additive(mask, (n_query, n_key), scores.device())?)
}

/// A mask as `[n_query, n_key]`: zero, or minus infinity where it hides the key.
fn additive(mask: Mask, (n_query, n_key): (usize, usize), device: &Device) -> Result<Tensor> {
    let mut values = vec![f32::NEG_INFINITY; n_query * n_key];
    for (query, row) in values.chunks_exact_mut(n_key.max(1)).enumerate() {
        row[mask.visible(query, n_query, n_key)].fill(0.0);
    }
    Tensor::from_vec(values, (n_query, n_key), device)
}

/// `cap · tanh(scores / cap)`.
pub fn softcap(scores: &Tensor, cap: f32) -> Result<Tensor> {
    let cap = f64::from(cap);
    super::activation(&(scores / cap)?, super::Activation::Tanh)? * cap
}

struct MaskOp(Mask);

impl CustomOp1 for MaskOp {
    fn name(&self) -> &'static str {
        "attention-mask"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let mut out = values(storage, layout)?.to_vec();
        let (_, n_query, n_key) = layout.shape().dims3()?;
        out.par_chunks_exact_mut(n_key.max(1)).enumerate().for_each(|(row, out)| {
            let visible = self.0.visible(row % n_query, n_query, n_key);
            out[..visible.start].fill(f32::NEG_INFINITY);
            out[visible.end..].fill(f32::NEG_INFINITY);
        });
        Ok((CpuStorage::F32(out), layout.shape().clone()))
    }

    /// The gradient of a masked score is zero already, because softmax gives it a zero pattern.
    fn bwd(&self, _scores: &Tensor, _res: &Tensor, grad: &Tensor) -> Result<Option<Tensor>> {
        Ok(Some(grad.clone()))
    }
}
