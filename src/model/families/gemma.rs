//! Gemma: norms whose weights are stored less one, scaled embeddings.

use super::{
    Activation, BOS, Biases, Convention, EOS, Family, Multipliers, NormWeights, OpinionPlan, PAD, TokenizerClass,
    TwoWay, Variant, config_keys, opinion,
};

pub(super) const FAMILIES: &[Family] =
    &[Family { opinion: Some(OpinionPlan::Decoder(opinion::gemma)), ..family(&VARIANT) }];

/// What its successors say as well.
pub(super) const fn family(variant: &'static Variant) -> Family {
    Family {
        harmless: &[config_keys::BESIDE_ROTARY, config_keys::GEMMA],
        limits: &[config_keys::CAUSAL, config_keys::ONE_DIRECTION],
        ids: &[(BOS, 2), (EOS, 1), (PAD, 0)],
        tokenizer: TokenizerClass::class(Convention::Gemma),
        ..Family::gated(variant)
    }
}

pub(super) const VARIANT: Variant = Variant {
    family: "gemma",
    biases: Biases::IfConfigured,
    two_way: TwoWay::Refused,
    norm: NormWeights::RmsLessOne,
    tied: true,
    // Its first files say `gelu` and mean its tanh form.
    activation: |config| {
        let activation = config.activation("hidden_act", Activation::GeluTanh)?;
        Ok(if config.text(&["hidden_act"]) == Some("gelu") { Activation::GeluTanh } else { activation })
    },
    multipliers: |config| Ok(Multipliers { embedding: (config.d_model()? as f32).sqrt(), ..Multipliers::NONE }),
    d_head: Some(256),
    n_kv_heads: Some(16),
    ..Variant::BASE
};
