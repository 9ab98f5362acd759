//! Longformer: RoBERTa whose layers see within windows, and whose class says which tokens see all.

use super::{
    Activation, BERT_BLOCK, BOS, Block, Config, Convention, EOS, Family, HeadNames, LoadError, Network, PAD, Sizes,
    Stack, StackKind, Stored, TokenizerClass, Weights, blocks, config_keys, count_from, embedding, encoder::head,
    linear, network,
};
use crate::model::network::global::{GlobalMaps, GlobalTokens, WithGlobal};

pub(super) const FAMILIES: &[Family] = &[Family {
    harmless: &[config_keys::CAUSALITY, config_keys::TABLES, &["onnx_export"]],
    ids: &[(BOS, 0), (EOS, 2), (PAD, 1)],
    tokenizer: TokenizerClass::class(Convention::Roberta),
    ..Family::encoder("longformer", build)
}];

/// Said of classes that let no token see all by themselves.
pub(super) const NOBODY: &str =
    "No token sees beyond its window until one is made global: this class leaves that to whoever calls it";

pub(super) fn build(config: &Config, weights: &mut Weights<'_>) -> Result<Network, LoadError> {
    let sizes = Sizes::both_ways(config, Activation::Gelu)?;
    weights.set_prefix("longformer.", &["embeddings.word_embeddings.weight", "embeddings.position_embeddings.weight"]);
    let names = HeadNames {
        dense: "lm_head.dense",
        activation: Activation::Gelu,
        norm: "lm_head.layer_norm",
        decoder: Some("lm_head.decoder"),
        bias: "lm_head.bias",
        pooler: "classifier.dense",
        pooled: Activation::Tanh,
        classifier: "classifier.out_proj",
    };
    let embedding = embedding(config, weights, &sizes, "longformer.embeddings", names.decoder, true)?;
    let embedding = count_from(config, config.token("pad_token_id").unwrap_or(1), embedding)?;
    let blocks = blocks(weights, &sizes, "longformer.encoder.layer", &BERT_BLOCK)?;
    let tokens = global_tokens(config);
    let windows = windows(config, sizes.n_layers)?;
    let blocks = blocks.into_iter().zip(windows).enumerate().map(|(layer, (block, window))| {
        see_within(weights, block, &format!("longformer.encoder.layer.{layer}.attention.self"), window)
    });
    let blocks = blocks.collect::<Result<Vec<_>, _>>()?;
    let head = head(config, weights, &sizes, &names, embedding.word.rows()?)?;
    if tokens.is_none() {
        weights.warn(NOBODY);
    }
    let stack = Stack { global: tokens, ..Stack::new(StackKind::SelfAttention, blocks, None) };
    Ok(network("longformer", (sizes.d_model, sizes.n_vocab), embedding, stack, head))
}

/// The tokens that a class lets see all when nobody tells it which.
fn global_tokens(config: &Config) -> GlobalTokens {
    let separator = config.token("sep_token_id").unwrap_or(2);
    let class = config.architecture().unwrap_or_default();
    if class.ends_with("ForSequenceClassification") {
        GlobalTokens::First
    } else if class.ends_with("ForQuestionAnswering") {
        GlobalTokens::Question { separator }
    } else if class.ends_with("ForMultipleChoice") {
        GlobalTokens::Choice { separator }
    } else {
        GlobalTokens::None
    }
}

/// How far each layer sees: as many positions in all, half of them on either side.
pub(super) fn windows(config: &Config, n_layers: usize) -> Result<Vec<usize>, LoadError> {
    let windows = config.size_of_layers("attention_window", n_layers, 512)?;
    if let Some(odd) = windows.iter().find(|window| !window.is_multiple_of(2)) {
        return Err(config.error(format!("attention_window is {odd}, which has no two halves")));
    }
    // What the first implementation knows and transformers leaves out.
    let dilated = config.size_of_layers("attention_dilation", n_layers, 1)?.iter().any(|dilation| *dilation != 1);
    if dilated || config.flag("autoregressive", false) {
        let what = "windows with gaps (attention_dilation) or without a right half (autoregressive) are not supported";
        return Err(config.unsupported(what.to_owned()));
    }
    Ok(windows)
}

/// A block whose attention sees within a window, with the maps under `name` for tokens that see all.
pub(super) fn see_within(
    weights: &mut Weights<'_>,
    block: Block,
    name: &str,
    window: usize,
) -> Result<Block, LoadError> {
    let Some(mut own) = block.attention.into_heads() else {
        let what = "windows are of layers in which queries are compared with keys";
        return Err(LoadError::Engine(candle_core::Error::Msg(what.to_owned())));
    };
    let spec = &mut own.spec;
    let d_model = spec.n_heads * spec.d_head;
    let q = linear(weights, &format!("{name}.query_global"), d_model, d_model)?;
    let kv = ["key_global", "value_global"].map(|part| format!("{name}.{part}"));
    let kv = weights.linear(&kv.each_ref().map(String::as_str), (d_model, d_model), Stored::OutIn, true)?;
    (spec.window, spec.global) = (Some(window / 2 + 1), true);
    Ok(Block { attention: Box::new(WithGlobal { own, maps: GlobalMaps { q, kv } }), ..block })
}
