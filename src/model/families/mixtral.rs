//! Mixtral: Mistral with experts in place of MLPs.

use serde_json::json;

use super::{
    BOS, Convention, EOS, ExpertLayers, ExpertPlan, Family, RouterPlan, SharedExpert, TokenizerClass, Variant,
    WeightSum, Windows, experts, variant::one_rotary,
};

pub(super) const FAMILIES: &[Family] = &[Family {
    ids: &[(BOS, 1), (EOS, 2)],
    harmless: &[super::config_keys::BESIDE_ROTARY, experts::TRAINING],
    aliases: &[("num_experts", "num_local_experts")],
    tokenizer: TokenizerClass::OF_FILE.alone(Convention::Llama),
    ..Family::gated(&VARIANT)
}];

const VARIANT: Variant = Variant {
    family: "mixtral",
    eps: ("rms_norm_eps", 1e-5),
    windows: Windows::All(None),
    n_kv_heads: Some(8),
    rotary: |config, d_head| one_rotary(&config.or(&json!({ "rope_theta": 1_000_000.0 })), d_head, None),
    experts: Some(ExpertPlan {
        n: (&["num_local_experts", "num_experts"], 8),
        n_chosen: Some(2),
        router: RouterPlan::Plain,
        width: ("intermediate_size", 14_336),
        sum: WeightSum::One,
        layers: ExpertLayers::All,
        shared: SharedExpert::None,
        part: "block_sparse_moe",
        tensors: experts::ExpertTensors::Apart(["w1", "w3", "w2"]),
    }),
    ..Variant::BASE
};
