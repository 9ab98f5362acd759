//! Attention of all layers as a graph: tokens from left to right, layers upwards, the strongest edges as lines.

use std::{collections::BTreeMap, sync::Arc};

use emath::Rect;

use super::{Pinned, grouped, heads::look::LineWeight, joined};
use crate::{
    analysis::paths::{LayerGraph, Node, PathHeads, PathMeasure, PathNumbers, StrongestPath},
    capture::{Capture, words},
    figure::{
        legend::Legend,
        measure::text_size::SMALL,
        page::{Captions, Scene},
        palette::Ink,
        pen::Pen,
    },
    ids::{HeadId, Side},
    text::{share_text, tick_text, weight_text},
};

mod draw;
pub mod layout;
mod options;
mod spec;

pub use options::PathsOptions;
pub use spec::SPEC;

use layout::{Extent, PathsLayout};

/// Tokens of a path that its sentence names.
const MOST_NAMED: usize = 8;

/// The graph of a run, with the names of its tokens.
#[derive(Clone, Debug)]
pub struct PathsGraph {
    pub graph: Arc<LayerGraph>,
    /// Counted over all sequences.
    pub names: Vec<String>,
}

impl PathsGraph {
    /// The graph of the sequences that attend to each other with that of a head.
    ///
    /// # Errors
    /// Says why there is none.
    pub fn of(capture: &Capture, head: HeadId, heads: PathHeads) -> Result<Self, &'static str> {
        Ok(Self::named(capture, Arc::new(LayerGraph::of(capture, head, heads)?)))
    }

    /// A graph with the names of the tokens of its capture.
    pub fn named(capture: &Capture, graph: Arc<LayerGraph>) -> Self {
        let names_of = |side: Side| {
            let tokens = capture.tokens(side);
            (0..tokens.len()).map(|at| words::token_text(tokens, at)).collect::<Vec<_>>()
        };
        let names = graph.streams.iter().flat_map(|stream| names_of(stream.side)).collect();
        Self { graph, names }
    }

    /// The output of a query and the input of a key of a head's stack.
    pub fn ends(&self, head: HeadId, Pinned { query, key }: Pinned) -> [Option<Node>; 2] {
        let node = |side, end, at: Option<usize>| self.graph.node(side, end, at?);
        [node(head.stack.query_side(), 1, query), node(head.stack.key_side(), 0, key)]
    }

    /// What a node is called.
    pub fn name(&self, node: Node) -> String {
        let name = self.names.get(node.token).map_or("", |name| words::bare(name));
        format!("“{name}”")
    }
}

/// Edges and nodes that lie on paths of what is pointed at or held.
#[derive(Clone, Debug, Default)]
pub struct Lit {
    /// Nodes below, and nodes above, each with the products of the paths to them.
    reached: [Option<BTreeMap<Node, f64>>; 2],
    /// Whether paths are those that touch both.
    is_between: bool,
}

impl Lit {
    /// Whether the ends of an edge, the upper one first, are on a path.
    pub fn has(&self, [from, to]: [Node; 2]) -> bool {
        let on = |of: usize, node: Node| self.reached[of].as_ref().is_some_and(|reached| reached.contains_key(&node));
        if self.is_between { on(0, from) && on(1, to) } else { on(0, from) || on(1, to) }
    }

    /// The inputs that paths lead to, with the products of their paths, the strongest first.
    pub fn inputs(&self, graph: &LayerGraph) -> Vec<(Node, f64)> {
        let is_input = |node: Node| graph.stream_of(node.token).is_some_and(|(_, it)| it.ends[0] == node.level);
        let below = self.reached[0].iter().flatten().map(|(node, product)| (*node, *product));
        let mut inputs: Vec<(Node, f64)> = below.filter(|(node, _)| is_input(*node)).collect();
        inputs.sort_by(|a, b| b.1.total_cmp(&a.1));
        inputs
    }
}

/// The view of a run.
#[derive(Clone, Debug)]
pub struct PathsScene {
    pub of: Arc<PathsGraph>,
    pub numbers: Arc<PathNumbers>,
    pub options: PathsOptions,
    pub head: HeadId,
    /// The output and the input that are held.
    pub held: [Option<Node>; 2],
    /// What is pointed at.
    pub pointed: Option<Node>,
    pub lit: Option<Lit>,
    /// Between what is held.
    pub strongest: Option<StrongestPath>,
}

impl PathsScene {
    /// With what is held, and what is pointed at.
    pub fn new(
        of: Arc<PathsGraph>,
        numbers: Arc<PathNumbers>,
        options: PathsOptions,
        head: HeadId,
        held: [Option<Node>; 2],
        pointed: Option<Node>,
    ) -> Self {
        let reached = |node: Option<Node>, down| Some(numbers.reached(&of.graph, node?, down));
        let lit = match (pointed, held) {
            (None, [None, None]) => None,
            (Some(node), _) => {
                Some(Lit { reached: [reached(Some(node), true), reached(Some(node), false)], is_between: false })
            }
            (None, [query, key]) => Some(Lit {
                reached: [reached(query, true), reached(key, false)],
                is_between: query.is_some() && key.is_some(),
            }),
        };
        let ends = if options.measure == PathMeasure::Flow { numbers.ends } else { held };
        let ends = ends[0].zip(ends[1]).map(|(query, key)| [query, key]);
        let strongest = ends.and_then(|ends| of.graph.strongest(options.measure, options.residual.into(), ends));
        Self { of, numbers, options, head, held, pointed, lit, strongest }
    }

