//! A classifier that attends at two levels (hierarchical attention, Yang et al. 2016): a GRU reads the words of each
//! sentence in both directions and a learned query weighs its states; another reads the means so found, sentence
//! after sentence, and another query weighs those.

use std::ops::Range;

use candle_core::{Result as CandleResult, Tensor};

use super::{
    block::check_finite,
    cell::{Gru, Steps, both_ways},
    embedding::{Table, TextEmbedding},
    sequential::{TextReader, attend, learned},
};
use crate::{
    capture::Normalizer,
    ids::{Side, StackKind},
    model::{
        ModelError,
        input::{Payload, SentenceEnds},
        kernels::Linear,
        run::{At, Run, Site},
    },
    spec::{LayerSpec, StackSpec},
};

const WORDS: At = At { stack: StackKind::Words, layer: 0 };
const SENTENCES: At = At { stack: StackKind::Sentences, layer: 0 };

/// The whole model but its head.
#[derive(Debug)]
pub(crate) struct Documents {
    pub words: TextEmbedding,
    pub of_words: Level,
    pub of_sentences: Level,
    pub ends: SentenceEnds,
}

/// One of the two levels: a reader, and an attention with a learned query.
#[derive(Debug)]
pub(crate) struct Level {
    pub forward: Gru,
    pub backward: Gru,
    /// What of a state the query is compared with, before the hyperbolic tangent.
    pub key: Linear,
    pub query: Linear,
    pub spec: LayerSpec,
}

impl Level {
    /// The mean of the states of each part, by the weights that its query gives them.
    ///
    /// # Shapes
    /// - `x`: `[n, d_in]`
    /// - result: `[parts.len(), d_head]`
    fn means(&self, x: &Tensor, parts: &[Range<usize>], at: At, run: &mut Run<'_>) -> Result<Tensor, ModelError> {
        let mut steps = Steps::of(at.stack.key_side(), x.dim(0)?);
        let mut states = Vec::with_capacity(parts.len());
        for part in parts {
            let (own, positions) = (x.narrow(0, part.start, part.len())?, part.clone().collect::<Vec<_>>());
            states.push(both_ways([&self.forward, &self.backward], &own, &positions, (&mut steps, run))?);
        }
        steps.record(run)?;
        let states = Tensor::cat(&states, 0)?;
        let keys = learned(&self.key, &self.query, &states, at, run)?;
        let scores = self.query.forward(&keys)?.reshape((1, states.dim(0)?))?;
        let scores = scores.broadcast_add(&own_part(parts, &scores)?)?;
        attend(&scores, &states, Normalizer::Softmax, at, run)
    }

    fn stack(&self, at: At) -> StackSpec {
        StackSpec { kind: at.stack, layers: vec![self.spec], causal: false }
    }
}

/// Zeros where a row's part is, `-inf` elsewhere, `[parts.len(), n]`.
fn own_part(parts: &[Range<usize>], like: &Tensor) -> CandleResult<Tensor> {
    let n = like.dim(1)?;
    let mut values = vec![f32::NEG_INFINITY; parts.len() * n];
    parts.iter().enumerate().for_each(|(row, part)| values[row * n..][part.clone()].fill(0.0));
    Tensor::from_vec(values, (parts.len(), n), like.device())
}

impl TextReader for Documents {
    fn query(&self) -> &'static str {
        "[document]"
    }

    fn words(&mut self) -> &mut Table {
        &mut self.words.word
    }

    fn stacks(&self) -> Vec<StackSpec> {
        vec![self.of_words.stack(WORDS), self.of_sentences.stack(SENTENCES)]
    }

    fn sentence_ends(&self) -> Option<&SentenceEnds> {
        Some(&self.ends)
    }

    fn read(&self, text: &Payload, run: &mut Run<'_>) -> Result<Tensor, ModelError> {
        let words = self.words.of(text, 0, At::entry(Side::Encoder.stack()), run)?;
        let sentences = self.ends.sentences(text.words());
        let means = self.of_words.means(&words, &sentences, WORDS, run)?;
        let whole = 0..sentences.len();
        let mean = self.of_sentences.means(&means, std::slice::from_ref(&whole), SENTENCES, run)?;
        check_finite(run.at(Site::ResidFinal, SENTENCES, mean)?)
    }
}
