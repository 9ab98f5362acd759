//! LLaMA's relatives: decoders with rotary embeddings, grouped queries and gated MLPs. They differ in a few
//! choices, which [`Variant`] lists.

use candle_core::Tensor;

use super::{
    Activation, Attention, Block, Config, Dense, ExpertShape, Factors, HeadKind, HeadNorm, LatentShape, LayerSpec,
    LinearPart, LinearShape, LoadError, Mlp, MultiHead, Multipliers, Network, Norm, NormKind, NormPlaces, NormWeights,
    Norms, Output, QkNorm, QkNorms, Stack, StackKind, Stored, TextEmbedding, TwoWay, Variant, Weights, Windows,
    decoder::head,
    decoder::layer_types,
    decoder::rms_norm,
    layer_norm, map, network,
    variant::{Biased, Fused},
};

struct DecoderShape {
    d_model: usize,
    d_mlp: usize,
    eps: f32,
    activation: Activation,
    spec: LayerSpec,
    multipliers: Multipliers,
    biased: Biased,
    norms: NormPlaces,
    causal: bool,
    clip: Option<f64>,
    experts: Option<ExpertShape>,
    latent: Option<LatentShape>,
    /// Of layers without attention, where there are some.
    linear: Option<LinearShape>,
    /// Of what every layer has beside attention.
    beside: Option<LinearShape>,
}

pub(super) fn build(config: &Config, weights: &mut Weights<'_>, variant: &Variant) -> Result<Network, LoadError> {
    let shape = shape(config, variant)?;
    let output = Output::new("lm_head", variant.tied);
    let (embedding, stack) = body(config, weights, variant, &shape)?;
    let word = embedding.word.rows()?;
    let mut head = head(config, weights, output, word)?;
    if let Some(head) = head.as_mut().filter(|head| head.kind == HeadKind::NextToken) {
        let factor = shape.multipliers.logits;
        head.transform.scale = (factor != 1.0).then_some(factor);
        if let Some(caps) = variant.caps {
            head.softcap = config.number_unless_null("final_logit_softcapping", caps.logits)?.map(|cap| cap as f32);
        }
    }
    let n_vocab = word.n_rows()?;
    Ok(network(variant.family, (shape.d_model, n_vocab), embedding, stack, head))
}

/// The same without a head, and with every token seeing all others.
pub(super) fn encoder(
    config: &Config,
    weights: &mut Weights<'_>,
    variant: &Variant,
) -> Result<(TextEmbedding, Stack), LoadError> {
    body(config, weights, variant, &DecoderShape { causal: false, ..shape(config, variant)? })
}

/// Embeddings and layers.
fn body(
    config: &Config,
    weights: &mut Weights<'_>,
    variant: &Variant,
    shape: &DecoderShape,
) -> Result<(TextEmbedding, Stack), LoadError> {
    let (d_model, n_vocab, n_ctx) = (shape.d_model, config.n_vocab()?, config.n_ctx()?);
    weights.set_prefix("model.", &["embed_tokens.weight", "norm.weight"]);
    if matches!(shape.linear, Some(LinearShape::Delta(..))) {
        // What guesses several tokens at once.
        weights.skip_all("mtp.");
    }
    if shape.latent.is_some() {
        skip_guesses(config, weights)?;
    }
    let output = Output::new("lm_head", variant.tied);
    let word = output.table(config, weights, "model.embed_tokens.weight", &[n_vocab, d_model])?;
    let n_layers = config.n_layers()?;
    let uses_rope = (variant.uses_rope)(config, n_layers)?;
    let windows = windows(config, variant, &uses_rope)?;
    let kinds = (variant.rotary)(config, shape.latent.map_or(shape.spec.d_head, |latent| latent.d_turned()));
    // The second rotary embedding, where there is one, belongs to layers with a window. Only kinds that layers are of
    // have to be in order.
    let last = kinds.len().saturating_sub(1);
    let own = |window: Option<usize>| if window.is_some() { last } else { 0 };
    let (mut rotary, mut places) = (Vec::new(), Vec::new());
    for (idx, kind) in kinds.into_iter().enumerate() {
        let is_used = windows.iter().any(|window| own(*window) == idx);
        places.push(is_used.then_some(rotary.len()));
        if is_used {
            rotary.push(kind?);
        }
    }
    let mut blocks = Vec::new();
    let linear = match variant.linear {
        Some(plan) => plan.layers(config, n_layers)?,
        None => vec![false; n_layers],
    };
    for (layer, window) in windows.into_iter().enumerate() {
        let rotary = places[own(window)].filter(|_| uses_rope[layer]);
        let is_linear = linear[layer];
        blocks.push(block(config, weights, variant, shape, LayerPlan { layer, window, rotary, is_linear })?);
    }
    let final_norm = format!("model.{}", variant.names.final_norm);
    let final_norm = Some(norm(weights, variant, &final_norm, d_model, shape.eps)?);
    let embedding = TextEmbedding { scale: shape.multipliers.embedding, ..TextEmbedding::unending(word, n_ctx) };
    Ok((embedding, Stack { rotary, ..Stack::new(StackKind::SelfAttention, blocks, final_norm) }))
}

