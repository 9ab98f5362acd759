//! GPT-J: attention and MLP beside each other behind one norm, and neighbouring dimensions turned together.

use super::{
    config_keys,
    decoder::{Output, head, map, network},
    family::{Family, Group},
    parts::{layer_norm, mlp, qkv},
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
            rotary::Rotary,
        },
    },
    spec::LayerSpec,
};

pub(super) const FAMILIES: &[Family] = &[Family {
    model_type: "gptj",
    group: Some(Group::Decoder),
    build: Some(build),
    harmless: &[config_keys::SUMMARY],
    limits: &[config_keys::CAUSAL],
    aliases: &[
        ("hidden_size", "n_embd"),
        ("max_position_embeddings", "n_positions"),
        ("num_attention_heads", "n_head"),
        ("num_hidden_layers", "n_layer"),
    ],
    ids: &[(BOS, 50_256), (EOS, 50_256)],
    tokenizer: TokenizerClass::class(Convention::Gpt2),
}];

fn build(config: &Config, weights: &mut Weights<'_>) -> Result<Network, LoadError> {
    let d_model = config.d_model()?;
    let n_heads = config.n_heads(d_model)?;
    let spec = LayerSpec::new(n_heads, d_model / n_heads);
    let d_mlp = config.d_mlp()?.unwrap_or(4 * d_model);
    let (n_vocab, n_ctx) = (config.n_vocab()?, config.n_ctx()?);
    let eps = config.norm_eps("layer_norm_epsilon", 1e-5)?;
    let activation = config.activation("activation_function", Activation::GeluTanh)?;

    weights.set_prefix("transformer.", &["wte.weight", "ln_f.weight"]);
    let output = Output { bias: true, ..Output::new("lm_head", false) };
    let word = output.table(config, weights, "transformer.wte.weight", &[n_vocab, d_model])?;
    let mut blocks = Vec::new();
    for layer in 0..config.n_layers()? {
        let name = |part: &str| format!("transformer.h.{layer}.{part}");
        let [q, k, v] = ["q_proj", "k_proj", "v_proj"].map(|part| name(&format!("attn.{part}")));
        let qkv = qkv(weights, [&q, &k, &v], d_model, spec, [false; 3])?;
        let out = map(weights, &name("attn.out_proj"), (d_model, d_model), false)?;
        let attention = Attention { rotary: Some(0), ..Attention::plain(qkv, out, spec, config.is_causal()) };
        let norms = Norms::pre(layer_norm(weights, &name("ln_1"), d_model, eps)?);
        let mlp = mlp(weights, [&name("mlp.fc_in"), &name("mlp.fc_out")], (d_model, d_mlp), activation)?;
        blocks.push(Block { parallel: true, ..Block::new(attention, norms.clone(), mlp, norms) });
        // Causal masks that old checkpoints stored beside the weights.
        for mask in ["attn.bias", "attn.masked_bias"] {
            weights.skip(&name(mask));
        }
    }
    let final_norm = Some(layer_norm(weights, "transformer.ln_f", d_model, eps)?);
    let head = head(config, weights, output, &word)?;
    let rotary = vec![rotary(config, spec.d_head)?];
    let stack = Stack { rotary, ..Stack::new(StackKind::SelfAttention, blocks, final_norm) };
    Ok(network("gptj", (d_model, n_vocab), TextEmbedding::tokens(word, n_ctx), stack, head))
}

/// Of the first `rotary_dim` dimensions of a head.
fn rotary(config: &Config, d_head: usize) -> Result<Rotary, LoadError> {
    let n_rotated = config.number_unless_null("rotary_dim", Some(64.0))?.unwrap_or(0.0);
    if !(n_rotated > 0.0 && n_rotated <= d_head as f64 && n_rotated % 2.0 == 0.0) {
        return Err(config.error(format!("its rotary_dim is {n_rotated}, and its heads have {d_head} dimensions")));
    }
    Ok(Rotary { neighbours: true, ..Rotary::new(10_000.0, n_rotated as usize) })
}
