//! GPT-J: attention and MLP beside each other behind one norm, and neighbouring dimensions turned together.

use super::{
    BOS, Choices, Config, Convention, EOS, Family, LayerSpec, LoadError, Output, Plain, QkvNames, Rotary,
    TokenizerClass, config_keys,
};

pub(super) const FAMILIES: &[Family] = &[Family {
    harmless: &[config_keys::SUMMARY],
    aliases: &[
        ("hidden_size", "n_embd"),
        ("max_position_embeddings", "n_positions"),
        ("num_attention_heads", "n_head"),
        ("num_hidden_layers", "n_layer"),
    ],
    ids: &[(BOS, 50_256), (EOS, 50_256)],
    tokenizer: TokenizerClass::class(Convention::Gpt2),
    ..Family::plain(&PLAIN)
}];

const PLAIN: Plain = Plain {
    family: "gptj",
    qkv: QkvNames::Apart(["attn.q_proj", "attn.k_proj", "attn.v_proj"]),
    out: "attn.out_proj",
    mlp: ["mlp.fc_in", "mlp.fc_out"],
    outputs: &[Output { bias: true, ..Output::new("lm_head", false) }],
    buffers: &["attn.bias", "attn.masked_bias"],
    choices,
    ..Plain::BASE
};

/// Maps of the MLP alone have biases.
pub(super) fn choices(config: &Config, spec: LayerSpec) -> Result<Choices, LoadError> {
    let rotary = Some(rotary(config, spec.d_head)?);
    Ok(Choices { biases: [false, false, true], rotary, ..Choices::default() })
}

/// Of the first `rotary_dim` dimensions of a head.
fn rotary(config: &Config, d_head: usize) -> Result<Rotary, LoadError> {
    let n_rotated = config.number_unless_null("rotary_dim", Some(64.0))?.unwrap_or(0.0);
    if !(n_rotated > 0.0 && n_rotated <= d_head as f64 && n_rotated % 2.0 == 0.0) {
        return Err(config.error(format!("its rotary_dim is {n_rotated}, and its heads have {d_head} dimensions")));
    }
    Ok(Rotary { neighbours: true, ..Rotary::new(10_000.0, n_rotated as usize) })
}
