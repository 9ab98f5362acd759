//! Mamba-2 in place of attention, or beside it.

use serde_json::Value;

use super::{Activation, Config, Factors, LayerSpec, LinearPart, LoadError, Norm, NormKind, Weights};
use crate::{
    model::network::{
        mamba2::{GroupNorm, Mamba2, NormPlace},
        short_convolution::ShortConvolution,
    },
    spec::MixerKind,
};

/// More heads, or channels of a head, than any layer has.
const MOST: usize = 1 << 16;

/// What sets Mamba-2 of one family apart.
#[derive(Clone, Copy, PartialEq)]
pub(super) struct MambaPlan {
    /// The key of the width of all heads, and what it is when the configuration does not say; null in that key, and a
    /// family without one, leave it to `mamba_expand`.
    pub width: Option<(&'static str, usize)>,
    /// The key that says whether what it adds has a bias.
    pub out_bias: &'static str,
    /// Whether the configuration says whether there is a norm, and where it stands (`mamba_rms_norm`,
    /// `mamba_norm_before_gate`); else it stands behind the gate.
    pub chooses_norm: bool,
    /// Whether the configuration has factors on what it reads, on the parts of that, and on what it adds
    /// (`ssm_in_multiplier`, `ssm_multipliers`, `ssm_out_multiplier`).
    pub has_factors: bool,
}

impl MambaPlan {
    /// As most have it.
    pub const PLAIN: Self = Self { width: None, out_bias: "mamba_proj_bias", chooses_norm: false, has_factors: false };
}

/// Factors on what it reads, on gates, values, keys, queries and steps, and on what it adds.
#[derive(Clone, Copy, Debug)]
struct MambaFactors {
    read: f32,
    parts: [f32; 5],
    added: f32,
}

impl MambaFactors {
    const NONE: Self = Self { read: 1.0, parts: [1.0; 5], added: 1.0 };

    fn of(config: &Config) -> Result<Self, LoadError> {
        let number = |name| Ok::<_, LoadError>(config.number(&[name])?.unwrap_or(1.0) as f32);
        Ok(Self {
            read: number("ssm_in_multiplier")?,
            parts: multipliers(config, "ssm_multipliers")?,
            added: number("ssm_out_multiplier")?,
        })
    }
}

/// A list of so many factors; ones where there is none.
pub(super) fn multipliers<const N: usize>(config: &Config, name: &'static str) -> Result<[f32; N], LoadError> {
    let Some(value) = config.value(name).filter(|value| !value.is_null()) else { return Ok([1.0; N]) };
    let listed = value.as_array().map_or(&[][..], Vec::as_slice);
    let numbers: Option<Vec<f32>> = listed.iter().map(|value| value.as_f64().map(|number| number as f32)).collect();
    let numbers = numbers.and_then(|numbers| <[f32; N]>::try_from(numbers).ok());
    numbers.ok_or_else(|| config.error(format!("its {name} is {value}, not a list of {N} numbers")))
}

/// Mamba-2 that a configuration describes.
#[derive(Clone, Copy, Debug)]
pub(super) struct MambaShape {
    n_heads: usize,
    d_head: usize,
    factors: MambaFactors,
    norm: Option<NormPlace>,
    out_bias: bool,
    n_groups: usize,
    d_state: usize,
    n_taps: usize,
    limits: (f64, f64),
    convolution_bias: bool,
    bias: bool,
}

impl MambaShape {
    pub fn of(config: &Config, plan: MambaPlan) -> Result<Self, LoadError> {
        let size = |name: &'static str, usual: usize| {
            Ok::<_, LoadError>(config.optional_size(&[name], MOST)?.unwrap_or(usual))
        };
        let own = match plan.width {
            Some((key, usual)) if config.number_unless_null(key, Some(usual as f64))?.is_some() => {
                Some((key, size(key, usual)?))
            }
            _ => None,
        };
        let (key, width) = match own {
            Some(own) => own,
            None => ("mamba_expand", size("mamba_expand", 2)? * config.d_model()?),
        };
        let n_heads = size("mamba_n_heads", 128)?;
        let is_auto = config.value("mamba_d_head").is_none_or(|value| value.as_str() == Some("auto"));
        let d_head = if is_auto { width / n_heads } else { size("mamba_d_head", 0)? };
        let n_groups = size("mamba_n_groups", 1)?;
        if n_heads * d_head != width {
            return Err(config.error(format!(
                "{n_heads} heads of {d_head} (mamba_n_heads, mamba_d_head) are not {width} wide together ({key})"
            )));
        }
        let norm = if !plan.chooses_norm {
            Some(NormPlace::BehindGate)
        } else if config.flag("mamba_rms_norm", false) {
            let is_before = config.flag("mamba_norm_before_gate", true);
            Some(if is_before { NormPlace::BeforeGate } else { NormPlace::BehindGate })
        } else {
            None
        };
        if !n_heads.is_multiple_of(n_groups) {
            return Err(config.error(format!(
                "{n_heads} heads (mamba_n_heads) cannot be cut into {n_groups} groups (mamba_n_groups)"
            )));
        }
        Ok(Self {
            n_heads,
            d_head,
            factors: if plan.has_factors { MambaFactors::of(config)? } else { MambaFactors::NONE },
            norm,
            out_bias: config.flag(plan.out_bias, false),
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
        let Self { n_heads, d_head, n_groups, d_state, n_taps, limits, bias, factors, .. } = *self;
        let width = n_heads * d_head;
        let d_mixed = width + 2 * n_groups * d_state;
        let of = |part: &str| format!("{name}.{part}");
        let part = LinearPart { name: &of("in_proj"), d_out: width + d_mixed + n_heads, bias };
        let widths = [width, width, n_groups * d_state, n_groups * d_state, n_heads];
        let runs = widths.into_iter().zip(factors.parts);
        let runs = runs.map(|(n, factor)| Factors { n, weights: factors.read * factor, biases: factor });
        let projection = weights.linear_of_times(&[part], &runs.collect::<Vec<_>>(), d_model)?;
        let taps = weights.tensor(&of("conv1d.weight"), &[d_mixed, 1, n_taps])?;
        let taps = taps.squeeze(1)?.t()?.contiguous()?;
        let convolution_bias =
            if self.convolution_bias { Some(weights.tensor(&of("conv1d.bias"), &[d_mixed])?) } else { None };
        let norm = match self.norm {
            Some(place) => {
                let weight = weights.tensor(&of("norm.weight"), &[width])?;
                let ones = weight.narrow(0, 0, width / n_groups)?.ones_like()?;
                let norm = Norm { kind: NormKind::Rms, weight: ones, bias: None, eps };
                Some(GroupNorm { norm, weight, place })
            }
            None => None,
        };
        Ok(Mamba2 {
            projection,
            convolution: ShortConvolution { taps, bias: convolution_bias, activation: Some(activation) },
            keys: (n_groups, d_state),
            rate: weights.tensor(&of("A_log"), &[n_heads])?.exp()?,
            step: weights.tensor(&of("dt_bias"), &[n_heads])?,
            limits,
            own: weights.tensor(&of("D"), &[n_heads])?,
            norm,
            out: weights.linear_times(&of("out_proj"), factors.added * added, (width, d_model), self.out_bias)?,
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
