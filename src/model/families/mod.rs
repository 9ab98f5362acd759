//! One small file per architecture: each maps a configuration and tensor names to the generic
//! embedding, block and head. No arithmetic here.

mod bert;
mod gpt2;
mod vit;

use candle_core::Tensor;

use super::{
    LoadError,
    block::Stack,
    config::Config,
    embedding::Embedding,
    head::Head,
    kernels::{Linear, Norm, NormKind},
    weights::Weights,
};
use crate::spec::{LayerSpec, Modality};

/// The `model_type`s that [`build`] knows.
pub(crate) const SUPPORTED: [&str; 3] = ["bert", "gpt2", "vit"];

/// A model as the forward pass sees it.
#[derive(Debug)]
pub(crate) struct Network {
    pub family: &'static str,
    pub modality: Modality,
    pub d_model: usize,
    pub causal: bool,
    pub embedding: Embedding,
    pub stack: Stack,
    pub head: Option<Head>,
}

/// Refuses an unknown architecture before any weight is looked for.
pub(crate) fn check(config: &Config) -> Result<(), LoadError> {
    let family = config.model_type()?;
    if SUPPORTED.contains(&family.as_str()) { Ok(()) } else { Err(config.unknown_family(&family)) }
}

/// Builds the network that `config.json` describes.
pub(crate) fn build(config: &Config, weights: &mut Weights<'_>) -> Result<Network, LoadError> {
    match config.model_type()?.as_str() {
        "bert" => bert::build(config, weights),
        "gpt2" => gpt2::build(config, weights),
        "vit" => vit::build(config, weights),
        other => Err(config.unknown_family(other)),
    }
}

impl LayerSpec {
    /// Ordinary multi-head attention: heads share the width, scores are divided by `√d_head`.
    fn multi_head(d_model: usize, n_heads: usize) -> Self {
        let d_head = d_model / n_heads;
        Self { n_heads, n_kv_heads: n_heads, d_head, scale: 1.0 / (d_head as f32).sqrt() }
    }
}

/// A layer norm under `name`, with its bias.
fn layer_norm(weights: &mut Weights<'_>, name: &str, d: usize, eps: f32) -> Result<Norm, LoadError> {
    Ok(Norm {
        kind: NormKind::Layer,
        weight: weights.tensor(&format!("{name}.weight"), &[d])?,
        bias: Some(weights.tensor(&format!("{name}.bias"), &[d])?),
        eps,
    })
}

/// One linear map with a bias, stored as `(out, in)`.
fn linear(weights: &mut Weights<'_>, name: &str, d_in: usize, d_out: usize) -> Result<Linear, LoadError> {
    weights.linear(&[name], (d_in, d_out), true, true)
}

/// The output projection to the vocabulary: its own weights when the file unties them, else the
/// token embedding `[n_vocab, d_model]`.
fn decoder(
    config: &Config,
    weights: &mut Weights<'_>,
    name: &str,
    embedding: &Tensor,
    bias: Option<Tensor>,
) -> Result<Linear, LoadError> {
    let (n_vocab, d_model) = embedding.dims2()?;
    let untied = !config.flag("tie_word_embeddings", true);
    let weight = if untied && weights.has(name) {
        weights.tensor(name, &[n_vocab, d_model])?
    } else {
        weights.skip(name);
        embedding.clone()
    };
    Ok(Linear::shared(weight.t()?, bias))
}

/// Number of classes of a classifier stored as `(classes, in)`: what the file's tensor says.
fn n_classes(weights: &Weights<'_>, name: &str) -> usize {
    weights.shape(name).and_then(<[usize]>::first).copied().unwrap_or(0)
}

/// One name per class; numbers where the configuration gives none.
fn class_names(config: &Config, n: usize) -> Vec<String> {
    let mut labels = config.labels().unwrap_or_default();
    labels.truncate(n);
    labels.extend((labels.len()..n).map(|id| format!("class {id}")));
    labels
}
