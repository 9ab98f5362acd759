//! EuroBERT: LLaMA's layers in which every token sees all others.

use super::{
    Activation, BOS, Biases, ClassHead, Config, EOS, Family, FamilyGroup, Head, HeadKind, LoadError, Network, Output,
    PAD, Reads, Transform, Variant, Weights, classifier, config_keys, decoder::head as decoder_head,
    encoder::classifies_texts, gated_decoder, linear, network,
};

pub(super) const FAMILIES: &[Family] = &[Family {
    harmless: &[config_keys::CAUSALITY, config_keys::BESIDE_ROTARY, &["classifier_pooling"]],
    ids: &[(BOS, 128_000), (EOS, 128_001), (PAD, 128_001)],
    ..Family::new("eurobert", FamilyGroup::Encoder, build)
}];

const VARIANT: Variant =
    Variant { family: "eurobert", biases: Biases::IfConfiguredOrMlp, eps: ("rms_norm_eps", 1e-5), ..Variant::BASE };

fn build(config: &Config, weights: &mut Weights<'_>) -> Result<Network, LoadError> {
    let (embedding, stack) = gated_decoder::encoder(config, weights, &VARIANT)?;
    let (n_vocab, d_model) = embedding.word.rows()?.dims()?;
    let head = if classifies_texts(config, weights, "classifier") && weights.has("dense.weight") {
        Some(text_classifier(config, weights, d_model)?)
    } else {
        let output = Output { bias: config.flag("mlp_bias", false), ..Output::new("lm_head", VARIANT.tied) };
        let head = decoder_head(config, weights, output, embedding.word.rows()?)?;
        let here = |head: &Head| if head.kind == HeadKind::NextToken { HeadKind::MaskedLm } else { head.kind };
        head.map(|head| Head { kind: here(&head), ..head })
    };
    Ok(network(VARIANT.family, (d_model, n_vocab), embedding, stack, head))
}

/// The classifier of a text: of its first token, of the mean of all, or the mean of what it says about each.
fn text_classifier(config: &Config, weights: &mut Weights<'_>, d_model: usize) -> Result<Head, LoadError> {
    let reads = match config.text(&["classifier_pooling"]).unwrap_or("late") {
        "bos" => Reads::First,
        "mean" => Reads::Mean { n_prefix: 0 },
        "late" => Reads::MeanOfEach,
        other => return Err(config.error(format!("its classifier_pooling is “{other}”"))),
    };
    let dense = Some(linear(weights, "dense", d_model, d_model)?);
    let transform = Transform { dense, activation: Some(Activation::Gelu), ..Transform::default() };
    let parts = ClassHead { kind: HeadKind::TextClass, reads, transform };
    classifier(config, weights, "classifier", d_model, parts)
}