fn shape(config: &Config, variant: &Variant) -> Result<DecoderShape, LoadError> {
    let d_model = config.d_model()?;
    let multipliers = (variant.multipliers)(config)?;
    let latent = variant.latent.map(|plan| plan.shape(config)).transpose()?;
    let mut spec = match &latent {
        Some(latent) => latent.spec,
        None => heads(config, variant, d_model)?,
    };
    spec.scale = multipliers.scores.unwrap_or(spec.scale);
    Ok(DecoderShape {
        d_model,
        d_mlp: (variant.d_mlp)(config)?.unwrap_or(4 * d_model),
        eps: config.norm_eps(variant.eps.0, variant.eps.1)?,
        activation: (variant.activation)(config)?,
        spec,
        multipliers,
        biased: variant.biases.of(config),
        norms: (variant.norms)(config),
        causal: is_causal(config, variant)?,
        clip: if variant.clips { clip(config)? } else { None },
        experts: match variant.experts {
            Some(plan) if plan.has_some(config)? => Some(plan.shape(config, config.n_layers()?)?),
            _ => None,
        },
        latent,
        linear: variant.linear.map(|plan| plan.shape(config)).transpose()?,
        beside: variant.beside.map(|plan| plan.shape(config)).transpose()?,
    })
}

/// Heads, how their scores are scaled, and the cap of the scores.
fn heads(config: &Config, variant: &Variant, d_model: usize) -> Result<LayerSpec, LoadError> {
    let (n_heads, d_head) = config.heads_of(d_model, variant.d_head)?;
    let mut spec = LayerSpec { sink: variant.sinks, ..LayerSpec::new(n_heads, d_head) };
    spec.n_kv_heads = config.n_kv_heads_of(n_heads, variant.n_kv_heads)?;
    spec.gated = variant.has_gate;
    if let Some(caps) = variant.caps {
        let scalar = config.number(&["query_pre_attn_scalar"])?.unwrap_or(256.0);
        spec.scale = scalar.max(f64::MIN_POSITIVE).sqrt().recip() as f32;
        // Gemma 3 names such a cap too, but never applies it.
        if caps.scores.is_some() {
            spec.softcap = config.number_unless_null("attn_logit_softcapping", caps.scores)?.map(|cap| cap as f32);
        }
    }
    Ok(spec)
}

/// Leaves out the layers behind the last one, which guess several tokens at once (`num_nextn_predict_layers`).
fn skip_guesses(config: &Config, weights: &mut Weights<'_>) -> Result<(), LoadError> {
    let n_layers = config.n_layers()?;
    let n = config.number(&["num_nextn_predict_layers", "num_mtp_layers"])?.unwrap_or(1.0).clamp(0.0, 64.0) as usize;
    for layer in n_layers..n_layers + n {
        weights.skip_all(&format!("model.layers.{layer}."));
    }
    Ok(())
}

/// Limit of queries, keys and values.
fn clip(config: &Config) -> Result<Option<f64>, LoadError> {
    match config.number(&["clip_qkv"])? {
        Some(limit) if limit < 0.0 => Err(config.error(format!("its clip_qkv is {limit}"))),
        limit => Ok(limit),
    }
}

/// Whether tokens see only those before them.
fn is_causal(config: &Config, variant: &Variant) -> Result<bool, LoadError> {
    let both_directions = variant.two_way != TwoWay::Nothing && config.flag("use_bidirectional_attention", false);
    if both_directions && variant.two_way == TwoWay::Refused {
        return Err(config.unsupported(
            "attention in both directions (use_bidirectional_attention) is not supported for this architecture: \
             the reference implementation itself does it with some kinds of attention only",
        ));
    }
    Ok(config.is_causal() && !both_directions)
}

