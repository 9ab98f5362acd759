//! Granite: LLaMA with factors on embeddings, scores, what attention and MLP add, and logits.

use super::{
    config_keys,
    family::{Family, Group},
    gated_decoder::build,
    variant::{Biases, Multipliers, Variant},
};
use crate::model::{
    LoadError,
    checkpoint::{
        Config,
        ids::{BOS, EOS},
    },
    input::TokenizerClass,
};

pub(super) const FAMILIES: &[Family] = &[Family {
    model_type: "granite",
    group: Some(Group::Decoder),
    build: Some(|config, weights| build(config, weights, VARIANT)),
    harmless: &[config_keys::BESIDE_ROTARY],
    limits: &[config_keys::CAUSAL],
    ids: &[(BOS, 1), (EOS, 2)],
    tokenizer: TokenizerClass::OF_FILE,
    ..Family::BASE
}];

const VARIANT: Variant =
    Variant { family: "granite", biases: Biases::IfConfigured, mlp_bias: true, multipliers, ..Variant::BASE };

fn multipliers(config: &Config) -> Result<Multipliers, LoadError> {
    let number = |name| Ok::<_, LoadError>(config.number(&[name])?.unwrap_or(1.0) as f32);
    let divisor = number("logits_scaling")?;
    if divisor == 0.0 {
        return Err(config.error("its logits_scaling is 0"));
    }
    Ok(Multipliers {
        embedding: number("embedding_multiplier")?,
        scores: Some(number("attention_multiplier")?),
        added: number("residual_multiplier")?,
        logits: divisor.recip(),
    })
}
