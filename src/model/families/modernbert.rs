//! ModernBERT: pre-norm encoder with rotary positions and gated MLPs; most layers see a window only. Also the decoder
//! of the same layers (Ettin).

use super::{
    Activation, BOS, Block, ClassHead, Config, Dense, EOS, Family, Head, HeadKind, LayerKind, LayerSpec, Linear,
    LoadError, MultiHead, Network, Norm, NormKind, Norms, OutputKind, PAD, Reads, Rotary, Stack, StackKind,
    TextEmbedding, TokenizerClass, Transform, Weights, class_ids, classifier, config_keys, decoder::layer_types,
    encoder::classifies_texts, encoder::classifies_tokens, encoder::token_classifier, map, n_classes, network,
    outcomes, qkv, table_name, vocabulary_map,
};

pub(super) const FAMILIES: &[Family] = &[
    Family {
        harmless: &[
            config_keys::CAUSALITY,
            config_keys::BESIDE_ROTARY,
            HEADS,
            // Kernels of another device, and which rows training computes.
            &["deterministic_flash_attn", "sparse_pred_ignore_index", "sparse_prediction"],
        ],
        limits: &[config_keys::HEAD_WIDTH],
        ids: IDS,
        tokenizer: TokenizerClass::OF_FILE,
        ..Family::encoder(ENCODER, |config, weights| build(config, weights, ENCODER))
    },
    Family {
        harmless: &[config_keys::BESIDE_ROTARY, HEADS],
        limits: &[config_keys::CAUSAL, config_keys::HEAD_WIDTH],
        ids: IDS,
        tokenizer: TokenizerClass::OF_FILE,
        ..Family::decoder(DECODER, |config, weights| build(config, weights, DECODER))
    },
];

const ENCODER: &str = "modernbert";
const DECODER: &str = "modernbert-decoder";
const IDS: super::ClassIds = &[(BOS, 50_281), (EOS, 50_282), (PAD, 50_283)];
/// What heads are asked for, which a checkpoint need not have.
const HEADS: &[&str] = &["classifier_activation", "classifier_bias", "classifier_pooling", "decoder_bias"];
const OUTPUT: &str = "decoder.weight";

struct Sizes {
    d_model: usize,
    d_mlp: usize,
    eps: f32,
    norm_bias: bool,
    activation: Activation,
    /// Whether it is the decoder, whose tokens see only those before them.
    causal: bool,
}

fn build(config: &Config, weights: &mut Weights<'_>, family: &'static str) -> Result<Network, LoadError> {
    let d_model = config.d_model()?;
    let sizes = Sizes {
        d_model,
        d_mlp: config.d_mlp()?.unwrap_or(1152),
        eps: config.norm_eps("norm_eps", 1e-5)?,
        norm_bias: config.flag("norm_bias", false),
        activation: config.activation("hidden_activation", Activation::Gelu)?,
        causal: family == DECODER,
    };
    let (n_vocab, n_ctx, n_heads) = (config.n_vocab()?, config.n_ctx()?, config.n_heads(d_model)?);
    let spec = LayerSpec::new(n_heads, d_model / n_heads);

    weights.set_prefix("model.", &["embeddings.tok_embeddings.weight", "embeddings.norm.weight"]);
    let word = table_name(config, weights, ["model.embeddings.tok_embeddings.weight", OUTPUT], true);
    let word = weights.table(&word, &[n_vocab, d_model])?;
    let norm = norm(weights, &sizes, "model.embeddings.norm")?;
    let embedding = TextEmbedding { norm: Some(norm), ..TextEmbedding::unending(word, n_ctx) };
    let mut blocks = Vec::new();
    for (layer, window) in windows(config, &sizes)?.into_iter().enumerate() {
        blocks.push(block(config, weights, &sizes, layer, LayerSpec { window, ..spec })?);
    }
    let final_norm = self::norm(weights, &sizes, "model.final_norm")?;
    let rotary = rotary(config, spec.d_head)?.to_vec();
    let head = if sizes.causal {
        decoder_head(config, weights, &sizes, &embedding)?
    } else {
        head(config, weights, &sizes, &embedding)?
    };
    let stack = Stack { rotary, ..Stack::new(StackKind::SelfAttention, blocks, Some(final_norm)) };
    Ok(network(family, (d_model, n_vocab), embedding, stack, head))
}

