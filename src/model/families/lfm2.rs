//! LFM2: short convolutions between gates, and attention in some layers.

use serde_json::json;

use super::{
    Activation, BOS, Config, DecoderNames, EOS, Family, FamilyGroup, LinearPlan, LoadError, PAD, QkNorms,
    TokenizerClass, Variant, config_keys, gated_decoder, variant::one_rotary,
};

pub(super) const FAMILIES: &[Family] = &[Family {
    ids: &[(PAD, 0), (BOS, 1), (EOS, 2)],
    harmless: &[config_keys::BESIDE_ROTARY],
    limits: &[config_keys::CAUSAL],
    aliases: &[("tie_embedding", "tie_word_embeddings"), ("block_ff_dim", "intermediate_size")],
    tokenizer: TokenizerClass::NONE,
    ..Family::new("lfm2", FamilyGroup::Decoder, |config, weights| {
        // An older name goes first.
        let tied = config.flag("tie_embedding", true);
        gated_decoder::build(&config.or(&json!({ "tie_word_embeddings": tied })), weights, &VARIANT)
    })
}];

const VARIANT: Variant = Variant {
    family: "lfm2",
    names: DecoderNames {
        final_norm: "embedding_norm",
        before: "operator_norm",
        before_mlp: "ffn_norm",
        out: "out_proj",
        qk_norms: ["q_layernorm", "k_layernorm"],
        linear: "conv",
        mlp: ["feed_forward.w1", "feed_forward.w3", "feed_forward.w2"],
        ..DecoderNames::LLAMA
    },
    tied: true,
    qk_norm: QkNorms::EachHead,
    eps: ("norm_eps", 1e-5),
    // Its class knows no other.
    activation: |_| Ok(Activation::Silu),
    d_mlp,
    rotary: |config, d_head| one_rotary(&config.or(&json!({ "rope_theta": 1_000_000.0 })), d_head, None),
    n_kv_heads: Some(8),
    linear: Some(LinearPlan::Convolution),
    ..Variant::BASE
};

/// Two thirds of what the configuration says, times a factor, up to the next multiple.
fn d_mlp(config: &Config) -> Result<Option<usize>, LoadError> {
    let size = |names: &[&'static str], usual: usize| {
        Ok::<_, LoadError>(config.optional_size(names, 1 << 24)?.unwrap_or(usual))
    };
    let width = size(&["block_ff_dim", "intermediate_size"], 12_288)?;
    if !config.flag("block_auto_adjust_ff_dim", true) {
        return Ok(Some(width));
    }
    let width = 2 * width / 3;
    let Some(factor) = config.number_unless_null("block_ffn_dim_multiplier", Some(1.0))? else {
        return Ok(Some(width));
    };
    let width = (factor * width as f64) as usize;
    Ok(Some(width.next_multiple_of(size(&["block_multiple_of"], 256)?)))
}
