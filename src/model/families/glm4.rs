//! GLM-4-0414: norms of what attention and MLP add, and half of each head turned, neighbouring dimensions together.

use super::{
    Biases, EOS, Family, NormPlaces, PAD, TokenizerClass, Variant,
    variant::{Fused, of_neighbours, one_rotary},
};

pub(super) const FAMILIES: &[Family] = &[Family {
    ids: &[(EOS, 151_329), (EOS, 151_336), (EOS, 151_338), (PAD, 151_329)],
    tokenizer: TokenizerClass::OF_FILE,
    ..Family::gated(&VARIANT)
}];

const VARIANT: Variant = Variant {
    family: "glm4",
    biases: Biases::Key("attention_bias", true),
    norms: |_| {
        NormPlaces::Around([
            "input_layernorm",
            "post_self_attn_layernorm",
            "post_attention_layernorm",
            "post_mlp_layernorm",
        ])
    },
    fused: Fused::Mlp,
    eps: ("rms_norm_eps", 1.5625e-7),
    rotary: |config, d_head| of_neighbours(one_rotary(config, d_head, Some(0.5))),
    d_head: Some(128),
    n_kv_heads: Some(2),
    ..Variant::BASE
};
