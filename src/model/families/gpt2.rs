//! GPT-2: pre-norm decoder with learned positions; its linear maps are stored as `(in, out)`.

use super::{
    Activation, BOS, Block, Body, Config, Convention, Dense, EOS, Embedding, Family, Head, LayerSpec, Linear,
    LoadError, Modality, MultiHead, Network, Norms, Positions, Stack, StackKind, Stored, TextEmbedding, TextSpec,
    TokenizerClass, Tower, Weights, config_keys, decoder::class_head, layer_norm, table_name, vocabulary_map,
};

pub(super) const FAMILIES: &[Family] = &[Family {
    // The order in which scores are scaled and widened: the same numbers in 32 bits.
    harmless: &[config_keys::SUMMARY, &["reorder_and_upcast_attn"]],
    aliases: &[
        ("hidden_size", "n_embd"),
        ("max_position_embeddings", "n_positions"),
        ("n_ctx", "n_positions"),
        ("num_attention_heads", "n_head"),
        ("num_hidden_layers", "n_layer"),
    ],
    ids: &[(BOS, 50_256), (EOS, 50_256)],
    tokenizer: TokenizerClass::class(Convention::Gpt2),
    classes: &["GPT2"],
    ..Family::decoder("gpt2", build)
}];

const OUTPUT: &str = "lm_head.weight";

pub(super) fn build(config: &Config, weights: &mut Weights<'_>) -> Result<Network, LoadError> {
    let d_model = config.d_model()?;
    let n_heads = config.n_heads(d_model)?;
    let mut spec = LayerSpec::new(n_heads, d_model / n_heads);
    if !config.flag("scale_attn_weights", true) {
        spec.scale = 1.0;
    }
    let by_layer = config.flag("scale_attn_by_inverse_layer_idx", false);
    let d_mlp = config.d_mlp()?.unwrap_or(4 * d_model);
    let (n_vocab, n_ctx) = (config.n_vocab()?, config.n_ctx()?);
    let eps = config.norm_eps("layer_norm_epsilon", 1e-5)?;
    let activation = config.activation("activation_function", Activation::GeluTanh)?;

    weights.set_prefix("transformer.", &["wte.weight", "wpe.weight"]);
    let word = table_name(config, weights, ["transformer.wte.weight", OUTPUT], true);
    let word = weights.table(&word, &[n_vocab, d_model])?;
    let position = Positions::from_zero(weights.tensor("transformer.wpe.weight", &[n_ctx, d_model])?);
    let embedding = TextEmbedding { position: Some(position), ..TextEmbedding::tokens(word, n_ctx) };
    let mut blocks = Vec::new();
    for layer in 0..config.n_layers()? {
        let name = |part: &str| format!("transformer.h.{layer}.{part}");
        let scale = if by_layer { spec.scale / (layer + 1) as f32 } else { spec.scale };
        let qkv = conv1d(weights, &name("attn.c_attn"), d_model, 3 * d_model)?;
        let out = conv1d(weights, &name("attn.c_proj"), d_model, d_model)?;
        let up = conv1d(weights, &name("mlp.c_fc"), d_model, d_mlp)?;
        let down = conv1d(weights, &name("mlp.c_proj"), d_mlp, d_model)?;
        let spec = LayerSpec { scale, ..spec };
        let cross = if config.flag("add_cross_attention", false) {
            let q = conv1d(weights, &name("crossattention.q_attn"), d_model, d_model)?;
            let kv = conv1d(weights, &name("crossattention.c_attn"), d_model, 2 * d_model)?;
            let out = conv1d(weights, &name("crossattention.c_proj"), d_model, d_model)?;
            let norm = layer_norm(weights, &name("ln_cross_attn"), d_model, eps)?;
            Some((MultiHead::cross(q, kv, out, spec), Norms::pre(norm)))
        } else {
            None
        };
        let block = Block::new(
            MultiHead::plain(qkv, out, spec, config.is_causal()),
            Norms::pre(layer_norm(weights, &name("ln_1"), d_model, eps)?),
            Dense::plain(up, activation, down),
            Norms::pre(layer_norm(weights, &name("ln_2"), d_model, eps)?),
        );
        blocks.push(Block { cross, ..block });
        // Causal masks that old checkpoints stored beside the weights.
        for mask in ["attn.bias", "attn.masked_bias", "crossattention.bias", "crossattention.masked_bias"] {
            weights.skip(&name(mask));
        }
    }
    let final_norm = Some(layer_norm(weights, "transformer.ln_f", d_model, eps)?);
    let head = match class_head(config, weights, d_model)? {
        Some(head) => Some(head),
        None => vocabulary_map(config, weights, OUTPUT, embedding.word.rows()?, None)?.map(Head::next_token),
    };
    let stack = Stack::new(StackKind::SelfAttention, blocks, final_norm);
    Ok(Network {
        family: "gpt2",
        modality: Modality::Text(TextSpec::new(n_ctx, n_vocab)),
        d_model,
        body: Body::Single(Tower { embedding: Embedding::Text(embedding), stack }),
        head,
    })
}

/// A linear map that is stored as `(in, out)`.
fn conv1d(weights: &mut Weights<'_>, name: &str, d_in: usize, d_out: usize) -> Result<Linear, LoadError> {
    weights.linear(&[name], (d_in, d_out), Stored::InOut, true)
}
