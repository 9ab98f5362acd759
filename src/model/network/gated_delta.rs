//! The gated delta rule in place of attention (gated delta net, Yang et al. 2025).
//!
//! Queries, keys and values go through a short convolution; queries and keys are brought to length 1. The heads' states are
//! in [`super::recurrence`]; what they read is normed head by head and scaled by a gate of the token's own.

use candle_core::{D, Result as CandleResult, Tensor};

use super::{
    attention::{Attention, each_part},
    pass::Pass,
    recurrence::Recurrence,
    short_convolution::ShortConvolution,
};
use crate::{
    capture::PerHead,
    model::{
        ModelError,
        kernels::{self, Activation, Linear, Norm},
        run::{At, Run, Site},
    },
    spec::LayerSpec,
};

/// Added to the squared length of queries and keys.
const EPS: f64 = 1e-6;

/// A layer of heads that follow the gated delta rule.
#[derive(Debug)]
pub(crate) struct GatedDelta {
    /// From `d_model` to queries, keys and values side by side, the gates `[heads · d_value]`, and of each head two numbers:
    /// how much is written, and how long a step is.
    pub projection: Linear,
    /// Of queries, keys and values.
    pub convolution: ShortConvolution,
    /// Heads of queries and keys, each for as many heads of values, and their width.
    pub keys: (usize, usize),
    /// `[heads]`: how fast the state decays.
    pub rate: Tensor,
    /// `[heads]`: added to the step.
    pub step: Tensor,
    /// Of each head's output, `[d_value]`.
    pub norm: Norm,
    /// `[heads · d_value, d_model]`.
    pub out: Linear,
    pub spec: LayerSpec,
}

impl GatedDelta {
    /// Width of queries, keys and values side by side.
    const fn d_mixed(&self) -> usize {
        2 * self.keys.0 * self.keys.1 + self.spec.n_heads * self.spec.d_value
    }

    /// What is mapped back to the stream, of one input.
    ///
    /// # Shapes
    /// - `x`: what [`Self::projection`] gives of the input, `[n, width]`
    /// - result: `[n, heads · d_value]`
    fn mix(&self, at: At, x: &Tensor, pass: &mut Pass<'_>, run: &mut Run<'_>) -> Result<Tensor, ModelError> {
        let LayerSpec { n_heads, d_value, .. } = self.spec;
        let (n, d_mixed) = (x.dim(0)?, self.d_mixed());
        let (convolved, state) = pass.carried(at).unzip();
        let (mixed, convolved) = self.convolution.forward(&x.narrow(1, 0, d_mixed)?, convolved.as_ref())?;
        let v = mixed.narrow(1, d_mixed - n_heads * d_value, n_heads * d_value)?;
        let v = run.at(Site::V, at, v.reshape((n, n_heads, d_value))?.transpose(0, 1)?)?;
        let rest = x.narrow(1, d_mixed + n_heads * d_value, 2 * n_heads)?;
        let recurrence = self.recurrence(&mixed, &rest)?;
        if state.is_none() && run.has_room(Site::Effective, at, n_heads * n * n) {
            let pattern = recurrence.pattern(run)?;
            run.keep_pairs(Site::Effective, at, PerHead::new(pattern, [n_heads, n, n])?);
        }
        let (z, state) = recurrence.outputs(&v, state, run)?;
        if let Some(state) = state {
            pass.carry(at, (convolved, state));
        }
        let z = if run.needs(Site::Z, at) { run.at(Site::Z, at, z)? } else { z };
        let rows = z.transpose(0, 1)?.contiguous()?.reshape((n * n_heads, d_value))?;
        let normed = self.norm.forward(&rows)?.reshape((n, n_heads * d_value))?;
        let gate = x.narrow(1, d_mixed, n_heads * d_value)?.contiguous()?;
        Ok((normed * kernels::activation(&gate, Activation::Silu)?)?)
    }

    /// What the states follow from: convolved queries and keys, and the two numbers of each head, `[n, 2 · heads]`.
    fn recurrence(&self, mixed: &Tensor, rest: &Tensor) -> CandleResult<Recurrence> {
        let (n_heads, (n_keys, d_key)) = (self.spec.n_heads, self.keys);
        let n = mixed.dim(0)?;
        let of_heads = |first: usize| -> CandleResult<Tensor> {
            let x = mixed.narrow(1, first, n_keys * d_key)?.reshape((n, n_keys, d_key))?;
            let length = (x.sqr()?.sum_keepdim(D::Minus1)? + EPS)?.sqrt()?;
            let shared = x.broadcast_div(&length)?.unsqueeze(2)?;
            let each = shared.broadcast_as((n, n_keys, n_heads / n_keys, d_key))?.contiguous()?;
            each.reshape((n, n_heads, d_key))?.transpose(0, 1)?.contiguous()
        };
        let written = rest.narrow(1, 0, n_heads)?;
        let written = kernels::sigmoid(&written)?.t()?.contiguous()?.unsqueeze(2)?;
        let step = kernels::softplus(&rest.narrow(1, n_heads, n_heads)?.broadcast_add(&self.step)?)?;
        let decay = step.broadcast_mul(&self.rate)?.neg()?.t()?.contiguous()?;
        let q = (of_heads(0)? * f64::from(self.spec.scale))?;
        Ok(Recurrence { q, k: of_heads(n_keys * d_key)?, written, decay, erases: true })
    }
}

impl From<GatedDelta> for Box<dyn Attention> {
    fn from(layer: GatedDelta) -> Self {
        Box::new(layer)
    }
}

impl Attention for GatedDelta {
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
        let heads = self.spec.n_heads * (self.keys.1 + self.spec.d_value);
        let projected = self.projection.dims().map_or(0, |(_, d_out)| d_out);
        // Rows with those before them, products with taps and their sums; lengths, queries and keys of each head, and what
        // chunks make of them.
        let at_once = projected + 5 * self.d_mixed() + 8 * heads;
        let kept = projected + 12 * self.d_mixed() + 24 * heads + 8 * 64 * self.spec.n_heads;
        [at_once as u64, kept as u64]
    }
}
