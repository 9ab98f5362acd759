//! `StarCoder` 2: grouped queries, rotary embeddings and windows around the norms and MLPs of GPT-2.

use super::{
    Activation, BOS, Choices, Config, Convention, EOS, Family, LayerSpec, LoadError, Output, Plain, QkvNames, Rotary,
    RotaryDialect, TextEmbedding, TokenizerClass, config_keys,
};

pub(super) const FAMILIES: &[Family] = &[Family {
    harmless: &[config_keys::BESIDE_ROTARY, &["residual_dropout"]],
    ids: &[(BOS, 50_256), (EOS, 50_256)],
    tokenizer: TokenizerClass::class(Convention::Gpt2),
    ..Family::plain(&PLAIN)
}];

const PLAIN: Plain = Plain {
    family: "starcoder2",
    prefix: "model.",
    layers: "layers",
    word: "embed_tokens",
    attention_norm: "input_layernorm",
    qkv: QkvNames::Apart(["self_attn.q_proj", "self_attn.k_proj", "self_attn.v_proj"]),
    out: "self_attn.o_proj",
    mlp_norm: Some("post_attention_layernorm"),
    mlp: ["mlp.c_fc", "mlp.c_proj"],
    final_norm: "norm",
    outputs: &[Output::new("lm_head", true)],
    eps: "norm_epsilon",
    activation: (Some("hidden_act"), Activation::GeluTanh),
    embedding: TextEmbedding::unending,
    heads: |config, d_model| {
        let (n_heads, d_head) = config.heads(d_model)?;
        Ok(LayerSpec { n_kv_heads: config.n_kv_heads_of(n_heads, Some(2))?, ..LayerSpec::new(n_heads, d_head) })
    },
    choices,
    ..Plain::BASE
};

fn choices(config: &Config, spec: LayerSpec) -> Result<Choices, LoadError> {
    let n_layers = config.n_layers()?;
    // In both directions the token counts besides.
    let beside = usize::from(!config.is_causal());
    let reach = config.optional_size(&["sliding_window"], 1 << 24)?.map(|width| width + beside);
    Ok(Choices {
        biases: [config.flag("use_bias", true); 3],
        windows: vec![reach; n_layers],
        rotary: Some(Rotary::from_config(config, spec.d_head, None, RotaryDialect::COMMON)?),
        ..Choices::default()
    })
}
