//! Memory of a forward pass, computed from shapes alone before anything is allocated.
//!
//! The largest part are scores, `heads · n_query · n_key` values for each layer, where somebody wants them or
//! the patterns; several copies live at a time. Elsewhere a few rows exist at a time. The factors below follow
//! the operations of `attention` and `block`; `tests/it/memory.rs` holds them against what a process really takes.

use super::{
    Body, Network,
    attention::{Attention, MultiHead, Projections},
    block::{Block, MLP_ROWS, Stack},
    head::FEW_LOGITS,
    relative::RelativeBias,
};
use crate::{
    capture::{RowKind, Width},
    ids::{Side, StackKind},
    model::{
        kernels::{self, Linear},
        run::{Logits, RunPlan, Site, Sites, Taps},
    },
    spec::{LayerSpec, StackSpec},
};

/// Bytes of a value.
const VALUE: u64 = kernels::bytes_of(1);
/// About how many logits exist at the same time; see `head`.
const LOGITS_AT_ONCE: u64 = 4_000_000;
/// Streams of the model's width that a block holds at once: entering, normed, attended, leaving, and one
/// for what is passed on.
const STREAMS: u64 = 6;
/// Copies of scores and pattern that a differentiated layer keeps for the way back.
const KEPT_FOR_GRADIENT: u64 = 4;

/// Copies of a tapped site: the zeros, the sum with them, and the gradient.
const KEPT_FOR_TAP: u64 = 3;

/// Of so many bytes in use the allocator keeps another one, or has it not given back yet.
const ALLOCATOR: u64 = 8;

/// Positions of every sequence.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Lengths(pub [(Side, usize); Side::ALL.len()]);

impl Lengths {
    /// The lengths that `of` gives.
    pub fn new(of: impl Fn(Side) -> usize) -> Self {
        Self(Side::ALL.map(|side| (side, of(side))))
    }

    fn of(&self, side: Side) -> u64 {
        self.0.iter().find(|(other, _)| *other == side).map_or(0, |(_, n)| *n as u64)
    }

    /// The longest sequence.
    pub fn longest(&self) -> usize {
        self.0.iter().map(|(_, n)| *n).max().unwrap_or(0)
    }

    /// As if the longest sequence had `n` positions.
    pub fn with_longest(self, n: usize) -> Self {
        let longest = self.longest();
        Self(self.0.map(|(side, len)| (side, if len == longest { n } else { len })))
    }
}

impl Network {
    /// Bytes that a run takes at its peak, weights not included, and what the allocator keeps besides.
    pub fn peak_bytes(&self, lengths: &Lengths, plan: &RunPlan, taps: Taps) -> u64 {
        let used = self.used_bytes(lengths, plan, taps);
        used.saturating_add(used / ALLOCATOR)
    }

    fn used_bytes(&self, lengths: &Lengths, plan: &RunPlan, taps: Taps) -> u64 {
        match &self.body {
            Body::Single(_) | Body::EncoderDecoder { .. } | Body::TwoTowers { .. } | Body::TwoStreams(_) => {}
            // Rows are kept one by one, and joined in the end.
            Body::Recurrent(recurrent) => return self.sequential_bytes(&[recurrent.stack()], 16, lengths, plan),
            Body::Attentive(model) => return self.sequential_bytes(&[model.stack()], 16, lengths, plan),
            // Of every word the gates of both directions, its states and cells, key, value and score.
            Body::Reader(reader) => return self.sequential_bytes(&reader.stacks(), 32, lengths, plan),
        }
        let mut kept = 0u64;
        let mut patterns = 0u64;
        let mut peak = 0u64;
        let mut largest = 0u64;
        for stack in self.transformers() {
            let n = lengths.of(stack.kind.query_side());
            for block in &stack.blocks {
                let layer = Layer { block, stack, n, lengths, plan, taps };
                peak = peak.max(layer.working_bytes());
                largest = largest.max(layer.own_bytes(n));
                let (sites, scores) = layer.bytes_of(plan.sites);
                kept = kept.saturating_add(sites);
                // What does not fit is left out, and what comes later may fit.
                if patterns.saturating_add(scores) <= plan.pattern_budget_bytes {
                    patterns += scores;
                }
                if taps.any() {
                    kept = kept.saturating_add(layer.differentiated_bytes());
                }
            }
        }
        if let Body::TwoStreams(body) = &self.body {
            // Streams of the towers wait for the layers that take them in.
            for stack in [&body.vision.stack, &body.text.stack] {
                let width = stack.blocks.first().map_or(0, |block| block.mlp.d_model());
                let n_streams = stack.blocks.len() as u64 + 1;
                kept = kept.saturating_add(VALUE * n_streams * lengths.of(stack.kind.query_side()) * width);
            }
        }
        if let Body::Single(tower) = &self.body {
            // What a table has for layers, what is added to it, and the sum.
            let own = tower.embedding.width_of_own_inputs();
            kept = kept.saturating_add(VALUE * 3 * lengths.of(tower.stack.kind.query_side()) * own);
        }
        let predicted = [Side::Decoder, Side::Text, Side::Only].map(|side| lengths.of(side));
        let n_predicted = predicted.into_iter().find(|n| *n > 0).unwrap_or(0);
        // The allocator may still hold what the layer before was computed in: measured, once in two runs.
        kept.saturating_add(patterns)
            .saturating_add(largest)
            .saturating_add(peak.max(self.head_bytes(n_predicted, plan)))
    }

