//! Phi-1 and Phi-2: attention and MLP read the same normed stream; half of each head is rotated.

use super::{
    config_keys,
    decoder::{Output, head, network},
    family::{Family, Group},
    parts::{layer_norm, linear, mlp, qkv},
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
            attention::{Attention, HeadNorm, Projections, QkNorm},
            block::{Block, Norms, Stack},
            embedding::TextEmbedding,
            rotary::{Rotary, RotaryDialect},
        },
    },
    spec::LayerSpec,
};

pub(super) const FAMILIES: &[Family] = &[Family {
    model_type: "phi",
    group: Some(Group::Decoder),
    build: Some(build),
    harmless: &[config_keys::BESIDE_ROTARY],
    limits: &[config_keys::CAUSAL],
    ids: &[(BOS, 1), (EOS, 2)],
    tokenizer: TokenizerClass::class(Convention::Gpt2),
    ..Family::BASE
}];

pub(super) fn build(config: &Config, weights: &mut Weights<'_>) -> Result<Network, LoadError> {
    let d_model = config.d_model()?;
    let (n_heads, d_head) = config.heads(d_model)?;
    let spec = LayerSpec { n_kv_heads: config.n_kv_heads(n_heads)?, ..LayerSpec::new(n_heads, d_head) };
    let d_mlp = config.d_mlp()?.unwrap_or(4 * d_model);
    let (n_vocab, n_ctx, eps) = (config.n_vocab()?, config.n_ctx()?, config.norm_eps("layer_norm_eps", 1e-5)?);
    let activation = config.activation("hidden_act", Activation::GeluTanh)?;

    weights.set_prefix("model.", &["embed_tokens.weight", "final_layernorm.weight"]);
    let output = Output { bias: true, ..Output::new("lm_head", false) };
    let word = output.table(config, weights, "model.embed_tokens.weight", &[n_vocab, d_model])?;
    let mut blocks = Vec::new();
    for layer in 0..config.n_layers()? {
        let name = |part: &str| format!("model.layers.{layer}.{part}");
        let [q, k, v] = ["q_proj", "k_proj", "v_proj"].map(|part| name(&format!("self_attn.{part}")));
        let qk_norm = if config.flag("qk_layernorm", false) {
            let mut norm = |part: &str| -> Result<HeadNorm, LoadError> {
                Ok(HeadNorm { norm: layer_norm(weights, &name(part), d_head, eps)?, by_head: None })
            };
            Some(QkNorm { q: norm("self_attn.q_layernorm")?, k: norm("self_attn.k_layernorm")? })
        } else {
            None
        };
        let attention = Attention {
            projections: Projections::Fused(qkv(weights, [&q, &k, &v], d_model, spec, [true; 3])?),
            out: linear(weights, &name("self_attn.dense"), n_heads * d_head, d_model)?,
            spec,
            causal: config.is_causal(),
            qk_norm,
            rotary: Some(0),
            bias: None,
            global: None,
            sink: None,
        };
        let norms = Norms::pre(layer_norm(weights, &name("input_layernorm"), d_model, eps)?);
        let mlp = mlp(weights, [&name("mlp.fc1"), &name("mlp.fc2")], (d_model, d_mlp), activation)?;
        blocks.push(Block { parallel: true, ..Block::new(attention, norms.clone(), mlp, norms) });
    }
    let final_norm = Some(layer_norm(weights, "model.final_layernorm", d_model, eps)?);
    let head = head(config, weights, output, &word)?;
    let rotary = vec![Rotary::from_config(config, d_head, Some(0.5), RotaryDialect::COMMON)?];
    let stack = Stack { rotary, ..Stack::new(StackKind::SelfAttention, blocks, final_norm) };
    Ok(network("phi", (d_model, n_vocab), TextEmbedding::unending(word, n_ctx), stack, head))
}
