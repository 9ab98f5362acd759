//! Gemma 2: norms of what attention and MLP add, soft caps, windows in every other layer.

use super::{
    family::Family,
    gated_decoder::build,
    gemma,
    variant::{Caps, NormPlaces, Variant, Windows},
};
pub(super) const FAMILIES: &[Family] =
    &[Family { model_type: "gemma2", build: Some(|config, weights| build(config, weights, VARIANT)), ..gemma::FAMILY }];

const VARIANT: Variant = Variant {
    family: "gemma2",
    norms: NormPlaces::Around,
    windows: Windows::AllBut { every: 2, chosen: false },
    n_kv_heads: Some(4),
    caps: Some(Caps { scores: Some(50.0), logits: Some(30.0) }),
    ..gemma::VARIANT
};
