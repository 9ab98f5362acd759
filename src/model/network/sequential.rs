//! Networks that read token by token, as the rest of the forward pass sees them.

use std::fmt::Debug;

use candle_core::Tensor;

use super::{embedding::Table, pass::Pass};
use crate::{
    capture::{Bend, Normalizer},
    model::{
        ModelError,
        input::{Payload, SentenceEnds},
        kernels::{self, Activation, Linear},
        run::{At, Run, Site},
    },
    spec::{Mask, StackSpec},
};

/// Reads a text and writes another, with one attention from what it writes to what it read.
pub(crate) trait TextWriter: Debug + Send + Sync {
    /// The token embeddings.
    fn words(&mut self) -> &mut Table;

    /// The one stack.
    fn stack(&self) -> StackSpec;

    /// The source as the writer attends to it.
    ///
    /// # Shapes
    /// - result: `[n_key, d_memory]`
    fn encode(&self, source: &Payload, run: &mut Run<'_>) -> Result<Tensor, ModelError>;

    /// What the head reads, for each token that the writer reads.
    ///
    /// # Shapes
    /// - `memory` of the pass: `[n_key, d_memory]`
    /// - result: `[n_query, d_model]`
    fn decode(&self, target: &Payload, pass: &mut Pass<'_>, run: &mut Run<'_>) -> Result<Tensor, ModelError>;
}

/// Reads a text for a head, by queries that are none of its words.
pub(crate) trait TextReader: Debug + Send + Sync {
    /// What the last query is called.
    fn query(&self) -> &'static str;

    /// The token embeddings.
    fn words(&mut self) -> &mut Table;

    /// The attention stacks, in forward order.
    fn stacks(&self) -> Vec<StackSpec>;

    /// What the head reads.
    ///
    /// # Shapes
    /// - result: `[1, d_model]`
    fn read(&self, text: &Payload, run: &mut Run<'_>) -> Result<Tensor, ModelError>;

    /// Where sentences end, where it attends to sentences.
    fn sentence_ends(&self) -> Option<&SentenceEnds> {
        None
    }

    /// Its maps, where it is one attention over an LSTM that reads in both directions.
    fn maps(&self) -> Option<ReaderMaps<'_>> {
        None
    }

    /// What makes patterns of scores.
    fn normalizer(&self) -> Normalizer {
        Normalizer::Softmax
    }
}

/// The maps of a reader with one softmax attention over the states of an LSTM that reads in both directions.
pub(crate) struct ReaderMaps<'a> {
    /// Token embeddings, which nothing is added to.
    pub words: &'a Table,
    /// Of the input and of the state, forward and backward.
    pub lstms: [(&'a Linear, &'a Linear); 2],
    /// Scores are `query · tanh(key(h))`.
    pub key: &'a Linear,
    pub query: &'a Linear,
}

/// Attention weights of scores `[heads, n_query, n_key]`, before changes of the pattern; the first row is that of a
/// query of a layer.
pub(super) fn weights(
    scores: &Tensor,
    own: Normalizer,
    (at, first): (At, usize),
    run: &mut Run<'_>,
) -> Result<Tensor, ModelError> {
    let n_heads = scores.dim(0)?;
    let by_head = run.normalizers(at, n_heads).unwrap_or_else(|| vec![own; n_heads]);
    let weights = kernels::normalize(scores, &by_head, (at.first_head(), first))?;
    Ok(if run.fixes_patterns() { weights.detach() } else { weights })
}

/// What a learned query is compared with of some states, `tanh(key(h))`, recorded with that query.
///
/// # Shapes
/// - `states`: `[n_key, d_head]`
/// - result: `[n_key, width]`
pub(super) fn learned(
    key: &Linear,
    query: &Linear,
    states: &Tensor,
    at: At,
    run: &mut Run<'_>,
) -> Result<Tensor, ModelError> {
    let keys = key.forward(states)?;
    run.keep_scorer(at, Bend::Tanh, &[&keys, &query.columns_as_rows(&[0])?], keys.dim(0)?)?;
    Ok(kernels::activation(&keys, Activation::Tanh)?)
}

/// The weighted sums of values, for the scores of all queries of a layer with one head.
///
/// # Shapes
/// - `scores`: `[n_query, n_key]`
/// - `values`: `[n_key, d_head]`
/// - result: `[n_query, d_head]`
pub(super) fn attend(
    scores: &Tensor,
    values: &Tensor,
    own: Normalizer,
    at: At,
    run: &mut Run<'_>,
) -> Result<Tensor, ModelError> {
    let values = run.at(Site::V, at, values.unsqueeze(0)?)?;
    let scores = run.at(Site::Scores, at, scores.unsqueeze(0)?)?;
    let pattern = weights(&scores, own, (at, 0), run)?;
    let pattern = run.at(Site::Pattern, at, pattern)?;
    let z = run.at(Site::Z, at, kernels::attend(&pattern, &values, Mask::NONE)?.unsqueeze(0)?)?;
    run.layer_done();
    Ok(z.squeeze(0)?)
}
