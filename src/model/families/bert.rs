//! BERT: post-norm encoder with learned positions and segments.

use super::{Network, class_names, decoder, layer_norm, linear, n_classes};
use crate::{
    model::{
        LoadError,
        block::{Attention, Block, Mlp, NormPlace, Stack},
        config::Config,
        embedding::{Embedding, TextEmbedding},
        head::Head,
        kernels::Activation,
        weights::Weights,
    },
    spec::{LayerSpec, Modality},
};

pub(super) fn build(config: &Config, weights: &mut Weights<'_>) -> Result<Network, LoadError> {
    let d_model = config.d_model()?;
    let spec = LayerSpec::multi_head(d_model, config.n_heads(d_model)?);
    let d_mlp = config.d_mlp()?.unwrap_or(4 * d_model);
    let (n_vocab, n_ctx) = (config.n_vocab()?, config.n_ctx()?);
    let eps = config.norm_eps(1e-12)?;
    let activation = config.activation(Activation::Gelu)?;
    if config.text(&["position_embedding_type"]).is_some_and(|kind| kind != "absolute") {
        return Err(config.error("only absolute position embeddings are supported for BERT"));
    }

    weights.set_prefix("bert.", "embeddings.word_embeddings.weight");
    let word = weights.tensor("bert.embeddings.word_embeddings.weight", &[n_vocab, d_model])?;
    let segment = "bert.embeddings.token_type_embeddings.weight";
    let n_segments = n_classes(weights, segment);
    let embedding = TextEmbedding {
        position: weights.tensor("bert.embeddings.position_embeddings.weight", &[n_ctx, d_model])?,
        segment: weights.optional(segment, &[n_segments, d_model])?,
        norm: Some(layer_norm(weights, "bert.embeddings.LayerNorm", d_model, eps)?),
        word,
    };
    let mut blocks = Vec::new();
    for layer in 0..config.n_layers()? {
        let name = |part: &str| format!("bert.encoder.layer.{layer}.{part}");
        let qkv = ["query", "key", "value"].map(|part| name(&format!("attention.self.{part}")));
        blocks.push(Block {
            attention: Attention {
                qkv: weights.linear(&qkv.each_ref().map(String::as_str), (d_model, d_model), true, true)?,
                out: linear(weights, &name("attention.output.dense"), d_model, d_model)?,
                spec,
                causal: false,
            },
            attention_norm: layer_norm(weights, &name("attention.output.LayerNorm"), d_model, eps)?,
            mlp: Mlp {
                up: linear(weights, &name("intermediate.dense"), d_model, d_mlp)?,
                activation,
                down: linear(weights, &name("output.dense"), d_mlp, d_model)?,
            },
            mlp_norm: layer_norm(weights, &name("output.LayerNorm"), d_model, eps)?,
            norms: NormPlace::After,
        });
    }
    let head = head(config, weights, &embedding, activation, eps)?;
    Ok(Network {
        family: "bert",
        modality: Modality::Text { n_ctx, n_vocab },
        d_model,
        causal: false,
        embedding: Embedding::Text(embedding),
        stack: Stack { blocks, final_norm: None },
        head,
    })
}

fn head(
    config: &Config,
    weights: &mut Weights<'_>,
    embedding: &TextEmbedding,
    activation: Activation,
    eps: f32,
) -> Result<Option<Head>, LoadError> {
    let (n_vocab, d_model) = embedding.word.dims2()?;
    if weights.has("cls.predictions.transform.dense.weight") {
        let dense = linear(weights, "cls.predictions.transform.dense", d_model, d_model)?;
        let norm = layer_norm(weights, "cls.predictions.transform.LayerNorm", d_model, eps)?;
        let bias = ["cls.predictions.bias", "cls.predictions.decoder.bias"].into_iter().find(|name| weights.has(name));
        let bias = bias.map(|name| weights.tensor(name, &[n_vocab])).transpose()?;
        weights.skip("cls.predictions.decoder.bias");
        let decoder = decoder(config, weights, "cls.predictions.decoder.weight", &embedding.word, bias)?;
        return Ok(Some(Head::MaskedLm { dense, activation, norm, decoder }));
    }
    // Token classifiers and question answering also have a `classifier` or similar, but say nothing
    // about the text as a whole.
    let is_classifier = config.architecture().is_none_or(|class| class.ends_with("ForSequenceClassification"));
    if is_classifier && weights.has("classifier.weight") && weights.has("bert.pooler.dense.weight") {
        let n = n_classes(weights, "classifier.weight");
        return Ok(Some(Head::TextClass {
            pooler: Some(linear(weights, "bert.pooler.dense", d_model, d_model)?),
            from_last: false,
            classifier: linear(weights, "classifier", d_model, n)?,
            labels: class_names(config, n),
        }));
    }
    weights.note_absent("cls.predictions.transform.dense.weight");
    Ok(None)
}
