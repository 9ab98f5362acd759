//! `SmolLM3`: LLaMA with no position in every fourth layer (`NoPE`): its queries and keys are not rotated.

use serde_json::json;

use super::{
    BOS, Biases, Config, EOS, Family, LoadError, MAX_LAYERS, PAD, Variant, Windows, config_keys, variant::one_rotary,
};

pub(super) const FAMILIES: &[Family] = &[Family {
    harmless: &[config_keys::BESIDE_ROTARY, &["no_rope_layer_interval"]],
    ids: &[(BOS, 128_000), (EOS, 128_001), (PAD, 128_004)],
    ..Family::gated(&VARIANT)
}];

const VARIANT: Variant = Variant {
    family: "smollm3",
    biases: Biases::IfConfiguredOrMlp,
    tied: true,
    rotary: |config, d_head| one_rotary(&config.or(&json!({ "rope_theta": 2_000_000.0 })), d_head, None),
    uses_rope,
    windows: Windows::NoRopeLayers,
    n_kv_heads: Some(4),
    ..Variant::BASE
};

/// As the file lists them, for at least as many layers as there are; else all but every n-th.
fn uses_rope(config: &Config, n_layers: usize) -> Result<Vec<bool>, LoadError> {
    if let Some(listed) = config.numbers("no_rope_layers") {
        let rope: Vec<_> = listed.iter().take(n_layers).map(|rope| *rope != 0.0).collect();
        let missing = || config.error(format!("no_rope_layers lists {} of {n_layers} layers", listed.len()));
        return if rope.len() == n_layers { Ok(rope) } else { Err(missing()) };
    }
    let every = config.optional_size(&["no_rope_layer_interval"], MAX_LAYERS)?.unwrap_or(4);
    Ok((1..=n_layers).map(|layer| !layer.is_multiple_of(every)).collect())
}
