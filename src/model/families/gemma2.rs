//! Gemma 2: norms of what attention and MLP add, soft caps, windows in every other layer.

use super::{Activation, Family, NormPlaces, OpinionPlan, Variant, Windows, gemma, opinion, variant::Caps};

pub(super) const FAMILIES: &[Family] =
    &[Family { opinion: Some(OpinionPlan::Decoder(opinion::gemma2)), ..gemma::family(&VARIANT) }];

pub(super) const VARIANT: Variant = Variant {
    family: "gemma2",
    norms: |_| {
        NormPlaces::Around([
            "input_layernorm",
            "post_attention_layernorm",
            "pre_feedforward_layernorm",
            "post_feedforward_layernorm",
        ])
    },
    activation: |config| config.activation("hidden_activation", Activation::GeluTanh),
    windows: Windows::AllBut { every: 2, chosen: false, width: 4096.0 },
    n_kv_heads: Some(4),
    caps: Some(Caps { scores: Some(50.0), logits: Some(30.0) }),
    ..gemma::VARIANT
};
