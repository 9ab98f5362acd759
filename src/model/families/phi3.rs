//! Phi-3: fused tensors, and LongRoPE.

use serde_json::json;

use super::{
    config_keys,
    family::{Family, Group},
    gated_decoder::build,
    variant::{Variant, Windows},
};
use crate::model::{
    LoadError,
    checkpoint::{
        Config,
        ids::{BOS, EOS, PAD},
    },
    input::{Convention, TokenizerClass},
    network::rotary::{Rotary, RotaryDialect},
};

pub(super) const FAMILIES: &[Family] = &[Family {
    model_type: "phi3",
    group: Some(Group::Decoder),
    build: Some(|config, weights| build(config, weights, VARIANT)),
    harmless: &[config_keys::BESIDE_ROTARY],
    limits: &[config_keys::CAUSAL],
    ids: &[(BOS, 1), (EOS, 32_000), (PAD, 32_000)],
    tokenizer: TokenizerClass::OF_FILE.alone(Convention::Llama),
    ..Family::BASE
}];

const VARIANT: Variant =
    Variant { family: "phi3", fused: true, eps: 1e-5, rotary, windows: Windows::All(None), ..Variant::BASE };

fn rotary(config: &Config, d_head: usize) -> Vec<Result<Rotary, LoadError>> {
    // The length of training that its class has by default goes before all others.
    let trained = json!({ "original_max_position_embeddings": 4096 });
    let dialect = RotaryDialect { long: true, odd: true, ..RotaryDialect::COMMON };
    vec![Rotary::from_config(&config.or(&trained), d_head, Some(1.0), dialect)]
}
