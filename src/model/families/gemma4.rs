//! Gemma 4: heads of two widths, values with a norm, the last layers with the keys and values of earlier ones, inputs of
//! every layer's own, a factor on the stream behind each. Of models that see and hear the text decoder.

use serde_json::json;

use super::{
    Activation, BOS, Block, Config, Dense, EOS, Family, FamilyGroup, HeadNorm, LayerKind, LayerSpec, LinearPart,
    LoadError, MultiHead, Network, Norm, NormKind, Norms, Output, OwnInput, OwnInputs, PAD, Projections, QkNorm,
    Rotary, Stack, StackKind, Stored, Table, TextEmbedding, Weights, config_keys,
    decoder::{head, layer_types, rms_norm},
    family::LayerKeys,
    map, network,
};
use crate::model::checkpoint::key_audit::Limit;

pub(super) const FAMILIES: &[Family] = &[
    Family { ids: IDS, harmless: HARMLESS, limits: LIMITS, layers: LayerKeys::Apart, ..Family::decoder(NAME, build) },
    Family {
        ids: IDS,
        harmless: &[SENSES, BESIDE_LAYERS],
        limits: &[config_keys::CAUSAL],
        layers: LayerKeys::Apart,
        ..Family::new("gemma4", FamilyGroup::Decoder, text_decoder)
    },
];

const NAME: &str = "gemma4_text";
const IDS: &[(&str, u32)] = &[(BOS, 2), (EOS, 1), (PAD, 0)];
const HARMLESS: &[&[&str]] = &[
    config_keys::BESIDE_ROTARY,
    BESIDE_LAYERS,
    // Sizes of experts, where there are none.
    &["moe_intermediate_size", "num_experts", "top_k_experts"],
];
const LIMITS: &[&[Limit]] = &[
    config_keys::CAUSAL,
    &[
        ("enable_moe_block", &["false"]),
        // The class puts it in place of the kinds of layers, and fails.
        ("rope_scaling", &[]),
        // Pictures that are not read.
        ("use_bidirectional_attention", &["\"vision\""]),
    ],
];
/// What files say of layers that see all, where they have no configurations of single layers.
const BESIDE_LAYERS: &[&str] = &["global_head_dim", "num_global_key_value_heads"];
/// What stands for pictures and sounds, which are not read.
const SENSES: &[&str] = &[
    "audio_config",
    "audio_token_id",
    "boa_token_id",
    "boi_token_id",
    "eoa_token_index",
    "eoi_token_id",
    "image_token_id",
    "video_token_id",
    "vision_config",
];

/// More than any layer has.
const MOST: usize = 1 << 24;

struct Shape {
    d_model: usize,
    eps: f32,
    activation: Activation,
    bias: bool,
    /// Width of a layer's own input; 0 without any.
    d_own: usize,
    layers: Vec<OwnLayer>,
}

/// What sets one layer apart.
struct OwnLayer {
    window: Option<usize>,
    spec: LayerSpec,
    d_mlp: usize,
    /// Whether values are keys before their norm.
    values_are_keys: bool,
    /// The earlier layer whose keys and values it reads.
    borrows: Option<usize>,
    lends: bool,
}

/// The decoder of a model that sees and hears, for texts alone.
fn text_decoder(config: &Config, weights: &mut Weights<'_>) -> Result<Network, LoadError> {
    let text = config.section_of("text_config", &["architectures", "tie_word_embeddings"]);
    let text = text.ok_or_else(|| config.error("it does not describe its text decoder (text_config)"))?;
    weights.warn(
        "It sees pictures or hears in transformers; here it reads texts alone, and its other towers are left out",
    );
    for part in ["vision_tower", "audio_tower", "embed_vision", "embed_audio"] {
        weights.skip_all(&format!("model.{part}."));
    }
    build(&text, weights)
}

