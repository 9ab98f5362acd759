//! LLaMA, and models of its configuration, such as SmolLM and TinyLlama.

use super::{
    config_keys,
    family::{Family, Group},
    gated_decoder::build,
    variant::{Biases, Variant},
};
use crate::model::{
    checkpoint::ids::{BOS, EOS},
    input::{Convention, TokenizerClass},
};

pub(super) const FAMILIES: &[Family] = &[Family {
    model_type: "llama",
    group: Some(Group::Decoder),
    build: Some(|config, weights| build(config, weights, VARIANT)),
    harmless: &[config_keys::BESIDE_ROTARY],
    limits: &[config_keys::CAUSAL],
    ids: &[(BOS, 1), (EOS, 2)],
    tokenizer: TokenizerClass::NONE.alone(Convention::Llama),
    ..Family::BASE
}];

const VARIANT: Variant = Variant { family: "llama", biases: Biases::IfConfigured, mlp_bias: true, ..Variant::BASE };