/// The sliding window of each layer, of which `uses_rope` says whether it rotates queries and keys.
fn windows(config: &Config, variant: &Variant, uses_rope: &[bool]) -> Result<Vec<Option<usize>>, LoadError> {
    let n_layers = uses_rope.len();
    let width = |default| -> Result<Option<usize>, LoadError> {
        let width = config.number_unless_null("sliding_window", default)?;
        match width {
            // No text is longer.
            Some(width) => match reach(config, variant, width.clamp(0.0, 16_777_216.0) as usize) {
                0 => Err(config.error(format!("its sliding_window is {width}"))),
                reach => Ok(Some(reach)),
            },
            None => Ok(None),
        }
    };
    let listed = || layer_types(config, n_layers);
    let (width, kinds, slides): (_, _, Box<dyn Fn(usize) -> bool + '_>) = match variant.windows {
        Windows::Never => (None, None, Box::new(|_| false)),
        Windows::All(default) => (width(default)?, None, Box::new(|_| true)),
        Windows::AllIfUsed => {
            let used = config.flag("use_sliding_window", false);
            (if used { width(Some(4096.0))? } else { None }, None, Box::new(|_| true))
        }
        Windows::EveryOtherBefore => {
            let end = config.number(&["max_window_layers"])?.unwrap_or(28.0) as usize;
            let width = if config.flag("use_sliding_window", false) { width(Some(4096.0))? } else { None };
            (width, listed()?, Box::new(move |layer| layer.is_multiple_of(2) && layer < end))
        }
        Windows::NoRopeLayers => {
            let used = config.flag("use_sliding_window", false);
            (width(None)?, listed()?, Box::new(move |layer| used && !uses_rope[layer]))
        }
        Windows::FromLayer => {
            let first = config.number(&["max_window_layers"])?.unwrap_or(28.0) as usize;
            let width = if config.flag("use_sliding_window", false) { width(Some(4096.0))? } else { None };
            (width, listed()?, Box::new(move |layer| layer >= first))
        }
        Windows::AllBut { every, chosen, width: default } => {
            let chosen = if chosen { config.optional_size(&["sliding_window_pattern"], 1 << 12)? } else { None };
            let every = chosen.unwrap_or(every);
            (width(Some(default))?, listed()?, Box::new(move |layer| !(layer + 1).is_multiple_of(every)))
        }
    };
    let needs_width = match &kinds {
        Some(kinds) => kinds.iter().any(|kind| kind == "sliding_attention"),
        None => matches!(variant.windows, Windows::AllBut { .. }),
    };
    if width.is_none() && needs_width {
        return Err(config.error("some of its layers have a window, but it has no sliding_window"));
    }
    let slides =
        |layer: usize| kinds.as_ref().map_or_else(|| slides(layer), |kinds| kinds[layer] == "sliding_attention");
    Ok((0..n_layers).map(|layer| width.filter(|_| slides(layer))).collect())
}

/// How far a token sees, itself included, through a window of this width.
fn reach(config: &Config, variant: &Variant, width: usize) -> usize {
    // Gemma 3 counts both sides where it sees both; an encoder made of a decoder counts the token besides.
    let both_directions = variant.two_way == TwoWay::Supported && config.flag("use_bidirectional_attention", false);
    let width = if both_directions { width / 2 + 1 } else { width };
    if config.is_causal() { width } else { width + 1 }
}

fn norm(weights: &mut Weights<'_>, variant: &Variant, name: &str, d: usize, eps: f32) -> Result<Norm, LoadError> {
    match variant.norm {
        NormWeights::Rms => rms_norm(weights, name, d, eps, 0.0),
        NormWeights::RmsLessOne => rms_norm(weights, name, d, eps, 1.0),
        NormWeights::Layer => layer_norm(weights, name, d, eps),
        NormWeights::LayerWithoutBias => {
            let weight = weights.tensor(&format!("{name}.weight"), &[d])?;
            Ok(Norm { kind: NormKind::Layer, weight, bias: None, eps })
        }
    }
}

/// What sets one layer apart.
#[derive(Clone, Copy)]
struct LayerPlan {
    layer: usize,
    window: Option<usize>,
    /// Which of the rotary embeddings is its own; `None` where queries and keys are not rotated.
    rotary: Option<usize>,
    /// Whether it has a state in place of attention.
    is_linear: bool,
}

