//! Translation before transformers: a bidirectional GRU reads, a GRU with attention writes (`RNNsearch`,
//! Bahdanau et al. 2015). The writer's state before each token is the query, the reader's states are keys
//! and values. Without attention the writer gets the last state of each direction at every step, and no
//! other (Cho et al. 2014): two heads whose patterns are fixed.

use candle_core::{Device, Result as CandleResult, Tensor};

use super::{
    block::check_finite,
    cell::{Gru, Steps, read_both_ways},
    embedding::{Table, TextEmbedding},
    pass::Pass,
    sequential::{TextWriter, weights},
};
use crate::{
    capture::{Bend, Normalizer, Way},
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
pub(super) const ATTENTION: At = At { stack: StackKind::Cross, layer: 0 };

/// `energy · tanh(query(s) + key(h))` (Bahdanau et al. 2015), or with a second hidden layer. No product of a query and
/// a key, so none are recorded.
#[derive(Debug)]
pub(crate) struct Additive {
    pub query: Linear,
    pub key: Linear,
    /// The second hidden layer.
    pub hidden: Option<Linear>,
    pub energy: Linear,
}

impl Additive {
    /// One row of scores `[1, 1, n_key]`, of a query `[1, width]` and keys `[n_key, width]`.
    pub fn of(&self, query: &Tensor, keys: &Tensor) -> CandleResult<Tensor> {
        let first = query.broadcast_add(keys)?.tanh()?;
        let hidden = match &self.hidden {
            Some(second) => second.forward(&first)?.tanh()?,
            None => first,
        };
        self.energy.forward(&hidden)?.reshape((1, 1, keys.dim(0)?))
    }

    /// Keeps what queries `[1, width]` and keys `[n_key, width]` bring to its scores, where one hidden layer weighs them.
    pub fn record(&self, queries: &[Tensor], keys: &Tensor, run: &mut Run<'_>) -> Result<(), ModelError> {
        if self.hidden.is_some() {
            return Ok(());
        }
        let energy = self.energy.columns_as_rows(&[0])?;
        let rows: Vec<&Tensor> = queries.iter().chain([keys, &energy]).collect();
        run.keep_scorer(ATTENTION, Bend::Tanh, &rows, keys.dim(0)?)
    }
}

/// How well a state of the reader fits a state of the writer.
#[derive(Debug)]
pub(crate) enum Score {
    Additive(Additive),
    /// `s · h` (Luong et al. 2015).
    Dot,
    /// `query(s) · h` (Luong et al. 2015).
    Bilinear {
        query: Linear,
    },
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

impl TextWriter for Recurrent {
    fn words(&mut self) -> &mut Table {
        &mut self.words.word
    }

    fn stack(&self) -> StackSpec {
        StackSpec { kind: ATTENTION.stack, layers: vec![self.spec], causal: false }
    }

    /// The reader's states: forward and backward side by side.
    fn encode(&self, source: &Payload, run: &mut Run<'_>) -> Result<Tensor, ModelError> {
        if self.spec.fixed {
            run.note("No attention: the writer gets the last state of each reader at every step".to_owned());
        }
        let words = self.words.of(source, 0, At::entry(Side::Encoder.stack()), run)?;
        read_both_ways([&self.forward, &self.backward], &words, run)
    }

    fn decode(&self, target: &Payload, pass: &mut Pass<'_>, run: &mut Run<'_>) -> Result<Tensor, ModelError> {
        let Some(memory) = pass.memory else { return Err(ModelError::internal("the writer has nothing to attend to")) };
        let first = pass.cache.as_ref().map_or(0, |cache| cache.n);
        let words = self.words.of(target, first, At::entry(Side::Decoder.stack()), run)?;
        let n_query = words.dim(0)?;
        let mut state = match pass.cache.as_mut().and_then(|cache| cache.state.take()) {
            Some(state) => state,
            None => self.first_state(memory)?,
        };
        let (n_heads, d_head) = (self.spec.n_heads, self.spec.d_head);
        let (keys, values) = pass.remember(ATTENTION, |memory| {
            let keys = match &self.score {
                Score::Additive(additive) => additive.key.forward(memory)?,
                Score::Dot | Score::Bilinear { .. } | Score::Fixed => memory.clone(),
            };
            let values = memory.reshape(((), n_heads, d_head))?.transpose(0, 1)?.contiguous()?;
            Ok((keys.unsqueeze(0)?, values))
        })?;
        let keys = match &self.score {
            Score::Additive(_) | Score::Fixed => keys,
            Score::Dot | Score::Bilinear { .. } => run.at(Site::K, ATTENTION, keys)?,
        };
        let values = run.at(Site::V, ATTENTION, values)?;
        let mut rows = Rows::default();
        let mut steps = Steps::of(Side::Decoder, n_query);
        let mut features = Vec::with_capacity(n_query);
        for idx in 0..n_query {
            run.checkpoint()?;
            let row = SiteRow { idx, of: n_query };
            let scores = self.scores(&state, &keys, row, &mut rows, run)?;
            let context = rows.attend(scores, &values, row, run)?;
            let word = words.narrow(0, idx, 1)?;
            let gates = self.writer.input.forward(&Tensor::cat(&[&word, &context], 1)?)?;
            state = steps.step((&self.writer, Way::Forward), (idx, &gates), &state, run)?;
            features.push(Tensor::cat(&[&state, &context, &word], 1)?);
        }
        run.layer_done();
        rows.record(run)?;
        if let Score::Additive(additive) = &self.score {
            additive.record(&rows.hidden, &keys.squeeze(0)?, run)?;
        }
        steps.record(run)?;
        if let Some(cache) = &mut pass.cache {
            cache.state = Some(state);
        }
        let read = kernels::activation(&self.readout.forward(&Tensor::cat(&features, 0)?)?, Activation::Tanh)?;
        check_finite(read)
    }
}

impl Recurrent {
    /// One row of scores, `[heads, 1, n_key]`.
    fn scores(
        &self,
        state: &Tensor,
        keys: &Tensor,
        row: SiteRow,
        rows: &mut Rows,
        run: &mut Run<'_>,
    ) -> Result<Tensor, ModelError> {
        let query = match &self.score {
            Score::Additive(additive) => {
                let query = additive.query.forward(state)?;
                rows.hidden.push(query.clone());
                return Ok(additive.of(&query, &keys.squeeze(0)?)?);
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
}

/// One row of scores that hide all states but the last of each direction, `[2, 1, n_key]`.
fn last_states(n_key: usize, device: &Device) -> CandleResult<Tensor> {
    let of_head = |seen: usize| (0..n_key).map(move |key| if key == seen { 0.0_f32 } else { f32::NEG_INFINITY });
    Tensor::from_iter([n_key.saturating_sub(1), 0].into_iter().flat_map(of_head), device)?.reshape((2, 1, n_key))
}

/// What is recorded row by row.
#[derive(Default)]
pub(super) struct Rows {
    /// What queries bring to the hidden layer of an additive scorer, `[1, width]` each.
    pub hidden: Vec<Tensor>,
    q: Vec<Tensor>,
    scores: Vec<Tensor>,
    pattern: Vec<Tensor>,
    z: Vec<Tensor>,
}

impl Rows {
    /// The weighted sums of the values of every head, side by side, for one row of scores.
    ///
    /// # Shapes
    /// - `scores`: `[heads, 1, n_key]`; `values`: `[heads, n_key, d_head]`
    /// - result: `[1, heads · d_head]`
    pub fn attend(
        &mut self,
        scores: Tensor,
        values: &Tensor,
        row: SiteRow,
        run: &mut Run<'_>,
    ) -> Result<Tensor, ModelError> {
        let scores = run.row(Site::Scores, ATTENTION, row, scores)?;
        self.scores.push(scores.clone());
        let pattern = weights(&scores, Normalizer::Softmax, (ATTENTION, row.idx), run)?;
        let pattern = run.row(Site::Pattern, ATTENTION, row, pattern)?;
        let (n_heads, _, d_head) = values.dims3()?;
        let context = kernels::attend(&pattern, values, Mask::NONE)?.reshape((n_heads, 1, d_head))?;
        let context = run.row(Site::Z, ATTENTION, row, context)?;
        self.pattern.push(pattern);
        self.z.push(context.clone());
        Ok(context.reshape((1, n_heads * d_head))?)
    }

    /// Keeps what is wanted of all rows.
    pub fn record(&self, run: &mut Run<'_>) -> Result<(), ModelError> {
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
