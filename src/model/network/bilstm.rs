//! A classifier with the attention of before transformers: an LSTM reads in both directions, a learned query
//! weighs its states, and the head reads their mean (`BiLSTM`; Jain and Wallace 2019, Wiegreffe and Pinter
//! 2019). A gate may choose which words it reads at all (Lei et al. 2016, Bastings et al. 2019).
//!
//! Words do not attend to words. There is one query, where the head reads, so the pattern has one row.

use candle_core::{Result as CandleResult, Tensor};

use super::{
    block::check_finite,
    cell::{Lstm, Steps, both_ways, read_both_ways},
    embedding::{Table, TextEmbedding},
    sequential::{ReaderMaps, TextReader, attend, learned},
};
use crate::{
    capture::Normalizer,
    ids::{Side, StackKind},
    model::{
        ModelError,
        input::Payload,
        kernels::Linear,
        run::{At, Run, Site},
    },
    spec::{LayerSpec, StackSpec},
};

/// The only attention there is: from where the head reads to the words.
const ATTENTION: At = At { stack: StackKind::Cross, layer: 0 };

/// The whole model but its head.
#[derive(Debug)]
pub(crate) struct BiLstm {
    pub words: TextEmbedding,
    pub forward: Lstm,
    pub backward: Lstm,
    /// What of a state the query is compared with, before the hyperbolic tangent.
    pub key: Linear,
    /// The learned query: a score is its product with a key.
    pub query: Linear,
    pub normalizer: Normalizer,
    /// Which words are read; without it all are.
    pub gates: Option<Gates>,
    pub spec: LayerSpec,
}

impl TextReader for BiLstm {
    fn query(&self) -> &'static str {
        "[query]"
    }

    fn words(&mut self) -> &mut Table {
        &mut self.words.word
    }

    fn stacks(&self) -> Vec<StackSpec> {
        vec![StackSpec { kind: ATTENTION.stack, layers: vec![self.spec], causal: false }]
    }

    fn maps(&self) -> Option<ReaderMaps<'_>> {
        (self.gates.is_none() && self.normalizer == Normalizer::Softmax).then(|| ReaderMaps {
            words: &self.words.word,
            lstms: [&self.forward, &self.backward].map(|lstm| (&lstm.input, &lstm.state)),
            key: &self.key,
            query: &self.query,
        })
    }

    fn normalizer(&self) -> Normalizer {
        self.normalizer
    }

    fn read(&self, text: &Payload, run: &mut Run<'_>) -> Result<Tensor, ModelError> {
        let words = self.words.of(text, 0, At::entry(Side::Encoder.stack()), run)?;
        let n_words = words.dim(0)?;
        let kept = match &self.gates {
            Some(gates) => gates.kept(&words, run)?,
            None => vec![true; n_words],
        };
        if let (Some(_), Some(note)) = (&self.gates, selection(&kept)) {
            run.note(note);
        }
        let states = self.states(&words, &kept, run)?;
        // No product of a query and a key of the recorded kinds: the key has a width of its own.
        let keys = learned(&self.key, &self.query, &states, ATTENTION, run)?;
        let scores = self.query.forward(&keys)?.reshape((1, n_words))?;
        let scores = if kept.contains(&false) { scores.broadcast_add(&barrier(&kept, &scores)?)? } else { scores };
        let context = attend(&scores, &states, self.normalizer, ATTENTION, run)?;
        check_finite(run.at(Site::ResidFinal, ATTENTION, context)?)
    }
}

impl BiLstm {
    /// States of the words that are kept, as if there were no others; zeros for the others.
    fn states(&self, words: &Tensor, kept: &[bool], run: &mut Run<'_>) -> Result<Tensor, ModelError> {
        if !kept.contains(&false) {
            return read_both_ways([&self.forward, &self.backward], words, run);
        }
        let nothing = Tensor::zeros((1, self.spec.d_head), words.dtype(), words.device())?;
        let read: Vec<usize> = (0..kept.len()).filter(|position| kept[*position]).collect();
        if read.is_empty() {
            return Ok(nothing.repeat((kept.len(), 1))?);
        }
        let chosen = Tensor::from_iter(read.iter().map(|position| *position as u32), words.device())?;
        let chosen = words.index_select(&chosen, 0)?;
        let mut steps = Steps::of(Side::Encoder, kept.len());
        let states = both_ways([&self.forward, &self.backward], &chosen, &read, (&mut steps, run))?;
        steps.record(run)?;
        let mut next = 0u32..;
        let absent = read.len() as u32;
        let rows: Vec<u32> =
            kept.iter().map(|kept| if *kept { next.next().unwrap_or(absent) } else { absent }).collect();
        let rows = Tensor::new(rows.as_slice(), words.device())?;
        Ok(Tensor::cat(&[states, nothing], 0)?.index_select(&rows, 0)?)
    }
}

/// Decides about each word whether the classifier reads it, from the words alone.
#[derive(Debug)]
pub(crate) struct Gates {
    pub forward: Lstm,
    pub backward: Lstm,
    /// To the two parameters of each word's gate, `[2 · d_state, 2]`.
    pub output: Linear,
}

impl Gates {
    /// The interval to which a Kumaraswamy variable is stretched before it is cut to `0..=1`.
    const STRETCH: (f64, f64) = (-0.1, 1.1);
    /// The least that either parameter can be.
    const LEAST: f64 = 0.01;

    /// Which words are read: those whose gate is more probably 1 than 0. While it learns, a gate is a
    /// `HardKuma` variable (Bastings et al. 2019); here nothing is left to chance.
    fn kept(&self, words: &Tensor, run: &mut Run<'_>) -> Result<Vec<bool>, ModelError> {
        let positions: Vec<usize> = (0..words.dim(0)?).collect();
        let steps = &mut Steps::unseen();
        let states = both_ways([&self.forward, &self.backward], words, &positions, (steps, run))?;
        let parameters: Vec<Vec<f32>> = self.output.forward(&states)?.to_vec2()?;
        let positive = |x: f32| Self::LEAST + softplus(f64::from(x));
        Ok(parameters.iter().map(|word| Self::opens(positive(word[0]), positive(word[1]))).collect())
    }

    /// Whether a gate with these parameters is more probably 1 than 0.
    fn opens(a: f64, b: f64) -> bool {
        let (low, high) = Self::STRETCH;
        // P(k > t) of a Kumaraswamy variable k is (1 − tᵃ)ᵇ.
        let above = |edge: f64| (1.0 - ((edge - low) / (high - low)).powf(a)).powf(b);
        above(1.0) > 1.0 - above(0.0)
    }
}

fn softplus(x: f64) -> f64 {
    x.max(0.0) + (-x.abs()).exp().ln_1p()
}

/// The sentence about words that are not read; `None` when all are.
fn selection(kept: &[bool]) -> Option<String> {
    let n = kept.iter().filter(|kept| **kept).count();
    (n < kept.len())
        .then(|| format!("The gate lets {n} of {} tokens through; the others do not reach the classifier", kept.len()))
}

/// Zeros where words are kept, `-inf` where they are not.
fn barrier(kept: &[bool], like: &Tensor) -> CandleResult<Tensor> {
    let values: Vec<f32> = kept.iter().map(|kept| if *kept { 0.0 } else { f32::NEG_INFINITY }).collect();
    Tensor::from_vec(values, (1, kept.len()), like.device())
}
