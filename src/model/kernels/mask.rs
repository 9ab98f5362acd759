//! What may be seen: masks, caps and biases of attention scores.

use candle_core::{CpuStorage, CustomOp1, Layout, Result, Shape, Tensor};
use rayon::prelude::*;

use super::ops::values;

/// Which keys a query may see. Queries end where keys end: query `i` of `n_query` stands at key
/// `i + n_key − n_query`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mask {
    /// Only itself and earlier keys.
    pub causal: bool,
    /// Only keys less than this many positions away.
    pub window: Option<usize>,
}

impl Mask {
    /// Every key.
    pub const FULL: Self = Self { causal: false, window: None };

    /// Keys that a query may see, as first and one past the last.
    pub fn visible(self, query: usize, n_query: usize, n_key: usize) -> (usize, usize) {
        let at = query + n_key.saturating_sub(n_query);
        let reach = self.window.unwrap_or(usize::MAX);
        let end = if self.causal { at + 1 } else { at.saturating_add(reach) };
        ((at + 1).saturating_sub(reach).min(n_key), end.min(n_key))
    }

    /// Additive form `[n_query, n_key]`: zero or minus infinity.
    fn tensor(self, (n_query, n_key): (usize, usize), device: &candle_core::Device) -> Result<Tensor> {
        let mut mask = vec![f32::NEG_INFINITY; n_query * n_key];
        for (query, row) in mask.chunks_exact_mut(n_key.max(1)).enumerate() {
            let (start, end) = self.visible(query, n_query, n_key);
            row[start..end].fill(0.0);
        }
        Tensor::from_vec(mask, (n_query, n_key), device)
    }
}

/// `scores` with minus infinity where the mask hides the key.
///
/// # Shapes
/// - `scores`, result: `[head, query, key]`
pub fn mask(scores: &Tensor, mask: Mask) -> Result<Tensor> {
    if mask == Mask::FULL {
        return Ok(scores.clone());
    }
    if scores.device().is_cpu() {
        return scores.contiguous()?.apply_op1(MaskOp(mask));
    }
    let (_, n_query, n_key) = scores.dims3()?;
    scores.broadcast_add(&mask.tensor((n_query, n_key), scores.device())?)
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
            let (start, end) = self.0.visible(row % n_query, n_query, n_key);
            out[..start].fill(f32::NEG_INFINITY);
            out[end..].fill(f32::NEG_INFINITY);
        });
        Ok((CpuStorage::F32(out), layout.shape().clone()))
    }

    /// The gradient of a masked score is zero already, because softmax gives it a zero pattern.
    fn bwd(&self, _scores: &Tensor, _res: &Tensor, grad: &Tensor) -> Result<Option<Tensor>> {
        Ok(Some(grad.clone()))
    }
}
