//! Queries, keys and values through latents (multi-head latent attention), in relatives of LLaMA.

use super::{Config, LayerSpec, LinearPart, LoadError, MultiHead, Norm, NormKind, Stored, Weights, map};
use crate::{model::network::latent::LatentMaps, spec::LatentSpec};

/// More heads, or dimensions of a vector, than any layer has.
const MOST: usize = 1 << 16;
/// What the classes add to the variance of latents, whatever the configuration says.
const EPS: f32 = 1e-6;

/// Sizes of a family's class where the configuration does not say them.
#[derive(Clone, Copy)]
pub(super) struct LatentPlan {
    /// Of what queries are read from.
    pub queries: usize,
    /// Of what keys and values are read from.
    pub keys: usize,
    /// Of the part of queries and keys that is not turned.
    pub d_content: usize,
    pub d_turned: usize,
    /// Names of the key of the turned part's width.
    pub turned: &'static [&'static str],
    pub d_value: usize,
    /// Number of key/value heads; `None` for as many as heads.
    pub n_kv_heads: Option<usize>,
    pub pairs: TurnedPairs,
}

/// The dimensions that turn together.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum TurnedPairs {
    /// Neighbours, which stay neighbours.
    Neighbours,
    /// Neighbours, which stand half a vector apart afterwards, unless `rope_interleave` says that they do so before.
    Apart,
}

/// Latent attention that a configuration describes.
#[derive(Clone, Copy, Debug)]
pub(super) struct LatentShape {
    pub spec: LayerSpec,
    ranks: LatentSpec,
    /// Whether dimensions are put half a vector apart.
    is_sorted: bool,
}

impl LatentPlan {
    pub fn shape(&self, config: &Config) -> Result<LatentShape, LoadError> {
        let size = |name: &'static str, usual: usize| {
            Ok::<_, LoadError>(config.optional_size(&[name], MOST)?.unwrap_or(usual))
        };
        let n_heads = config.size(&["num_attention_heads"], MOST)?;
        let usual = self.n_kv_heads.filter(|_| !config.entries().contains_key("num_key_value_heads"));
        let n_kv_heads = config.optional_size(&["num_key_value_heads"], MOST)?.or(usual).unwrap_or(n_heads);
        if n_heads / n_kv_heads != 1 {
            return Err(config.unsupported(format!(
                "{n_heads} heads with {n_kv_heads} of keys and values (num_key_value_heads) are not supported: every \
                 head has its own from the latent"
            )));
        }
        let rank = config.number_unless_null("q_lora_rank", Some(self.queries as f64))?;
        if rank.is_some_and(|rank| !(1.0..=MOST as f64).contains(&rank)) {
            return Err(config.error(format!("its q_lora_rank is {}", rank.unwrap_or_default())));
        }
        let ranks = LatentSpec {
            queries: rank.map(|rank| rank as usize),
            keys: size("kv_lora_rank", self.keys)?,
            turned: config.optional_size(self.turned, MOST)?.unwrap_or(self.d_turned),
        };
        let d_head = size("qk_nope_head_dim", self.d_content)? + ranks.turned;
        let d_value = size("v_head_dim", self.d_value)?;
        let scale = (d_head as f64).sqrt().recip() * stretch(config)?.powi(2);
        let is_sorted = match self.pairs {
            TurnedPairs::Neighbours => false,
            TurnedPairs::Apart => {
                let is_null = config.entries().get("rope_interleave").is_some_and(serde_json::Value::is_null);
                config.flag("rope_interleave", true) && !is_null
            }
        };
        let spec = LayerSpec { d_value, scale: scale as f32, latent: Some(ranks), ..LayerSpec::new(n_heads, d_head) };
        Ok(LatentShape { spec, ranks, is_sorted })
    }
}

