//! LLaMA and its relatives: pre-norm decoders with rotary embeddings, grouped queries and gated MLPs.
//!
//! One file for Llama 2/3, Mistral, Qwen 2/2.5/3, Gemma 1/2/3, Phi-3, StableLM, SmolLM and TinyLlama: they
//! differ in a few choices, which [`Variant`] lists.

use super::{
    decoder::{head, map, network, rms_norm},
    layer_norm, qkv,
};
use crate::{
    ids::StackKind,
    model::{
        LoadError,
        checkpoint::{Config, Part, Weights},
        kernels::{Activation, Norm, NormKind},
        network::{
            Network,
            attention::{Attention, HeadNorm, Projections, QkNorm},
            block::{Block, Mlp, Norms, Stack},
            embedding::TextEmbedding,
            rotary::Rotary,
        },
    },
    spec::LayerSpec,
};

/// What sets one of these families apart.
#[expect(clippy::struct_excessive_bools, reason = "each is one independent choice of a published family")]
#[derive(Clone, Copy, PartialEq)]
struct Variant {
    family: &'static str,
    /// Biases of query, key and value when the configuration does not say.
    qkv_bias: bool,
    /// Whether output and embedding are tied when the configuration does not say.
    tied: bool,
    /// Added to the weights of norms; Gemma stores them less one, and scales its embeddings.
    gemma: bool,
    /// Norms of what attention and MLP add.
    branch_norms: bool,
    qk_norm: bool,
    /// Fused tensors `qkv_proj` and `gate_up_proj`.
    fused: bool,
    /// Ordinary layer norms instead of RMS norms.
    layer_norms: bool,
    /// Fraction of a head that is rotated when the configuration does not say.
    rotated: f64,
    /// Layers without a sliding window, when the configuration does not list them: every n-th.
    full_every: Option<usize>,
}

const LLAMA: Variant = Variant {
    family: "llama",
    qkv_bias: false,
    tied: false,
    gemma: false,
    branch_norms: false,
    qk_norm: false,
    fused: false,
    layer_norms: false,
    rotated: 1.0,
    full_every: None,
};

/// The variant of a `model_type`.
fn variant(model_type: &str) -> Option<Variant> {
    let gemma = Variant { family: "gemma", gemma: true, tied: true, ..LLAMA };
    Some(match model_type {
        "llama" => LLAMA,
        "mistral" => Variant { family: "mistral", ..LLAMA },
        "qwen2" => Variant { family: "qwen2", qkv_bias: true, ..LLAMA },
        "qwen3" => Variant { family: "qwen3", qk_norm: true, ..LLAMA },
        "gemma" => gemma,
        "gemma2" => Variant { family: "gemma2", branch_norms: true, full_every: Some(2), ..gemma },
        "gemma3_text" => Variant { family: "gemma3", branch_norms: true, qk_norm: true, full_every: Some(6), ..gemma },
        "phi3" => Variant { family: "phi3", fused: true, ..LLAMA },
        "stablelm" => Variant { family: "stablelm", layer_norms: true, rotated: 0.25, ..LLAMA },
        _ => return None,
    })
}

/// The `model_type`s of this file.
pub(super) const TYPES: [&str; 9] =
    ["llama", "mistral", "qwen2", "qwen3", "gemma", "gemma2", "gemma3_text", "phi3", "stablelm"];

#[expect(clippy::struct_excessive_bools, reason = "each is one independent choice of a configuration")]
struct Shape {
    d_model: usize,
    d_mlp: usize,
    eps: f32,
    activation: Activation,
    spec: LayerSpec,
    qkv_bias: bool,
    out_bias: bool,
    mlp_bias: bool,
    parallel: bool,
    per_head_norms: bool,
}

