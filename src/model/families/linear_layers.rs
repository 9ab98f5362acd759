//! What has a state in place of attention, or beside it.

use super::{
    Activation, Attention, Config, LayerSpec, LinearPart, LoadError, MambaPlan, MambaShape, Norm, NormKind, Stored,
    Weights, map,
};
use crate::{
    model::network::{
        gated_convolution::GatedConvolution, gated_delta::GatedDelta, short_convolution::ShortConvolution,
    },
    spec::MixerKind,
};

/// More heads, or channels of a head, than any layer has.
const MOST: usize = 1 << 16;

/// What stands in place of attention in some layers, or beside it in all.
#[derive(Clone, Copy, PartialEq)]
pub(super) enum LinearPlan {
    /// The gated delta rule, and how it is stored.
    Delta(DeltaNames),
    /// A short convolution between gates.
    Convolution,
    Mamba(MambaPlan),
}

/// The same with the sizes that a configuration describes.
#[derive(Clone, Debug)]
pub(super) enum LinearShape {
    Delta(DeltaNames, DeltaShape),
    Convolution { n_taps: usize, bias: bool },
    Mamba(MambaShape),
}

impl LinearPlan {
    pub fn shape(self, config: &Config) -> Result<LinearShape, LoadError> {
        Ok(match self {
            Self::Delta(names) => LinearShape::Delta(names, DeltaShape::of(config)?),
            Self::Convolution => LinearShape::Convolution {
                n_taps: config.optional_size(&["conv_L_cache"], MOST)?.unwrap_or(3),
                bias: config.flag("conv_bias", false),
            },
            Self::Mamba(plan) => LinearShape::Mamba(MambaShape::of(config, plan)?),
        })
    }

    /// Which of the layers have it.
    pub fn layers(self, config: &Config, n_layers: usize) -> Result<Vec<bool>, LoadError> {
        let kinds = config.names("layer_types").or_else(|| match self {
            Self::Mamba(_) => config.names("layers_block_type"),
            Self::Delta(_) | Self::Convolution => None,
        });
        let Some(kinds) = kinds else {
            return Ok(match self {
                Self::Delta(_) => {
                    let every = config.optional_size(&["full_attention_interval"], MOST)?.unwrap_or(4);
                    (0..n_layers).map(|layer| !(layer + 1).is_multiple_of(every)).collect()
                }
                Self::Convolution => match config.numbers("full_attn_idxs") {
                    Some(full) => (0..n_layers).map(|layer| !full.contains(&(layer as f32))).collect(),
                    None => vec![false; n_layers],
                },
                Self::Mamba(_) => vec![true; n_layers],
            });
        };
        if kinds.len() != n_layers {
            return Err(config.error(format!("layer_types lists {} of {n_layers} layers", kinds.len())));
        }
        let is_own = |kind: &String| match (self, kind.as_str()) {
            (Self::Delta(_), "linear_attention")
            | (Self::Convolution, "conv")
            | (Self::Mamba(_), "linear_attention" | "mamba") => Ok(true),
            (_, "full_attention") | (Self::Mamba(_), "attention") => Ok(false),
            _ => Err(config.unsupported(format!("layer_types names “{kind}”, which is not supported"))),
        };
        kinds.iter().map(is_own).collect()
    }
}

impl LinearShape {
    /// The layer whose tensors begin with `name`; `added`: factor on what it adds.
    pub fn read(
        &self,
        weights: &mut Weights<'_>,
        name: &str,
        (d_model, eps, added): (usize, f32, f32),
        activation: Activation,
    ) -> Result<Box<dyn Attention>, LoadError> {
        Ok(match self {
            Self::Delta(names, shape) => shape.read(weights, name, *names, (d_model, eps, activation))?.into(),
            Self::Convolution { n_taps, bias } => convolution(weights, name, d_model, (*n_taps, *bias))?.into(),
            Self::Mamba(shape) => shape.read(weights, name, (d_model, eps, added), activation)?.into(),
        })
    }
}

/// A short convolution between gates.
fn convolution(
    weights: &mut Weights<'_>,
    name: &str,
    d_model: usize,
    (n_taps, has_bias): (usize, bool),
) -> Result<GatedConvolution, LoadError> {
    let of = |part: &str| format!("{name}.{part}");
    let projection = map(weights, &of("in_proj"), (d_model, 3 * d_model), has_bias)?;
    let taps = weights.tensor(&of("conv.weight"), &[d_model, 1, n_taps])?.squeeze(1)?.t()?.contiguous()?;
    let bias = if has_bias { Some(weights.tensor(&of("conv.bias"), &[d_model])?) } else { None };
    Ok(GatedConvolution {
        projection,
        convolution: ShortConvolution { taps, bias, activation: None },
        out: map(weights, &of("out_proj"), (d_model, d_model), has_bias)?,
        spec: LayerSpec { mixer: MixerKind::ShortConvolution, gated: true, ..LayerSpec::new(1, d_model) },
    })
}

