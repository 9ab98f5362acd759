//! Mistral: windows in all layers.

use super::{
    config_keys,
    family::{Family, Group},
    gated_decoder::build,
    variant::{Variant, Windows},
};
use crate::model::{
    checkpoint::ids::{BOS, EOS},
    input::{Convention, TokenizerClass},
};

pub(super) const FAMILIES: &[Family] = &[Family {
    model_type: "mistral",
    group: Some(Group::Decoder),
    build: Some(|config, weights| build(config, weights, VARIANT)),
    harmless: &[config_keys::BESIDE_ROTARY],
    limits: &[config_keys::CAUSAL],
    ids: &[(BOS, 1), (EOS, 2)],
    tokenizer: TokenizerClass::OF_FILE.alone(Convention::Llama),
    ..Family::BASE
}];

const VARIANT: Variant =
    Variant { family: "mistral", windows: Windows::All(Some(4096.0)), n_kv_heads: Some(8), ..Variant::BASE };
