//! Layers with Mamba-2 in place of attention.

use serde_json::Value;

use super::{Activation, Config, LayerSpec, LoadError, Norm, NormKind, Weights, map};
use crate::{
    model::network::{mamba2::Mamba2, short_convolution::ShortConvolution},
    spec::MixerKind,
};

/// More heads, or channels of a head, than any layer has.
const MOST: usize = 1 << 16;

/// Mamba-2 that a configuration describes.
#[derive(Clone, Copy, Debug)]
pub(super) struct MambaShape {
    n_heads: usize,
    d_head: usize,
    n_groups: usize,
    d_state: usize,
    n_taps: usize,
    limits: (f64, f64),
    convolution_bias: bool,
    bias: bool,
}

impl MambaShape {
    pub fn of(config: &Config) -> Result<Self, LoadError> {
        let size = |name: &'static str, usual: usize| {
            Ok::<_, LoadError>(config.optional_size(&[name], MOST)?.unwrap_or(usual))
        };
        let width = size("mamba_expand", 2)? * config.d_model()?;
        let n_heads = size("mamba_n_heads", 128)?;
        let is_auto = config.value("mamba_d_head").is_none_or(|value| value.as_str() == Some("auto"));
        let d_head = if is_auto { width / n_heads } else { size("mamba_d_head", 0)? };
        let n_groups = size("mamba_n_groups", 1)?;
        if n_heads * d_head != width {
            return Err(config.error(format!(
                "{n_heads} heads of {d_head} (mamba_n_heads, mamba_d_head) are not {width} wide together (mamba_expand)"
            )));
        }
        if !n_heads.is_multiple_of(n_groups) {
            return Err(config.error(format!(
                "{n_heads} heads (mamba_n_heads) cannot be cut into {n_groups} groups (mamba_n_groups)"
            )));
        }
        Ok(Self {
            n_heads,
            d_head,
            n_groups,
            d_state: size("mamba_d_state", 256)?,
            n_taps: size("mamba_d_conv", 4)?,
            limits: limits(config)?,
            convolution_bias: config.flag("mamba_conv_bias", true),
            bias: config.flag("mamba_proj_bias", false),
        })
    }

    /// The layer whose tensors begin with `name`; `added`: factor on what it adds.
    pub fn read(
        &self,
        weights: &mut Weights<'_>,
        name: &str,
        (d_model, eps, added): (usize, f32, f32),
        activation: Activation,
    ) -> Result<Mamba2, LoadError> {
        let Self { n_heads, d_head, n_groups, d_state, n_taps, limits, bias, .. } = *self;
        let width = n_heads * d_head;
        let d_mixed = width + 2 * n_groups * d_state;
        let of = |part: &str| format!("{name}.{part}");
        let projection = map(weights, &of("in_proj"), (d_model, width + d_mixed + n_heads), bias)?;
        let taps = weights.tensor(&of("conv1d.weight"), &[d_mixed, 1, n_taps])?;
        let taps = taps.squeeze(1)?.t()?.contiguous()?;
        let convolution_bias =
            if self.convolution_bias { Some(weights.tensor(&of("conv1d.bias"), &[d_mixed])?) } else { None };
        let weight = weights.tensor(&of("norm.weight"), &[width])?;
        let ones = weight.narrow(0, 0, width / n_groups)?.ones_like()?;
        Ok(Mamba2 {
            projection,
            convolution: ShortConvolution { taps, bias: convolution_bias, activation: Some(activation) },
            keys: (n_groups, d_state),
            rate: weights.tensor(&of("A_log"), &[n_heads])?.exp()?,
            step: weights.tensor(&of("dt_bias"), &[n_heads])?,
            limits,
            own: weights.tensor(&of("D"), &[n_heads])?,
            norm: Norm { kind: NormKind::Rms, weight: ones, bias: None, eps },
            weight,
            out: weights.linear_times(&of("out_proj"), added, (width, d_model), bias)?,
            spec: LayerSpec { mixer: MixerKind::Mamba2, gated: true, ..LayerSpec::new(n_heads, d_head) },
        })
    }
}

/// The shortest and the longest step (`time_step_limit`).
fn limits(config: &Config) -> Result<(f64, f64), LoadError> {
    let Some(value) = config.value("time_step_limit") else { return Ok((0.0, f64::INFINITY)) };
    // Python writes an infinite number in words.
    let number = |value: &Value| match value {
        Value::Object(float) => float.get("__float__").and_then(Value::as_str).and_then(|text| text.parse().ok()),
        Value::String(text) => text.parse::<f64>().ok(),
        other => other.as_f64(),
    };
    match value.as_array().map(|limits| limits.iter().map(number).collect::<Vec<_>>()).as_deref() {
        Some([Some(shortest), Some(longest)]) if *shortest >= 0.0 && shortest <= longest => Ok((*shortest, *longest)),
        _ => Err(config.error(format!("its time_step_limit is {value}"))),
    }
}