/// The window of each layer: `layer_types` names them, older files make every n-th layer global.
fn windows(config: &Config, sizes: &Sizes) -> Result<Vec<Option<usize>>, LoadError> {
    let n_layers = config.n_layers()?;
    let every = config.optional_size(&["global_attn_every_n_layers"], 1 << 12)?.unwrap_or(3);
    let kinds = layer_types(config, n_layers)?;
    let is_local = |layer: usize| match &kinds {
        Some(kinds) => kinds[layer] == "sliding_attention",
        None => !layer.is_multiple_of(every),
    };
    // `local_attention` counts both sides; `sliding_window`, which goes first, is half of it.
    let both = config.optional_size(&["local_attention"], 1 << 24)?.unwrap_or(128);
    let side = config.optional_size(&["sliding_window"], 1 << 24)?.unwrap_or(both / 2);
    // One side sees the token itself, too; where only one is seen, the token is one of the window's.
    let reach = if sizes.causal { side } else { side + 1 };
    if reach == 0 && (0..n_layers).any(is_local) {
        return Err(config.error("some of its layers have a window, but its local_attention leaves none"));
    }
    Ok((0..n_layers).map(|layer| is_local(layer).then_some(reach)).collect())
}

/// The rotary embeddings of global and of local layers.
fn rotary(config: &Config, d_head: usize) -> Result<[Rotary; 2], LoadError> {
    let of = |kind: &str, older: &'static str, default: f64| {
        let theta = config.number(&[older])?.unwrap_or(default);
        Rotary::of_kind(config, d_head, LayerKind { name: kind, theta, scaled: true })
    };
    Ok([of("full_attention", "global_rope_theta", 160_000.0)?, of("sliding_attention", "local_rope_theta", 10_000.0)?])
}

fn block(
    config: &Config,
    weights: &mut Weights<'_>,
    sizes: &Sizes,
    layer: usize,
    spec: LayerSpec,
) -> Result<Block, LoadError> {
    let &Sizes { d_model, d_mlp, activation, .. } = sizes;
    let name = |part: &str| format!("model.layers.{layer}.{part}");
    let bias = config.flag("attention_bias", false);
    let qkv = if sizes.causal {
        let [q, k, v] = ["q_proj", "k_proj", "v_proj"].map(|part| name(&format!("attn.{part}")));
        qkv(weights, [&q, &k, &v], d_model, spec, [bias; 3])?
    } else {
        map(weights, &name("attn.Wqkv"), (d_model, 3 * d_model), bias)?
    };
    let out = map(weights, &name("attn.Wo"), (d_model, d_model), bias)?;
    let rotary = Some(usize::from(spec.window.is_some()));
    let attention = MultiHead { rotary, ..MultiHead::plain(qkv, out, spec, sizes.causal) };
    // The first layer reads what the embedding's norm has normed already.
    let before = if layer == 0 { None } else { Some(norm(weights, sizes, &name("attn_norm"))?) };
    let bias = config.flag("mlp_bias", false);
    let up = map(weights, &name("mlp.Wi"), (d_model, 2 * d_mlp), bias)?;
    let down = map(weights, &name("mlp.Wo"), (d_mlp, d_model), bias)?;
    let mlp = Dense { gated: true, ..Dense::plain(up, activation, down) };
    let mlp_norms = Norms::pre(norm(weights, sizes, &name("mlp_norm"))?);
    Ok(Block::new(attention, Norms { before, ..Norms::default() }, mlp, mlp_norms))
}

