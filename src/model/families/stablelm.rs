//! StableLM: layer norms, and a quarter of each head turned.

use super::{
    config_keys,
    family::{Family, Group},
    gated_decoder::build,
    variant::{Biases, Variant, one_rotary},
};
use crate::model::{
    checkpoint::ids::{BOS, EOS},
    input::TokenizerClass,
};

pub(super) const FAMILIES: &[Family] = &[Family {
    model_type: "stablelm",
    group: Some(Group::Decoder),
    build: Some(|config, weights| build(config, weights, VARIANT)),
    harmless: &[config_keys::BESIDE_ROTARY],
    limits: &[config_keys::CAUSAL],
    ids: &[(BOS, 0), (EOS, 0)],
    tokenizer: TokenizerClass::OF_FILE,
    ..Family::BASE
}];

const VARIANT: Variant = Variant {
    family: "stablelm",
    biases: Biases::IfUsed,
    layer_norms: true,
    eps: 1e-5,
    rotary: |config, d_head| one_rotary(config, d_head, Some(0.25)),
    n_kv_heads: Some(32),
    ..Variant::BASE
};