fn build(config: &Config, weights: &mut Weights<'_>) -> Result<Network, LoadError> {
    let usual = json!({
        "sliding_attention": { "rope_type": "default", "rope_theta": 10_000.0 },
        "full_attention": { "rope_type": "proportional", "partial_rotary_factor": 0.25, "rope_theta": 1_000_000.0 },
    });
    let config = &config.or(&json!({ "rope_parameters": usual }));
    let shape = shape(config)?;
    let (d_model, n_vocab, n_ctx) = (shape.d_model, config.n_vocab()?, config.n_ctx()?);
    weights.set_prefix("model.", &["embed_tokens.weight", "norm.weight"]);
    let output = Output::new("lm_head", true);
    let word = output.table(config, weights, "model.embed_tokens.weight", &[n_vocab, d_model])?;
    let rotary = rotary(config, &shape)?;
    let blocks = (0..shape.layers.len()).map(|layer| block(weights, &shape, layer)).collect::<Result<Vec<_>, _>>()?;
    let final_norm = rms_norm(weights, "model.norm", d_model, shape.eps, 0.0)?;
    let own_inputs = if shape.d_own == 0 { None } else { Some(own_inputs(config, weights, &shape, n_vocab)?.into()) };
    let mut head = head(config, weights, output, &word)?;
    if let Some(head) = &mut head {
        head.softcap = config.number(&["final_logit_softcapping"])?.map(|cap| cap as f32);
    }
    let scale = (d_model as f32).sqrt();
    let embedding = TextEmbedding { scale, own_inputs, ..TextEmbedding::unending(word, n_ctx) };
    let stack = Stack { rotary, ..Stack::new(StackKind::SelfAttention, blocks, Some(final_norm)) };
    Ok(network(NAME, (d_model, n_vocab), embedding, stack, head))
}

fn shape(config: &Config) -> Result<Shape, LoadError> {
    let size =
        |name: &'static str, usual: usize| Ok::<_, LoadError>(config.optional_size(&[name], MOST)?.unwrap_or(usual));
    let n_layers = config.n_layers()?;
    let mut is_full: Vec<bool> = match layer_types(config, n_layers)? {
        Some(kinds) => kinds.iter().map(|kind| kind == "full_attention").collect(),
        None => (0..n_layers).map(|layer| (layer + 1).is_multiple_of(6)).collect(),
    };
    // Whatever the file says.
    if let Some(last) = is_full.last_mut() {
        *last = true;
    }
    let heads = heads(config, &is_full)?;
    let lenders = lenders(config, &is_full)?;
    let borrows = |layer: usize| lenders[layer].filter(|lender| *lender != layer);
    let n_keys = |layer: usize| heads[layer].n_kv_heads;
    if let Some(layer) = (0..n_layers).find(|layer| borrows(*layer).is_some_and(|of| n_keys(of) != n_keys(*layer))) {
        return Err(config.error(format!(
            "layer {layer} has {} key/value heads (num_key_value_heads), and another number of them is lent to it",
            n_keys(layer)
        )));
    }
    let (window, d_mlp) = (size("sliding_window", 512)?, size("intermediate_size", 9216)?);
    let (wide, alike) = (config.flag("use_double_wide_mlp", false), config.flag("attention_k_eq_v", false));
    let layers = is_full.iter().zip(&heads).enumerate().map(|(layer, (is_full, spec))| {
        let window = (!is_full).then_some(window);
        OwnLayer {
            window,
            spec: LayerSpec { scale: 1.0, window, ..*spec },
            d_mlp: if wide && borrows(layer).is_some() { 2 * d_mlp } else { d_mlp },
            values_are_keys: alike && *is_full,
            borrows: borrows(layer),
            lends: (0..n_layers).any(|other| borrows(other) == Some(layer)),
        }
    });
    Ok(Shape {
        d_model: config.d_model()?,
        eps: config.norm_eps("rms_norm_eps", 1e-6)?,
        activation: config.activation("hidden_activation", Activation::GeluTanh)?,
        bias: config.flag("attention_bias", false),
        d_own: own_width(config)?,
        layers: layers.collect(),
    })
}

/// Width of a layer's own input; 0 without any.
fn own_width(config: &Config) -> Result<usize, LoadError> {
    match config.number_unless_null("hidden_size_per_layer_input", Some(256.0))? {
        None | Some(0.0) => Ok(0),
        Some(_) => Ok(config.optional_size(&["hidden_size_per_layer_input"], MOST)?.unwrap_or(256)),
    }
}

