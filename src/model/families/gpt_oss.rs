//! gpt-oss: a learned sink in every head, windows in every other layer, and experts with biases behind clamped gates.

use serde_json::json;

use super::{
    Biases, Config, ExpertLayers, ExpertPlan, ExpertTensors, Family, LoadError, Rotary, RouterPlan, SharedExpert,
    TokenizerClass, Variant, WeightSum, Windows, config_keys, experts, variant::one_rotary,
};

pub(super) const FAMILIES: &[Family] = &[Family {
    // Experts have an activation of their own.
    harmless: &[config_keys::BESIDE_ROTARY, experts::TRAINING, &["hidden_act"]],
    aliases: &[("num_experts", "num_local_experts")],
    tokenizer: TokenizerClass::NONE,
    ..Family::gated(&VARIANT)
}];

const VARIANT: Variant = Variant {
    family: "gpt_oss",
    biases: Biases::UnlessConfigured,
    eps: ("rms_norm_eps", 1e-5),
    // Nothing is made of it.
    activation: |_| Ok(super::Activation::Silu),
    rotary,
    windows: Windows::AllBut { every: 2, chosen: false, width: 128.0 },
    d_head: Some(64),
    n_kv_heads: Some(8),
    sinks: true,
    experts: Some(ExpertPlan {
        n: (&["num_local_experts", "num_experts"], 128),
        n_chosen: Some(4),
        router: RouterPlan::Plain,
        width: ("intermediate_size", 2880),
        sum: WeightSum::One,
        layers: ExpertLayers::All,
        shared: SharedExpert::None,
        part: "mlp",
        tensors: ExpertTensors::Joined,
    }),
    ..Variant::BASE
};

/// `YaRN` whose ramp may begin and end between dimensions, when the configuration says nothing.
fn rotary(config: &Config, d_head: usize) -> Vec<Result<Rotary, LoadError>> {
    let yarn = json!({
        "rope_type": "yarn",
        "factor": 32.0,
        "beta_fast": 32.0,
        "beta_slow": 1.0,
        "truncate": false,
        "original_max_position_embeddings": 4096,
    });
    one_rotary(&config.or(&json!({ "rope_theta": 150_000.0, "rope_parameters": yarn })), d_head, None)
}
