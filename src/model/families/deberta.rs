//! DeBERTa-v2 and v3: BERT whose scores also compare contents with relative positions.

use candle_core::Tensor;

use super::{
    Activation, BlockNames, Config, Convention, Family, HeadNames, LoadError, Network, PAD, Positions, RelativeBias,
    Sizes, Stack, StackKind, TextEmbedding, TokenizerClass, Weights, config_keys, encoder::block, encoder::head,
    encoder::segments, encoder::word_table, layer_norm, linear, network,
};
use crate::model::network::{
    convolution::Convolution,
    disentangled::{Disentangled, Distances},
};

pub(super) const FAMILIES: &[Family] = &[Family {
    harmless: &[
        config_keys::CAUSALITY,
        config_keys::TABLES,
        // Of a convolution, where there is one.
        &["conv_act", "conv_groups", "legacy", "max_relative_positions", "pooler_hidden_act", "pooler_hidden_size"],
    ],
    ids: &[(PAD, 0)],
    tokenizer: TokenizerClass::class(Convention::DebertaV2),
    ..Family::encoder("deberta-v2", build)
}];

/// The widest convolution; far above the published ones of 3.
const MAX_CONVOLUTION: usize = 1 << 10;

const BLOCK: BlockNames = BlockNames {
    qkv: ["attention.self.query_proj", "attention.self.key_proj", "attention.self.value_proj"],
    out: "attention.output.dense",
    attention_norm: "attention.output.LayerNorm",
    mlp: ["intermediate.dense", "output.dense"],
    mlp_norm: "output.LayerNorm",
};

pub(super) fn build(config: &Config, weights: &mut Weights<'_>) -> Result<Network, LoadError> {
    let mut sizes = Sizes::both_ways(config, Activation::Gelu)?;
    sizes.eps = config.norm_eps("layer_norm_eps", 1e-7)?;
    if config.d_embedding()?.is_some_and(|width| width != sizes.d_model) {
        return Err(config.unsupported("a DeBERTa with narrower embeddings (embedding_size) is not supported"));
    }
    let d_head = sizes.spec.d_head;
    if let Some(width) = config.optional_size(&["attention_head_size"], sizes.d_model)?.filter(|width| *width != d_head)
    {
        return Err(config.unsupported(format!("heads {width} wide (attention_head_size) are not supported")));
    }
    // Contents with contents, contents with positions, positions with contents: each adds to the variance.
    let kinds = Kinds::read(config);
    let n_terms = 1 + usize::from(kinds.keys) + usize::from(kinds.queries);
    sizes.spec.scale = 1.0 / ((sizes.spec.d_head * n_terms) as f32).sqrt();
    let is_relative = config.flag("relative_attention", false);
    sizes.spec.biased = is_relative && n_terms > 1;

    let query = "encoder.layer.0.attention.self.query_proj.weight";
    weights.set_prefix("deberta.", &["embeddings.word_embeddings.weight", query]);
    let names = head_names(config, weights, &sizes)?;
    let embedding = embedding(config, weights, &sizes, names.decoder)?;
    let positions = if is_relative { Some(positions(config, weights, &sizes)?) } else { None };
    let mut blocks = Vec::new();
    for layer in 0..sizes.n_layers {
        let name = format!("deberta.encoder.layer.{layer}");
        let mut block = block(weights, &sizes, &name, &BLOCK)?;
        if let Some((table, distances)) = &positions {
            let disentangled = compare(weights, &sizes, kinds, &name, table, *distances)?;
            if let Some(heads) = block.attention.heads_mut() {
                heads.bias = Some(RelativeBias::Disentangled(disentangled));
            }
        }
        blocks.push(block);
    }
    let head = head(config, weights, &sizes, &names, embedding.word.rows()?)?;
    let convolution = convolution(config, weights, &sizes)?;
    let stack = Stack { convolution, ..Stack::new(StackKind::SelfAttention, blocks, None) };
    Ok(network("deberta-v2", (sizes.d_model, sizes.n_vocab), embedding, stack, head))
}

/// The convolution beside the first layer, where the configuration gives it a width.
fn convolution(config: &Config, weights: &mut Weights<'_>, sizes: &Sizes) -> Result<Option<Convolution>, LoadError> {
    let Some(width) = config.number(&["conv_kernel_size"])?.filter(|width| *width > 0.0) else { return Ok(None) };
    let width = width as usize;
    if width.is_multiple_of(2) || width > MAX_CONVOLUTION {
        return Err(config.unsupported(format!("a convolution of {width} tokens (conv_kernel_size) is not supported")));
    }
    let d_model = sizes.d_model;
    let n_groups = config.optional_size(&["conv_groups"], d_model)?.unwrap_or(1);
    if !d_model.is_multiple_of(n_groups) {
        return Err(config.error(format!("{n_groups} groups (conv_groups) do not divide a width of {d_model}")));
    }
    let name = |part: &str| format!("deberta.encoder.conv.{part}");
    let kernel = weights.tensor(&name("conv.weight"), &[d_model, d_model / n_groups, width])?;
    let bias = weights.tensor(&name("conv.bias"), &[d_model])?;
    Ok(Some(Convolution {
        map: Convolution::map_of(&kernel, bias)?,
        width,
        activation: config.activation("conv_act", Activation::Tanh)?,
        norm: layer_norm(weights, &name("LayerNorm"), d_model, sizes.eps)?,
    }))
}

