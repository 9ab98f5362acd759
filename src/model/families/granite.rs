//! Granite: LLaMA with factors on embeddings, scores, what attention and MLP add, and logits.

use super::{BOS, Biases, Config, EOS, Family, LoadError, Multipliers, TokenizerClass, Variant};

pub(super) const FAMILIES: &[Family] =
    &[Family { ids: &[(BOS, 1), (EOS, 2)], tokenizer: TokenizerClass::OF_FILE, ..Family::gated(&VARIANT) }];

const VARIANT: Variant = Variant { family: "granite", biases: Biases::IfConfiguredOrMlp, multipliers, ..Variant::BASE };

pub(super) fn multipliers(config: &Config) -> Result<Multipliers, LoadError> {
    let number = |name| Ok::<_, LoadError>(config.number(&[name])?.unwrap_or(1.0) as f32);
    let divisor = number("logits_scaling")?;
    if divisor == 0.0 {
        return Err(config.error("its logits_scaling is 0"));
    }
    let added = number("residual_multiplier")?;
    Ok(Multipliers {
        embedding: number("embedding_multiplier")?,
        scores: Some(number("attention_multiplier")?),
        attention: added,
        mlp: added,
        logits: divisor.recip(),
        ..Multipliers::NONE
    })
}
