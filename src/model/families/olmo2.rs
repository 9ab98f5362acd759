//! `OLMo` 2: norms of what attention and MLP add, and of all heads' queries and keys side by side.

use super::{
    config_keys,
    family::{Family, Group},
    gated_decoder::build,
    variant::{Biases, NormPlaces, QkNorms, Variant},
};
use crate::model::{
    checkpoint::ids::{ClassIds, EOS, PAD},
    input::TokenizerClass,
};

pub(super) const FAMILIES: &[Family] = &[Family {
    model_type: "olmo2",
    group: Some(Group::Decoder),
    build: Some(|config, weights| build(config, weights, VARIANT)),
    harmless: &[config_keys::BESIDE_ROTARY],
    limits: &[config_keys::CAUSAL],
    ids: IDS,
    tokenizer: TokenizerClass::OF_FILE,
    ..Family::BASE
}];

pub(super) const IDS: ClassIds = &[(EOS, 50_279), (PAD, 1)];

pub(super) const VARIANT: Variant = Variant {
    family: "olmo2",
    biases: Biases::IfConfigured,
    norms: NormPlaces::After,
    qk_norm: QkNorms::Whole,
    eps: 1e-5,
    ..Variant::BASE
};
