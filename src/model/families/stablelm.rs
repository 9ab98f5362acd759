//! StableLM: layer norms, and a quarter of each head turned.

use super::{BOS, Biases, EOS, Family, NormPlaces, NormWeights, QkNorms, TokenizerClass, Variant, variant::one_rotary};

pub(super) const FAMILIES: &[Family] =
    &[Family { ids: &[(BOS, 0), (EOS, 0)], tokenizer: TokenizerClass::OF_FILE, ..Family::gated(&VARIANT) }];

const VARIANT: Variant = Variant {
    family: "stablelm",
    biases: Biases::Key("use_qkv_bias", false),
    norm: NormWeights::Layer,
    norms: |config| {
        if config.flag("use_parallel_residual", false) { NormPlaces::Shared } else { NormPlaces::Before }
    },
    qk_norm: QkNorms::OwnIfConfigured,
    eps: ("layer_norm_eps", 1e-5),
    rotary: |config, d_head| one_rotary(config, d_head, Some(0.25)),
    n_kv_heads: Some(32),
    ..Variant::BASE
};
