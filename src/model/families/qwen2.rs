//! Qwen 2 and 2.5: biases of queries, keys and values.

use super::{Biases, Convention, Family, OpinionPlan, TokenizerClass, Variant, Windows, config_keys, opinion};

pub(super) const FAMILIES: &[Family] = &[Family {
    harmless: &[config_keys::BESIDE_ROTARY, &["use_sliding_window"]],
    tokenizer: TokenizerClass::always(Convention::Qwen2),
    opinion: Some(OpinionPlan::Decoder(opinion::qwen2)),
    ..Family::gated(&VARIANT)
}];

const VARIANT: Variant = Variant {
    family: "qwen2",
    biases: Biases::Always,
    windows: Windows::FromLayer,
    n_kv_heads: Some(32),
    ..Variant::BASE
};
