//! BERT and DistilBERT.

use candle_core::Tensor;
use candle_nn::Module as _;
use candle_transformers::models::{bert, distilbert};
use serde_json::json;

use super::{Compared, Deviation, Output, Plan, row, settings::ConfigMap};
use crate::{ids::StackKind, spec::HeadKind};

const STREAM: Compared = Compared::Final(StackKind::SelfAttention);

pub(crate) fn bert(settings: &ConfigMap, head: Option<HeadKind>) -> Result<Plan, String> {
    if settings.flag("is_decoder") {
        return Err("its BERT attends in both directions alone, and this one is a decoder".to_owned());
    }
    let config: bert::Config = settings
        .clone()
        .or(&json!({
            "vocab_size": 30522, "hidden_size": 768, "num_hidden_layers": 12, "num_attention_heads": 12,
            "intermediate_size": 3072, "hidden_act": "gelu", "hidden_dropout_prob": 0.1,
            "max_position_embeddings": 512, "type_vocab_size": 2, "initializer_range": 0.02, "layer_norm_eps": 1e-12,
            "pad_token_id": 0,
        }))
        .parse()?;
    Ok(Plan::new("bert", move |tensors, reading| {
        let tensors = tensors
            .rooted("embeddings.word_embeddings.weight")
            .renamed(&[("LayerNorm.gamma", "LayerNorm.weight"), ("LayerNorm.beta", "LayerNorm.bias")])
            .tied("cls.predictions.decoder.weight", "embeddings.word_embeddings.weight")
            .tied("cls.predictions.decoder.bias", "cls.predictions.bias");
        let (ids, segments) = reading.ids()?;
        let ids = row(ids)?;
        let segments = if segments.is_empty() { ids.zeros_like()? } else { row(segments)? };
        let stream = bert::BertModel::load(tensors.builder(), &config)?.forward(&ids, &segments, None)?;
        let mut outputs = vec![Output::all(STREAM, &stream)?];
        if head == Some(HeadKind::MaskedLm) {
            let head = bert::BertOnlyMLMHead::load(tensors.builder().pp("cls"), &config)?;
            outputs.push(Output::all(Compared::Logits, &head.forward(&stream)?)?);
        }
        Ok(outputs)
    }))
}

pub(crate) fn distilbert(settings: &ConfigMap, head: Option<HeadKind>) -> Result<Plan, String> {
    let settings = settings.clone().or(&json!({
        "vocab_size": 30522, "dim": 768, "n_layers": 6, "n_heads": 12, "hidden_dim": 3072, "activation": "gelu",
        "max_position_embeddings": 512, "initializer_range": 0.02, "pad_token_id": 0,
    }));
    let config: distilbert::Config = settings.parse()?;
    let why = "its DistilBERT computes GELU by the tanh formula where the configuration means the exact one";
    let is_exact = settings.text("activation") == Some("gelu");
    let deviations = is_exact.then(|| Deviation::new(why, json!({ "activation": "gelu_new" })));
    let plan = Plan::new("distilbert", move |tensors, reading| {
        let word = "embeddings.word_embeddings.weight";
        // Its output map goes by the name of the embedding even where the file has one of its own.
        let map = format!("distilbert.{word}");
        let tensors = tensors.rooted(word).tied(&map, "vocab_projector.weight").tied(&map, word);
        let ids = row(reading.ids()?.0)?;
        // Nothing is hidden.
        let mask = Tensor::zeros((1, 1, 1, ids.dim(1)?), candle_core::DType::U8, ids.device())?;
        let stream = distilbert::DistilBertModel::load(tensors.builder(), &config)?.forward(&ids, &mask)?;
        let mut outputs = vec![Output::all(STREAM, &stream)?];
        if head == Some(HeadKind::MaskedLm) {
            let head = distilbert::DistilBertOnlyMLMHead::load(tensors.builder(), &config)?;
            outputs.push(Output::all(Compared::Logits, &head.forward(&stream)?)?);
        }
        Ok(outputs)
    });
    Ok(Plan { deviations: deviations.into_iter().collect(), ..plan })
}
