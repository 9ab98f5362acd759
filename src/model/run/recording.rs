//! Recording of one input of a run.

use std::{collections::BTreeMap, sync::Arc};

use candle_core::Tensor;

use super::{At, Run, Site, Tapped};
use crate::{
    capture::{Bend, LayerCapture, Matrix, PerHead, Scorer, SiteValue, SiteValues, StackCapture},
    ids::{Side, StackKind},
    model::{ModelError, kernels::to_host},
    spec::StackSpec,
};

/// What is recorded of one input.
pub(crate) struct Recording {
    /// Bytes that patterns, scores and biases may still take.
    budget: u64,
    n_omitted: usize,
    values: RecordedSites,
    /// The bias that all layers of a stack share, so that they also share its storage.
    shared_bias: Option<(StackKind, PerHead)>,
}

/// Values of sites, each in its place.
#[derive(Debug, Default)]
pub(crate) struct RecordedSites {
    stacks: BTreeMap<StackKind, StackCapture>,
    sequences: BTreeMap<Side, SiteValues>,
}

/// What a run recorded of one input.
#[derive(Default)]
pub(crate) struct Recorded {
    pub stacks: Vec<StackCapture>,
    pub sequences: BTreeMap<Side, SiteValues>,
    /// Layers whose patterns or scores were over the budget.
    pub n_omitted: usize,
    pub tapped: Vec<Tapped>,
    /// What the network has to say about the input.
    pub notes: Vec<String>,
}

impl Recording {
    /// Nothing yet; `budget` is for patterns, scores and biases.
    pub fn new(stacks: &[StackSpec], budget: u64) -> Self {
        Self { budget, n_omitted: 0, values: RecordedSites::of(stacks), shared_bias: None }
    }

    /// Keeps the bias of a layer, as long as it is within the budget.
    pub fn keep_bias(&mut self, at: At, bias: &Tensor, shared: bool) -> Result<(), ModelError> {
        let known = self.shared_bias.as_ref().filter(|(stack, _)| shared && *stack == at.stack);
        let kept = if let Some((_, kept)) = known {
            kept.clone()
        } else {
            let bytes = 4 * bias.elem_count() as u64;
            if bytes > self.budget {
                return Ok(());
            }
            self.budget -= bytes;
            let kept = PerHead::new(to_host(bias)?, bias.dims3()?.into())?;
            if shared {
                self.shared_bias = Some((at.stack, kept.clone()));
            }
            kept
        };
        if let Some(layer) = self.layer(at) {
            layer.bias = Some(kept);
        }
        Ok(())
    }

    /// Keeps global tokens, and what they see where it is given.
    pub fn keep_global(&mut self, at: At, tokens: &[usize], seen: [Option<&Tensor>; 2]) -> Result<(), ModelError> {
        let kept = |x: &Tensor| Ok::<_, ModelError>(PerHead::new(to_host(x)?, x.dims3()?.into())?);
        let [k, v] = seen;
        let (k, v) = (k.map(kept).transpose()?, v.map(kept).transpose()?);
        if let Some(stack) = self.values.stacks.get_mut(&at.stack) {
            stack.global = tokens.to_vec();
        }
        if let Some(layer) = self.layer(at) {
            (layer.k_global, layer.v_global) = (k, v);
        }
        Ok(())
    }

    fn keep_sink(&mut self, at: At, shares: Matrix) {
        if let Some(layer) = self.layer(at) {
            layer.sink = Some(shares);
        }
    }

    fn keep_scorer(&mut self, at: At, scorer: Scorer) {
        if let Some(layer) = self.layer(at) {
            layer.scorer = Some(scorer);
        }
    }

    fn keep_pairs(&mut self, site: Site, at: At, pattern: PerHead) {
        self.budget = self.budget.saturating_sub(pattern.size_bytes());
        if let Some(layer) = self.layer(at) {
            layer.sites.set(site, pattern);
        }
    }

    fn layer(&mut self, at: At) -> Option<&mut LayerCapture> {
        self.values.stacks.get_mut(&at.stack)?.layers.get_mut(at.layer)
    }

    pub fn finish(self) -> Recorded {
        let (stacks, sequences) = self.values.into_stacks();
        Recorded { stacks, sequences, n_omitted: self.n_omitted, ..Recorded::default() }
    }

