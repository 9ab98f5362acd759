//! `OLMoE`: experts in place of MLPs, and norms of all heads' queries and keys side by side.

use super::{
    Biases, EOS, ExpertLayers, ExpertPlan, Family, PAD, QkNorms, RouterPlan, SharedExpert, TokenizerClass, Variant,
    WeightSum, config_keys, experts,
};

pub(super) const FAMILIES: &[Family] = &[Family {
    ids: &[(EOS, 50_279), (PAD, 1)],
    harmless: &[config_keys::BESIDE_ROTARY, experts::TRAINING],
    aliases: &[("num_local_experts", "num_experts")],
    tokenizer: TokenizerClass::OF_FILE,
    ..Family::gated(&VARIANT)
}];

const VARIANT: Variant = Variant {
    family: "olmoe",
    biases: Biases::IfConfigured,
    qk_norm: QkNorms::Whole,
    clips: true,
    eps: ("rms_norm_eps", 1e-5),
    experts: Some(ExpertPlan {
        n: (&["num_experts", "num_local_experts"], 64),
        n_chosen: Some(8),
        router: RouterPlan::Plain,
        width: ("intermediate_size", 2048),
        sum: WeightSum::Configured(false),
        layers: ExpertLayers::All,
        shared: SharedExpert::None,
        part: "mlp",
        tensors: experts::QWEN_TENSORS,
    }),
    ..Variant::BASE
};
