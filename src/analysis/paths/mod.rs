//! Attention of all layers as a graph: nodes are tokens before and behind each layer, edges the weights of a layer.
//!
//! Sequences that attend to each other are one sequence of tokens, and their layers one chain; tokens that a layer does not
//! change pass through it. What can be multiplied along the chain is, with the share `w` of the residual stream,
//!
//! ```text
//! F_l = heads of A_l taken together
//! Â_l = rownorm(w·I + (1-w)·F_l)                                attention within a sequence
//! Â_l = rownorm[ w·rownorm(w·I + (1-w)·F_l) | (1-w)·F_cross ]   over its own and the other sequence, as in a decoder
//! ```
//!
//! Rollout and flow are those of [`explain::rollout`](super::explain::rollout) and [`explain::flow`](super::explain::flow).

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::{attention, explain::dense::Dense};
use crate::{
    capture::{Capture, RowMass},
    ids::{HeadId, Side, StackKind},
    spec::ModelSpec,
};

mod measure;

/// The most tokens of all sequences together.
const MOST_TOKENS: usize = 384;

/// The numbers of edges and nodes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum PathMeasure {
    /// Weights as they are.
    #[default]
    Raw,
    /// Shares of an output that pass over an edge.
    Rollout,
    /// The maximum flow of one pair of tokens.
    Flow,
}

vocabulary! {
    PathMeasure: name, title;
    Raw("raw", "Raw"),
    Rollout("rollout", "Rollout"),
    Flow("flow", "Flow"),
}

/// How the heads of a layer become one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum PathHeads {
    #[default]
    Mean,
    Max,
    /// The selected head alone in its layer, the mean in all others.
    Selected,
}

vocabulary! {
    PathHeads: name, title;
    Mean("mean", "Mean"),
    Max("max", "Largest"),
    Selected("selected", "Selected head"),
}

/// A token at a level: level `l` is before layer `l` of the chain.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Node {
    pub level: usize,
    /// Counted over all sequences.
    pub token: usize,
}

/// A sequence of tokens on its way through its layers.
#[derive(Clone, Debug, PartialEq)]
pub struct Stream {
    pub side: Side,
    /// Its first token, counted over all sequences.
    pub first: usize,
    pub n: usize,
    /// Levels of its input and its output.
    pub ends: [usize; 2],
}

impl Stream {
    /// Whether a token is one of its own.
    pub const fn has(&self, token: usize) -> bool {
        self.first <= token && token < self.first + self.n
    }
}

/// Attention of one layer, heads taken together.
#[derive(Clone, Debug, PartialEq)]
struct LayerWeights {
    stack: StackKind,
    /// `[query, key]`.
    weights: Dense,
    first_key: usize,
    /// The level of its keys.
    key_level: usize,
}

/// A layer of the chain.
#[derive(Clone, Debug, PartialEq)]
struct ChainLayer {
    stream: usize,
    /// Within its stack.
    layer: usize,
    /// Attention within the sequence first, where there is one.
    parts: Vec<LayerWeights>,
}

/// Attention of all layers.
#[derive(Clone, Debug, PartialEq)]
pub struct LayerGraph {
    /// Sequences that are looked at before those that look at them.
    pub streams: Vec<Stream>,
    layers: Vec<ChainLayer>,
    /// Why layers cannot be multiplied, as a sentence.
    no_product: Option<&'static str>,
}

/// An edge with its numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathEdge {
    pub stack: StackKind,
    pub layer: usize,
    /// The query.
    pub from: Node,
    /// The key.
    pub to: Node,
    pub weight: f32,
    /// What is multiplied along a path.
    pub factor: f64,
    /// By the measure; of raw weights the weight.
    pub value: f32,
}

/// Numbers of a graph by a measure.
#[derive(Clone, Debug, PartialEq)]
pub struct PathNumbers {
    /// The strongest edges, the strongest first.
    pub edges: Vec<PathEdge>,
    /// How many edges are above 0.
    pub n_edges: usize,
    /// Part of all that attention passes on, in `0..=1`, that is on `edges`.
    pub part: f64,
    /// By level, of every token: what a query of the layer above gives it on average, or what of an output passes through it.
    pub nodes: Vec<Vec<f64>>,
    /// The query and the key that they are about.
    pub ends: [Option<Node>; 2],
    /// What stays in the residual stream, by layer of the chain and query.
    residual: Vec<Vec<f64>>,
}

/// The strongest way from an output to an input.
#[derive(Clone, Debug, PartialEq)]
pub struct StrongestPath {
    /// From the query down.
    pub nodes: Vec<Node>,
    /// Product of the weights of its edges.
    pub product: f64,
}

