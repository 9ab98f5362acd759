//! Qwen with experts in place of MLPs: Qwen 3, and Qwen 1.5 and 2 with one expert more that takes every token.

use super::{
    Biases, Convention, ExpertLayers, ExpertPlan, Family, QkNorms, RouterPlan, SharedExpert, TokenizerClass, Variant,
    WeightSum, Windows, config_keys, experts,
};

pub(super) const FAMILIES: &[Family] = &[
    Family {
        harmless: &[config_keys::BESIDE_ROTARY, experts::TRAINING, &["max_window_layers", "layer_types"]],
        aliases: &[("num_experts", "num_local_experts")],
        tokenizer: TokenizerClass::class(Convention::Qwen2),
        ..Family::gated(&QWEN_3)
    },
    Family {
        harmless: &[config_keys::BESIDE_ROTARY, experts::TRAINING, &["use_sliding_window"]],
        tokenizer: TokenizerClass::class(Convention::Qwen2),
        ..Family::gated(&QWEN_2)
    },
];

const EXPERTS: ExpertPlan = ExpertPlan {
    n: (&["num_local_experts", "num_experts"], 128),
    n_chosen: Some(8),
    router: RouterPlan::Plain,
    width: ("moe_intermediate_size", 768),
    sum: WeightSum::Configured(false),
    layers: ExpertLayers::Mixed,
    shared: SharedExpert::None,
    part: "mlp",
    tensors: experts::QWEN_TENSORS,
};

const QWEN_3: Variant = Variant {
    family: "qwen3_moe",
    biases: Biases::IfConfigured,
    qk_norm: QkNorms::EachHead,
    windows: Windows::AllIfUsed,
    n_kv_heads: Some(4),
    experts: Some(EXPERTS),
    ..Variant::BASE
};

const QWEN_2: Variant = Variant {
    family: "qwen2_moe",
    biases: Biases::Key("qkv_bias", true),
    windows: Windows::EveryOtherBefore,
    n_kv_heads: Some(16),
    experts: Some(ExpertPlan {
        n: (&["num_experts"], 60),
        n_chosen: Some(4),
        width: ("moe_intermediate_size", 1408),
        shared: SharedExpert::Gated(5632),
        ..EXPERTS
    }),
    ..Variant::BASE
};
