//! Places of tokens and layers: layers upwards, tokens from left to right, a sequence above the one that it looks at.

use emath::{Pos2, Rect, Vec2, pos2, vec2};

use crate::{
    analysis::paths::{LayerGraph, Node},
    figure::measure::GRID,
};

/// Left of the first token, for the names of layers.
pub const GUTTER_PT: f32 = 14.0 * GRID;
/// Between two layers: the least, what suits a figure, and the most.
const LEVEL_PT: [f32; 3] = [6.0 * GRID, 10.0 * GRID, 18.0 * GRID];
/// Between two tokens: the least and the most.
const TOKEN_PT: [f32; 2] = [GRID, 14.0 * GRID];
/// Above and below the nodes of a sequence.
const PAD_PT: f32 = 2.0 * GRID;
/// Between two sequences, beside the names of the upper one.
const BETWEEN_PT: f32 = 6.0 * GRID;
/// Names of tokens are cut here.
const MOST_NAME_PT: f32 = 22.0 * GRID;
/// Height of names that lie.
const NAME_PT: f32 = 5.0 * GRID;

/// The places.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PathsLayout {
    /// The first token of the lowest level.
    origin: Pos2,
    /// From token to token, and from level to level.
    pub pitch: Vec2,
    /// Room of the names of a sequence.
    pub name_pt: f32,
    /// Whether names stand upright.
    pub is_turned: bool,
}

/// What decides about the places.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Extent {
    /// Tokens of the longest sequence.
    n_tokens: usize,
    n_levels: usize,
    n_streams: usize,
    /// The widest name.
    widest: f32,
}

impl Extent {
    /// Of a graph with names of this width at most.
    pub fn of(graph: &LayerGraph, widest: f32) -> Self {
        Self {
            n_tokens: graph.streams.iter().map(|stream| stream.n).max().unwrap_or(0).max(1),
            n_levels: graph.n_layers(),
            n_streams: graph.streams.len(),
            widest,
        }
    }

    /// The least width.
    pub fn least_width(self) -> f32 {
        GUTTER_PT + self.n_tokens as f32 * TOKEN_PT[0] + PAD_PT
    }

    /// The width that gives every token its most.
    pub fn width(self) -> f32 {
        GUTTER_PT + self.n_tokens as f32 * TOKEN_PT[1] + PAD_PT
    }

    /// The height at a width, with as much as suits a figure between layers; the least height.
    pub fn heights(self, width: f32) -> [f32; 2] {
        let around = self.around(self.names(self.token_pitch(width)).0);
        [1, 0].map(|of| around + self.n_levels as f32 * LEVEL_PT[of])
    }

    fn token_pitch(self, width: f32) -> f32 {
        ((width - GUTTER_PT - PAD_PT) / self.n_tokens as f32).clamp(TOKEN_PT[0], TOKEN_PT[1])
    }

    /// Room of names, and whether they stand upright.
    fn names(self, pitch: f32) -> (f32, bool) {
        let is_turned = self.widest + GRID > pitch;
        (if is_turned { self.widest.min(MOST_NAME_PT) + GRID } else { NAME_PT }, is_turned)
    }

    /// Names below every sequence and above the last one, with what is free around the nodes.
    fn around(self, name_pt: f32) -> f32 {
        (self.n_streams + 1) as f32 * name_pt + 2.0 * PAD_PT + (self.n_streams - 1) as f32 * BETWEEN_PT
    }
}

impl PathsLayout {
    /// In an area.
    pub fn of(extent: Extent, area: Rect) -> Self {
        let pitch_x = extent.token_pitch(area.width());
        let (name_pt, is_turned) = extent.names(pitch_x);
        let free = area.height() - extent.around(name_pt);
        let pitch_y = (free / extent.n_levels.max(1) as f32).clamp(LEVEL_PT[0], LEVEL_PT[2]);
        // A picture that leaves room begins at the top.
        let height = extent.around(name_pt) + extent.n_levels as f32 * pitch_y;
        let bottom = area.bottom().min(area.top() + height);
        let origin = pos2(area.left() + GUTTER_PT + pitch_x / 2.0, bottom - name_pt - PAD_PT);
        Self { origin, pitch: vec2(pitch_x, pitch_y), name_pt, is_turned }
    }

    /// The place of a node.
    pub fn at(&self, graph: &LayerGraph, node: Node) -> Pos2 {
        let (nth, first) = graph.stream_of(node.token).map_or((0, 0), |(nth, stream)| (nth, stream.first));
        let between = nth as f32 * (self.name_pt + BETWEEN_PT);
        self.origin + vec2((node.token - first) as f32 * self.pitch.x, -(node.level as f32 * self.pitch.y + between))
    }

    /// Where the name of an input begins below its node, or that of an output above it.
    pub fn name_at(&self, graph: &LayerGraph, node: Node, is_input: bool) -> Pos2 {
        let down = if is_input { 1.0 } else { -1.0 };
        self.at(graph, node) + vec2(0.0, down * (PAD_PT + if self.is_turned { 0.0 } else { NAME_PT / 2.0 }))
    }

    /// The node at a place: its own, or its name's.
    pub fn node_at(&self, graph: &LayerGraph, at: Pos2) -> Option<Node> {
        graph.streams.iter().find_map(|stream| {
            let left = self.at(graph, Node { level: stream.ends[0], token: stream.first });
            let nth = ((at.x - left.x) / self.pitch.x + 0.5).floor();
            let token = stream.first + (nth >= 0.0 && nth < stream.n as f32).then_some(nth as usize)?;
            let [input, output] = stream.ends.map(|level| Node { level, token });
            let level = (left.y - at.y) / self.pitch.y + stream.ends[0] as f32;
            let node = Node { level: level.round().max(0.0) as usize, token };
            let names = self.name_pt + PAD_PT;
            let (low, high) = (self.at(graph, input).y, self.at(graph, output).y);
            match at.y {
                y if (low..low + names).contains(&y) => Some(input),
                y if (high - names..high).contains(&y) => Some(output).filter(|_| graph.is_last(stream)),
                _ => Some(node).filter(|node| graph.has(*node)),
            }
        })
    }
}