/// Why there is no graph of a stack; `None` where there is.
pub fn unavailable(capture: &Capture, stack: StackKind) -> Option<&'static str> {
    if capture.model().has_two_streams() {
        return Some(
            "Paths need layers that follow each other, and cross-modal layers take in the towers layer by layer",
        );
    }
    let sides = sides(capture.model(), stack);
    if sides.iter().map(|side| capture.tokens(*side).len()).sum::<usize>() > MOST_TOKENS {
        return Some("Paths are drawn of up to 384 tokens: choose a shorter input");
    }
    let stacks = capture.model().stacks.iter().filter(|stack| sides.contains(&stack.kind.query_side()));
    if stacks.clone().any(|stack| stack.layers.iter().any(|layer| !layer.mixer.is_attention())) {
        return Some("Paths go through attention in all layers, and some layers have something else in its place");
    }
    let mut heads = stacks.flat_map(|stack| {
        let first = move |layer| HeadId { stack: stack.kind, layer, head: 0 };
        (0..stack.layers.len()).map(first)
    });
    let is_missing = heads.any(|head| !attention::has_pattern(capture, head));
    is_missing.then_some("Paths go through all layers, and the attention of some was not recorded")
}

/// The sequences that attend to each other, with a stack's: those that are looked at first.
fn sides(model: &ModelSpec, stack: StackKind) -> Vec<Side> {
    fn depth(model: &ModelSpec, side: Side) -> usize {
        let between = model.stacks.iter().map(|stack| stack.kind).filter(|kind| kind.is_between());
        between
            .filter(|kind| kind.query_side() == side)
            .map(|kind| 1 + depth(model, kind.key_side()))
            .max()
            .unwrap_or(0)
    }
    let mut found = vec![stack.query_side()];
    for _ in &model.stacks {
        for kind in model.stacks.iter().map(|stack| stack.kind) {
            let ends = [kind.query_side(), kind.key_side()];
            if ends.iter().any(|side| found.contains(side)) {
                found.extend(ends);
            }
        }
    }
    found.sort_by_key(|side| (depth(model, *side), *side));
    found.dedup();
    found
}

impl LayerGraph {
    /// Bytes of its weights.
    pub fn size_bytes(&self) -> usize {
        let parts = self.layers.iter().flat_map(|layer| &layer.parts);
        parts.map(|part| part.weights.n_rows() * part.weights.n_cols() * size_of::<f64>()).sum()
    }

    /// The graph of the sequences that attend to each other with that of a head.
    ///
    /// # Errors
    /// Says why there is none.
    pub fn of(capture: &Capture, head: HeadId, heads: PathHeads) -> Result<Self, &'static str> {
        if let Some(why) = unavailable(capture, head.stack) {
            return Err(why);
        }
        let model = capture.model();
        let mut graph = Self { streams: Vec::new(), layers: Vec::new(), no_product: None };
        for side in sides(model, head.stack) {
            let stacks: Vec<_> = model.stacks.iter().filter(|stack| stack.kind.query_side() == side).collect();
            let n_layers = stacks.iter().map(|stack| stack.layers.len()).max().unwrap_or(0);
            let (first, base) = (graph.n_tokens(), graph.layers.len());
            let (nth, n) = (graph.streams.len(), capture.tokens(side).len());
            graph.streams.push(Stream { side, first, n, ends: [base, base + n_layers] });
            for layer in 0..n_layers {
                let mut parts = Vec::new();
                for stack in stacks.iter().filter(|stack| layer < stack.layers.len()) {
                    let (kind, n_heads) = (stack.kind, stack.layers[layer].n_heads);
                    let keys = graph.streams.iter().find(|stream| stream.side == kind.key_side());
                    let Some(keys) = keys else { continue };
                    let at = HeadId { stack: kind, layer, head: 0 };
                    let is_own = kind.key_side() == side;
                    parts.push(LayerWeights {
                        stack: kind,
                        weights: fused(capture, (at, n_heads), head, heads)?,
                        first_key: keys.first,
                        key_level: if is_own { base + layer } else { keys.ends[1] },
                    });
                    let is_free = (0..n_heads).any(|head| capture.row_mass(HeadId { head, ..at }) == RowMass::Free);
                    if is_free {
                        graph.no_product = Some("Layers cannot be multiplied: weights of some heads do not sum to 1");
                    }
                }
                parts.sort_by_key(|part| part.stack.is_between());
                if parts.first().is_none_or(|part| part.stack.is_between()) {
                    graph.no_product = Some("Layers cannot be multiplied: they do not attend to their own sequence");
                }
                graph.layers.push(ChainLayer { stream: nth, layer, parts });
            }
        }
        Ok(graph)
    }

    /// Tokens of all sequences.
    pub fn n_tokens(&self) -> usize {
        self.streams.last().map_or(0, |stream| stream.first + stream.n)
    }

    /// Number of levels less one.
    pub const fn n_layers(&self) -> usize {
        self.layers.len()
    }

    /// Whether nothing looks at a sequence but itself.
    pub fn is_last(&self, stream: &Stream) -> bool {
        self.streams.last() == Some(stream)
    }

    /// The sequence of a token, and where.
    pub fn stream_of(&self, token: usize) -> Option<(usize, &Stream)> {
        self.streams.iter().enumerate().find(|(_, stream)| stream.has(token))
    }

    /// The node of an output of a side (`end` 1), or of an input (`end` 0).
    pub fn node(&self, side: Side, end: usize, position: usize) -> Option<Node> {
        let stream = self.streams.iter().find(|stream| stream.side == side && position < stream.n)?;
        Some(Node { level: stream.ends[end], token: stream.first + position })
    }

    /// The node some tokens and layers away, as far as there is one: above the last layer of a sequence the next one begins.
    pub fn step(&self, node: Node, along: isize, up: isize) -> Node {
        let Some((nth, stream)) = self.stream_of(node.token) else { return node };
        let token = node.token.saturating_add_signed(along).clamp(stream.first, stream.first + stream.n - 1);
        let level = node.level.saturating_add_signed(up);
        if (stream.ends[0]..=stream.ends[1]).contains(&level) && (up >= 0 || node.level > 0) {
            return Node { level, token };
        }
        let next = nth.checked_add_signed(up).and_then(|next| self.streams.get(next)).filter(|next| next.n > 0);
        next.map_or(Node { token, ..node }, |next| Node {
            level: next.ends[usize::from(up < 0)],
            token: next.first + (token - stream.first).min(next.n - 1),
        })
    }

    /// Whether a token has a node at a level.
    pub fn has(&self, node: Node) -> bool {
        self.stream_of(node.token).is_some_and(|(_, stream)| (stream.ends[0]..=stream.ends[1]).contains(&node.level))
    }
}

