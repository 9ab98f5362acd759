//! Queries, keys and values through vectors of a lower rank (multi-head latent attention, DeepSeek-V2, 2024).
//!
//! Each head's queries and keys have two parts side by side: one of contents, and one that is turned. The turned part of
//! the keys is one vector that all heads share, so a score is the sum of a product of each head's own and a product with
//! what all heads see.

use candle_core::{Result, Tensor};

use crate::{
    model::kernels::{self, Linear, Norm, Turns, heads_at},
    spec::LayerSpec,
};

/// Maps of a layer's queries, keys and values.
#[derive(Debug)]
pub(crate) struct LatentMaps {
    /// From the stream to the queries' latent, `[d_model, q_rank]`, and its norm; `None` where queries are read from the
    /// stream itself.
    pub q_down: Option<(Linear, Norm)>,
    /// `[q_rank, heads · d_head]`, or `[d_model, heads · d_head]`; the turned part of each head comes last.
    pub q: Linear,
    /// `[d_model, rank + d_turned]`: the latent of keys and values, and the turned part of the keys.
    pub kv_down: Linear,
    /// Of the latent.
    pub kv_norm: Norm,
    /// `[rank, heads · (d_head − d_turned + d_value)]`: contents of the keys of all heads, then values of all.
    pub kv: Linear,
    /// Width of the part of queries and keys that is turned.
    pub d_turned: usize,
}

impl LatentMaps {
    /// Queries, keys and values of one stream.
    ///
    /// # Shapes
    /// - `x`: `[n, d_model]`
    /// - results: `[n, heads, d_head]` twice, and `[n, heads, d_value]`
    pub fn project(&self, x: &Tensor, spec: &LayerSpec, turns: Option<&Turns>) -> Result<(Tensor, Tensor, Tensor)> {
        let LayerSpec { n_heads, d_head, d_value, .. } = *spec;
        let (n, d_content) = (x.dim(0)?, d_head - self.d_turned);
        let q = match &self.q_down {
            Some((down, norm)) => self.q.forward(&norm.forward(&down.forward(x)?)?)?,
            None => self.q.forward(x)?,
        };
        let q = heads_at(&q, 0, (n_heads, d_head))?;
        let latents = self.kv_down.forward(x)?;
        let rank = latents.dim(1)? - self.d_turned;
        let kv = self.kv.forward(&self.kv_norm.forward(&latents.narrow(1, 0, rank)?.contiguous()?)?)?;
        let content = heads_at(&kv, 0, (n_heads, d_content))?;
        let v = heads_at(&kv, n_heads * d_content, (n_heads, d_value))?;
        let mut turning = q.narrow(2, d_content, self.d_turned)?.contiguous()?;
        let mut shared = latents.narrow(1, rank, self.d_turned)?.contiguous()?.unsqueeze(1)?;
        if let Some(turns) = turns {
            turning = kernels::rotate_queries(&turning, turns)?;
            shared = kernels::rotate(&shared, turns)?;
        }
        let q = Tensor::cat(&[&q.narrow(2, 0, d_content)?.contiguous()?, &turning], 2)?;
        let shared = shared.broadcast_as((n, n_heads, self.d_turned))?.contiguous()?;
        Ok((q, Tensor::cat(&[&content.contiguous()?, &shared], 2)?, v))
    }

    /// Values of each row that exist at once: what the maps give, and queries, keys and values put together.
    pub fn values_of_row(&self, spec: &LayerSpec) -> u64 {
        let LayerSpec { n_heads, d_head, d_value, .. } = *spec;
        let down = self.q_down.as_ref().map_or(0, |(down, _)| 2 * width_out(down));
        let mapped = down + width_out(&self.q) + 2 * width_out(&self.kv_down) + 2 * width_out(&self.kv);
        mapped + (n_heads * (4 * d_head + d_value)) as u64
    }
}

fn width_out(map: &Linear) -> u64 {
    map.dims().map_or(0, |(_, d_out)| d_out as u64)
}
