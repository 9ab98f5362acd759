//! BERT: post-norm encoder with learned positions and segments.

use super::{classifier, decoder, layer_norm, linear, mlp, n_classes, qkv};
use crate::{
    ids::StackKind,
    model::{
        LoadError,
        attention::Attention,
        block::{Block, Norms, Stack},
        config::Config,
        embedding::{Embedding, Positions, TextEmbedding},
        head::{Head, Reads, Transform},
        kernels::Activation,
        network::{Body, Network, Tower},
        weights::Weights,
    },
    spec::{HeadKind, LayerSpec, Modality, TextSpec},
};

pub(super) fn build(config: &Config, weights: &mut Weights<'_>) -> Result<Network, LoadError> {
    let d_model = config.d_model()?;
    let n_heads = config.n_heads(d_model)?;
    let spec = LayerSpec::new(n_heads, d_model / n_heads);
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
    let position = weights.tensor("bert.embeddings.position_embeddings.weight", &[n_ctx, d_model])?;
    let embedding = TextEmbedding {
        position: Some(Positions::from_zero(position)),
        segment: weights.optional(segment, &[n_segments, d_model])?,
        norm: Some(layer_norm(weights, "bert.embeddings.LayerNorm", d_model, eps)?),
        ..TextEmbedding::tokens(word, n_ctx)
    };
    let mut blocks = Vec::new();
    for layer in 0..config.n_layers()? {
        let name = |part: &str| format!("bert.encoder.layer.{layer}.{part}");
        let [q, k, v] = ["query", "key", "value"].map(|part| name(&format!("attention.self.{part}")));
        let qkv = qkv(weights, [&q, &k, &v], d_model, spec, [true; 3])?;
        let out = linear(weights, &name("attention.output.dense"), d_model, d_model)?;
        blocks.push(Block::new(
            Attention::plain(qkv, out, spec, false),
            Norms::post(layer_norm(weights, &name("attention.output.LayerNorm"), d_model, eps)?),
            mlp(weights, [&name("intermediate.dense"), &name("output.dense")], (d_model, d_mlp), activation)?,
            Norms::post(layer_norm(weights, &name("output.LayerNorm"), d_model, eps)?),
        ));
    }
    let head = head(config, weights, &embedding, activation, eps)?;
    let stack = Stack::new(StackKind::SelfAttention, blocks, None);
    Ok(Network {
        family: "bert",
        modality: Modality::Text(TextSpec { n_ctx, n_vocab }),
        d_model,
        body: Body::Single(Tower { embedding: Embedding::Text(embedding), stack }),
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
    let (n_vocab, d_model) = embedding.word.rows()?.dims2()?;
    if weights.has("cls.predictions.transform.dense.weight") {
        let dense = linear(weights, "cls.predictions.transform.dense", d_model, d_model)?;
        let norm = layer_norm(weights, "cls.predictions.transform.LayerNorm", d_model, eps)?;
        let bias = ["cls.predictions.bias", "cls.predictions.decoder.bias"].into_iter().find(|name| weights.has(name));
        let bias = bias.map(|name| weights.tensor(name, &[n_vocab])).transpose()?;
        weights.skip("cls.predictions.decoder.bias");
        let decoder = decoder(config, weights, "cls.predictions.decoder.weight", embedding.word.rows()?, bias)?;
        return Ok(Some(Head::masked_lm(dense, activation, norm, decoder)));
    }
    // Token classifiers and question answering also have a `classifier` or similar, but say nothing
    // about the text as a whole.
    let is_classifier = config.architecture().is_none_or(|class| class.ends_with("ForSequenceClassification"));
    if is_classifier && weights.has("classifier.weight") && weights.has("bert.pooler.dense.weight") {
        let pooler = linear(weights, "bert.pooler.dense", d_model, d_model)?;
        let transform = Transform { dense: Some(pooler), activation: Some(Activation::Tanh), ..Transform::default() };
        let parts = (HeadKind::TextClass, Reads::First, transform);
        return Ok(Some(classifier(config, weights, "classifier", d_model, parts)?));
    }
    weights.note_absent("cls.predictions.transform.dense.weight");
    Ok(None)
}