    /// What edges are drawn in.
    pub fn ink(&self) -> Ink {
        match (self.options.measure, self.options.of_heads) {
            (PathMeasure::Rollout | PathMeasure::Flow, _) => Ink::Explained,
            (PathMeasure::Raw, PathHeads::Selected) => Ink::Head(self.head.head),
            (PathMeasure::Raw, PathHeads::Mean | PathHeads::Max) => Ink::Head(0),
        }
    }

    /// The value that is drawn in full.
    pub fn high(&self) -> f32 {
        match self.options.measure {
            PathMeasure::Raw => 1.0,
            PathMeasure::Rollout | PathMeasure::Flow => self.numbers.high().max(f32::MIN_POSITIVE),
        }
    }

    /// What the values of edges are called.
    pub const fn value_name(&self) -> &'static str {
        match self.options.measure {
            PathMeasure::Raw => "weight",
            PathMeasure::Rollout => "rollout",
            PathMeasure::Flow => "flow",
        }
    }

    fn extent(&self, pen: &mut Pen<'_>) -> Extent {
        Extent::of(&self.of.graph, pen.widest(self.of.names.iter().map(String::as_str), SMALL))
    }

    /// Places in an area, below which stands the legend.
    pub fn layout(&self, area: Rect, pen: &mut Pen<'_>) -> PathsLayout {
        let extent = self.extent(pen);
        PathsLayout::of(extent, area)
    }

    fn scale(&self) -> Legend {
        let ends = [format!("{} 0", self.value_name()), tick_text(self.high())];
        Legend { marks: Vec::new(), ends, scale: Some(self.ink()), weight: LineWeight::Both }
    }

    /// How much is drawn.
    fn part_text(&self) -> String {
        let numbers = &self.numbers;
        let what = match self.options.measure {
            PathMeasure::Raw => "of the attention",
            PathMeasure::Rollout => "of the rollout",
            PathMeasure::Flow => "of the flow",
        };
        let of = format!("{} edges, {} {what}", grouped(numbers.n_edges), share_text(numbers.part));
        if numbers.edges.len() == numbers.n_edges {
            return format!("all {of}");
        }
        format!("top {} of {of}", grouped(numbers.edges.len()))
    }

    /// The strongest path in words.
    pub fn path_text(&self) -> Option<String> {
        let path = self.strongest.as_ref()?;
        let mut names: Vec<String> = path.nodes.iter().rev().map(|node| self.of.name(*node)).collect();
        let n = names.len();
        if n > MOST_NAMED {
            names.splice(MOST_NAMED / 2..n - MOST_NAMED / 2, ["…".to_owned()]);
        }
        Some(format!("strongest path {}, {}", names.join(" → "), weight_text(path.product)))
    }
}

impl Scene for PathsScene {
    fn width(&self, pen: &mut Pen<'_>) -> f32 {
        self.extent(pen).width().clamp(360.0, 900.0)
    }

    fn least_width(&self, pen: &mut Pen<'_>) -> f32 {
        self.extent(pen).least_width()
    }

    fn height(&self, width: f32, pen: &mut Pen<'_>) -> f32 {
        self.extent(pen).heights(width)[0] + self.scale().height(width, pen)
    }

    fn least_height(&self, width: f32, pen: &mut Pen<'_>) -> f32 {
        self.extent(pen).heights(width)[1] + self.scale().height(width, pen)
    }

    fn draw(&self, area: Rect, pen: &mut Pen<'_>) {
        let legend = self.scale();
        let (above, below) = area.split_top_bottom_at_y(area.bottom() - legend.height(area.width(), pen));
        self.draw_graph(above, pen);
        legend.draw(below, pen);
    }

    fn captions(&self) -> Captions {
        let path = self.path_text();
        let part = self.part_text();
        let of_pair = match (self.options.measure, self.numbers.ends) {
            (PathMeasure::Flow, [Some(query), Some(key)]) => {
                format!("flow from {} to {}", self.of.name(key), self.of.name(query))
            }
            (PathMeasure::Raw | PathMeasure::Rollout | PathMeasure::Flow, _) => String::new(),
        };
        let parts = [of_pair, part, path.unwrap_or_default()];
        let short = parts.iter().filter(|part| !part.is_empty()).map(String::as_str).collect::<Vec<_>>().join("; ");
        let heads = match self.options.of_heads {
            PathHeads::Mean => "the mean of its heads".to_owned(),
            PathHeads::Max => "the largest weight of any of its heads".to_owned(),
            PathHeads::Selected => format!("the mean of its heads, of {} that head alone", self.head),
        };
        let how = match self.options.measure {
            PathMeasure::Raw => "an edge is the weight of a key (below) for a query (above)",
            PathMeasure::Rollout => "an edge is the share of an output that passes over it",
            PathMeasure::Flow => "an edge is what the maximum flow of the pair sends over it",
        };
        let how = format!("Tokens from left to right, layers upwards; {how}; of each layer {heads}");
        let kept = if self.numbers.has_residual() {
            format!(
                "Thin upright lines: the residual stream, an assumed share of {}",
                share_text(self.options.residual)
            )
        } else {
            String::new()
        };
        let short = crate::text::capitalised(&short);
        Captions { full: joined([short.as_str(), &how, &kept]), short }
    }
}