    /// Whether so many more weights are within the budget; notes the layer as left out where they are not.
    pub fn has_room(&mut self, n_values: usize) -> bool {
        let has_room = 4 * n_values as u64 <= self.budget;
        self.n_omitted += usize::from(!has_room);
        has_room
    }

    pub fn record(&mut self, site: Site, at: At, x: &Tensor) -> Result<(), ModelError> {
        if site.is_of_pairs() {
            if !self.has_room(x.elem_count()) {
                return Ok(());
            }
            self.budget -= 4 * x.elem_count() as u64;
        }
        self.values.keep(site, at, x)
    }
}

impl Run<'_> {
    /// Keeps the bias of a layer whose queries and keys are kept, so that its scores can be recomputed.
    pub fn keep_bias(&mut self, at: At, bias: &Tensor, shared: bool) -> Result<(), ModelError> {
        if !self.records(Site::Q, at) {
            return Ok(());
        }
        match self.inputs.get_mut(self.input.unwrap_or(0)) {
            Some(recording) => recording.keep_bias(at, bias, shared),
            None => Ok(()),
        }
    }

    /// Keeps what of each query's row went to a learned sink, `[heads, n_query]`, so that rows are whole and patterns
    /// can be recomputed.
    pub fn keep_sink(&mut self, at: At, shares: Arc<[f32]>, n_query: usize) -> Result<(), ModelError> {
        let n_heads = shares.len() / n_query.max(1);
        let shares = Matrix::new(shares, [n_heads, n_query])?;
        if let Some(recording) = self.inputs.get_mut(self.input.unwrap_or(0)) {
            recording.keep_sink(at, shares);
        }
        Ok(())
    }

    /// Keeps how a layer scores whose queries would be kept: `[queries + keys + 1, width]`, see [`Scorer`].
    pub fn keep_scorer(&mut self, at: At, bend: Bend, parts: &[&Tensor], n_key: usize) -> Result<(), ModelError> {
        if !self.records(Site::Q, at) {
            return Ok(());
        }
        let rows = Tensor::cat(parts, 0)?;
        let scorer = Scorer::new(bend, Matrix::new(to_host(&rows)?, rows.dims2()?.into())?, n_key)?;
        if let Some(recording) = self.inputs.get_mut(self.input.unwrap_or(0)) {
            recording.keep_scorer(at, scorer);
        }
        Ok(())
    }

    /// Keeps a pattern that there is room for ([`Self::has_room`]), where it is.
    pub fn keep_pairs(&mut self, site: Site, at: At, pattern: PerHead) {
        if let Some(recording) = self.inputs.get_mut(self.input.unwrap_or(0)) {
            recording.keep_pairs(site, at, pattern);
        }
    }

    /// Keeps which tokens see all others, and the keys and values `[heads, n, d_head]` that only they see, where
    /// those of the others are kept.
    pub fn keep_global(&mut self, at: At, tokens: &[usize], [k, v]: [&Tensor; 2]) -> Result<(), ModelError> {
        let k = self.records(Site::K, at).then_some(k);
        let v = self.records(Site::V, at).then_some(v);
        match self.inputs.get_mut(self.input.unwrap_or(0)) {
            Some(recording) => recording.keep_global(at, tokens, [k, v]),
            None => Ok(()),
        }
    }
}

impl RecordedSites {
    /// Nothing yet of these stacks.
    pub fn of(stacks: &[StackSpec]) -> Self {
        let empty = |spec: &StackSpec| (spec.kind, StackCapture::empty(spec.kind, spec.layers.len()));
        Self { stacks: stacks.iter().map(empty).collect(), sequences: BTreeMap::new() }
    }

    /// Puts a value into its place. A layer that the spec does not count, such as a head that attends, has none.
    pub fn keep(&mut self, site: Site, at: At, x: &Tensor) -> Result<(), ModelError> {
        let sites = if site.is_of_sequence() {
            at.stack.sequence().map(|side| self.sequences.entry(side).or_default())
        } else {
            self.stacks.get_mut(&at.stack).and_then(|stack| stack.sites_mut(site, at.layer))
        };
        if let Some(sites) = sites {
            sites.set(site, SiteValue::new(site, to_host(x)?, x.dims())?);
        }
        Ok(())
    }

    /// In the order in which stacks are shown, which is that of their kinds.
    pub fn into_stacks(self) -> (Vec<StackCapture>, BTreeMap<Side, SiteValues>) {
        (self.stacks.into_values().collect(), self.sequences)
    }
}
