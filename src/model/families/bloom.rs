//! BLOOM: no position embedding, but a slope per head on the distance (ALiBi).

use super::{
    config_keys,
    decoder::{Output, head, interleaved_qkv, network},
    family::{Family, Group},
    parts::{layer_norm, linear, mlp},
};
use crate::{
    ids::StackKind,
    model::{
        LoadError,
        checkpoint::{
            Config, Weights,
            ids::{BOS, EOS},
        },
        kernels::Activation,
        network::{
            Network,
            attention::Attention,
            block::{Block, Norms, Stack},
            embedding::TextEmbedding,
            relative::RelativeBias,
        },
    },
    spec::LayerSpec,
};

pub(super) const FAMILIES: &[Family] = &[Family {
    model_type: "bloom",
    group: Some(Group::Decoder),
    build: Some(build),
    harmless: &[&["slow_but_exact"]],
    limits: &[config_keys::CAUSAL, config_keys::NO_CROSS],
    aliases: &[("num_hidden_layers", "n_layer"), ("num_attention_heads", "n_head"), ("n_embed", "hidden_size")],
    ids: &[(BOS, 1), (EOS, 2)],
    ..Family::BASE
}];

/// What the model was trained on when the configuration does not say.
const N_CTX: usize = 2048;

pub(super) fn build(config: &Config, weights: &mut Weights<'_>) -> Result<Network, LoadError> {
    let d_model = config.d_model()?;
    let n_heads = config.n_heads(d_model)?;
    let spec = LayerSpec { biased: true, ..LayerSpec::new(n_heads, d_model / n_heads) };
    let (n_vocab, eps) = (config.n_vocab()?, config.norm_eps("layer_norm_epsilon", 1e-5)?);
    let n_ctx = config.optional_size(&["seq_length", "max_position_embeddings"], 1 << 24)?.unwrap_or(N_CTX);
    // The reference leaves biases out then.
    if config.flag("slow_but_exact", false) && config.number(&["pretraining_tp"])?.is_some_and(|n| n > 1.0) {
        return Err(
            config.unsupported("products in parts (slow_but_exact with pretraining_tp above 1) are not supported")
        );
    }
    let carries = config.flag("apply_residual_connection_post_layernorm", false);

    weights.set_prefix("transformer.", &["word_embeddings.weight", "word_embeddings_layernorm.weight"]);
    let output = Output::new("lm_head", true);
    let word = output.table(config, weights, "transformer.word_embeddings.weight", &[n_vocab, d_model])?;
    let norm = layer_norm(weights, "transformer.word_embeddings_layernorm", d_model, eps)?;
    let mut blocks = Vec::new();
    for layer in 0..config.n_layers()? {
        let name = |part: &str| format!("transformer.h.{layer}.{part}");
        let qkv = interleaved_qkv(weights, &name("self_attention.query_key_value"), d_model, spec, true)?;
        let out = linear(weights, &name("self_attention.dense"), d_model, d_model)?;
        let names = [name("mlp.dense_h_to_4h"), name("mlp.dense_4h_to_h")];
        blocks.push(Block::new(
            Attention::plain(qkv, out, spec, config.is_causal()),
            Norms { carries, ..Norms::pre(layer_norm(weights, &name("input_layernorm"), d_model, eps)?) },
            mlp(weights, [&names[0], &names[1]], (d_model, 4 * d_model), Activation::GeluTanh)?,
            Norms { carries, ..Norms::pre(layer_norm(weights, &name("post_attention_layernorm"), d_model, eps)?) },
        ));
    }
    let final_norm = Some(layer_norm(weights, "transformer.ln_f", d_model, eps)?);
    let head = head(config, weights, output, &word)?;
    let embedding = TextEmbedding { norm: Some(norm), ..TextEmbedding::unending(word, n_ctx) };
    let bias = Some(RelativeBias::alibi(n_heads));
    let stack = Stack { bias, ..Stack::new(StackKind::SelfAttention, blocks, final_norm) };
    Ok(network("bloom", (d_model, n_vocab), embedding, stack, head))
}
