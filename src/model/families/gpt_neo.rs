//! GPT-Neo: GPT-2 with unscaled scores and a sliding window in every other layer.

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
            embedding::{Positions, TextEmbedding},
        },
    },
    spec::LayerSpec,
};

pub(super) const FAMILIES: &[Family] = &[Family {
    model_type: "gpt_neo",
    group: Some(Group::Decoder),
    build: Some(build),
    harmless: &[&["attention_types"]],
    limits: &[config_keys::CAUSAL, config_keys::NO_CROSS],
    aliases: &[("num_attention_heads", "num_heads"), ("num_hidden_layers", "num_layers")],
    ids: &[(BOS, 50_256), (EOS, 50_256)],
    tokenizer: TokenizerClass::class(Convention::Gpt2),
}];

pub(super) fn build(config: &Config, weights: &mut Weights<'_>) -> Result<Network, LoadError> {
    let d_model = config.d_model()?;
    let n_heads = config.n_heads(d_model)?;
    let spec = LayerSpec { scale: 1.0, ..LayerSpec::new(n_heads, d_model / n_heads) };
    let d_mlp = config.d_mlp()?.unwrap_or(4 * d_model);
    let (n_vocab, n_ctx, eps) = (config.n_vocab()?, config.n_ctx()?, config.norm_eps("layer_norm_epsilon", 1e-5)?);
    let activation = config.activation("activation_function", Activation::GeluTanh)?;
    let n_layers = config.n_layers()?;
    let reach = config.optional_size(&["window_size"], 1 << 24)?.unwrap_or(256);
    let kinds = config.names("attention_layers").or_else(|| config.repeated("attention_types"));
    let alternate = || ["global", "local"].map(str::to_owned).into_iter().cycle().take(n_layers).collect();
    let kinds: Vec<String> = kinds.unwrap_or_else(alternate);
    if let Some(kind) = kinds.iter().find(|kind| !["global", "local"].contains(&kind.as_str())) {
        return Err(config.unsupported(format!("its attention “{kind}” is not supported")));
    }
    if kinds.len() != n_layers {
        return Err(config.error(format!("it describes {} of {n_layers} layers", kinds.len())));
    }

    weights.set_prefix("transformer.", &["wte.weight", "wpe.weight"]);
    let output = Output::new("lm_head", true);
    let word = output.table(config, weights, "transformer.wte.weight", &[n_vocab, d_model])?;
    let position = Positions::from_zero(weights.tensor("transformer.wpe.weight", &[n_ctx, d_model])?);
    let mut blocks = Vec::new();
    for (layer, kind) in kinds.iter().enumerate() {
        let name = |part: &str| format!("transformer.h.{layer}.{part}");
        let [q, k, v] = ["q_proj", "k_proj", "v_proj"].map(|part| name(&format!("attn.attention.{part}")));
        let qkv = qkv(weights, [&q, &k, &v], d_model, spec, [false; 3])?;
        let out = map(weights, &name("attn.attention.out_proj"), (d_model, d_model), true)?;
        let spec = LayerSpec { window: (kind == "local").then_some(reach), ..spec };
        blocks.push(Block::new(
            Attention::plain(qkv, out, spec, true),
            Norms::pre(layer_norm(weights, &name("ln_1"), d_model, eps)?),
            mlp(weights, [&name("mlp.c_fc"), &name("mlp.c_proj")], (d_model, d_mlp), activation)?,
            Norms::pre(layer_norm(weights, &name("ln_2"), d_model, eps)?),
        ));
        weights.skip(&name("attn.attention.bias"));
        weights.skip(&name("attn.attention.masked_bias"));
    }
    let final_norm = Some(layer_norm(weights, "transformer.ln_f", d_model, eps)?);
    let head = head(config, weights, output, &word)?;
    let embedding = TextEmbedding { position: Some(position), ..TextEmbedding::tokens(word, n_ctx) };
    let stack = Stack::new(StackKind::SelfAttention, blocks, final_norm);
    Ok(network("gpt_neo", (d_model, n_vocab), embedding, stack, head))
}
