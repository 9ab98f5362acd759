//! DeepSeek-V2: latent attention, and experts beside one that takes every token.

use super::{
    BOS, Biases, EOS, ExpertLayers, ExpertPlan, Family, LatentPlan, RouterPlan, SharedExpert, TokenizerClass,
    TurnedPairs, Variant, WeightSum, config_keys, experts,
    variant::{of_neighbours, one_rotary},
};

pub(super) const FAMILIES: &[Family] = &[Family {
    ids: &[(BOS, 1), (EOS, 2)],
    // A head is as wide as the parts of its queries say, and weights are never brought back to a sum of 1.
    harmless: &[
        config_keys::BESIDE_ROTARY,
        experts::TRAINING,
        experts::GROUPS,
        &["head_dim", "norm_topk_prob", "qk_head_dim"],
    ],
    aliases: &[("num_experts", "n_routed_experts")],
    tokenizer: TokenizerClass::NONE,
    ..Family::gated(&VARIANT)
}];

const VARIANT: Variant = Variant {
    family: "deepseek_v2",
    biases: Biases::IfConfiguredOrMlp,
    rotary: |config, d_turned| of_neighbours(one_rotary(config, d_turned, None)),
    latent: Some(LatentPlan {
        queries: 1536,
        keys: 512,
        d_content: 128,
        d_turned: 64,
        turned: &["qk_rope_head_dim"],
        d_value: 128,
        n_kv_heads: None,
        pairs: TurnedPairs::Neighbours,
    }),
    experts: Some(ExpertPlan {
        n: (&["n_routed_experts", "num_experts"], 64),
        n_chosen: None,
        router: RouterPlan::ByMethod(1.0),
        width: ("moe_intermediate_size", 1407),
        sum: WeightSum::Any,
        layers: ExpertLayers::AfterFirst(0),
        shared: SharedExpert::Times(2),
        part: "mlp",
        tensors: experts::QWEN_TENSORS,
    }),
    ..Variant::BASE
};