impl PathNumbers {
    /// The largest value of an edge.
    pub fn high(&self) -> f32 {
        self.edges.first().map_or(0.0, |edge| edge.value)
    }

    /// Whether the residual stream takes part.
    pub fn has_residual(&self) -> bool {
        self.residual.iter().flatten().any(|share| *share > 0.0)
    }

    /// Nodes that can be reached from one over the drawn edges and the residual stream, downwards or upwards, each with the
    /// sum over ways of the products of their factors.
    pub fn reached(&self, graph: &LayerGraph, start: Node, downwards: bool) -> BTreeMap<Node, f64> {
        let drawn = self.edges.iter().map(|edge| (edge.from, edge.to, edge.factor));
        let kept = self.residual.iter().enumerate().flat_map(|(at, shares)| {
            let first = graph.streams[graph.layers[at].stream].first;
            let of = move |(row, share): (usize, &f64)| {
                let node = |level| Node { level, token: first + row };
                (node(at + 1), node(at), *share)
            };
            shares.iter().enumerate().filter(|(_, share)| **share > 0.0).map(of)
        });
        let mut steps: Vec<(Node, Node, f64)> = drawn.chain(kept).collect();
        if downwards {
            steps.sort_by_key(|(from, ..)| std::cmp::Reverse(from.level));
        } else {
            for (from, to, _) in &mut steps {
                std::mem::swap(from, to);
            }
            steps.sort_by_key(|(from, ..)| from.level);
        }
        let mut reached = BTreeMap::from([(start, 1.0)]);
        for (from, to, factor) in steps {
            if let Some(product) = reached.get(&from).copied() {
                *reached.entry(to).or_insert(0.0) += product * factor;
            }
        }
        reached
    }
}

/// The heads of a layer as one, `[query, key]`.
fn fused(
    capture: &Capture,
    (at, n_heads): (HeadId, usize),
    selected: HeadId,
    heads: PathHeads,
) -> Result<Dense, &'static str> {
    let is_selected = heads == PathHeads::Selected && (at.stack, at.layer) == (selected.stack, selected.layer);
    let of = |head: usize| {
        let pattern = attention::pattern(capture, HeadId { head, ..at });
        pattern.as_ref().map(Dense::from).ok_or("The attention of a head was not recorded")
    };
    if is_selected {
        return of(selected.head);
    }
    let mut fused = of(0)?;
    for head in 1..n_heads {
        for (fused, weight) in fused.as_mut_slice().iter_mut().zip(of(head)?.as_slice()) {
            *fused = if heads == PathHeads::Max { fused.max(*weight) } else { *fused + weight };
        }
    }
    if heads != PathHeads::Max {
        fused.as_mut_slice().iter_mut().for_each(|weight| *weight /= n_heads as f64);
    }
    Ok(fused)
}
