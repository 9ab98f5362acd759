//! Falcon-H1: attention and Mamba-2 side by side in every layer, and factors on nearly all that is read and added.

use super::{
    BOS, Biases, Config, DecoderNames, EOS, Family, LinearPlan, LoadError, MambaPlan, Multipliers, PAD, TokenizerClass,
    Variant, config_keys, mamba,
};

pub(super) const FAMILIES: &[Family] = &[Family {
    ids: &[(PAD, 0), (BOS, 1), (EOS, 2)],
    harmless: &[config_keys::BESIDE_ROTARY, HARMLESS],
    // Every layer is of one kind, and the class takes no other.
    limits: &[config_keys::CAUSAL, &[("layer_types", &[]), ("layers_block_type", &[])]],
    tokenizer: TokenizerClass::NONE,
    ..Family::gated(&VARIANT)
}];

/// The factor is of a width that is not said itself, and the place of a norm that may not be there.
const HARMLESS: &[&str] = &["mamba_chunk_size", "mamba_expand", "mamba_norm_before_gate", "num_logits_to_keep"];

const VARIANT: Variant = Variant {
    family: "falcon_h1",
    names: DecoderNames {
        final_norm: "final_layernorm",
        before_mlp: "pre_ff_layernorm",
        linear: "mamba",
        mlp: ["feed_forward.gate_proj", "feed_forward.up_proj", "feed_forward.down_proj"],
        ..DecoderNames::LLAMA
    },
    biases: Biases::IfConfiguredOrMlp,
    eps: ("rms_norm_eps", 1e-5),
    d_mlp: |config| Ok(Some(config.d_mlp()?.unwrap_or(14_336))),
    multipliers,
    n_kv_heads: Some(8),
    beside: Some(LinearPlan::Mamba(MambaPlan {
        width: Some(("mamba_d_ssm", 1024)),
        out_bias: "projectors_bias",
        chooses_norm: true,
        has_factors: true,
    })),
    ..Variant::BASE
};

fn multipliers(config: &Config) -> Result<Multipliers, LoadError> {
    let number = |name| Ok::<_, LoadError>(config.number(&[name])?.unwrap_or(1.0) as f32);
    let [gates, mlp] = mamba::multipliers(config, "mlp_multipliers")?;
    Ok(Multipliers {
        embedding: number("embedding_multiplier")?,
        scores: None,
        read: number("attention_in_multiplier")?,
        keys: number("key_multiplier")?,
        attention: number("attention_out_multiplier")?,
        gates,
        mlp,
        logits: number("lm_head_multiplier")?,
    })
}