/// The heads of each layer: those of all, but for what the file says of single layers, or of those that see all.
fn heads(config: &Config, is_full: &[bool]) -> Result<Vec<LayerSpec>, LoadError> {
    let (n_heads, d_head) = config.heads_of(config.d_model()?, Some(256))?;
    let n_kv_heads = config.n_kv_heads_of(n_heads, Some(4))?;
    let mut heads = vec![LayerSpec { n_kv_heads, ..LayerSpec::new(n_heads, d_head) }; is_full.len()];
    let change = |spec: &mut LayerSpec, own: &Config, keys: [&'static str; 2]| -> Result<(), LoadError> {
        let [d_head, n_kv_heads] = keys.map(|key| own.optional_size(&[key], MOST));
        if let Some(d_head) = d_head? {
            *spec = LayerSpec { n_kv_heads: spec.n_kv_heads, ..LayerSpec::new(n_heads, d_head) };
        }
        if let Some(n) = n_kv_heads? {
            if !n_heads.is_multiple_of(n) {
                return Err(config.error(format!("{n} key/value heads do not divide {n_heads} heads ({})", keys[1])));
            }
            spec.n_kv_heads = n;
        }
        Ok(())
    };
    let Some(own) = config.section("per_layer_config") else {
        let (width, number) = ("global_head_dim", "num_global_key_value_heads");
        let of_all = config.or(&json!({ width: 512 }));
        for (spec, _) in heads.iter_mut().zip(is_full).filter(|(_, is_full)| **is_full) {
            let number = if config.flag("attention_k_eq_v", false) { number } else { "" };
            change(spec, &of_all, [width, number])?;
        }
        return Ok(heads);
    };
    for (name, value) in own.entries() {
        let layer = name.parse::<usize>().ok().and_then(|layer| heads.get_mut(layer));
        let layer = layer.ok_or_else(|| config.error(format!("its per_layer_config is of no layer “{name}”")))?;
        let keys = ["head_dim", "num_key_value_heads"];
        let mut others = value.as_object().into_iter().flatten().filter(|(key, _)| !keys.contains(&key.as_str()));
        if let Some((key, _)) = others.next() {
            return Err(config.unsupported(format!("{key} of single layers (per_layer_config) is not supported")));
        }
        if let Some(own) = own.section(name) {
            change(layer, &own, keys)?;
        }
    }
    Ok(heads)
}

/// The layer whose keys and values each layer reads: its own, or of the last ones the last of the same kind before them.
fn lenders(config: &Config, is_full: &[bool]) -> Result<Vec<Option<usize>>, LoadError> {
    let n_layers = is_full.len();
    let n_shared = match config.number(&["num_kv_shared_layers"])? {
        None | Some(0.0) => 0,
        Some(_) => config.optional_size(&["num_kv_shared_layers"], n_layers)?.unwrap_or(0),
    };
    let first = n_layers - n_shared;
    let lender = |layer: usize| {
        if layer < first { Some(layer) } else { (0..first).rev().find(|other| is_full[*other] == is_full[layer]) }
    };
    let lenders: Vec<Option<usize>> = (0..n_layers).map(lender).collect();
    if lenders.contains(&None) {
        return Err(config.error(format!(
            "its last {n_shared} layers read keys and values of earlier ones (num_kv_shared_layers), but none of those \
             before is of the same kind (layer_types)"
        )));
    }
    Ok(lenders)
}

/// The rotary embeddings of layers that see all, and of those with a window.
fn rotary(config: &Config, shape: &Shape) -> Result<Vec<Rotary>, LoadError> {
    let mut kinds = Vec::new();
    for (name, theta, has_window) in [("full_attention", 1_000_000.0, false), ("sliding_attention", 10_000.0, true)] {
        let mut widths =
            shape.layers.iter().filter(|layer| layer.window.is_some() == has_window).map(|it| it.spec.d_head);
        let Some(d_head) = widths.next() else { continue };
        if let Some(other) = widths.find(|width| *width != d_head) {
            return Err(config.unsupported(format!(
                "layers of one kind ({name}) with heads of two widths, {d_head} and {other}, are not supported"
            )));
        }
        kinds.push(Rotary::of_kind(config, d_head, LayerKind { name, theta, scaled: false })?);
    }
    Ok(kinds)
}

/// What layers have of their own for each token.
fn own_inputs(
    config: &Config,
    weights: &mut Weights<'_>,
    shape: &Shape,
    n_vocab: usize,
) -> Result<OwnInputs, LoadError> {
    let n = config.optional_size(&["vocab_size_per_layer_input"], MOST)?.unwrap_or(262_144);
    if n < n_vocab {
        return Err(config.error(format!(
            "its layers have inputs of {n} tokens (vocab_size_per_layer_input), and {n_vocab} can be read"
        )));
    }
    let Shape { d_model, d_own, eps, .. } = *shape;
    let width = shape.layers.len() * d_own;
    let factor = (d_model as f32).sqrt().recip();
    Ok(OwnInputs {
        table: Table::Rows(weights.table("model.embed_tokens_per_layer.weight", &[n, width])?),
        scale: (d_own as f32).sqrt(),
        context: weights.linear_times("model.per_layer_model_projection", factor, (d_model, width), false)?,
        norm: rms_norm(weights, "model.per_layer_projection_norm", d_own, eps, 0.0)?,
        both: std::f32::consts::FRAC_1_SQRT_2,
    })
}