/// What a rotary embedding that is stretched puts on queries and on keys besides (`mscale_all_dim`).
fn stretch(config: &Config) -> Result<f64, LoadError> {
    let section = |name| config.section(name).filter(|section: &Config| !section.is_empty());
    let Some(section) = ["rope_scaling", "rope_parameters"].into_iter().find_map(section) else { return Ok(1.0) };
    if section.text(&["rope_type", "type"]).is_none_or(|kind| kind == "default") {
        return Ok(1.0);
    }
    let Some(by) = section.number(&["mscale_all_dim"])?.filter(|by| *by != 0.0) else { return Ok(1.0) };
    let factor = section.number(&["factor"])?;
    let factor = factor.ok_or_else(|| config.error("its rotary embedding has mscale_all_dim, but no factor"))?;
    Ok(if factor <= 1.0 { 1.0 } else { 0.1 * by * factor.ln() + 1.0 })
}

impl LatentShape {
    /// Width of what is turned.
    pub const fn d_turned(&self) -> usize {
        self.ranks.turned
    }

    /// The heads of the layer whose tensors begin with `name`; `bias`: of the maps to latents.
    pub fn read(
        &self,
        weights: &mut Weights<'_>,
        name: &str,
        d_model: usize,
        (bias, out_bias): (bool, bool),
    ) -> Result<MultiHead, LoadError> {
        let Self { spec, ranks: LatentSpec { queries, keys, turned }, .. } = *self;
        let LayerSpec { n_heads, d_head, d_value, .. } = spec;
        let d_content = d_head - turned;
        let of = |part: &str| format!("{name}.{part}");
        let of_order = |weights: &mut Weights<'_>, part: &str, d_in: usize, order: &[usize], bias: bool| {
            let part = LinearPart { name: &of(part), d_out: order.len(), bias };
            weights.linear_of(&[part], d_in, Stored::OutIn, Some(order))
        };
        let q_order: Vec<usize> = (0..n_heads).flat_map(|head| self.order(head * d_head, d_content)).collect();
        let (q_down, q) = match queries {
            Some(rank) => {
                let down = map(weights, &of("q_a_proj"), (d_model, rank), bias)?;
                let norm = norm(weights, &of("q_a_layernorm"), rank)?;
                (Some((down, norm)), of_order(weights, "q_b_proj", rank, &q_order, false)?)
            }
            None => (None, of_order(weights, "q_proj", d_model, &q_order, false)?),
        };
        let down_order: Vec<usize> = self.order(0, keys).collect();
        let kv_down = of_order(weights, "kv_a_proj_with_mqa", d_model, &down_order, bias)?;
        // Each head's keys stand before its values.
        let width = d_content + d_value;
        let of_heads =
            |first: usize, n: usize| (0..n_heads).flat_map(move |head| head * width + first..head * width + first + n);
        let kv_order: Vec<usize> = of_heads(0, d_content).chain(of_heads(d_content, d_value)).collect();
        let maps = LatentMaps {
            q_down,
            q,
            kv_down,
            kv_norm: norm(weights, &of("kv_a_layernorm"), keys)?,
            kv: of_order(weights, "kv_b_proj", keys, &kv_order, false)?,
            d_turned: turned,
        };
        let out = map(weights, &of("o_proj"), (n_heads * d_value, d_model), out_bias)?;
        Ok(MultiHead::latent(maps, out, spec))
    }

    /// Rows from `first` on, of which the turned ones after `n_before` others may be put half a vector apart.
    fn order(&self, first: usize, n_before: usize) -> impl Iterator<Item = usize> + use<> {
        let (turned, is_sorted) = (self.ranks.turned, self.is_sorted);
        let place = move |idx: usize| if is_sorted { 2 * idx % turned + 2 * idx / turned } else { idx };
        (first..first + n_before).chain((0..turned).map(move |idx| first + n_before + place(idx)))
    }
}

/// The norm of a latent.
fn norm(weights: &mut Weights<'_>, name: &str, width: usize) -> Result<Norm, LoadError> {
    let weight = weights.tensor(&format!("{name}.weight"), &[width])?;
    Ok(Norm { kind: NormKind::Rms, weight, bias: None, eps: EPS })
}
