//! GLM-4.7-Flash: DeepSeek-V3 with a list of layers that have experts.

use super::{
    BOS, Biases, Config, EOS, ExpertLayers, ExpertPlan, Family, LatentPlan, LoadError, Rotary, RouterPlan,
    SharedExpert, TokenizerClass, TurnedPairs, Variant, WeightSum, config_keys, experts, variant::one_rotary,
};

pub(super) const FAMILIES: &[Family] = &[Family {
    ids: &[(BOS, 0), (EOS, 1)],
    harmless: &[config_keys::BESIDE_ROTARY, experts::TRAINING, &["qk_head_dim"]],
    aliases: &[("num_local_experts", "n_routed_experts"), ("head_dim", "qk_rope_head_dim")],
    tokenizer: TokenizerClass::OF_FILE,
    ..Family::gated(&VARIANT)
}];

const VARIANT: Variant = Variant {
    family: "glm4_moe_lite",
    biases: Biases::IfConfigured,
    eps: ("rms_norm_eps", 1e-5),
    rotary,
    latent: Some(LatentPlan {
        queries: 768,
        keys: 512,
        d_content: 192,
        d_turned: 64,
        turned: &["qk_rope_head_dim", "head_dim"],
        d_value: 256,
        n_kv_heads: Some(20),
        pairs: TurnedPairs::Apart,
    }),
    experts: Some(ExpertPlan {
        n: (&["n_routed_experts", "num_local_experts"], 64),
        n_chosen: Some(4),
        router: RouterPlan::Corrected { factor: 1.8, groups: [1, 1] },
        width: ("moe_intermediate_size", 1536),
        sum: WeightSum::Configured(true),
        layers: ExpertLayers::Listed,
        shared: SharedExpert::Times(1),
        part: "mlp",
        tensors: experts::QWEN_TENSORS,
    }),
    ..Variant::BASE
};

/// All that is meant to turn does: the reference itself stops at a share of it.
fn rotary(config: &Config, d_turned: usize) -> Vec<Result<Rotary, LoadError>> {
    let sections = ["rope_scaling", "rope_parameters"].into_iter().filter_map(|name| config.section(name));
    let shares = sections.chain([config.clone()]).map(|section| section.number(&["partial_rotary_factor"]));
    let is_partial = |share: Result<Option<f64>, LoadError>| share.is_ok_and(|share| share.is_some_and(|it| it < 1.0));
    if shares.into_iter().any(is_partial) {
        let what = "a rotated share of the turned part of heads (partial_rotary_factor) is not supported";
        return vec![Err(config.unsupported(what))];
    }
    one_rotary(config, d_turned, None)
}
