//! Translation before transformers: a bidirectional GRU reads, a GRU with attention writes (`RNNsearch`,
//! Bahdanau et al. 2015). The writer's state before each token is the query, the reader's states are keys
//! and values. Without attention the writer gets the last state of each direction at every step, and no
//! other (Cho et al. 2014): two heads whose patterns are fixed.

use candle_core::{Device, Result as CandleResult, Tensor};

use super::{
    block::check_finite,
    cell::{Cell, Gru, both_ways},
    embedding::TextEmbedding,
    pass::Pass,
};
use crate::{
    ids::{Side, StackKind},
    model::{
        ModelError,
        input::Payload,
        kernels::{self, Activation, Linear},
        run::{At, Run, Site, SiteRow},
    },
    spec::{LayerSpec, Mask, StackSpec},
};

/// The only attention there is.
const ATTENTION: At = At { stack: StackKind::Cross, layer: 0 };

/// How well a state of the reader fits a state of the writer.
#[derive(Debug)]
pub(crate) enum Score {
    /// `energy · tanh(query(s) + key(h))` (Bahdanau et al. 2015). No product of a query and a key, so none
    /// are recorded.
    Additive { query: Linear, key: Linear, energy: Linear },
    /// `s · h` (Luong et al. 2015).
    Dot,
    /// `query(s) · h` (Luong et al. 2015).
    Bilinear { query: Linear },
    /// No comparison: the first head takes the forward reader's last state, which stands at the last token, the
    /// second the backward reader's, at the first token.
    Fixed,
}

/// The whole model but its head.
#[derive(Debug)]
pub(crate) struct Recurrent {
    /// Of both languages.
    pub words: TextEmbedding,
    pub forward: Gru,
    pub backward: Gru,
    /// From the backward reader's last state to the writer's first.
    pub bridge: Linear,
    pub score: Score,
    pub writer: Gru,
    /// From state, context and word to what the head reads.
    pub readout: Linear,
    pub spec: LayerSpec,
}

impl Recurrent {
    /// The one stack.
    pub fn stack(&self) -> StackSpec {
        StackSpec { kind: ATTENTION.stack, layers: vec![self.spec], causal: false }
    }

    /// The reader's states: forward and backward side by side.
    ///
    /// # Shapes
    /// - result: `[n_key, heads · d_head]`
    pub fn encode(&self, source: &Payload, run: &mut Run<'_>) -> Result<Tensor, ModelError> {
        if self.spec.fixed {
            run.note("No attention: the writer gets the last state of each reader at every step".to_owned());
        }
        let words = self.embed(source, 0, Side::Encoder, run)?;
        both_ways(&self.forward, &self.backward, &words, run)
    }

    /// What the head reads, for each token that the writer reads.
    ///
    /// # Shapes
    /// - `memory` of the pass: `[n_key, heads · d_head]`
    /// - result: `[n_query, d_readout]`
    pub fn decode(&self, target: &Payload, pass: &mut Pass<'_>, run: &mut Run<'_>) -> Result<Tensor, ModelError> {
        let Some(memory) = pass.memory else { return Err(ModelError::internal("the writer has nothing to attend to")) };
        let first = pass.cache.as_ref().map_or(0, |cache| cache.n);
        let words = self.embed(target, first, Side::Decoder, run)?;
        let n_query = words.dim(0)?;
        let mut state = match pass.cache.as_mut().and_then(|cache| cache.state.take()) {
            Some(state) => state,
            None => self.first_state(memory)?,
        };
        let (n_heads, d_head) = (self.spec.n_heads, self.spec.d_head);
        let (keys, values) = pass.remember(ATTENTION, |memory| {
            let keys = match &self.score {
                Score::Additive { key, .. } => key.forward(memory)?,
                Score::Dot | Score::Bilinear { .. } | Score::Fixed => memory.clone(),
            };
            let values = memory.reshape(((), n_heads, d_head))?.transpose(0, 1)?.contiguous()?;
            Ok((keys.unsqueeze(0)?, values))
        })?;
        let keys = match &self.score {
            Score::Additive { .. } | Score::Fixed => keys,
            Score::Dot | Score::Bilinear { .. } => run.at(Site::K, ATTENTION, keys)?,
        };
        let values = run.at(Site::V, ATTENTION, values)?;
        let mut rows = RecordedRows::default();
        let mut features = Vec::with_capacity(n_query);
        for idx in 0..n_query {
            run.checkpoint()?;
            let row = SiteRow { idx, of: n_query };
            let scores = self.scores(&state, &keys, row, &mut rows, run)?;
            let scores = run.row(Site::Scores, ATTENTION, row, scores)?;
            rows.scores.push(scores.clone());
            let pattern = match run.normalizers(ATTENTION, n_heads) {
                Some(by_head) => kernels::normalize(&scores, &by_head, (ATTENTION.first_head(), idx))?,
                None => kernels::softmax(&scores, Mask::NONE)?,
            };
            let pattern = if run.fixes_patterns() { pattern.detach() } else { pattern };
            let pattern = run.row(Site::Pattern, ATTENTION, row, pattern)?;
            let context = kernels::attend(&pattern, &values, Mask::NONE)?;
            let context = run.row(Site::Z, ATTENTION, row, context.reshape((n_heads, 1, d_head))?)?;
            rows.pattern.push(pattern);
            rows.z.push(context.clone());
            let (word, context) = (words.narrow(0, idx, 1)?, context.reshape((1, n_heads * d_head))?);
            let gates = self.writer.input.forward(&Tensor::cat(&[&word, &context], 1)?)?;
            state = self.writer.step(&gates, &state)?;
            features.push(Tensor::cat(&[&state, &context, &word], 1)?);
        }
        run.layer_done();
        rows.record(run)?;
        if let Some(cache) = &mut pass.cache {
            cache.state = Some(state);
        }
        let read = kernels::activation(&self.readout.forward(&Tensor::cat(&features, 0)?)?, Activation::Tanh)?;
        check_finite(read)
    }

