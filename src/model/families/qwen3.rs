//! Qwen 3: norms of each head's queries and keys.

use super::{
    config_keys,
    family::{Family, Group},
    gated_decoder::build,
    variant::{Biases, QkNorms, Variant, Windows},
};
use crate::model::input::{Convention, TokenizerClass};

pub(super) const FAMILIES: &[Family] = &[Family {
    model_type: "qwen3",
    group: Some(Group::Decoder),
    build: Some(|config, weights| build(config, weights, VARIANT)),
    harmless: &[config_keys::BESIDE_ROTARY, &["use_sliding_window"]],
    limits: &[config_keys::CAUSAL],
    tokenizer: TokenizerClass::class(Convention::Qwen2),
    ..Family::BASE
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
