//! Phi-1 and Phi-2: attention and MLP read the same normed stream; half of each head is rotated.

use super::{
    Activation, BOS, Choices, Convention, EOS, Family, LayerSpec, Output, Plain, QkvNames, Rotary, RotaryDialect,
    TextEmbedding, TokenizerClass, config_keys,
};

pub(super) const FAMILIES: &[Family] = &[Family {
    harmless: &[config_keys::BESIDE_ROTARY],
    ids: &[(BOS, 1), (EOS, 2)],
    tokenizer: TokenizerClass::class(Convention::Gpt2),
    ..Family::plain(&PLAIN)
}];

const PLAIN: Plain = Plain {
    family: "phi",
    prefix: "model.",
    layers: "layers",
    word: "embed_tokens",
    attention_norm: "input_layernorm",
    qkv: QkvNames::Apart(["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"]),
    out: "self_attn.dense",
    mlp: ["mlp.fc1", "mlp.fc2"],
    final_norm: "final_layernorm",
    outputs: &[Output { bias: true, ..Output::new("lm_head", false) }],
    eps: "layer_norm_eps",
    activation: (Some("hidden_act"), Activation::GeluTanh),
    embedding: TextEmbedding::unending,
    heads: |config, d_model| {
        let (n_heads, d_head) = config.heads(d_model)?;
        Ok(LayerSpec { n_kv_heads: config.n_kv_heads(n_heads)?, ..LayerSpec::new(n_heads, d_head) })
    },
    choices: |config, spec| {
        let has_norms = config.flag("qk_layernorm", false);
        Ok(Choices {
            biases: [true; 3],
            qk_norms: has_norms.then_some(["self_attn.q_layernorm", "self_attn.k_layernorm"]),
            rotary: Some(Rotary::from_config(config, spec.d_head, Some(0.5), RotaryDialect::COMMON)?),
            ..Choices::default()
        })
    },
    ..Plain::BASE
};