/// The heads of a layer.
fn heads_of_layer(
    config: &Config,
    weights: &mut Weights<'_>,
    variant: &Variant,
    shape: &DecoderShape,
    LayerPlan { layer, window, rotary, .. }: LayerPlan,
) -> Result<MultiHead, LoadError> {
    let DecoderShape { d_model, spec, biased, .. } = *shape;
    let name = |part: &str| format!("model.layers.{layer}.self_attn.{part}");
    if let Some(latent) = &shape.latent {
        let of_layer = format!("model.layers.{layer}.self_attn");
        let heads = latent.read(weights, &of_layer, d_model, (biased.qkv, biased.out))?;
        return Ok(MultiHead { rotary, causal: shape.causal, ..heads });
    }
    let (wide, narrow) = (spec.n_heads * spec.d_head, spec.n_kv_heads * spec.d_head);
    let [q, k, v] = ["q_proj", "k_proj", "v_proj"].map(name);
    let (qkv, gate) = match variant.fused {
        Fused::All => (map(weights, &name("qkv_proj"), (d_model, wide + 2 * narrow), biased.qkv)?, None),
        Fused::Nothing | Fused::Mlp if variant.has_gate => {
            // Each head's query stands before its gate.
            let of_heads = |first: usize| {
                (0..spec.n_heads).flat_map(move |head| {
                    let first = (2 * head + first) * spec.d_head;
                    first..first + spec.d_head
                })
            };
            let order: Vec<usize> = of_heads(0).chain(2 * wide..2 * (wide + narrow)).chain(of_heads(1)).collect();
            let part = |name, d_out| LinearPart { name, d_out, bias: biased.qkv };
            let parts = [part(&*q, 2 * wide), part(&*k, narrow), part(&*v, narrow)];
            let all = weights.linear_of(&parts, d_model, Stored::OutIn, Some(&order))?;
            let n = wide + 2 * narrow;
            (all.columns(0..n)?, Some(all.columns(n..n + wide)?))
        }
        Fused::Nothing | Fused::Mlp => {
            let Multipliers { read, keys, .. } = shape.multipliers;
            let part = |name, d_out| LinearPart { name, d_out, bias: biased.qkv };
            let factors = |n, factor| Factors { n, weights: read * factor, biases: factor };
            let parts = [part(&*q, wide), part(&*k, narrow), part(&*v, narrow)];
            let factors = [factors(wide, 1.0), factors(narrow, keys), factors(narrow, 1.0)];
            (weights.linear_of_times(&parts, &factors, d_model)?, None)
        }
    };
    let added = shape.multipliers.attention;
    let out = weights.linear_times(&name(variant.names.out), added, (wide, d_model), biased.out)?;
    let sinks = if variant.sinks { Some(weights.tensor(&name("sinks"), &[spec.n_heads])?) } else { None };
    let sink = sinks.map(|sinks| sinks.to_vec1::<f32>()).transpose()?.map(Into::into);
    Ok(MultiHead {
        sink,
        clip: shape.clip,
        qk_norm: qk_norm(config, weights, variant, shape, &format!("model.layers.{layer}.self_attn"))?,
        rotary,
        gate,
        ..MultiHead::plain(qkv, out, LayerSpec { window, ..spec }, shape.causal)
    })
}

fn block(
    config: &Config,
    weights: &mut Weights<'_>,
    variant: &Variant,
    shape: &DecoderShape,
    place: LayerPlan,
) -> Result<Block, LoadError> {
    let LayerPlan { layer, is_linear, .. } = place;
    let DecoderShape { d_model, eps, activation, .. } = *shape;
    let name = |part: &str| format!("model.layers.{layer}.{part}");
    let attention: Box<dyn Attention> = match shape.linear.as_ref().filter(|_| is_linear) {
        Some(linear) => {
            let sizes = (d_model, eps, shape.multipliers.attention);
            linear.read(weights, &name(variant.names.linear), sizes, activation)?
        }
        None => Box::new(heads_of_layer(config, weights, variant, shape, place)?),
    };
    let beside = shape.beside.as_ref();
    let read =
        |linear: &LinearShape| linear.read(weights, &name(variant.names.linear), (d_model, eps, 1.0), activation);
    let beside = beside.map(read).transpose()?;
    let mlp = mlp(weights, variant, shape, &format!("model.layers.{layer}"), layer)?;

    let mut norm = |part: &str| norm(weights, variant, &name(part), d_model, eps);
    let (attention_norms, mlp_norms) = match shape.norms {
        NormPlaces::Shared => {
            let before = Norms::pre(norm("input_layernorm")?);
            (before.clone(), before)
        }
        NormPlaces::Before => (Norms::pre(norm(variant.names.before)?), Norms::pre(norm(variant.names.before_mlp)?)),
        NormPlaces::Around([before, added, before_mlp, added_by_mlp]) => {
            let mut around =
                |before, added| Ok::<_, LoadError>(Norms { branch: Some(norm(added)?), ..Norms::pre(norm(before)?) });
            (around(before, added)?, around(before_mlp, added_by_mlp)?)
        }
        NormPlaces::After => {
            let mut added = |part| Ok::<_, LoadError>(Norms { branch: Some(norm(part)?), ..Norms::default() });
            (added("post_attention_layernorm")?, added("post_feedforward_layernorm")?)
        }
    };
    let parallel = shape.norms == NormPlaces::Shared;
    Ok(Block { beside, parallel, ..Block::new(attention, attention_norms, mlp, mlp_norms) })
}

