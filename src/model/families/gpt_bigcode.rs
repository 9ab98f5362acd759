//! `GPTBigCode` (`SantaCoder`, `StarCoder`): GPT-2 whose heads share one key and value.

use super::{
    BOS, Choices, EOS, Family, LayerSpec, Output, Plain, QkvNames, TokenizerClass, config_keys, plain_decoder::heads,
};

pub(super) const FAMILIES: &[Family] = &[Family {
    // How the softmax is computed in half precision, and what the class works out itself.
    harmless: &[&["attention_softmax_in_fp32", "scale_attention_softmax_in_fp32", "num_key_value_heads"]],
    limits: &[config_keys::CAUSAL, config_keys::NO_CROSS],
    aliases: &[
        ("hidden_size", "n_embd"),
        ("max_position_embeddings", "n_positions"),
        ("num_attention_heads", "n_head"),
        ("num_hidden_layers", "n_layer"),
    ],
    ids: &[(BOS, 50_256), (EOS, 50_256)],
    tokenizer: TokenizerClass::OF_FILE,
    ..Family::plain(&PLAIN)
}];

const PLAIN: Plain = Plain {
    family: "gpt_bigcode",
    position: Some("wpe.weight"),
    qkv: QkvNames::Interleaved("attn.c_attn"),
    out: "attn.c_proj",
    mlp_norm: Some("ln_2"),
    mlp: ["mlp.c_fc", "mlp.c_proj"],
    outputs: &[Output::new("lm_head", true)],
    buffers: &["attn.bias", "attn.masked_bias"],
    heads: |config, d_model| {
        let spec = heads(config, d_model)?;
        let n_kv_heads = if config.flag("multi_query", true) { 1 } else { spec.n_heads };
        let scale = if config.flag("scale_attn_weights", true) { spec.scale } else { 1.0 };
        Ok(LayerSpec { n_kv_heads, scale, ..spec })
    },
    choices: |_, _| Ok(Choices { biases: [true; 3], ..Choices::default() }),
    ..Plain::BASE
};