fn block(weights: &mut Weights<'_>, shape: &Shape, layer: usize) -> Result<Block, LoadError> {
    let Shape { d_model, eps, activation, d_own, .. } = *shape;
    let name = |part: &str| format!("model.layers.{layer}.{part}");
    let heads = heads_of_layer(weights, shape, layer)?;
    let [gate, up, down] = ["mlp.gate_proj", "mlp.up_proj", "mlp.down_proj"].map(name);
    let d_mlp = shape.layers[layer].d_mlp;
    let part = |name| LinearPart { name, d_out: d_mlp, bias: false };
    let up = weights.linear_of(&[part(&*gate), part(&*up)], d_model, Stored::OutIn, None)?;
    let mlp = Dense { up, activation, gated: true, down: map(weights, &down, (d_mlp, d_model), false)? };
    let mut norm = |part: &str| rms_norm(weights, &name(part), d_model, eps, 0.0);
    let mut around =
        |before, added| Ok::<_, LoadError>(Norms { branch: Some(norm(added)?), ..Norms::pre(norm(before)?) });
    let attention_norms = around("input_layernorm", "post_attention_layernorm")?;
    let mlp_norms = around("pre_feedforward_layernorm", "post_feedforward_layernorm")?;
    let own_input = if d_own == 0 {
        None
    } else {
        Some(OwnInput {
            gate: map(weights, &name("per_layer_input_gate"), (d_model, d_own), false)?,
            activation,
            out: map(weights, &name("per_layer_projection"), (d_own, d_model), false)?,
            norm: rms_norm(weights, &name("post_per_layer_input_norm"), d_model, eps, 0.0)?,
        })
    };
    let scale = weights.tensor(&name("layer_scalar"), &[1])?.to_vec1::<f32>()?[0];
    Ok(Block { own_input, scale, ..Block::new(heads, attention_norms, mlp, mlp_norms) })
}

fn heads_of_layer(weights: &mut Weights<'_>, shape: &Shape, layer: usize) -> Result<MultiHead, LoadError> {
    let Shape { d_model, eps, bias, .. } = *shape;
    let OwnLayer { window, spec, values_are_keys, borrows, lends, .. } = shape.layers[layer];
    let of = |part: &str| format!("model.layers.{layer}.self_attn.{part}");
    let (wide, narrow) = (spec.n_heads * spec.d_head, spec.n_kv_heads * spec.d_head);
    let part = |name, d_out| LinearPart { name, d_out, bias };
    let [q, k, v] = ["q_proj", "k_proj", "v_proj"].map(of);
    let projections = match borrows {
        Some(of_layer) => {
            for unused in ["k_proj.", "v_proj.", "k_norm.", "v_norm."] {
                weights.skip_all(&of(unused));
            }
            Projections::Borrowed { q: map(weights, &q, (d_model, wide), bias)?, of: of_layer }
        }
        None if values_are_keys => {
            let order: Vec<usize> = (0..wide + narrow).chain(wide..wide + narrow).collect();
            let parts = [part(&*q, wide), part(&*k, narrow)];
            Projections::Fused(weights.linear_of(&parts, d_model, Stored::OutIn, Some(&order))?)
        }
        None => {
            let parts = [part(&*q, wide), part(&*k, narrow), part(&*v, narrow)];
            Projections::Fused(weights.linear_of(&parts, d_model, Stored::OutIn, None)?)
        }
    };
    let mut of_heads = |part: &str| -> Result<HeadNorm, LoadError> {
        Ok(HeadNorm { norm: rms_norm(weights, &of(part), spec.d_head, eps, 0.0)?, by_head: None })
    };
    let q_norm = of_heads("q_norm")?;
    let k_norm = if borrows.is_none() { Some(of_heads("k_norm")?) } else { None };
    let weight = q_norm.norm.weight.ones_like()?;
    let v_norm = HeadNorm { norm: Norm { kind: NormKind::Rms, weight, bias: None, eps }, by_head: None };
    let out = map(weights, &of("o_proj"), (wide, d_model), bias)?;
    let rotary = usize::from(window.is_some() && shape.layers.iter().any(|layer| layer.window.is_none()));
    Ok(MultiHead {
        qk_norm: Some(QkNorm { q: q_norm, k: k_norm, v: borrows.is_none().then_some(v_norm) }),
        rotary: Some(rotary),
        lends,
        ..MultiHead::reading(projections, out, spec)
    })
}
