//! OPT: GPT-2 with separate projections and positions that start at row 2; the 350 M model has
//! narrower embeddings and norms after the addition.

use super::{
    Activation, BOS, Block, Config, Convention, Dense, EOS, Family, LayerSpec, LoadError, MultiHead, Network, Norm,
    NormKind, Norms, Output, PAD, Positions, Stack, StackKind, TextEmbedding, TokenizerClass, Weights, decoder::head,
    layer_norm, map, n_classes, network, qkv,
};

pub(super) const FAMILIES: &[Family] = &[Family {
    harmless: &[&["word_embed_proj_dim"]],
    ids: &[(BOS, 2), (EOS, 2), (PAD, 1)],
    tokenizer: TokenizerClass::class(Convention::Gpt2),
    ..Family::decoder("opt", build)
}];

/// Rows of the position table before that of the first token.
const OFFSET: usize = 2;
/// No configuration changes it.
const EPS: f32 = 1e-5;

pub(super) fn build(config: &Config, weights: &mut Weights<'_>) -> Result<Network, LoadError> {
    let d_model = config.d_model()?;
    let n_heads = config.n_heads(d_model)?;
    let spec = LayerSpec::new(n_heads, d_model / n_heads);
    let d_mlp = config.d_mlp()?.unwrap_or(4 * d_model);
    let (n_vocab, n_ctx) = (config.n_vocab()?, config.n_ctx()?);
    let activation = config.activation("activation_function", Activation::Relu)?;
    let bias = config.flag("enable_bias", true);
    let norm_before = config.flag("do_layer_norm_before", true);
    let has_weights = config.flag("layer_norm_elementwise_affine", true);

    weights.set_prefix("model.decoder.", &["embed_tokens.weight", "embed_positions.weight"]);
    let output = Output::new("lm_head", true);
    let word = output.table_name(config, weights, "model.decoder.embed_tokens.weight");
    let d_embedding = weights.shape(&word).and_then(|shape| shape.get(1)).copied().unwrap_or(d_model);
    let word = weights.table(&word, &[n_vocab, d_embedding])?;
    let table = "model.decoder.embed_positions.weight";
    let n_rows = n_classes(weights, table).clamp(OFFSET, n_ctx + OFFSET);
    let position = weights.tensor(table, &[n_rows, d_model])?;
    let layer_norm = |weights: &mut Weights<'_>, name: &str| -> Result<Norm, LoadError> {
        if has_weights {
            return layer_norm(weights, name, d_model, EPS);
        }
        let weight = candle_core::Tensor::ones(d_model, candle_core::DType::F32, word.device())?;
        Ok(Norm { kind: NormKind::Layer, weight, bias: None, eps: EPS })
    };
    let mut blocks = Vec::new();
    for layer in 0..config.n_layers()? {
        let name = |part: &str| format!("model.decoder.layers.{layer}.{part}");
        let [q, k, v] = ["q_proj", "k_proj", "v_proj"].map(|part| name(&format!("self_attn.{part}")));
        let qkv = qkv(weights, [&q, &k, &v], d_model, spec, [bias; 3])?;
        let out = map(weights, &name("self_attn.out_proj"), (d_model, d_model), bias)?;
        let up = map(weights, &name("fc1"), (d_model, d_mlp), bias)?;
        let down = map(weights, &name("fc2"), (d_mlp, d_model), bias)?;
        let place = if norm_before { Norms::pre } else { Norms::post };
        blocks.push(Block::new(
            MultiHead::plain(qkv, out, spec, config.is_causal()),
            place(layer_norm(weights, &name("self_attn_layer_norm"))?),
            Dense::plain(up, activation, down),
            place(layer_norm(weights, &name("final_layer_norm"))?),
        ));
    }
    let has_final = norm_before && !config.flag("_remove_final_layer_norm", false);
    let final_norm = has_final.then(|| layer_norm(weights, "model.decoder.final_layer_norm")).transpose()?;
    let mut head = head(config, weights, output, &word)?;
    let mut embedding = TextEmbedding::tokens(word, n_rows - OFFSET);
    if d_embedding != d_model {
        embedding.token_projection = Some(map(weights, "model.decoder.project_in", (d_embedding, d_model), false)?);
        if let Some(head) = &mut head {
            let back = map(weights, "model.decoder.project_out", (d_model, d_embedding), false)?;
            head.transform.dense = Some(back);
        }
    }
    embedding.position = Some(Positions { table: position, offset: OFFSET, padding: None, grows: false });
    let stack = Stack::new(StackKind::SelfAttention, blocks, final_norm);
    Ok(network("opt", (d_model, n_vocab), embedding, stack, head))
}
