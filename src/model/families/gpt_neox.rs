//! GPT-NeoX and Pythia: attention and MLP side by side, partly rotated heads.

use super::{
    Activation, BOS, Choices, Convention, EOS, Family, Output, Plain, QkvNames, Rotary, RotaryDialect, TextEmbedding,
    TokenizerClass, config_keys,
};

pub(super) const FAMILIES: &[Family] = &[Family {
    harmless: &[config_keys::BESIDE_ROTARY],
    limits: &[config_keys::CAUSAL, config_keys::HEAD_WIDTH],
    ids: &[(BOS, 0), (EOS, 2)],
    tokenizer: TokenizerClass::class(Convention::GptNeoX),
    ..Family::plain(&PLAIN)
}];

const PLAIN: Plain = Plain {
    family: "gpt_neox",
    prefix: "gpt_neox.",
    layers: "layers",
    word: "embed_in",
    attention_norm: "input_layernorm",
    qkv: QkvNames::Interleaved("attention.query_key_value"),
    out: "attention.dense",
    mlp_norm: Some("post_attention_layernorm"),
    mlp: ["mlp.dense_h_to_4h", "mlp.dense_4h_to_h"],
    final_norm: "final_layer_norm",
    // As files have it, and as version 5 of the library calls it.
    outputs: &[Output::new("embed_out", false), Output::new("lm_head", false)],
    buffers: &["attention.bias", "attention.masked_bias", "attention.rotary_emb.inv_freq"],
    eps: "layer_norm_eps",
    activation: (Some("hidden_act"), Activation::Gelu),
    embedding: TextEmbedding::unending,
    choices: |config, spec| {
        let bias = config.flag("attention_bias", true);
        Ok(Choices {
            biases: [bias, bias, true],
            rotary: Some(Rotary::from_config(config, spec.d_head, Some(0.25), DIALECT)?),
            parallel: config.flag("use_parallel_residual", true),
            ..Choices::default()
        })
    },
    ..Plain::BASE
};

const DIALECT: RotaryDialect =
    RotaryDialect { theta: "rotary_emb_base", fraction: "rotary_pct", odd: true, ..RotaryDialect::COMMON };
