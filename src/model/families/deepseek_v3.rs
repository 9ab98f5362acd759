//! DeepSeek-V3 and R1: latent attention, and experts that are chosen in groups by corrected scores.

use super::{
    BOS, Biases, EOS, ExpertLayers, ExpertPlan, Family, LatentPlan, RouterPlan, SharedExpert, TokenizerClass,
    TurnedPairs, Variant, WeightSum, config_keys, experts,
};

pub(super) const FAMILIES: &[Family] = &[Family {
    ids: &[(BOS, 0), (EOS, 1)],
    harmless: &[config_keys::BESIDE_ROTARY, experts::TRAINING, &["head_dim", "qk_head_dim"]],
    aliases: &[("num_local_experts", "n_routed_experts"), ("num_mtp_layers", "num_nextn_predict_layers")],
    tokenizer: TokenizerClass::NONE,
    ..Family::gated(&VARIANT)
}];

const VARIANT: Variant = Variant {
    family: "deepseek_v3",
    biases: Biases::IfConfigured,
    latent: Some(LatentPlan {
        queries: 1536,
        keys: 512,
        d_content: 128,
        d_turned: 64,
        turned: &["qk_rope_head_dim"],
        d_value: 128,
        n_kv_heads: Some(128),
        pairs: TurnedPairs::Apart,
    }),
    experts: Some(ExpertPlan {
        n: (&["n_routed_experts", "num_local_experts"], 256),
        n_chosen: Some(8),
        router: RouterPlan::Corrected { factor: 2.5, groups: [8, 4] },
        width: ("moe_intermediate_size", 2048),
        sum: WeightSum::Configured(true),
        layers: ExpertLayers::AfterFirst(3),
        shared: SharedExpert::Times(1),
        part: "mlp",
        tensors: experts::QWEN_TENSORS,
    }),
    ..Variant::BASE
};
