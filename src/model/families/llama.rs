//! LLaMA, and models of its configuration, such as SmolLM and TinyLlama.

use super::{
    family::{Family, Group},
    gated_decoder::build,
    keys,
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
    harmless: &[keys::BESIDE_ROTARY],
    limits: &[keys::CAUSAL],
    ids: &[(BOS, 1), (EOS, 2)],
    tokenizer: TokenizerClass::NONE.alone(Convention::Llama),
    ..Family::BASE
}];

const VARIANT: Variant = Variant { family: "llama", biases: Biases::IfConfigured, mlp_bias: true, ..Variant::BASE };
