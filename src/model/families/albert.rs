//! ALBERT: BERT with narrow embeddings and layers that share their weights.

use std::sync::Arc;

use super::{
    Activation, BOS, Block, BlockNames, Config, Convention, EOS, Family, HeadNames, LoadError, MAX_LAYERS, Network,
    PAD, Sizes, Stack, StackKind, TokenizerClass, Weights, config_keys, embedding, encoder::block, encoder::head,
    linear, network,
};

pub(super) const FAMILIES: &[Family] = &[Family {
    harmless: &[
        config_keys::CAUSALITY,
        config_keys::TABLES,
        &["gap_size", "inner_group_num", "net_structure_type", "num_memory_blocks"],
    ],
    ids: &[(BOS, 2), (EOS, 3), (PAD, 0)],
    tokenizer: TokenizerClass::class(Convention::Albert),
    ..Family::encoder("albert", build)
}];

const BLOCK: BlockNames = BlockNames {
    qkv: ["attention.query", "attention.key", "attention.value"],
    out: "attention.dense",
    attention_norm: "attention.LayerNorm",
    mlp: ["ffn", "ffn_output"],
    mlp_norm: "full_layer_layer_norm",
};

pub(super) fn build(config: &Config, weights: &mut Weights<'_>) -> Result<Network, LoadError> {
    let d_embedding = config.d_embedding()?.unwrap_or(128);
    let sizes = Sizes { d_embedding, ..Sizes::both_ways(config, Activation::GeluTanh)? };
    weights.set_prefix("albert.", &["embeddings.word_embeddings.weight", "embeddings.position_embeddings.weight"]);
    let names = HeadNames {
        dense: "predictions.dense",
        activation: sizes.activation,
        norm: "predictions.LayerNorm",
        decoder: Some("predictions.decoder"),
        bias: "predictions.bias",
        pooler: "albert.pooler",
        pooled: Activation::Tanh,
        classifier: "classifier",
    };
    let mut embedding = embedding(config, weights, &sizes, "albert.embeddings", names.decoder, true)?;
    let mapping = "albert.encoder.embedding_hidden_mapping_in";
    embedding.projection = Some(linear(weights, mapping, sizes.d_embedding, sizes.d_model)?);
    let stack =
        Stack { blocks: blocks(config, weights, &sizes)?, ..Stack::new(StackKind::SelfAttention, vec![], None) };
    let head = head(config, weights, &sizes, &names, embedding.word.rows()?)?;
    Ok(network("albert", (sizes.d_model, sizes.n_vocab), embedding, stack, head))
}

/// Consecutive layers belong to one group and share its blocks; each layer runs all of them.
fn blocks(config: &Config, weights: &mut Weights<'_>, sizes: &Sizes) -> Result<Vec<Arc<Block>>, LoadError> {
    let n_layers = sizes.n_layers;
    let n_groups = config.optional_size(&["num_hidden_groups"], n_layers)?.unwrap_or(1);
    let n_inner = config.optional_size(&["inner_group_num"], MAX_LAYERS / n_layers)?.unwrap_or(1);
    let mut groups = Vec::new();
    for group in 0..n_groups {
        let mut blocks = Vec::new();
        for inner in 0..n_inner {
            let name = format!("albert.encoder.albert_layer_groups.{group}.albert_layers.{inner}");
            blocks.push(Arc::new(block(weights, sizes, &name, &BLOCK)?));
        }
        groups.push(blocks);
    }
    // Divided as the reference divides.
    let group_of = |layer: usize| (layer as f64 / (n_layers as f64 / n_groups as f64)) as usize;
    Ok((0..n_layers).flat_map(|layer| groups[group_of(layer)].clone()).collect())
}