/// Which terms besides contents with contents the scores have.
#[derive(Clone, Copy)]
struct Kinds {
    /// Contents with positions, which need keys of their own.
    keys: bool,
    /// Positions with contents, which need queries of their own.
    queries: bool,
    /// Whether positions go through the maps of the contents.
    shared: bool,
}

impl Kinds {
    fn read(config: &Config) -> Self {
        let listed = config.names("pos_att_type").unwrap_or_else(|| {
            let text = config.text(&["pos_att_type"]).unwrap_or_default().to_lowercase();
            text.split('|').map(|kind| kind.trim().to_owned()).collect()
        });
        let has = |kind: &str| listed.iter().any(|listed| listed == kind);
        Self { keys: has("c2p"), queries: has("p2c"), shared: config.flag("share_att_key", false) }
    }
}

/// Tokens, which may be stored as the `output` map that they are tied to, positions and segments.
fn embedding(
    config: &Config,
    weights: &mut Weights<'_>,
    sizes: &Sizes,
    output: Option<&str>,
) -> Result<TextEmbedding, LoadError> {
    let &Sizes { d_model, n_vocab, n_positions, eps, .. } = sizes;
    let name = |part: &str| format!("deberta.embeddings.{part}");
    let word = word_table(config, weights, &name("word_embeddings.weight"), output);
    let word = weights.table(&word, &[n_vocab, d_model])?;
    let table = name("position_embeddings.weight");
    let (position, tokens) = if config.flag("position_biased_input", true) {
        let positions = Positions::from_zero(weights.tensor(&table, &[n_positions, d_model])?);
        (Some(positions), TextEmbedding::tokens(word, n_positions))
    } else {
        weights.skip(&table);
        (None, TextEmbedding::unending(word, n_positions))
    };
    let has_segments = config.number(&["type_vocab_size"])?.is_some_and(|n| n > 0.0);
    let table = name("token_type_embeddings.weight");
    let segment = if has_segments { segments(weights, sizes, &table)? } else { None };
    let norm = Some(layer_norm(weights, &name("LayerNorm"), d_model, eps)?);
    weights.skip(&name("position_ids"));
    Ok(TextEmbedding { position, segment, norm, ..tokens })
}

/// The table of relative positions `[2 · span, d_model]`, normed, and how distances share its rows.
fn positions(config: &Config, weights: &mut Weights<'_>, sizes: &Sizes) -> Result<(Tensor, Distances), LoadError> {
    // Negative numbers stand for “none”.
    let size = |name: &'static str| -> Result<Option<usize>, LoadError> {
        match config.number(&[name])? {
            Some(n) if n > 0.0 => config.optional_size(&[name], 1 << 20),
            _ => Ok(None),
        }
    };
    let furthest = size("max_relative_positions")?.unwrap_or(sizes.n_positions);
    let n_buckets = size("position_buckets")?;
    let distances = Distances { span: n_buckets.unwrap_or(furthest), logarithmic: n_buckets.and(Some(furthest)) };
    let name = "deberta.encoder.rel_embeddings.weight";
    let table = weights.tensor(name, &[2 * distances.span, sizes.d_model])?;
    let is_normed = config.text(&["norm_rel_ebd"]).unwrap_or("none").to_lowercase().contains("layer_norm");
    if !is_normed {
        return Ok((table, distances));
    }
    let norm = layer_norm(weights, "deberta.encoder.LayerNorm", sizes.d_model, sizes.eps)?;
    Ok((if weights.is_rehearsing() { table } else { norm.forward(&table)? }, distances))
}

/// The table as the layer under `name` sees it.
fn compare(
    weights: &mut Weights<'_>,
    sizes: &Sizes,
    kinds: Kinds,
    name: &str,
    table: &Tensor,
    distances: Distances,
) -> Result<Disentangled, LoadError> {
    let spec = sizes.spec;
    let mut by_head = |part: &str| -> Result<Tensor, LoadError> {
        let name = format!("{name}.attention.self.{part}");
        let map = linear(weights, &name, sizes.d_model, sizes.d_model)?;
        let mapped = if weights.is_rehearsing() { table.clone() } else { map.forward(table)? };
        Ok(mapped.reshape(((), spec.n_heads, spec.d_head))?.transpose(0, 1)?.contiguous()?)
    };
    let [key, query] = if kinds.shared { ["key_proj", "query_proj"] } else { ["pos_key_proj", "pos_query_proj"] };
    Ok(Disentangled {
        keys: kinds.keys.then(|| by_head(key)).transpose()?,
        queries: kinds.queries.then(|| by_head(query)).transpose()?,
        distances,
    })
}

/// The names of the heads, whose vocabulary part has older and newer ones.
fn head_names(config: &Config, weights: &Weights<'_>, sizes: &Sizes) -> Result<HeadNames, LoadError> {
    let older = HeadNames {
        dense: "cls.predictions.transform.dense",
        activation: sizes.activation,
        norm: "cls.predictions.transform.LayerNorm",
        decoder: Some("cls.predictions.decoder"),
        bias: "cls.predictions.bias",
        pooler: "pooler.dense",
        pooled: config.activation("pooler_hidden_act", Activation::Gelu)?,
        classifier: "classifier",
    };
    if !weights.has("lm_predictions.lm_head.dense.weight") {
        return Ok(older);
    }
    Ok(HeadNames {
        dense: "lm_predictions.lm_head.dense",
        norm: "lm_predictions.lm_head.LayerNorm",
        decoder: None,
        bias: "lm_predictions.lm_head.bias",
        ..older
    })
}