/// How the projections of the gated delta rule are stored.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum DeltaNames {
    /// `in_proj_qkvz` and `in_proj_ba`, key head by key head.
    ByKeyHead,
    /// `in_proj_qkv`, `in_proj_z`, `in_proj_b` and `in_proj_a`.
    Apart,
}

/// The gated delta rule that a configuration describes.
#[derive(Clone, Copy, Debug)]
pub(super) struct DeltaShape {
    n_keys: usize,
    d_key: usize,
    n_heads: usize,
    d_head: usize,
    n_taps: usize,
}

impl DeltaShape {
    pub fn of(config: &Config) -> Result<Self, LoadError> {
        let size = |name: &'static str, usual: usize| {
            Ok::<_, LoadError>(config.optional_size(&[name], MOST)?.unwrap_or(usual))
        };
        let shape = Self {
            n_keys: size("linear_num_key_heads", 16)?,
            d_key: size("linear_key_head_dim", 128)?,
            n_heads: size("linear_num_value_heads", 32)?,
            d_head: size("linear_value_head_dim", 128)?,
            n_taps: size("linear_conv_kernel_dim", 4)?,
        };
        if !shape.n_heads.is_multiple_of(shape.n_keys) {
            return Err(config.error(format!(
                "{} value heads (linear_num_value_heads) cannot share {} key heads (linear_num_key_heads) evenly",
                shape.n_heads, shape.n_keys
            )));
        }
        Ok(shape)
    }

    /// The layer whose tensors begin with `name`.
    pub fn read(
        &self,
        weights: &mut Weights<'_>,
        name: &str,
        names: DeltaNames,
        (d_model, eps, activation): (usize, f32, Activation),
    ) -> Result<GatedDelta, LoadError> {
        let Self { n_keys, d_key, n_heads, d_head, n_taps } = *self;
        let (wide, d_mixed) = (n_heads * d_head, 2 * n_keys * d_key + n_heads * d_head);
        let of = |part: &str| format!("{name}.{part}");
        let part = |name, d_out| LinearPart { name, d_out, bias: false };
        let projection = match names {
            DeltaNames::ByKeyHead => {
                let [qkvz, ba] = [of("in_proj_qkvz"), of("in_proj_ba")];
                let parts = [part(&*qkvz, d_mixed + wide), part(&*ba, 2 * n_heads)];
                weights.linear_of(&parts, d_model, Stored::OutIn, Some(&self.order()))?
            }
            DeltaNames::Apart => {
                let [qkv, z, b, a] = ["in_proj_qkv", "in_proj_z", "in_proj_b", "in_proj_a"].map(of);
                let parts = [part(&*qkv, d_mixed), part(&*z, wide), part(&*b, n_heads), part(&*a, n_heads)];
                weights.linear_of(&parts, d_model, Stored::OutIn, None)?
            }
        };
        let taps = weights.tensor(&of("conv1d.weight"), &[d_mixed, 1, n_taps])?;
        let taps = taps.squeeze(1)?.t()?.contiguous()?;
        let scale = (d_key as f32).sqrt().recip();
        Ok(GatedDelta {
            projection,
            convolution: ShortConvolution { taps, bias: None, activation: Some(activation) },
            keys: (n_keys, d_key),
            rate: weights.tensor(&of("A_log"), &[n_heads])?.exp()?,
            step: weights.tensor(&of("dt_bias"), &[n_heads])?,
            norm: Norm { kind: NormKind::Rms, weight: weights.tensor(&of("norm.weight"), &[d_head])?, bias: None, eps },
            out: map(weights, &of("out_proj"), (wide, d_model), false)?,
            spec: LayerSpec { mixer: MixerKind::GatedDelta, scale, gated: true, ..LayerSpec::new(n_heads, d_head) },
        })
    }

    /// Rows of what is stored key head by key head, in the order of queries, keys, values, gates and the numbers of heads.
    fn order(&self) -> Vec<usize> {
        let Self { n_keys, d_key, n_heads, d_head, .. } = *self;
        let n_shared = n_heads / n_keys;
        let parts = [d_key, d_key, n_shared * d_head, n_shared * d_head];
        let width: usize = parts.iter().sum();
        let mut order = Vec::with_capacity(n_keys * (width + 2 * n_shared));
        let mut first = 0;
        for part in parts {
            order.extend((0..n_keys).flat_map(|key| key * width + first..key * width + first + part));
            first += part;
        }
        for number in 0..2 {
            let first = n_keys * width + number * n_shared;
            order.extend((0..n_keys).flat_map(|key| {
                let own = first + key * 2 * n_shared;
                own..own + n_shared
            }));
        }
        order
    }
}
