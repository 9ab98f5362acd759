//! GPT-2: pre-norm decoder with learned positions; its linear maps are stored as `(in, out)`.

use super::{Network, class_names, decoder, layer_norm, n_classes};
use crate::{
    model::{
        LoadError,
        block::{Attention, Block, Mlp, NormPlace, Stack},
        config::Config,
        embedding::{Embedding, TextEmbedding},
        head::Head,
        kernels::{Activation, Linear},
        weights::Weights,
    },
    spec::{LayerSpec, Modality},
};

pub(super) fn build(config: &Config, weights: &mut Weights<'_>) -> Result<Network, LoadError> {
    let d_model = config.d_model()?;
    let mut spec = LayerSpec::multi_head(d_model, config.n_heads(d_model)?);
    if !config.flag("scale_attn_weights", true) {
        spec.scale = 1.0;
    }
    let by_layer = config.flag("scale_attn_by_inverse_layer_idx", false);
    let d_mlp = config.d_mlp()?.unwrap_or(4 * d_model);
    let (n_vocab, n_ctx) = (config.n_vocab()?, config.n_ctx()?);
    let eps = config.norm_eps(1e-5)?;
    let activation = config.activation(Activation::GeluTanh)?;

    weights.set_prefix("transformer.", "wte.weight");
    let embedding = TextEmbedding {
        word: weights.tensor("transformer.wte.weight", &[n_vocab, d_model])?,
        position: weights.tensor("transformer.wpe.weight", &[n_ctx, d_model])?,
        segment: None,
        norm: None,
    };
    let mut blocks = Vec::new();
    for layer in 0..config.n_layers()? {
        let name = |part: &str| format!("transformer.h.{layer}.{part}");
        let scale = if by_layer { spec.scale / (layer + 1) as f32 } else { spec.scale };
        blocks.push(Block {
            attention: Attention {
                qkv: conv1d(weights, &name("attn.c_attn"), d_model, 3 * d_model)?,
                out: conv1d(weights, &name("attn.c_proj"), d_model, d_model)?,
                spec: LayerSpec { scale, ..spec },
                causal: true,
            },
            attention_norm: layer_norm(weights, &name("ln_1"), d_model, eps)?,
            mlp: Mlp {
                up: conv1d(weights, &name("mlp.c_fc"), d_model, d_mlp)?,
                activation,
                down: conv1d(weights, &name("mlp.c_proj"), d_mlp, d_model)?,
            },
            mlp_norm: layer_norm(weights, &name("ln_2"), d_model, eps)?,
            norms: NormPlace::Before,
        });
        // Causal masks that old checkpoints stored beside the weights.
        weights.skip(&name("attn.bias"));
        weights.skip(&name("attn.masked_bias"));
    }
    let final_norm = Some(layer_norm(weights, "transformer.ln_f", d_model, eps)?);
    let head = if weights.has("score.weight") {
        let n = n_classes(weights, "score.weight");
        let weight = weights.tensor("score.weight", &[n, d_model])?.t()?;
        let classifier = Linear::new(weight, None)?;
        Head::TextClass { pooler: None, from_last: true, classifier, labels: class_names(config, n) }
    } else {
        Head::NextToken { decoder: decoder(config, weights, "lm_head.weight", &embedding.word, None)? }
    };
    Ok(Network {
        family: "gpt2",
        modality: Modality::Text { n_ctx, n_vocab },
        d_model,
        causal: true,
        embedding: Embedding::Text(embedding),
        stack: Stack { blocks, final_norm },
        head: Some(head),
    })
}

/// A linear map that is stored as `(in, out)`.
fn conv1d(weights: &mut Weights<'_>, name: &str, d_in: usize, d_out: usize) -> Result<Linear, LoadError> {
    weights.linear(&[name], (d_in, d_out), false, true)
}
