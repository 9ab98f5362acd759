//! A short convolution between two gates in place of attention (LFM2, 2025).
//!
//! Both gates and the values are maps of the token: `y_t = C_t ⊙ Σ_j w_j ⊙ B_{t−j} ⊙ x_{t−j}`. Once the gates are known, `y`
//! is linear in the values, but each channel has factors of its own, so that no one pattern of all channels is exact and
//! none is shown.

use candle_core::Tensor;

use super::{
    attention::{Attention, each_part},
    pass::Pass,
    short_convolution::ShortConvolution,
};
use crate::{
    model::{
        ModelError,
        kernels::Linear,
        run::{At, Run, Site},
    },
    spec::LayerSpec,
};

/// A layer that mixes each channel by itself. Its one head is as wide as the stream.
#[derive(Debug)]
pub(crate) struct GatedConvolution {
    /// `[d_model, 3 · width]`: the gates of the values, the gates of the output, and the values.
    pub projection: Linear,
    /// Of gated values.
    pub convolution: ShortConvolution,
    /// `[width, d_model]`.
    pub out: Linear,
    pub spec: LayerSpec,
}

impl GatedConvolution {
    /// What is mapped back to the stream, of one input: `[n, width]` of `x` `[n, 3 · width]`.
    fn mix(&self, at: At, x: &Tensor, pass: &mut Pass<'_>, run: &mut Run<'_>) -> Result<Tensor, ModelError> {
        let width = self.spec.d_value;
        let part = |nth: usize| x.narrow(1, nth * width, width)?.contiguous();
        let v = run.at(Site::V, at, (part(0)? * part(2)?)?.unsqueeze(0)?)?;
        let before = pass.carried(at).map(|(before, _)| before);
        let (z, left) = self.convolution.forward(&v.squeeze(0)?, before.as_ref())?;
        pass.carry(at, (left.clone(), left));
        let z = if run.needs(Site::Z, at) { run.at(Site::Z, at, z.unsqueeze(0)?)?.squeeze(0)? } else { z };
        Ok((z * part(1)?)?)
    }
}

impl From<GatedConvolution> for Box<dyn Attention> {
    fn from(layer: GatedConvolution) -> Self {
        Box::new(layer)
    }
}

impl Attention for GatedConvolution {
    fn forward(&self, at: At, x: &Tensor, pass: &mut Pass<'_>, run: &mut Run<'_>) -> Result<Tensor, ModelError> {
        each_part(&self.projection.forward(x)?, pass, run, |x, pass, run| self.mix(at, x, pass, run))
    }

    fn spec(&self) -> LayerSpec {
        self.spec
    }

    fn out(&self) -> &Linear {
        &self.out
    }

    fn is_causal(&self) -> bool {
        true
    }

    fn values_of_row(&self) -> [u64; 2] {
        let n_taps = self.convolution.taps.dim(0).unwrap_or(0);
        let width = self.spec.d_value as u64;
        // Gates and values with copies, rows with those before them, products with taps and their sums.
        [(12 * width), (10 + 3 * n_taps as u64) * width]
    }
}