/// The MLP of a layer whose tensors begin with `prefix`, or its experts.
fn mlp(
    weights: &mut Weights<'_>,
    variant: &Variant,
    shape: &DecoderShape,
    prefix: &str,
    layer: usize,
) -> Result<Box<dyn Mlp>, LoadError> {
    let DecoderShape { d_model, d_mlp, activation, biased, .. } = *shape;
    if let Some(experts) = shape.experts.as_ref().filter(|experts| experts.is_of(layer)) {
        let sizes = (d_model, biased.mlp, shape.multipliers.mlp);
        return Ok(Box::new(experts.read(weights, prefix, sizes, activation)?));
    }
    let name = |part: &str| format!("{prefix}.{part}");
    let [gate, up, down] = variant.names.mlp.map(name);
    let up = if variant.fused == Fused::Nothing {
        let part = |name| LinearPart { name, d_out: d_mlp, bias: biased.mlp };
        let factors = [Factors::of(d_mlp, shape.multipliers.gates), Factors::of(d_mlp, 1.0)];
        weights.linear_of_times(&[part(&gate), part(&up)], &factors, d_model)?
    } else {
        map(weights, &name(variant.names.fused_mlp), (d_model, 2 * d_mlp), biased.mlp)?
    };
    let down = weights.linear_times(&down, shape.multipliers.mlp, (d_mlp, d_model), biased.mlp)?;
    Ok(Box::new(Dense { up, activation, gated: true, down }))
}

fn qk_norm(
    config: &Config,
    weights: &mut Weights<'_>,
    variant: &Variant,
    shape: &DecoderShape,
    name: &str,
) -> Result<Option<QkNorm>, LoadError> {
    let LayerSpec { n_heads, n_kv_heads, d_head, .. } = shape.spec;
    let mut of_width = |part: &str, width: usize| -> Result<HeadNorm, LoadError> {
        let norm = norm(weights, variant, &format!("{name}.{part}"), width, shape.eps)?;
        Ok(HeadNorm { norm, by_head: None })
    };
    let (q, k) = match variant.qk_norm {
        QkNorms::None => return Ok(None),
        QkNorms::EachHead => {
            let [q, k] = variant.names.qk_norms;
            (of_width(q, d_head)?, of_width(k, d_head)?)
        }
        QkNorms::Whole => (of_width("q_norm", n_heads * d_head)?, of_width("k_norm", n_kv_heads * d_head)?),
        QkNorms::OwnIfConfigured => {
            if !config.flag("qk_layernorm", false) {
                return Ok(None);
            }
            let mut of_heads = |part: &str, n: usize| -> Result<HeadNorm, LoadError> {
                let names = (0..n).map(|head| format!("{name}.{part}.norms.{head}.weight"));
                let rows = names.map(|name| weights.tensor(&name, &[d_head])).collect::<Result<Vec<_>, _>>()?;
                each_head(Tensor::stack(&rows, 0)?, shape.eps)
            };
            (of_heads("q_layernorm", n_heads)?, of_heads("k_layernorm", n_kv_heads)?)
        }
        QkNorms::TableIfConfigured => {
            if !config.flag("use_qk_norm", false) {
                return Ok(None);
            }
            let mut of_heads = |part: &str, n: usize| -> Result<HeadNorm, LoadError> {
                each_head(weights.tensor(&format!("{name}.{part}.weight"), &[n, d_head])?, shape.eps)
            };
            (of_heads("q_norm", n_heads)?, of_heads("k_norm", n_kv_heads)?)
        }
    };
    Ok(Some(QkNorm::new(q, k)))
}

/// A layer norm without a bias of each head's vector, with weights of its own, `[heads, d_head]`.
fn each_head(by_head: Tensor, eps: f32) -> Result<HeadNorm, LoadError> {
    let weight = by_head.get(0)?.ones_like()?;
    let norm = Norm { kind: NormKind::Layer, weight, bias: None, eps };
    Ok(HeadNorm { norm, by_head: Some(by_head) })
}