    /// Of networks that read token by token: scores and what is made of them, and so many states of every token.
    fn sequential_bytes(&self, stacks: &[StackSpec], states: u64, lengths: &Lengths, plan: &RunPlan) -> u64 {
        let of_stack = |stack: &StackSpec| {
            let (n_query, n_key) = (lengths.of(stack.kind.query_side()), lengths.of(stack.kind.key_side()));
            let of_head = |layer: &LayerSpec| 4 * n_query * n_key + states * (n_query + n_key) * layer.d_head as u64;
            let of_layer = |layer: &LayerSpec| layer.n_heads as u64 * of_head(layer);
            stack.layers.iter().map(of_layer).sum::<u64>()
        };
        let n_predicted =
            if self.query().is_some() { 1 } else { lengths.of(Side::Decoder).max(lengths.of(Side::Only)) };
        VALUE * stacks.iter().map(of_stack).sum::<u64>() + self.head_bytes(n_predicted, plan)
    }

    fn head_bytes(&self, n: u64, plan: &RunPlan) -> u64 {
        let Some(head) = &self.head else { return 0 };
        let n_outcomes = width_out(&head.output);
        let all = n.saturating_mul(n_outcomes);
        let kept = match plan.logits {
            Logits::Skip => return 0,
            Logits::Predict => 0,
            Logits::KeepFew if all > FEW_LOGITS as u64 => n_outcomes,
            Logits::KeepFew | Logits::Keep => all,
        };
        (VALUE * 2 * all.min(LOGITS_AT_ONCE)).saturating_add(VALUE.saturating_mul(kept))
    }
}

fn width_out(linear: &Linear) -> u64 {
    linear.dims().map_or(0, |(_, d_out)| d_out as u64)
}

/// Bytes of one copy of a bias.
fn bias_bytes(bias: &RelativeBias, n_heads: usize, (n_query, n_key): (u64, u64)) -> u64 {
    (VALUE * n_heads as u64).saturating_mul(bias.n_values(n_query, n_key))
}

/// One layer of a run.
struct Layer<'a> {
    block: &'a Block,
    stack: &'a Stack,
    n: u64,
    lengths: &'a Lengths,
    plan: &'a RunPlan,
    taps: Taps,
}