fn norm(weights: &mut Weights<'_>, sizes: &Sizes, name: &str) -> Result<Norm, LoadError> {
    let shape = [sizes.d_model];
    let weight = weights.tensor(&format!("{name}.weight"), &shape)?;
    let bias = sizes.norm_bias.then(|| weights.tensor(&format!("{name}.bias"), &shape)).transpose()?;
    Ok(Norm { kind: NormKind::Layer, weight, bias, eps: sizes.eps })
}

/// All heads share the linear map, the activation and the norm before their output.
fn head(
    config: &Config,
    weights: &mut Weights<'_>,
    sizes: &Sizes,
    embedding: &TextEmbedding,
) -> Result<Option<Head>, LoadError> {
    let d_model = sizes.d_model;
    let of_tokens = classifies_tokens(config, weights);
    let of_texts = classifies_texts(config, weights, "classifier");
    let is_other = weights.has("classifier.weight") && !of_tokens && !of_texts;
    if is_other || !weights.has("head.dense.weight") {
        weights.note_absent("head.dense.weight");
        return Ok(None);
    }
    let transform = transform(config, weights, sizes, "head")?;
    if of_tokens {
        return token_classifier(config, weights, d_model, transform).map(Some);
    }
    if of_texts {
        let is_mean = config.text(&["classifier_pooling"]) == Some("mean");
        let reads = if is_mean { Reads::Mean { n_prefix: 0 } } else { Reads::First };
        let parts = ClassHead { kind: HeadKind::TextClass, reads, transform };
        return classifier(config, weights, "classifier", d_model, parts).map(Some);
    }
    let Some(output) = output(config, weights, embedding)? else { return Ok(None) };
    let (kind, outputs) = (HeadKind::MaskedLm, OutputKind::Tokens);
    Ok(Some(Head { kind, outputs, reads: Reads::Each, transform, output, labels: None, softcap: None }))
}

/// The linear map, activation and norm under `name` before a head's output.
fn transform(config: &Config, weights: &mut Weights<'_>, sizes: &Sizes, name: &str) -> Result<Transform, LoadError> {
    let d_model = sizes.d_model;
    let activation = config.activation("classifier_activation", Activation::Gelu)?;
    let bias = config.flag("classifier_bias", false);
    Ok(Transform {
        dense: Some(map(weights, &format!("{name}.dense"), (d_model, d_model), bias)?),
        activation: Some(activation),
        norm: Some(norm(weights, sizes, &format!("{name}.norm"))?),
        ..Transform::default()
    })
}

/// The map to the vocabulary.
fn output(config: &Config, weights: &mut Weights<'_>, embedding: &TextEmbedding) -> Result<Option<Linear>, LoadError> {
    let word = embedding.word.rows()?;
    let bias = config.flag("decoder_bias", true);
    let bias = bias.then(|| weights.tensor("decoder.bias", &[word.n_rows()?])).transpose()?;
    vocabulary_map(config, weights, OUTPUT, word, bias)
}

/// What follows a token, or the class of a text at its last token that is not padding.
fn decoder_head(
    config: &Config,
    weights: &mut Weights<'_>,
    sizes: &Sizes,
    embedding: &TextEmbedding,
) -> Result<Option<Head>, LoadError> {
    if classifies_texts(config, weights, "classifier") && weights.has("head.dense.weight") {
        let transform = transform(config, weights, sizes, "head")?;
        let kind = HeadKind::TextClass;
        let outcomes = outcomes(config, weights, kind, "classifier.weight")?;
        let n = n_classes(weights, "classifier.weight");
        let output = map(weights, "classifier", (sizes.d_model, n), config.flag("classifier_bias", false))?;
        let padding = config.token_ids_or_class(PAD, class_ids).first().copied();
        return Ok(Some(Head::class(kind, Reads::Last { padding }, transform, output, outcomes)));
    }
    if !weights.has("lm_head.dense.weight") {
        weights.note_absent("lm_head.dense.weight");
        return Ok(None);
    }
    let transform = transform(config, weights, sizes, "lm_head")?;
    Ok(output(config, weights, embedding)?.map(|output| Head { transform, ..Head::next_token(output) }))
}
