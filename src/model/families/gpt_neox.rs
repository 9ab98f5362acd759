//! GPT-NeoX and Pythia: attention and MLP side by side, partly rotated heads.

use super::{
    config_keys,
    decoder::{Output, head, interleaved_qkv, map, network},
    family::{Family, Group},
    parts::layer_norm,
};
use crate::{
    ids::StackKind,
    model::{
        LoadError,
        checkpoint::{
            Config, Weights,
            ids::{BOS, EOS},
        },
        input::{Convention, TokenizerClass},
        kernels::Activation,
        network::{
            Network,
            attention::Attention,
            block::{Block, Norms, Stack},
            embedding::TextEmbedding,
            mlp::Dense,
            rotary::{Rotary, RotaryDialect},
        },
    },
    spec::LayerSpec,
};

pub(super) const FAMILIES: &[Family] = &[Family {
    model_type: "gpt_neox",
    group: Some(Group::Decoder),
    build: Some(build),
    harmless: &[config_keys::BESIDE_ROTARY],
    limits: &[config_keys::CAUSAL, config_keys::HEAD_WIDTH],
    ids: &[(BOS, 0), (EOS, 2)],
    tokenizer: TokenizerClass::class(Convention::GptNeoX),
    ..Family::BASE
}];

pub(super) fn build(config: &Config, weights: &mut Weights<'_>) -> Result<Network, LoadError> {
    let d_model = config.d_model()?;
    let n_heads = config.n_heads(d_model)?;
    let spec = LayerSpec::new(n_heads, d_model / n_heads);
    let d_mlp = config.d_mlp()?.unwrap_or(4 * d_model);
    let (n_vocab, n_ctx, eps) = (config.n_vocab()?, config.n_ctx()?, config.norm_eps("layer_norm_eps", 1e-5)?);
    let activation = config.activation("hidden_act", Activation::Gelu)?;
    let bias = config.flag("attention_bias", true);
    let parallel = config.flag("use_parallel_residual", true);

    weights.set_prefix("gpt_neox.", &["embed_in.weight", "final_layer_norm.weight"]);
    // As files have it, and as version 5 of the library calls it.
    let name = ["embed_out", "lm_head"].into_iter().find(|name| weights.has(&format!("{name}.weight")));
    let output = Output::new(name.unwrap_or("embed_out"), false);
    let word = output.table(config, weights, "gpt_neox.embed_in.weight", &[n_vocab, d_model])?;
    let mut blocks = Vec::new();
    for layer in 0..config.n_layers()? {
        let name = |part: &str| format!("gpt_neox.layers.{layer}.{part}");
        let qkv = interleaved_qkv(weights, &name("attention.query_key_value"), d_model, spec, bias)?;
        let out = map(weights, &name("attention.dense"), (d_model, d_model), bias)?;
        let up = map(weights, &name("mlp.dense_h_to_4h"), (d_model, d_mlp), true)?;
        let down = map(weights, &name("mlp.dense_4h_to_h"), (d_mlp, d_model), true)?;
        let block = Block::new(
            Attention { rotary: Some(0), ..Attention::plain(qkv, out, spec, config.is_causal()) },
            Norms::pre(layer_norm(weights, &name("input_layernorm"), d_model, eps)?),
            Dense::plain(up, activation, down),
            Norms::pre(layer_norm(weights, &name("post_attention_layernorm"), d_model, eps)?),
        );
        blocks.push(Block { parallel, ..block });
        // Buffers that old checkpoints stored beside the weights.
        for buffer in ["attention.bias", "attention.masked_bias", "attention.rotary_emb.inv_freq"] {
            weights.skip(&name(buffer));
        }
    }
    let final_norm = Some(layer_norm(weights, "gpt_neox.final_layer_norm", d_model, eps)?);
    let head = head(config, weights, output, &word)?;
    let dialect =
        RotaryDialect { theta: "rotary_emb_base", fraction: "rotary_pct", odd: true, ..RotaryDialect::COMMON };
    let rotary = vec![Rotary::from_config(config, spec.d_head, Some(0.25), dialect)?];
    let stack = Stack { rotary, ..Stack::new(StackKind::SelfAttention, blocks, final_norm) };
    Ok(network("gpt_neox", (d_model, n_vocab), TextEmbedding::unending(word, n_ctx), stack, head))
}
