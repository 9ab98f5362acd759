//! BLOOM: no position embedding, but a slope per head on the distance (ALiBi).

use super::{
    Activation, AlibiForm, BOS, Choices, Config, EOS, Family, LayerSpec, LoadError, Output, Plain, QkvNames,
    RelativeBias, TextEmbedding, config_keys, plain_decoder::heads,
};

pub(super) const FAMILIES: &[Family] = &[Family {
    harmless: &[&["slow_but_exact"]],
    limits: &[config_keys::CAUSAL, config_keys::NO_CROSS],
    aliases: &[("num_hidden_layers", "n_layer"), ("num_attention_heads", "n_head"), ("n_embed", "hidden_size")],
    ids: &[(BOS, 1), (EOS, 2)],
    ..Family::plain(&PLAIN)
}];

/// What the model was trained on when the configuration does not say.
const N_CTX: usize = 2048;

const PLAIN: Plain = Plain {
    family: "bloom",
    word: "word_embeddings",
    embedding_norm: Some("word_embeddings_layernorm"),
    attention_norm: "input_layernorm",
    qkv: QkvNames::Interleaved("self_attention.query_key_value"),
    out: "self_attention.dense",
    mlp_norm: Some("post_attention_layernorm"),
    mlp: ["mlp.dense_h_to_4h", "mlp.dense_4h_to_h"],
    outputs: &[Output::new("lm_head", true)],
    activation: (None, Activation::GeluTanh),
    d_mlp: |_| Ok(None),
    embedding: TextEmbedding::unending,
    n_ctx: |config| Ok(config.optional_size(&["seq_length", "max_position_embeddings"], 1 << 24)?.unwrap_or(N_CTX)),
    heads: |config, d_model| Ok(LayerSpec { biased: true, ..heads(config, d_model)? }),
    choices,
    ..Plain::BASE
};

fn choices(config: &Config, spec: LayerSpec) -> Result<Choices, LoadError> {
    // The reference leaves biases out then.
    if config.flag("slow_but_exact", false) && config.number(&["pretraining_tp"])?.is_some_and(|n| n > 1.0) {
        return Err(
            config.unsupported("products in parts (slow_but_exact with pretraining_tp above 1) are not supported")
        );
    }
    Ok(Choices {
        biases: [true; 3],
        bias: Some(RelativeBias::alibi(spec.n_heads, AlibiForm::Position)),
        carries: config.flag("apply_residual_connection_post_layernorm", false),
        ..Choices::default()
    })
}