    /// One row of scores, `[heads, 1, n_key]`.
    fn scores(
        &self,
        state: &Tensor,
        keys: &Tensor,
        row: SiteRow,
        rows: &mut RecordedRows,
        run: &mut Run<'_>,
    ) -> Result<Tensor, ModelError> {
        let query = match &self.score {
            Score::Additive { query, energy, .. } => {
                let hidden = query.forward(state)?.broadcast_add(&keys.squeeze(0)?)?.tanh()?;
                return Ok(energy.forward(&hidden)?.reshape((1, 1, keys.dim(1)?))?);
            }
            Score::Dot => state.clone(),
            Score::Bilinear { query } => query.forward(state)?,
            Score::Fixed => return Ok(last_states(keys.dim(1)?, state.device())?),
        };
        let query = run.row(Site::Q, ATTENTION, row, query.unsqueeze(0)?)?;
        rows.q.push(query.clone());
        Ok(kernels::scores(&query, keys, self.spec.scale, Mask::NONE)?)
    }

    fn first_state(&self, memory: &Tensor) -> CandleResult<Tensor> {
        let half = memory.dim(1)? / 2;
        self.bridge.forward(&memory.narrow(0, 0, 1)?.narrow(1, half, half)?.contiguous()?)?.tanh()
    }

    fn embed(&self, input: &Payload, first: usize, side: Side, run: &mut Run<'_>) -> Result<Tensor, ModelError> {
        match input {
            Payload::Text { ids, segments, .. } => {
                self.words.forward((ids, segments, None), first, At::entry(side.stack()), run)
            }
            Payload::Image { .. } => Err(ModelError::internal("a recurrent network was given a picture")),
        }
    }
}

/// One row of scores that hide all states but the last of each direction, `[2, 1, n_key]`.
fn last_states(n_key: usize, device: &Device) -> CandleResult<Tensor> {
    let of_head = |seen: usize| (0..n_key).map(move |key| if key == seen { 0.0_f32 } else { f32::NEG_INFINITY });
    Tensor::from_iter([n_key.saturating_sub(1), 0].into_iter().flat_map(of_head), device)?.reshape((2, 1, n_key))
}

/// What is recorded row by row.
#[derive(Default)]
struct RecordedRows {
    q: Vec<Tensor>,
    scores: Vec<Tensor>,
    pattern: Vec<Tensor>,
    z: Vec<Tensor>,
}

impl RecordedRows {
    fn record(&self, run: &mut Run<'_>) -> Result<(), ModelError> {
        let sites =
            [(Site::Q, &self.q), (Site::Scores, &self.scores), (Site::Pattern, &self.pattern), (Site::Z, &self.z)];
        for (site, rows) in sites {
            if !rows.is_empty() && run.records(site, ATTENTION) {
                run.record(site, ATTENTION, &Tensor::cat(rows, 1)?)?;
            }
        }
        Ok(())
    }
}
