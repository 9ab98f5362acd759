//! End-to-end memory networks, as `examples/train_memory.py` writes them.

use super::{
    Body, Config, Family, FamilyGroup, Head, HeadKind, LayerSpec, LoadError, MAX_LAYERS, Modality, Network, Reads,
    Stored, TextEmbedding, TextSpec, Transform, Weights,
    bilstm::{know_all, sentence_ends},
    outcomes,
    rnnsearch::MAX,
};
use crate::model::network::memories::Memories;

pub(super) const FAMILIES: &[Family] = &[Family::new("memn2n", FamilyGroup::Recurrent, build)];

/// What a configuration can say about such a model, beside what all can say.
const KNOWN: [&str; 6] =
    ["hidden_size", "max_position_embeddings", "max_sentences", "num_hops", "sentence_end_token_ids", "vocab_size"];

pub(super) fn build(config: &Config, weights: &mut Weights<'_>) -> Result<Network, LoadError> {
    know_all(config, &KNOWN)?;
    let (n_vocab, n_ctx) = (config.n_vocab()?, config.n_ctx()?);
    let d_model = config.size(&["hidden_size"], MAX)?;
    let n_hops = config.size(&["num_hops"], MAX_LAYERS)?;
    let width = d_model * (n_hops + 1);
    let memories = Memories {
        words: TextEmbedding::tokens(weights.table("embed.weight", &[n_vocab, width])?, n_ctx),
        time: weights.tensor("time.weight", &[config.size(&["max_sentences"], MAX)?, width])?,
        ends: sentence_ends(config, true)?,
        n_hops,
        spec: LayerSpec { scale: 1.0, ..LayerSpec::new(1, d_model) },
    };
    let kind = HeadKind::TextClass;
    let answers = outcomes(config, weights, kind, "classifier.weight")?;
    let output = weights.linear(&["classifier"], (d_model, answers.names.len()), Stored::OutIn, false)?;
    let head = Head::class(kind, Reads::First, Transform::default(), output, answers);
    let modality = Modality::Text(TextSpec::new(n_ctx, n_vocab));
    let body = Body::Reader(Box::new(memories));
    Ok(Network { family: "memn2n", modality, d_model, body, head: Some(head) })
}
