//! MPT: slopes on distances (ALiBi), and no biases anywhere.

use serde_json::json;

use super::{
    Activation, Choices, Config, Convention, Family, LayerSpec, LoadError, Output, Plain, QkvNames, RelativeBias,
    TokenizerClass, config_keys, plain_decoder::heads,
};
use crate::model::checkpoint::key_audit::Limit;

pub(super) const FAMILIES: &[Family] = &[Family {
    // How training began and went, and which of several norms that compute the same.
    harmless: &[&["emb_pdrop", "embedding_fraction", "init_device", "learned_pos_emb", "norm_type"]],
    limits: &[config_keys::CAUSAL, UNHEEDED],
    aliases: &[("num_attention_heads", "n_heads"), ("hidden_size", "d_model"), ("num_hidden_layers", "n_layers")],
    tokenizer: TokenizerClass::class(Convention::GptNeoX),
    ..Family::plain(&PLAIN)
}];

/// What the reference computes with these values whatever the file says.
const UNHEEDED: &[Limit] = &[("expansion_ratio", &["4"]), ("logit_scale", &[]), ("no_bias", &["true"])];
/// The same of its attention.
const UNHEEDED_OF_ATTENTION: [(&str, bool); 4] =
    [("alibi", true), ("attn_uses_sequence_id", false), ("prefix_lm", false), ("qk_ln", false)];

/// What the model was trained on when the configuration does not say.
const N_CTX: usize = 2048;

const PLAIN: Plain = Plain {
    family: "mpt",
    layers: "blocks",
    attention_norm: "norm_1",
    qkv: QkvNames::Joined("attn.Wqkv"),
    out: "attn.out_proj",
    mlp_norm: Some("norm_2"),
    mlp: ["ffn.up_proj", "ffn.down_proj"],
    final_norm: "norm_f",
    outputs: &[Output::new("lm_head", true)],
    activation: (None, Activation::Gelu),
    d_mlp: |_| Ok(None),
    norm_biases: false,
    n_ctx: |config| Ok(config.optional_size(&["max_seq_len"], 1 << 24)?.unwrap_or(N_CTX)),
    heads: |config, d_model| {
        let spec = LayerSpec { biased: true, ..heads(config, d_model)? };
        let scale = of_attention(config).number(&["softmax_scale"])?;
        Ok(LayerSpec { scale: scale.map_or(spec.scale, |scale| scale as f32), ..spec })
    },
    choices,
    ..Plain::BASE
};

/// The section about attention, which may be missing.
fn of_attention(config: &Config) -> Config {
    config.tower("attn_config", &json!({}))
}

fn choices(config: &Config, spec: LayerSpec) -> Result<Choices, LoadError> {
    let attention = of_attention(config);
    for (key, computed) in UNHEEDED_OF_ATTENTION {
        if attention.flag(key, computed) != computed {
            return Err(config.unsupported(format!(
                "attn_config.{key} = {} is not supported: the reference implementation does not heed it",
                !computed
            )));
        }
    }
    if let Some(kind) = attention.text(&["attn_type"]).filter(|kind| *kind != "multihead_attention") {
        return Err(config.unsupported(format!("attn_config.attn_type = {kind} is not supported")));
    }
    // Zero clips nothing.
    let clip = attention.number(&["clip_qkv"])?.filter(|limit| *limit != 0.0);
    if let Some(limit) = clip.filter(|limit| *limit < 0.0) {
        return Err(config.error(format!("attn_config.clip_qkv is {limit}")));
    }
    Ok(Choices { bias: Some(RelativeBias::alibi_of_mpt(spec.n_heads, 8.0)), clip, ..Choices::default() })
}