impl Layer<'_> {
    /// Bytes of one copy of the scores of so many heads with `n_key` keys.
    fn scores(&self, n_heads: usize, n_key: u64) -> u64 {
        (VALUE * n_heads as u64).saturating_mul(self.n).saturating_mul(n_key)
    }

    /// The stack of the cross-attention, if there is one.
    fn crossing(&self) -> StackKind {
        self.stack.kind.cross().unwrap_or(StackKind::Cross)
    }

    /// Keys of the cross-attention, if there is one.
    fn cross(&self) -> Option<(&MultiHead, u64)> {
        let (attention, _) = self.block.cross.as_ref()?;
        Some((attention, self.lengths.of(self.crossing().key_side())))
    }

    /// Bytes that exist only while the layer is computed.
    fn working_bytes(&self) -> u64 {
        let own = self.own_bytes(self.n);
        let cross = self.cross().map_or(0, |(cross, n)| self.attention_bytes(cross, self.crossing(), n));
        let is_seen = Site::ALL.into_iter().any(|site| site.spec().is_of_mlp && self.plan.sites.contains(site));
        let is_changed = self.taps.any() || !self.plan.edits.is_empty();
        let in_pieces = self.block.mlp.by_pieces() && !(is_changed || is_seen);
        let rows = if in_pieces { self.n.min(MLP_ROWS as u64) } else { self.n };
        let hidden = VALUE * rows * self.block.mlp.values_at_once();
        let d_model = self.block.mlp.d_model();
        let biased = self.stack.bias.as_ref().zip(self.block.attention.heads());
        let shared_bias = biased.map_or(0, |(bias, heads)| bias_bytes(bias, heads.spec.n_heads, (self.n, self.n)));
        own.max(cross).max(hidden).saturating_add(VALUE * STREAMS * self.n * d_model).saturating_add(shared_bias)
    }

    /// Whether some tokens see all in this run.
    fn has_global_tokens(&self, attention: &MultiHead) -> bool {
        let chosen = crate::model::run::edits::see_all(&self.plan.edits).map(|(_, positions)| !positions.is_empty());
        attention.spec.global && chosen.unwrap_or_else(|| !self.stack.global.is_none())
    }

    /// Copies of the scores that exist at once: none where `z` is computed in one step and nobody keeps the
    /// pattern.
    fn copies(&self, attention: &MultiHead, stack: StackKind, one: u64) -> u64 {
        let Self { plan, taps, .. } = self;
        let is_edited = plan.edits.iter().any(|edit| crate::model::run::edits::changes_scores(edit, stack));
        let bias = if matches!(attention.bias, Some(RelativeBias::Disentangled(_))) { 3 } else { 0 };
        let keeps_pattern = plan.sites.contains(Site::Pattern) && one <= plan.pattern_budget_bytes;
        // Rows of tokens that see all are put among the others in copies.
        let joined = if self.has_global_tokens(attention) { 2 } else { 0 };
        if !(is_edited || plan.sites.contains(Site::Scores) || self.is_differentiated_in_parts(attention)) {
            return bias + if keeps_pattern { 1 + joined } else { 0 };
        }
        let capped = if attention.spec.softcap.is_some() { 4 } else { 1 };
        let edited = if is_edited { 3 } else { 0 };
        // The bias in full, and the sum with it.
        let biased = if attention.spec.biased { 2 } else { 0 };
        let tapped = u64::from(taps.any());
        capped + edited + biased + bias + tapped + 2 * joined
    }

    /// Whether the way back goes through scores and patterns that are there.
    fn is_differentiated_in_parts(&self, attention: &MultiHead) -> bool {
        let Self { plan, taps, .. } = self;
        let wanted = |site| taps.sites.contains(site) || plan.sites.contains(site);
        taps.any()
            && (taps.fixed_patterns
                || wanted(Site::Pattern)
                || wanted(Site::Scores)
                || (attention.sink.is_some() && plan.sites.contains(Site::Q))
                || matches!(attention.bias, Some(RelativeBias::Disentangled(_))))
    }

    /// What stands beside attention, if there is something.
    fn beside(&self) -> Option<(StackKind, &dyn Attention)> {
        let kind = self.stack.kind.beside()?;
        Some((kind, self.block.mixer(kind)?))
    }

    fn mixer_bytes(&self, mixer: &dyn Attention, kind: StackKind, n_key: u64) -> u64 {
        match mixer.heads() {
            Some(heads) => self.attention_bytes(heads, kind, n_key),
            None => (VALUE * self.n).saturating_mul(mixer.values_of_row()[0]),
        }
    }

    /// Bytes of what the layer has for its own sequence, with `n_key` keys.
    fn own_bytes(&self, n_key: u64) -> u64 {
        let own = self.mixer_bytes(&*self.block.attention, self.stack.kind, n_key);
        own.saturating_add(self.beside().map_or(0, |(kind, mixer)| self.mixer_bytes(mixer, kind, n_key)))
    }

    fn attention_bytes(&self, attention: &MultiHead, stack: StackKind, n_key: u64) -> u64 {
        let spec = &attention.spec;
        let one = self.scores(spec.n_heads, n_key);
        let copies = self.copies(attention, stack, one);
        let bias = match &attention.bias {
            None | Some(RelativeBias::Disentangled(_)) => 0,
            Some(bias) => bias_bytes(bias, attention.spec.n_heads, (self.n, n_key)),
        };
        let scratch = VALUE * kernels::scratch_values(self.n as usize, n_key as usize, self.taps.any()) as u64;
        let d_projected = match &attention.projections {
            Projections::Fused(qkv) => {
                let global = self.block.attention.global_maps().filter(|_| self.has_global_tokens(attention));
                self.n * (width_out(qkv) + global.map_or(0, |[q, kv]| width_out(kv) + 2 * width_out(q)))
            }
            Projections::Cross { q, kv } => self.n * width_out(q) + n_key * width_out(kv),
            Projections::Latent(maps) => self.n * maps.values_of_row(spec),
            Projections::Borrowed { q, .. } => self.n * width_out(q),
        };
        // Norms and rotary embeddings write queries and keys anew.
        let is_latent = matches!(attention.projections, Projections::Latent(_));
        let is_anew = attention.qk_norm.is_some() || attention.rotary.is_some();
        let d_turned = if is_anew && !is_latent { d_projected } else { 0 };
        let z = self.n * (spec.n_heads * spec.d_value) as u64;
        // The gates, their exponentials and the product.
        let gated = if attention.gate.is_some() { 3 * z } else { 0 };
        let projected = VALUE * (d_projected + d_turned + z + gated);
        one.saturating_mul(copies).saturating_add(bias).saturating_add(scratch).saturating_add(projected)
    }

    /// Bytes of one copy of what these sites have in this layer: all but scores, and scores with patterns and
    /// biases.
    fn bytes_of(&self, wanted: Sites) -> (u64, u64) {
        let mut sites = 0u64;
        let mut scores = 0u64;
        let wants = |site: Site| wanted.contains(site) || (site == Site::Effective && wanted.contains(Site::Pattern));
        let of_layer = || Site::ALL.into_iter().filter(|site| wants(*site) && site.is_of_layer());
        let own = (self.block.attention.spec(), self.n);
        let beside = self.beside().map(|(_, mixer)| (mixer.spec(), self.n));
        let cross = self.cross().map(|(cross, n_key)| (cross.spec, n_key));
        for (spec, n_key) in [Some(own), beside, cross].into_iter().flatten() {
            let (h, kv) = (spec.n_heads as u64, spec.n_kv_heads as u64);
            for site in of_layer().filter(|site| site.is_of_heads(spec.mixer)).map(Site::spec) {
                let d = if site.width == Width::Value { spec.d_value } else { spec.d_head } as u64;
                match site.rows {
                    RowKind::Stream => {}
                    _ if site.width == Width::Keys => scores = scores.saturating_add(self.scores(spec.n_heads, n_key)),
                    RowKind::Queries => sites += VALUE * h * self.n * d,
                    RowKind::Keys => sites += VALUE * kv * n_key * d,
                }
            }
        }
        let own = self.block.attention.heads().map(|heads| (heads, self.n));
        for (attention, n_key) in [own, self.cross()].into_iter().flatten() {
            let (h, d) = (attention.spec.n_heads, (attention.spec.d_head + attention.spec.d_value) as u64);
            let global = u64::from(self.has_global_tokens(attention));
            if wanted.contains(Site::K) {
                sites += VALUE * global * h as u64 * n_key * d;
            }
            if attention.sink.is_some()
                && [Site::Q, Site::Scores, Site::Pattern].iter().any(|site| wanted.contains(*site))
            {
                sites += VALUE * h as u64 * self.n;
            }
            if let Some(bias) = attention.bias.as_ref().filter(|_| wanted.contains(Site::Q)) {
                scores = scores.saturating_add(bias_bytes(bias, attention.spec.n_heads, (self.n, n_key)));
            }
        }
        for site in of_layer().map(Site::spec).filter(|site| site.rows == RowKind::Stream) {
            let width = self.block.mlp.width_of(site.site).unwrap_or_else(|| self.block.mlp.d_model());
            sites += VALUE * self.n * width;
        }
        (sites, scores)
    }

    /// Bytes that the way back needs of this layer.
    fn differentiated_bytes(&self) -> u64 {
        let of = |attention: &MultiHead, n_key| {
            if self.is_differentiated_in_parts(attention) { self.scores(attention.spec.n_heads, n_key) } else { 0 }
        };
        let cross = self.cross().map_or(0, |(attention, n)| of(attention, n));
        let own = self.block.attention.heads().map_or(0, |heads| of(heads, self.n));
        let scores = own.saturating_add(cross);
        let streams = self.block.mlp.values_for_gradient() + 2 * STREAMS * self.block.mlp.d_model();
        let beside = self.beside().map_or(0, |(_, mixer)| mixer.values_of_row()[1]);
        let streams = streams + self.block.attention.values_of_row()[1] + beside;
        let (sites, maps) = self.bytes_of(self.taps.sites);
        scores
            .saturating_mul(KEPT_FOR_GRADIENT)
            .saturating_add(VALUE * self.n * streams)
            .saturating_add(sites.saturating_add(maps).saturating_mul(KEPT_FOR_TAP))
    }
}
