//! Hierarchical attention networks, as `examples/train_documents.py` writes them.

use super::{
    Body, ClassHead, Config, Family, FamilyGroup, HeadKind, LayerSpec, LoadError, Modality, Network, Reads, Stored,
    TextEmbedding, TextSpec, Transform, Weights,
    bilstm::{know_all, sentence_ends},
    classifier, linear,
    rnnsearch::{MAX, gru},
};
use crate::model::network::documents::{Documents, Level};

pub(super) const FAMILIES: &[Family] = &[Family::new("han", FamilyGroup::Recurrent, build)];

/// What a configuration can say about such a model, beside what all can say.
const KNOWN: [&str; 7] = [
    "attention_size",
    "embedding_size",
    "max_position_embeddings",
    "sentence_end_token_ids",
    "sentence_hidden_size",
    "vocab_size",
    "word_hidden_size",
];

pub(super) fn build(config: &Config, weights: &mut Weights<'_>) -> Result<Network, LoadError> {
    know_all(config, &KNOWN)?;
    let (n_vocab, n_ctx) = (config.n_vocab()?, config.n_ctx()?);
    let d_word = config.size(&["embedding_size"], MAX)?;
    let d_half = [config.size(&["word_hidden_size"], MAX)?, config.size(&["sentence_hidden_size"], MAX)?];
    let d_key = config.size(&["attention_size"], MAX)?;
    let documents = Documents {
        words: TextEmbedding::tokens(weights.table("embed.weight", &[n_vocab, d_word])?, n_ctx),
        of_words: level(weights, "word", (d_word, d_half[0], d_key))?,
        of_sentences: level(weights, "sentence", (2 * d_half[0], d_half[1], d_key))?,
        ends: sentence_ends(config, false)?,
    };
    let d_model = 2 * d_half[1];
    let parts = ClassHead { kind: HeadKind::TextClass, reads: Reads::First, transform: Transform::default() };
    let head = classifier(config, weights, "classifier", d_model, parts)?;
    let modality = Modality::Text(TextSpec::new(n_ctx, n_vocab));
    let body = Body::Reader(Box::new(documents));
    Ok(Network { family: "han", modality, d_model, body, head: Some(head) })
}

fn level(
    weights: &mut Weights<'_>,
    name: &str,
    (d_in, d_half, d_key): (usize, usize, usize),
) -> Result<Level, LoadError> {
    Ok(Level {
        forward: gru(weights, &format!("{name}.encoder.forward"), (d_in, d_half))?,
        backward: gru(weights, &format!("{name}.encoder.backward"), (d_in, d_half))?,
        key: linear(weights, &format!("{name}.key"), 2 * d_half, d_key)?,
        query: weights.linear(&[&format!("{name}.query")], (d_key, 1), Stored::OutIn, false)?,
        spec: LayerSpec { scale: 1.0, ..LayerSpec::new(1, 2 * d_half) },
    })
}
