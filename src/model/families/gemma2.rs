//! Gemma 2: norms of what attention and MLP add, soft caps, windows in every other layer.

use super::{
    family::{Family, Group},
    gated_decoder::build,
    gemma, keys,
    variant::{Caps, NormPlaces, Variant, Windows},
};
use crate::model::{
    checkpoint::ids::{BOS, EOS, PAD},
    input::{Convention, TokenizerClass},
};

pub(super) const FAMILIES: &[Family] = &[Family {
    model_type: "gemma2",
    group: Some(Group::Decoder),
    build: Some(|config, weights| build(config, weights, VARIANT)),
    harmless: &[keys::BESIDE_ROTARY, keys::GEMMA],
    limits: &[keys::CAUSAL, keys::ONE_DIRECTION],
    ids: &[(BOS, 2), (EOS, 1), (PAD, 0)],
    tokenizer: TokenizerClass::class(Convention::Gemma),
    ..Family::BASE
}];

const VARIANT: Variant = Variant {
    family: "gemma2",
    norms: NormPlaces::Around,
    windows: Windows::AllBut { every: 2, chosen: false },
    n_kv_heads: Some(4),
    caps: Some(Caps { scores: Some(50.0), logits: Some(30.0) }),
    ..gemma::VARIANT
};
