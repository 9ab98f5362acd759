//! A recurrent language model that looks back (attentive language model, Salton et al. 2017): a GRU reads, each of its
//! states is compared with all of its states so far, and the next token is predicted from the state, the mean of the
//! states by those weights, and the token.

use candle_core::Tensor;

use super::{
    block::check_finite,
    cell::{Cell, Gru, Steps},
    embedding::TextEmbedding,
    pass::Pass,
    sequential::attend,
};
use crate::{
    capture::{Normalizer, Way},
    ids::{Side, StackKind},
    model::{
        ModelError,
        input::Payload,
        kernels::{self, Activation, Linear},
        run::{At, Run, Site},
    },
    spec::{LayerSpec, StackSpec},
};

/// The only attention there is.
const ATTENTION: At = At { stack: StackKind::SelfAttention, layer: 0 };

/// The whole model but its head.
#[derive(Debug)]
pub(crate) struct AttentiveLm {
    pub words: TextEmbedding,
    pub reader: Gru,
    /// What of a state is compared with the states so far.
    pub query: Linear,
    /// From state, context and word to what the head reads.
    pub readout: Linear,
    pub spec: LayerSpec,
}

impl AttentiveLm {
    pub fn stack(&self) -> StackSpec {
        StackSpec { kind: ATTENTION.stack, layers: vec![self.spec], causal: true }
    }

    /// What the head reads, for each new token.
    ///
    /// # Shapes
    /// - result: `[n, d_word]`
    pub fn forward(&self, text: &Payload, pass: &mut Pass<'_>, run: &mut Run<'_>) -> Result<Tensor, ModelError> {
        let first = pass.cache.as_ref().map_or(0, |cache| cache.n);
        let words = self.words.of(text, first, At::entry(ATTENTION.stack), run)?;
        let states = self.states(&words, pass, run)?;
        let (keys, values) = pass.extend(ATTENTION, states.unsqueeze(1)?, states.unsqueeze(1)?)?;
        let query = run.at(Site::Q, ATTENTION, self.query.forward(&states)?.unsqueeze(0)?)?;
        let keys = run.at(Site::K, ATTENTION, keys.transpose(0, 1)?.contiguous()?)?;
        let scores = kernels::scores(&query, &keys, self.spec.scale, self.spec.mask(true))?;
        let context = attend(&scores.squeeze(0)?, &values.squeeze(1)?, Normalizer::Softmax, ATTENTION, run)?;
        let read = self.readout.forward(&Tensor::cat(&[&states, &context, &words], 1)?)?;
        check_finite(kernels::activation(&read, Activation::Tanh)?)
    }

    /// The state after each new token, `[n, d_state]`.
    fn states(&self, words: &Tensor, pass: &mut Pass<'_>, run: &mut Run<'_>) -> Result<Tensor, ModelError> {
        let mut state = match pass.cache.as_mut().and_then(|cache| cache.state.take()) {
            Some(state) => state,
            None => self.reader.start(words)?,
        };
        let gates = self.reader.input.forward(words)?;
        let n = words.dim(0)?;
        let mut steps = Steps::of(Side::Only, n);
        let mut states = Vec::with_capacity(n);
        for position in 0..n {
            run.checkpoint()?;
            let input = gates.narrow(0, position, 1)?;
            state = steps.step((&self.reader, Way::Forward), (position, &input), &state, run)?;
            states.push(state.clone());
        }
        steps.record(run)?;
        if let Some(cache) = &mut pass.cache {
            cache.state = Some(state);
        }
        Ok(Tensor::cat(&states, 0)?)
    }
}
