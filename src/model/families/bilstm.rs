//! Classifiers of before transformers, as `examples/train_polarity.py` writes them.

use super::{
    Body, ClassHead, Config, Family, FamilyGroup, HeadKind, LayerSpec, LoadError, Modality, Network, Reads, Stored,
    TextEmbedding, TextSpec, Transform, Weights, classifier, config_keys, linear,
};
use crate::{
    capture::Normalizer,
    model::{
        input::SentenceEnds,
        network::{
            bilstm::{BiLstm, Gates},
            cell::Lstm,
        },
    },
};

pub(super) const FAMILIES: &[Family] = &[Family::new("bilstm", FamilyGroup::Recurrent, build)];

const MAX: usize = 1 << 16;

/// What a configuration can say about such a model, beside what all can say.
const KNOWN: [&str; 8] = [
    "attention_normalizer",
    "attention_size",
    "embedding_size",
    "encoder_hidden_size",
    "gate_hidden_size",
    "max_position_embeddings",
    "vocab_size",
    "word_gates",
];

pub(super) fn build(config: &Config, weights: &mut Weights<'_>) -> Result<Network, LoadError> {
    know_all(config, &KNOWN)?;
    let (n_vocab, n_ctx) = (config.n_vocab()?, config.n_ctx()?);
    let d_word = config.size(&["embedding_size"], MAX)?;
    let d_half = config.size(&["encoder_hidden_size"], MAX)?;
    let d_key = config.size(&["attention_size"], MAX)?;
    let d_state = 2 * d_half;
    let normalizer = match config.text(&["attention_normalizer"]) {
        Some("softmax") => Normalizer::Softmax,
        Some("sparsemax") => Normalizer::Sparsemax,
        other => {
            let normalizer = other.unwrap_or("none");
            return Err(config.error(format!("its attention_normalizer is {normalizer}, not softmax or sparsemax")));
        }
    };
    let gates = match config.text(&["word_gates"]) {
        None => None,
        Some("hardkuma") => {
            let d_gate = config.size(&["gate_hidden_size"], MAX)?;
            Some(Gates {
                forward: lstm(weights, "gates.encoder.forward", (d_word, d_gate))?,
                backward: lstm(weights, "gates.encoder.backward", (d_word, d_gate))?,
                output: linear(weights, "gates.output", 2 * d_gate, 2)?,
            })
        }
        Some(other) => return Err(config.error(format!("its word_gates are {other}, not hardkuma"))),
    };
    let bilstm = BiLstm {
        words: TextEmbedding::tokens(weights.table("embed.weight", &[n_vocab, d_word])?, n_ctx),
        forward: lstm(weights, "encoder.forward", (d_word, d_half))?,
        backward: lstm(weights, "encoder.backward", (d_word, d_half))?,
        key: linear(weights, "attention.key", d_state, d_key)?,
        query: weights.linear(&["attention.query"], (d_key, 1), Stored::OutIn, false)?,
        normalizer,
        gates,
        spec: LayerSpec { scale: 1.0, ..LayerSpec::new(1, d_state) },
    };
    let parts = ClassHead { kind: HeadKind::TextClass, reads: Reads::First, transform: Transform::default() };
    let head = classifier(config, weights, "classifier", d_state, parts)?;
    let modality = Modality::Text(TextSpec::new(n_ctx, n_vocab));
    let body = Body::Reader(Box::new(bilstm));
    Ok(Network { family: "bilstm", modality, d_model: d_state, body, head: Some(head) })
}

/// Refuses a key that is none of these. No other program has these classes, so it is of something that would be missing.
pub(super) fn know_all(config: &Config, known: &[&str]) -> Result<(), LoadError> {
    let everywhere = config_keys::OF_ALL_FAMILIES;
    let is_known = |name: &str| known.contains(&name) || everywhere.iter().any(|keys| keys.contains(&name));
    match config.entries().keys().find(|name| !is_known(name)) {
        Some(name) => Err(config.unsupported(format!("the key {name} is not supported"))),
        None => Ok(()),
    }
}

/// The tokens behind which a sentence ends.
pub(super) fn sentence_ends(config: &Config, asks: bool) -> Result<SentenceEnds, LoadError> {
    let ids = config.numbers("sentence_end_token_ids").unwrap_or_default();
    if ids.is_empty() || ids.iter().any(|id| *id < 0.0 || id.fract() != 0.0) {
        return Err(config.error("its sentence_end_token_ids are no ids"));
    }
    Ok(SentenceEnds { ids: ids.into_iter().map(|id| id as u32).collect(), asks })
}

/// PyTorch keeps a bias of the input and one of the state; both are added.
fn lstm(weights: &mut Weights<'_>, name: &str, (d_in, d_state): (usize, usize)) -> Result<Lstm, LoadError> {
    Ok(Lstm {
        input: linear(weights, &format!("{name}.input"), d_in, 4 * d_state)?,
        state: linear(weights, &format!("{name}.state"), d_state, 4 * d_state)?,
    })
}
