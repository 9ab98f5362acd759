//! Qwen 3 Next: the gated delta rule in three of four layers, attention with a gate on its output in the others.

use super::{
    Biases, Convention, DeltaNames, ExpertLayers, ExpertPlan, Family, LinearPlan, NormWeights, QkNorms, RouterPlan,
    SharedExpert, TokenizerClass, Variant, WeightSum, config_keys, experts, variant::one_rotary,
};

pub(super) const FAMILIES: &[Family] = &[Family {
    harmless: &[config_keys::BESIDE_ROTARY, experts::TRAINING, &["full_attention_interval"]],
    tokenizer: TokenizerClass::class(Convention::Qwen2),
    ..Family::gated(&VARIANT)
}];

const VARIANT: Variant = Variant {
    family: "qwen3_next",
    biases: Biases::IfConfigured,
    norm: NormWeights::RmsLessOne,
    qk_norm: QkNorms::EachHead,
    rotary: |config, d_head| one_rotary(config, d_head, Some(0.25)),
    d_head: Some(256),
    n_kv_heads: Some(2),
    linear: Some(LinearPlan::Delta(DeltaNames::ByKeyHead)),
    has_gate: true,
    experts: Some(ExpertPlan {
        n: (&["num_experts"], 512),
        n_chosen: Some(10),
        router: RouterPlan::Plain,
        width: ("moe_intermediate_size", 512),
        sum: WeightSum::Configured(true),
        layers: ExpertLayers::Mixed,
        shared: SharedExpert::Gated(512),
        part: "mlp",
        tensors: experts::QWEN_TENSORS,
    }),
    ..Variant::BASE
};
