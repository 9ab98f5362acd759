//! Phi-3: fused tensors, and LongRoPE.

use serde_json::json;

use super::{
    BOS, Config, Convention, EOS, Family, LoadError, OpinionPlan, PAD, Rotary, RotaryDialect, TokenizerClass, Variant,
    Windows, opinion, variant::Fused,
};

pub(super) const FAMILIES: &[Family] = &[Family {
    ids: &[(BOS, 1), (EOS, 32_000), (PAD, 32_000)],
    tokenizer: TokenizerClass::OF_FILE.alone(Convention::Llama),
    opinion: Some(OpinionPlan::Decoder(opinion::phi3)),
    ..Family::gated(&VARIANT)
}];

const VARIANT: Variant = Variant {
    family: "phi3",
    fused: Fused::All,
    eps: ("rms_norm_eps", 1e-5),
    rotary,
    windows: Windows::All(None),
    ..Variant::BASE
};

fn rotary(config: &Config, d_head: usize) -> Vec<Result<Rotary, LoadError>> {
    // The length of training that its class has by default goes before all others.
    let trained = json!({ "original_max_position_embeddings": 4096 });
    let dialect = RotaryDialect { long: true, odd: true, ..RotaryDialect::COMMON };
    vec![Rotary::from_config(&config.or(&trained), d_head, Some(1.0), dialect)]
}
