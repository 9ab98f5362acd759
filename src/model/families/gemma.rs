//! Gemma: norms whose weights are stored less one, scaled embeddings.

use super::{
    config_keys,
    family::{Family, Group},
    gated_decoder::build,
    variant::{Biases, Variant},
};
use crate::model::{
    checkpoint::ids::{BOS, EOS, PAD},
    input::{Convention, TokenizerClass},
};

pub(super) const FAMILIES: &[Family] = &[FAMILY];

/// What its successors say as well.
pub(super) const FAMILY: Family = Family {
    model_type: "gemma",
    group: Some(Group::Decoder),
    build: Some(|config, weights| build(config, weights, VARIANT)),
    harmless: &[config_keys::BESIDE_ROTARY, config_keys::GEMMA],
    limits: &[config_keys::CAUSAL, config_keys::ONE_DIRECTION],
    ids: &[(BOS, 2), (EOS, 1), (PAD, 0)],
    tokenizer: TokenizerClass::class(Convention::Gemma),
    ..Family::BASE
};

pub(super) const VARIANT: Variant = Variant {
    family: "gemma",
    biases: Biases::IfConfigured,
    gemma: true,
    tied: true,
    d_head: Some(256),
    n_kv_heads: Some(16),
    ..Variant::BASE
};
