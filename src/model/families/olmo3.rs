//! `OLMo` 3: `OLMo` 2 with windows in three of four layers, which have a rotary embedding of their own.

use super::{Config, Family, LayerKind, LoadError, Rotary, TokenizerClass, Variant, Windows, olmo2};

pub(super) const FAMILIES: &[Family] =
    &[Family { ids: olmo2::IDS, tokenizer: TokenizerClass::OF_FILE, ..Family::gated(&VARIANT) }];

const VARIANT: Variant = Variant {
    family: "olmo3",
    rotary,
    windows: Windows::AllBut { every: 4, chosen: false, width: 4096.0 },
    ..olmo2::VARIANT
};

const THETA: f64 = 500_000.0;

/// The second one is that of layers with a window, which what stands beside the sections is not about.
fn rotary(config: &Config, d_head: usize) -> Vec<Result<Rotary, LoadError>> {
    let of = |name, theta, scaled| Rotary::of_kind(config, d_head, LayerKind { name, theta, scaled });
    let full = config.number(&["rope_theta"]).map(|theta| theta.unwrap_or(THETA));
    vec![full.and_then(|theta| of("full_attention", theta, true)), of("sliding_attention", THETA, false)]
}
