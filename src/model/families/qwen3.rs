//! Qwen 3: norms of each head's queries and keys.

use super::{Biases, Convention, Family, OpinionPlan, QkNorms, TokenizerClass, Variant, Windows, config_keys, opinion};

pub(super) const FAMILIES: &[Family] = &[Family {
    harmless: &[config_keys::BESIDE_ROTARY, &["use_sliding_window"]],
    tokenizer: TokenizerClass::class(Convention::Qwen2),
    opinion: Some(OpinionPlan::Decoder(opinion::qwen3)),
    ..Family::gated(&VARIANT)
}];

const VARIANT: Variant = Variant {
    family: "qwen3",
    biases: Biases::IfConfigured,
    qk_norm: QkNorms::EachHead,
    windows: Windows::FromLayer,
    d_head: Some(128),
    n_kv_heads: Some(32),
    ..Variant::BASE
};
