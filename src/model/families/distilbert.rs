//! DistilBERT: BERT without segments.

use super::{
    Activation, BlockNames, Config, Convention, Family, HeadNames, LoadError, Network, OpinionPlan, PAD, Sizes, Stack,
    StackKind, TokenizerClass, Weights, blocks, config_keys, embedding, encoder::head, network, opinion,
};

pub(super) const FAMILIES: &[Family] = &[Family {
    // The weights have the table that it says how to compute.
    harmless: &[config_keys::CAUSALITY, &["sinusoidal_pos_embds"]],
    aliases: &[("hidden_size", "dim"), ("num_attention_heads", "n_heads"), ("num_hidden_layers", "n_layers")],
    ids: &[(PAD, 0)],
    tokenizer: TokenizerClass::class(Convention::Bert),
    opinion: Some(OpinionPlan::Any(opinion::distilbert)),
    ..Family::encoder("distilbert", build)
}];

const BLOCK: BlockNames = BlockNames {
    qkv: ["attention.q_lin", "attention.k_lin", "attention.v_lin"],
    out: "attention.out_lin",
    attention_norm: "sa_layer_norm",
    mlp: ["ffn.lin1", "ffn.lin2"],
    mlp_norm: "output_layer_norm",
};

pub(super) fn build(config: &Config, weights: &mut Weights<'_>) -> Result<Network, LoadError> {
    // No configuration changes what is added to the variance.
    let sizes = Sizes::of(config, 1e-12, config.activation("activation", Activation::Gelu)?)?;
    weights.set_prefix("distilbert.", &["embeddings.word_embeddings.weight", "embeddings.position_embeddings.weight"]);
    let names = HeadNames {
        dense: "vocab_transform",
        activation: sizes.activation,
        norm: "vocab_layer_norm",
        decoder: Some("vocab_projector"),
        bias: "vocab_projector.bias",
        pooler: "pre_classifier",
        pooled: Activation::Relu,
        classifier: "classifier",
    };
    let embedding = embedding(config, weights, &sizes, "distilbert.embeddings", names.decoder, false)?;
    let blocks = blocks(weights, &sizes, "distilbert.transformer.layer", &BLOCK)?;
    let head = head(config, weights, &sizes, &names, embedding.word.rows()?)?;
    let stack = Stack::new(StackKind::SelfAttention, blocks, None);
    Ok(network("distilbert", (sizes.d_model, sizes.n_vocab), embedding, stack, head))
}
