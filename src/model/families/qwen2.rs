//! Qwen 2 and 2.5: biases of queries, keys and values.

use super::{
    config_keys,
    family::{Family, Group},
    gated_decoder::build,
    variant::{Biases, Variant, Windows},
};
use crate::model::input::{Convention, TokenizerClass};

pub(super) const FAMILIES: &[Family] = &[Family {
    model_type: "qwen2",
    group: Some(Group::Decoder),
    build: Some(|config, weights| build(config, weights, VARIANT)),
    harmless: &[config_keys::BESIDE_ROTARY, &["use_sliding_window"]],
    limits: &[config_keys::CAUSAL],
    tokenizer: TokenizerClass::always(Convention::Qwen2),
    ..Family::BASE
}];

const VARIANT: Variant = Variant {
    family: "qwen2",
    biases: Biases::Always,
    windows: Windows::FromLayer,
    n_kv_heads: Some(32),
    ..Variant::BASE
};