pub(super) fn build(config: &Config, model_type: &str, weights: &mut Weights<'_>) -> Result<Network, LoadError> {
    let Some(variant) = variant(model_type) else { return Err(super::unsupported(model_type, config.location())) };
    let shape = shape(config, variant)?;
    let (d_model, n_vocab, n_ctx) = (shape.d_model, config.n_vocab()?, config.n_ctx()?);

    weights.set_prefix("model.", "embed_tokens.weight");
    let word = weights.tensor("model.embed_tokens.weight", &[n_vocab, d_model])?;
    let scale = if variant.gemma { (d_model as f32).sqrt() } else { 1.0 };
    let n_layers = config.n_layers()?;
    let windows = windows(config, variant, n_layers)?;
    let rotary = rotary(config, variant, shape.spec.d_head)?;
    let mut blocks = Vec::new();
    for (layer, window) in windows.into_iter().enumerate() {
        // The second rotary embedding, where there is one, belongs to layers with a window.
        let turning = if window.is_some() { rotary.len() - 1 } else { 0 };
        blocks.push(block(weights, variant, &shape, (layer, window, turning))?);
    }
    let final_norm = Some(norm(weights, variant, "model.norm", d_model, shape.eps)?);
    let mut head = head(config, weights, "lm_head", &word, (variant.tied, false))?;
    if let Some(head) = &mut head {
        head.softcap = config.number(&["final_logit_softcapping"])?.map(|cap| cap as f32);
    }
    let embedding = TextEmbedding { scale, ..TextEmbedding::tokens(word, n_ctx) };
    let stack = Stack { rotary, ..Stack::new(StackKind::SelfAttention, blocks, final_norm) };
    Ok(network(variant.family, (d_model, n_vocab), embedding, stack, head))
}

fn shape(config: &Config, variant: Variant) -> Result<Shape, LoadError> {
    let d_model = config.d_model()?;
    let (n_heads, d_head) = config.heads(d_model)?;
    let mut spec = LayerSpec::new(n_heads, d_head);
    spec.n_kv_heads = config.n_kv_heads(n_heads)?;
    if let Some(scalar) = config.number(&["query_pre_attn_scalar"])? {
        spec.scale = (scalar.max(f64::MIN_POSITIVE)).sqrt().recip() as f32;
    }
    spec.softcap = config.number(&["attn_logit_softcapping"])?.map(|cap| cap as f32);
    let attention_bias = config.flag("attention_bias", false);
    // Gemma's first files say `gelu` and mean its tanh form.
    let activation = match config.activation(if variant.gemma { Activation::GeluTanh } else { Activation::Silu })? {
        Activation::Gelu if variant.gemma => Activation::GeluTanh,
        activation => activation,
    };
    Ok(Shape {
        d_model,
        d_mlp: config.d_mlp()?.unwrap_or(4 * d_model),
        eps: config.norm_eps(if variant.layer_norms { 1e-5 } else { 1e-6 })?,
        activation,
        spec,
        qkv_bias: attention_bias || config.flag("use_qkv_bias", variant.qkv_bias),
        out_bias: attention_bias && variant.family != "qwen2",
        mlp_bias: config.flag("mlp_bias", false),
        parallel: config.flag("use_parallel_residual", false),
        per_head_norms: config.flag("qk_layernorm", false),
    })
}

/// The sliding window of each layer.
fn windows(config: &Config, variant: Variant, n_layers: usize) -> Result<Vec<Option<usize>>, LoadError> {
    let width = config.optional_size(&["sliding_window"], 1 << 24)?;
    let width = width.filter(|_| config.flag("use_sliding_window", variant.family != "qwen2"));
    let kinds = config.names("layer_types").filter(|kinds| kinds.len() == n_layers);
    let every = config.optional_size(&["sliding_window_pattern"], 1 << 12)?.or(variant.full_every);
    let first = config.optional_size(&["max_window_layers"], 1 << 12)?.filter(|_| variant.family == "qwen2");
    let slides = |layer: usize| match (&kinds, every, first) {
        (Some(kinds), ..) => kinds[layer] == "sliding_attention",
        (None, Some(every), _) => !(layer + 1).is_multiple_of(every),
        (None, None, Some(first)) => layer >= first,
        (None, None, None) => true,
    };
    Ok((0..n_layers).map(|layer| width.filter(|_| slides(layer))).collect())
}

/// One embedding for all layers; Gemma 3 has a second one for layers with a window.
fn rotary(config: &Config, variant: Variant, d_head: usize) -> Result<Vec<Rotary>, LoadError> {
    let by_kind = config.section("rope_parameters");
    let of_kind = |kind: &str| by_kind.as_ref().and_then(|section| section.section(kind));
    if let (Some(full), Some(sliding)) = (of_kind("full_attention"), of_kind("sliding_attention")) {
        let from = |section: &Config| Rotary::from_parameters(config, Some(section), d_head, variant.rotated);
        return Ok(vec![from(&full)?, from(&sliding)?]);
    }
    let mut all = vec![Rotary::from_config(config, d_head, variant.rotated)?];
    if let Some(theta) = config.number(&["rope_local_base_freq"])? {
        all.push(Rotary::new(theta, d_head));
    }
    Ok(all)
}

