//! Recurrent language models with attention, as `examples/train_reader.py` writes them.

use super::{
    Body, Config, Family, FamilyGroup, Head, LayerSpec, Linear, LoadError, Modality, Network, Stored, TextEmbedding,
    TextSpec, Weights,
    bilstm::know_all,
    linear,
    rnnsearch::{MAX, gru},
};
use crate::model::network::attentive::AttentiveLm;

pub(super) const FAMILIES: &[Family] = &[Family::new("attentive_lm", FamilyGroup::Recurrent, build)];

/// What a configuration can say about such a model, beside what all can say.
const KNOWN: [&str; 4] = ["embedding_size", "hidden_size", "max_position_embeddings", "vocab_size"];

pub(super) fn build(config: &Config, weights: &mut Weights<'_>) -> Result<Network, LoadError> {
    know_all(config, &KNOWN)?;
    let (n_vocab, n_ctx) = (config.n_vocab()?, config.n_ctx()?);
    let d_word = config.size(&["embedding_size"], MAX)?;
    let d_state = config.size(&["hidden_size"], MAX)?;
    let word = weights.table("embed.weight", &[n_vocab, d_word])?;
    let head = Head::next_token(Linear::tied(&word, Some(weights.tensor("output.bias", &[n_vocab])?))?);
    let model = AttentiveLm {
        words: TextEmbedding::tokens(word, n_ctx),
        reader: gru(weights, "encoder.forward", (d_word, d_state))?,
        query: weights.linear(&["attention.query"], (d_state, d_state), Stored::OutIn, false)?,
        readout: linear(weights, "readout", 2 * d_state + d_word, d_word)?,
        spec: LayerSpec::new(1, d_state),
    };
    let modality = Modality::Text(TextSpec::new(n_ctx, n_vocab));
    let body = Body::Attentive(Box::new(model));
    Ok(Network { family: "attentive_lm", modality, d_model: d_state, body, head: Some(head) })
}
