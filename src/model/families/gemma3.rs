//! Gemma 3: norms of queries and keys, and a rotary embedding of its own for layers with a window.

use super::{
    Config, Family, LayerKind, LoadError, OpinionPlan, QkNorms, Rotary, TwoWay, Variant, Windows, gemma, gemma2,
    opinion, variant::Caps,
};

pub(super) const FAMILIES: &[Family] = &[Family {
    model_type: "gemma3_text",
    opinion: Some(OpinionPlan::Decoder(opinion::gemma3)),
    ..gemma::family(&VARIANT)
}];

const VARIANT: Variant = Variant {
    family: "gemma3",
    two_way: TwoWay::Supported,
    qk_norm: QkNorms::EachHead,
    rotary,
    windows: Windows::AllBut { every: 6, chosen: true, width: 4096.0 },
    caps: Some(Caps { scores: None, logits: None }),
    ..gemma2::VARIANT
};

/// The second one is that of layers with a window.
fn rotary(config: &Config, d_head: usize) -> Vec<Result<Rotary, LoadError>> {
    let of = |name, key, theta, scaled| {
        let theta = config.number(&[key])?.unwrap_or(theta);
        Rotary::of_kind(config, d_head, LayerKind { name, theta, scaled })
    };
    vec![
        of("full_attention", "rope_theta", 1_000_000.0, true),
        of("sliding_attention", "rope_local_base_freq", 10_000.0, false),
    ]
}
