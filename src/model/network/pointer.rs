//! A network whose output is its attention (pointer network, Vinyals et al. 2015): a bidirectional GRU reads, a
//! GRU writes, and the probability of a token is the attention to the places of the input that hold it.
//!
//! Values are the tokens themselves, one component for each of the vocabulary, so that their weighted sum is the
//! distribution of the next token.

use candle_core::Tensor;

use super::{
    block::check_finite,
    cell::{Gru, Steps, read_both_ways},
    embedding::{Table, TextEmbedding},
    pass::Pass,
    recurrent::{ATTENTION, Additive, Rows},
    sequential::TextWriter,
};
use crate::{
    capture::Way,
    ids::{Side, StackKind},
    model::{
        ModelError,
        input::Payload,
        kernels::Linear,
        run::{At, Run, Site, SiteRow},
    },
    spec::{LayerSpec, StackSpec},
};

/// Probability of a token that is nowhere in the input, so that it has a logarithm.
const NOTHING: f64 = 1e-12;

/// The whole model; its head passes logarithms on.
#[derive(Debug)]
pub(crate) struct Pointer {
    pub words: TextEmbedding,
    pub forward: Gru,
    pub backward: Gru,
    /// From the backward reader's last state to the writer's first.
    pub bridge: Linear,
    pub writer: Gru,
    pub score: Additive,
    /// As wide as the vocabulary is large.
    pub spec: LayerSpec,
}

impl Pointer {
    /// Which token stands at each position: rows of the identity.
    ///
    /// # Shapes
    /// - result: `[n_key, n_vocab]`
    fn tokens(&self, source: &Payload, like: &Tensor) -> Result<Tensor, ModelError> {
        let Payload::Text { ids, .. } = source else { return Err(ModelError::internal("a pointer has no words")) };
        let n_vocab = self.spec.d_head;
        let mut values = vec![0.0f32; ids.len() * n_vocab];
        ids.iter().enumerate().for_each(|(row, id)| values[row * n_vocab + *id as usize] = 1.0);
        Ok(Tensor::from_vec(values, (ids.len(), n_vocab), like.device())?)
    }
}

impl TextWriter for Pointer {
    fn words(&mut self) -> &mut Table {
        &mut self.words.word
    }

    fn stack(&self) -> StackSpec {
        StackSpec { kind: ATTENTION.stack, layers: vec![self.spec], causal: false }
    }

    /// The reader's states, and beside them the tokens.
    fn encode(&self, source: &Payload, run: &mut Run<'_>) -> Result<Tensor, ModelError> {
        let words = self.words.of(source, 0, At::entry(StackKind::Encoder), run)?;
        let states = read_both_ways([&self.forward, &self.backward], &words, run)?;
        Ok(Tensor::cat(&[&states, &self.tokens(source, &states)?], 1)?)
    }

    /// Logarithms of the probabilities.
    fn decode(&self, target: &Payload, pass: &mut Pass<'_>, run: &mut Run<'_>) -> Result<Tensor, ModelError> {
        let Some(memory) = pass.memory else { return Err(ModelError::internal("the writer has nothing to attend to")) };
        let first = pass.cache.as_ref().map_or(0, |cache| cache.n);
        let words = self.words.of(target, first, At::entry(Side::Decoder.stack()), run)?;
        let (n_query, d_half) = (words.dim(0)?, self.bridge.dims()?.0);
        let mut state = match pass.cache.as_mut().and_then(|cache| cache.state.take()) {
            Some(state) => state,
            None => self.bridge.forward(&memory.narrow(0, 0, 1)?.narrow(1, d_half, d_half)?.contiguous()?)?.tanh()?,
        };
        let (keys, tokens) = pass.remember(ATTENTION, |memory| {
            let states = memory.narrow(1, 0, 2 * d_half)?.contiguous()?;
            let tokens = memory.narrow(1, 2 * d_half, self.spec.d_head)?.contiguous()?;
            Ok((self.score.key.forward(&states)?, tokens.unsqueeze(0)?))
        })?;
        let tokens = run.at(Site::V, ATTENTION, tokens)?;
        let gates = self.writer.input.forward(&words)?;
        let mut rows = Rows::default();
        let mut steps = Steps::of(Side::Decoder, n_query);
        let mut pointed = Vec::with_capacity(n_query);
        for idx in 0..n_query {
            run.checkpoint()?;
            state = steps.step((&self.writer, Way::Forward), (idx, &gates.narrow(0, idx, 1)?), &state, run)?;
            let query = self.score.query.forward(&state)?;
            let scores = self.score.of(&query, &keys)?;
            rows.hidden.push(query);
            pointed.push(rows.attend(scores, &tokens, SiteRow { idx, of: n_query }, run)?);
        }
        run.layer_done();
        rows.record(run)?;
        self.score.record(&rows.hidden, &keys, run)?;
        steps.record(run)?;
        if let Some(cache) = &mut pass.cache {
            cache.state = Some(state);
        }
        // A change of the run may have made one negative.
        check_finite((Tensor::cat(&pointed, 0)?.relu()? + NOTHING)?.log()?)
    }
}
