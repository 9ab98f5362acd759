//! ELECTRA: BERT's layers, often on narrower embeddings. The discriminator tells replaced tokens from
//! original ones; the generator fills in tokens.

use candle_core::Tensor;

use super::{
    Activation, BERT_BLOCK, Config, Convention, Family, Head, HeadClass, HeadKind, HeadNames, Linear, LoadError,
    Network, Outcomes, OutputKind, PAD, Reads, Sizes, Stack, StackKind, TokenizerClass, Transform, Weights, blocks,
    config_keys, embedding, encoder::head, linear, network,
};

pub(super) const FAMILIES: &[Family] = &[Family {
    harmless: &[config_keys::CAUSALITY, config_keys::SUMMARY, config_keys::TABLES],
    ids: &[(PAD, 0)],
    tokenizer: TokenizerClass::class(Convention::Bert),
    pretraining: HeadClass::TokenClass,
    ..Family::encoder("electra", build)
}];

pub(super) fn build(config: &Config, weights: &mut Weights<'_>) -> Result<Network, LoadError> {
    let d_embedding = config.d_embedding()?.unwrap_or(128);
    let sizes = Sizes { d_embedding, ..Sizes::read(config, Activation::Gelu)? };
    weights.set_prefix("electra.", &["embeddings.word_embeddings.weight", "embeddings.position_embeddings.weight"]);
    let names = HeadNames {
        dense: "generator_predictions.dense",
        activation: Activation::Gelu,
        norm: "generator_predictions.LayerNorm",
        decoder: Some("generator_lm_head"),
        bias: "generator_lm_head.bias",
        pooler: "classifier.dense",
        pooled: Activation::Gelu,
        classifier: "classifier.out_proj",
    };
    let mut embedding = embedding(config, weights, &sizes, "electra.embeddings", names.decoder, true)?;
    if sizes.d_embedding != sizes.d_model {
        let projection = linear(weights, "electra.embeddings_project", sizes.d_embedding, sizes.d_model)?;
        embedding.projection = Some(projection);
    }
    let blocks = blocks(weights, &sizes, "electra.encoder.layer", &BERT_BLOCK)?;
    let discriminates = config.architecture().is_none_or(|class| class.ends_with("ForPreTraining"));
    let head = if discriminates && weights.has("discriminator_predictions.dense.weight") {
        Some(discriminator(weights, &sizes)?)
    } else {
        head(config, weights, &sizes, &names, embedding.word.rows()?)?
    };
    let stack = Stack::new(StackKind::SelfAttention, blocks, None);
    Ok(network("electra", (sizes.d_model, sizes.n_vocab), embedding, stack, head))
}

/// The file has one logit per token, for “replaced”; zero beside it makes the softmax of both its sigmoid.
fn discriminator(weights: &mut Weights<'_>, sizes: &Sizes) -> Result<Head, LoadError> {
    let name = |part: &str| format!("discriminator_predictions.{part}");
    let dense = linear(weights, &name("dense"), sizes.d_model, sizes.d_model)?;
    let weight = weights.tensor(&name("dense_prediction.weight"), &[1, sizes.d_model])?;
    let bias = weights.tensor(&name("dense_prediction.bias"), &[1])?;
    let output = Linear::new(
        Tensor::cat(&[&weight.zeros_like()?, &weight], 0)?.t()?,
        Some(Tensor::cat(&[&bias.zeros_like()?, &bias], 0)?),
    )?;
    let transform = Transform { dense: Some(dense), activation: Some(sizes.activation), ..Transform::default() };
    let names = ["original", "replaced"].map(str::to_owned).to_vec();
    let outcomes = Outcomes { kind: OutputKind::Classes, names };
    Ok(Head::class(HeadKind::TokenClass, Reads::Each, transform, output, outcomes))
}