fn norm(weights: &mut Weights<'_>, variant: Variant, name: &str, d: usize, eps: f32) -> Result<Norm, LoadError> {
    if variant.layer_norms {
        layer_norm(weights, name, d, eps)
    } else {
        rms_norm(weights, name, d, (eps, if variant.gemma { 1.0 } else { 0.0 }))
    }
}

fn block(
    weights: &mut Weights<'_>,
    variant: Variant,
    shape: &Shape,
    (layer, window, rotary): (usize, Option<usize>, usize),
) -> Result<Block, LoadError> {
    let Shape { d_model, d_mlp, eps, spec, .. } = *shape;
    let name = |part: &str| format!("model.layers.{layer}.{part}");
    let wide = spec.n_heads * spec.d_head;
    let qkv = if variant.fused {
        let d_out = wide + 2 * spec.n_kv_heads * spec.d_head;
        map(weights, &name("self_attn.qkv_proj"), (d_model, d_out), shape.qkv_bias)?
    } else {
        let [q, k, v] = ["q_proj", "k_proj", "v_proj"].map(|part| name(&format!("self_attn.{part}")));
        qkv(weights, [&q, &k, &v], d_model, spec, [shape.qkv_bias; 3])?
    };
    let attention = Attention {
        projections: Projections::Fused(qkv),
        out: map(weights, &name("self_attn.o_proj"), (wide, d_model), shape.out_bias)?,
        spec: LayerSpec { window, ..spec },
        causal: true,
        qk_norm: qk_norm(weights, variant, shape, &name("self_attn"))?,
        rotary: Some(rotary),
        bias: None,
    };
    let up = if variant.fused {
        map(weights, &name("mlp.gate_up_proj"), (d_model, 2 * d_mlp), shape.mlp_bias)?
    } else {
        let (gate, up) = (name("mlp.gate_proj"), name("mlp.up_proj"));
        let part = |name| Part { name, d_out: d_mlp, bias: shape.mlp_bias };
        weights.linear_of(&[part(&gate), part(&up)], d_model, true, None)?
    };
    let down = map(weights, &name("mlp.down_proj"), (d_mlp, d_model), shape.mlp_bias)?;
    let mlp = Mlp { up, activation: shape.activation, gated: true, down };

    let mut norm = |part: &str| norm(weights, variant, &name(part), d_model, eps);
    let before = norm("input_layernorm")?;
    if shape.parallel {
        let norms = Norms::pre(before.clone());
        return Ok(Block { parallel: true, ..Block::new(attention, norms, mlp, Norms::pre(before)) });
    }
    let (attention_norms, mlp_norms) = if variant.branch_norms {
        let attention_norms = Norms { branch: Some(norm("post_attention_layernorm")?), ..Norms::pre(before) };
        let mlp_norms = Norms::pre(norm("pre_feedforward_layernorm")?);
        (attention_norms, Norms { branch: Some(norm("post_feedforward_layernorm")?), ..mlp_norms })
    } else {
        (Norms::pre(before), Norms::pre(norm("post_attention_layernorm")?))
    };
    Ok(Block::new(attention, attention_norms, mlp, mlp_norms))
}

fn qk_norm(
    weights: &mut Weights<'_>,
    variant: Variant,
    shape: &Shape,
    name: &str,
) -> Result<Option<QkNorm>, LoadError> {
    let LayerSpec { n_heads, n_kv_heads, d_head, .. } = shape.spec;
    if variant.qk_norm {
        let mut head_norm = |part: &str| -> Result<HeadNorm, LoadError> {
            let norm = norm(weights, variant, &format!("{name}.{part}"), d_head, shape.eps)?;
            Ok(HeadNorm { norm, by_head: None })
        };
        return Ok(Some(QkNorm { q: head_norm("q_norm")?, k: head_norm("k_norm")? }));
    }
    if !shape.per_head_norms {
        return Ok(None);
    }
    // StableLM 2: a layer norm without bias for every head.
    let mut head_norm = |part: &str, n: usize| -> Result<HeadNorm, LoadError> {
        let names = (0..n).map(|head| format!("{name}.{part}.norms.{head}.weight"));
        let rows = names.map(|name| weights.tensor(&name, &[d_head])).collect::<Result<Vec<_>, _>>()?;
        let by_head = candle_core::Tensor::stack(&rows, 0)?;
        let weight = rows[0].ones_like()?;
        let norm = Norm { kind: NormKind::Layer, weight, bias: None, eps: shape.eps };
        Ok(HeadNorm { norm, by_head: Some(by_head) })
    };
    Ok(Some(QkNorm { q: head_norm("q_layernorm", n_heads)?, k: head_norm("k_layernorm", n_kv_heads)? }))
}
