//! RoBERTa, XLM-RoBERTa and CamemBERT: BERT with positions that pass over padding.

use super::{
    Activation, BERT_BLOCK, BOS, Config, Convention, EOS, Family, HeadNames, LoadError, Network, PAD, Sizes, Stack,
    StackKind, TokenizerClass, Weights, blocks, count_from, embedding, encoder::head, network,
};

pub(super) const FAMILIES: &[Family] = &[
    Family {
        ids: &[(BOS, 0), (EOS, 2), (PAD, 1)],
        tokenizer: TokenizerClass::class(Convention::Camembert),
        ..Family::encoder("camembert", |config, weights| build(config, "camembert", weights))
    },
    Family {
        ids: &[(BOS, 0), (EOS, 2), (PAD, 1)],
        tokenizer: TokenizerClass::class(Convention::Roberta),
        ..Family::encoder("roberta", |config, weights| build(config, "roberta", weights))
    },
    Family {
        ids: &[(BOS, 0), (EOS, 2), (PAD, 1)],
        tokenizer: TokenizerClass::class(Convention::XlmRoberta),
        ..Family::encoder("xlm-roberta", |config, weights| build(config, "xlm-roberta", weights))
    },
];

pub(super) fn build(config: &Config, family: &'static str, weights: &mut Weights<'_>) -> Result<Network, LoadError> {
    let sizes = Sizes::read(config, Activation::Gelu)?;
    weights.set_prefix("roberta.", &["embeddings.word_embeddings.weight", "embeddings.position_embeddings.weight"]);
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
    let embedding = embedding(config, weights, &sizes, "roberta.embeddings", names.decoder, true)?;
    let embedding = count_from(config, config.token("pad_token_id").unwrap_or(1), embedding)?;
    let blocks = blocks(weights, &sizes, "roberta.encoder.layer", &BERT_BLOCK)?;
    let head = head(config, weights, &sizes, &names, embedding.word.rows()?)?;
    let stack = Stack::new(StackKind::SelfAttention, blocks, None);
    Ok(network(family, (sizes.d_model, sizes.n_vocab), embedding, stack, head))
}
