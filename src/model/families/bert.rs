//! BERT: post-norm encoder with learned positions and segments. Sentence-transformers of this
//! architecture are the same without a head.

use super::{
    Activation, BERT_BLOCK, Config, Convention, Family, HeadNames, LoadError, Network, OpinionPlan, PAD, Sizes, Stack,
    StackKind, TokenizerClass, Weights, blocks, embedding, encoder::head, network, opinion,
};

pub(super) const FAMILIES: &[Family] = &[Family {
    ids: &[(PAD, 0)],
    tokenizer: TokenizerClass::class(Convention::Bert),
    classes: &["Bert"],
    opinion: Some(OpinionPlan::Any(opinion::bert)),
    ..Family::encoder("bert", build)
}];

pub(super) fn build(config: &Config, weights: &mut Weights<'_>) -> Result<Network, LoadError> {
    let sizes = Sizes::read(config, Activation::Gelu)?;
    weights.set_prefix("bert.", &["embeddings.word_embeddings.weight", "embeddings.position_embeddings.weight"]);
    let names = HeadNames {
        dense: "cls.predictions.transform.dense",
        activation: sizes.activation,
        norm: "cls.predictions.transform.LayerNorm",
        decoder: Some("cls.predictions.decoder"),
        bias: "cls.predictions.bias",
        pooler: "bert.pooler.dense",
        pooled: Activation::Tanh,
        classifier: "classifier",
    };
    let embedding = embedding(config, weights, &sizes, "bert.embeddings", names.decoder, true)?;
    let blocks = blocks(weights, &sizes, "bert.encoder.layer", &BERT_BLOCK)?;
    let head = head(config, weights, &sizes, &names, embedding.word.rows()?)?;
    let stack = Stack::new(StackKind::SelfAttention, blocks, None);
    Ok(network("bert", (sizes.d_model, sizes.n_vocab), embedding, stack, head))
}
