//! Granite 4: Mamba-2 in most layers, attention in the others, one MLP in each and maybe experts beside it.

use super::{
    BOS, Biases, Config, DecoderNames, EOS, ExpertLayers, ExpertPlan, ExpertTensors, Family, LinearPlan, MambaPlan,
    Rotary, RouterPlan, SharedExpert, TokenizerClass, Variant, WeightSum, config_keys, experts, granite,
    variant::{Fused, one_rotary},
};

pub(super) const FAMILIES: &[Family] = &[Family {
    ids: &[(BOS, 1), (EOS, 2)],
    harmless: &[config_keys::BESIDE_ROTARY, experts::TRAINING, &["mamba_chunk_size"]],
    aliases: &[("layers_block_type", "layer_types")],
    tokenizer: TokenizerClass::OF_FILE,
    ..Family::gated(&VARIANT)
}];

/// Width of the MLP that every token goes through.
const D_MLP: usize = 1024;

const VARIANT: Variant = Variant {
    family: "granitemoehybrid",
    names: DecoderNames {
        linear: "mamba",
        fused_mlp: "shared_mlp.input_linear",
        mlp: ["", "", "shared_mlp.output_linear"],
        ..DecoderNames::LLAMA
    },
    biases: Biases::IfConfigured,
    fused: Fused::Mlp,
    d_mlp: |config| Ok(Some(config.optional_size(&["shared_intermediate_size"], 1 << 24)?.unwrap_or(D_MLP))),
    rotary: |config, d_head| {
        if is_turned(config) { one_rotary(config, d_head, None) } else { vec![Ok(Rotary::new(10_000.0, d_head))] }
    },
    uses_rope: |config, n_layers| Ok(vec![is_turned(config); n_layers]),
    multipliers: granite::multipliers,
    linear: Some(LinearPlan::Mamba(MambaPlan::PLAIN)),
    experts: Some(ExpertPlan {
        n: (&["num_local_experts"], 8),
        n_chosen: Some(2),
        router: RouterPlan::Plain,
        width: ("intermediate_size", 11_008),
        sum: WeightSum::One,
        layers: ExpertLayers::AllIfAny,
        shared: SharedExpert::Beside(D_MLP),
        part: "block_sparse_moe",
        tensors: ExpertTensors::Stacked,
    }),
    ..Variant::BASE
};

/// Whether attention turns its queries and keys.
fn is_turned(config: &Config) -> bool {
    config.text(&["position_embedding_type"]) == Some("rope")
}
