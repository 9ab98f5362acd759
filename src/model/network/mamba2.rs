//! State spaces in place of attention (Mamba-2, Dao and Gu 2024).
//!
//! Values, keys (`B`) and queries (`C`) go through a short convolution. The heads' states are in [`super::recurrence`]: a
//! value is written with the length of its step, and read again where it was written besides (`D`). What heads read is
//! scaled by a gate, and mostly normed before or after that, all heads of a group at once.

use candle_core::{Result as CandleResult, Tensor};

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

/// A layer of heads with states that decay.
#[derive(Debug)]
pub(crate) struct Mamba2 {
    /// From `d_model` to the gates `[heads · d_value]`, values, keys and queries side by side, and a step of each head.
    pub projection: Linear,
    /// Of values, keys and queries.
    pub convolution: ShortConvolution,
    /// Groups of heads that share keys and queries, and the width of those.
    pub keys: (usize, usize),
    /// `[heads]`: how fast the state decays.
    pub rate: Tensor,
    /// `[heads]`: added to the step.
    pub step: Tensor,
    /// The shortest and the longest step.
    pub limits: (f64, f64),
    /// `[heads]`: factors of a token's own value (`D`).
    pub own: Tensor,
    pub norm: Option<GroupNorm>,
    /// `[heads · d_value, d_model]`.
    pub out: Linear,
    pub spec: LayerSpec,
}

/// A norm of all heads of a group at once.
#[derive(Debug)]
pub(crate) struct GroupNorm {
    /// Without weights: `[heads · d_value / groups]` ones.
    pub norm: Norm,
    /// `[heads · d_value]`: its weights.
    pub weight: Tensor,
    pub place: NormPlace,
}

/// Where a norm stands beside a gate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum NormPlace {
    BeforeGate,
    BehindGate,
}

impl GroupNorm {
    /// # Shapes
    /// - `x`, result: `[n, heads · d_value]`
    fn forward(&self, x: &Tensor) -> CandleResult<Tensor> {
        let (n, d_values) = x.dims2()?;
        let d_group = self.norm.weight.dim(0)?;
        let of_groups = x.reshape((n * d_values / d_group, d_group))?;
        self.norm.forward(&of_groups)?.reshape((n, d_values))?.broadcast_mul(&self.weight)
    }
}

impl Mamba2 {
    /// Width of the values of all heads.
    const fn d_values(&self) -> usize {
        self.spec.n_heads * self.spec.d_value
    }

    /// Width of values, keys and queries side by side.
    const fn d_mixed(&self) -> usize {
        self.d_values() + 2 * self.keys.0 * self.keys.1
    }

    /// What is mapped back to the stream, of one input.
    ///
    /// # Shapes
    /// - `x`: what [`Self::projection`] gives of the input, `[n, width]`
    /// - result: `[n, heads · d_value]`
    fn mix(&self, at: At, x: &Tensor, pass: &mut Pass<'_>, run: &mut Run<'_>) -> Result<Tensor, ModelError> {
        let LayerSpec { n_heads, d_value, .. } = self.spec;
        let (n, d_values, d_mixed) = (x.dim(0)?, self.d_values(), self.d_mixed());
        let (convolved, state) = pass.carried(at).unzip();
        let (mixed, convolved) = self.convolution.forward(&x.narrow(1, d_values, d_mixed)?, convolved.as_ref())?;
        let v = mixed.narrow(1, 0, d_values)?.contiguous()?.reshape((n, n_heads, d_value))?;
        let v = run.at(Site::V, at, v.transpose(0, 1)?)?.contiguous()?;
        let recurrence = self.recurrence(&mixed, &x.narrow(1, d_values + d_mixed, n_heads)?)?;
        if state.is_none() && run.has_room(Site::Effective, at, n_heads * n * n) {
            run.keep_pairs(Site::Effective, at, PerHead::new(self.pattern(&recurrence, n, run)?, [n_heads, n, n])?);
        }
        let (read, state) = recurrence.outputs(&v, state, run)?;
        if let Some(state) = state {
            pass.carry(at, (convolved, state));
        }
        let z = (read + v.broadcast_mul(&self.own.reshape((n_heads, 1, 1))?)?)?;
        let z = if run.needs(Site::Z, at) { run.at(Site::Z, at, z)? } else { z };
        let z = z.transpose(0, 1)?.contiguous()?.reshape((n, d_values))?;
        let gate = x.narrow(1, 0, d_values)?.contiguous()?;
        let gate = kernels::activation(&gate, Activation::Silu)?;
        Ok(match &self.norm {
            None => (z * gate)?,
            Some(norm) if norm.place == NormPlace::BeforeGate => (norm.forward(&z)? * gate)?,
            Some(norm) => norm.forward(&(z * gate)?)?,
        })
    }

    /// The recurrence's pattern with what a token's own value adds.
    fn pattern(&self, recurrence: &Recurrence, n: usize, run: &Run<'_>) -> Result<Vec<f32>, ModelError> {
        let mut pattern = recurrence.pattern(run)?.to_vec();
        for (head, own) in self.own.to_vec1::<f32>()?.iter().enumerate() {
            for token in 0..n {
                pattern[(head * n + token) * n + token] += own;
            }
        }
        Ok(pattern)
    }

    /// What the states follow from: what was convolved, and the steps `[n, heads]`.
    fn recurrence(&self, mixed: &Tensor, steps: &Tensor) -> CandleResult<Recurrence> {
        let (n_heads, (n_groups, d_key)) = (self.spec.n_heads, self.keys);
        let n = mixed.dim(0)?;
        let of_heads = |first: usize| -> CandleResult<Tensor> {
            let shared = mixed.narrow(1, first, n_groups * d_key)?.contiguous()?.reshape((n, n_groups, 1, d_key))?;
            let each = shared.broadcast_as((n, n_groups, n_heads / n_groups, d_key))?.contiguous()?;
            each.reshape((n, n_heads, d_key))?.transpose(0, 1)?.contiguous()
        };
        let mut step = kernels::softplus(&steps.broadcast_add(&self.step)?)?;
        let (shortest, longest) = self.limits;
        if shortest > 0.0 {
            step = step.maximum(shortest)?;
        }
        if longest.is_finite() {
            step = step.minimum(longest)?;
        }
        let decay = step.broadcast_mul(&self.rate)?.neg()?.t()?.contiguous()?;
        let (k, q) = (of_heads(self.d_values())?, of_heads(self.d_values() + n_groups * d_key)?);
        Ok(Recurrence { q, k, written: step.t()?.contiguous()?.unsqueeze(2)?, decay, erases: false })
    }
}

impl From<Mamba2> for Box<dyn Attention> {
    fn from(layer: Mamba2) -> Self {
        Box::new(layer)
    }
}

impl Attention for Mamba2 {
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
        // As of the gated delta rule, with the gated values and their norms.
        let at_once = projected + 5 * self.d_mixed() + 8 * heads + 4 * self.d_values();
        let kept = projected + 12 * self.d_mixed() + 24 * heads + 8 * 64 * self.spec.n_heads + 8 * self.d_values();
        [at_once as u64, kept as u64]
    }
}
