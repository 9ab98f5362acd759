//! Nodes and edges of paths, as they are drawn.

use std::f32::consts::FRAC_PI_2;

use emath::{Rect, Vec2, pos2, vec2};

use super::{
    PathsScene,
    layout::{GUTTER_PT, PathsLayout},
};
use crate::{
    analysis::paths::{Node, PathEdge, Stream},
    figure::{
        font::Align,
        list::{Line, Rgba, faded},
        measure::{GRID, text_size::SMALL},
        palette::Palette,
        path::Path,
        pen::Pen,
        views::{
            heads::marks::LABEL_OPACITY,
            labels::{self, Labels},
        },
    },
    text::capitalised,
};

/// Radius of a node without a value, and what the largest adds.
const NODE_PT: [f32; 2] = [1.5, 4.0];
/// Where tokens are nearer, nodes are squares, of which there may be thousands.
const SQUARE_BELOW_PT: f32 = 10.0;
/// Width of the strongest path.
const STRONGEST_PT: f32 = 2.0;

impl PathsScene {
    /// Draws everything but the legend.
    pub fn draw_graph(&self, area: Rect, pen: &mut Pen<'_>) {
        let layout = self.layout(area, pen);
        let all = self.residual(&layout, pen, |_| true).into_iter().chain(self.edges(&layout, pen, |_| true)).collect();
        pen.lines(all);
        self.nodes(&layout, pen, |_| true);
        if let Some(lit) = &self.lit {
            pen.rect(area, faded(pen.palette.canvas, Palette::VEIL));
            let on_path = self.edges(&layout, pen, |ends| lit.has(ends));
            pen.lines(on_path);
            self.nodes(&layout, pen, |node| lit.has([node; 2]) || self.held.contains(&Some(node)));
        }
        if let Some(path) = &self.strongest {
            let ends = path.nodes.windows(2).map(|pair| [pair[0], pair[1]]);
            let line = |ends: [Node; 2]| self.line(&layout, ends, STRONGEST_PT, pen.palette.text);
            let lines = ends.map(line).collect();
            pen.lines(lines);
            for node in &path.nodes {
                pen.fill(Path::circle(layout.at(&self.of.graph, *node), NODE_PT[0] + 1.0), pen.palette.text);
            }
        }
        self.level_names(&layout, area, pen);
        self.marks(&layout, pen);
        let streams = &self.of.graph.streams;
        for stream in streams {
            self.token_names(&layout, stream, true, pen);
        }
        if let Some(last) = streams.last().filter(|last| last.ends[0] < last.ends[1]) {
            self.token_names(&layout, last, false, pen);
        }
    }

    fn line(&self, layout: &PathsLayout, ends: [Node; 2], width: f32, color: Rgba) -> Line {
        let [from, to] = ends.map(|node| layout.at(&self.of.graph, node));
        Line { from, to, width, color }
    }

    /// The drawn edges, the strongest last.
    fn edges(&self, layout: &PathsLayout, pen: &Pen<'_>, is_meant: impl Fn([Node; 2]) -> bool) -> Vec<Line> {
        let (color, high) = (pen.palette.ink(self.ink()), self.high());
        let edges = self.numbers.edges.iter().rev().filter(|edge| is_meant([edge.from, edge.to]));
        let line = |edge: &PathEdge| {
            let strength = edge.value / high;
            let color = pen.palette.line(color, strength);
            self.line(layout, [edge.from, edge.to], Palette::line_width(strength), color)
        };
        edges.map(line).collect()
    }

    /// Every token's own stream, where it takes part.
    fn residual(&self, layout: &PathsLayout, pen: &Pen<'_>, is_meant: impl Fn([Node; 2]) -> bool) -> Vec<Line> {
        if !self.numbers.has_residual() {
            return Vec::new();
        }
        let ends = self.of.graph.streams.iter().flat_map(|stream| {
            let of_token = move |token| stream.ends.map(|level| Node { level, token });
            (stream.first..stream.first + stream.n).map(of_token)
        });
        let upright = ends.filter(|ends| is_meant(*ends));
        upright.map(|ends| self.line(layout, ends, pen.hairline(), pen.palette.rule)).collect()
    }

    fn nodes(&self, layout: &PathsLayout, pen: &mut Pen<'_>, is_meant: impl Fn(Node) -> bool) {
        let graph = &self.of.graph;
        let most = self.numbers.nodes.iter().flatten().copied().fold(f64::MIN_POSITIVE, f64::max);
        let color = pen.palette.ink(self.ink());
        for stream in &graph.streams {
            for level in stream.ends[0]..=stream.ends[1] {
                for token in stream.first..stream.first + stream.n {
                    let node = Node { level, token };
                    if !is_meant(node) {
                        continue;
                    }
                    let part = (self.numbers.nodes[level][token] / most).sqrt() as f32;
                    let radius = NODE_PT[1].mul_add(part, NODE_PT[0]).min(0.4 * layout.pitch.x);
                    let color = if part > 0.0 { pen.palette.line(color, part) } else { pen.palette.edge };
                    let at = layout.at(graph, node);
                    if layout.pitch.x < SQUARE_BELOW_PT {
                        pen.rect(Rect::from_center_size(at, Vec2::splat(2.0 * radius)), color);
                    } else {
                        pen.fill(Path::circle(at, radius), color);
                    }
                }
            }
        }
    }

    /// Rings around what is held and pointed at.
    fn marks(&self, layout: &PathsLayout, pen: &mut Pen<'_>) {
        let [query, key] = self.held;
        let rings = [(query, pen.palette.query), (key, pen.palette.key), (self.pointed, pen.palette.text)];
        for (node, color) in rings {
            if let Some(node) = node {
                pen.fill(Path::ring(layout.at(&self.of.graph, node), NODE_PT[0] + NODE_PT[1] + 1.0, 2.0), color);
            }
        }
    }

    /// Names of layers at the left, and of sequences where there are several.
    fn level_names(&self, layout: &PathsLayout, area: Rect, pen: &mut Pen<'_>) {
        let graph = &self.of.graph;
        let are_many = graph.streams.len() > 1;
        for stream in &graph.streams {
            for level in stream.ends[0]..=stream.ends[1] {
                let at = layout.at(graph, Node { level, token: stream.first });
                let name = match level - stream.ends[0] {
                    0 if are_many => capitalised(stream.side.name()),
                    0 => "Input".to_owned(),
                    layer => format!("L{}", layer - 1),
                };
                let name = pen.type_.fit(&name, SMALL, GUTTER_PT - GRID).into_owned();
                pen.text(&name, SMALL, pen.palette.text_weak, pos2(area.left(), at.y), Align::Left);
            }
        }
    }

    /// Names of the inputs of a sequence below them, or of its outputs above them; not all where there is no room.
    fn token_names(&self, layout: &PathsLayout, stream: &Stream, is_input: bool, pen: &mut Pen<'_>) {
        let graph = &self.of.graph;
        let level = stream.ends[usize::from(!is_input)];
        let held = self.held.into_iter().chain([self.pointed]).flatten();
        let first: Vec<usize> = held
            .filter(|node| node.level == level && stream.has(node.token))
            .map(|node| node.token - stream.first)
            .collect();
        let sizes = labels::sizes(pen.medium);
        let labels = Labels::of(0..stream.n, layout.pitch.x, &first, sizes);
        for label in labels.labels {
            let node = Node { level, token: stream.first + label.cell };
            let size = if layout.is_turned { labels.size } else { SMALL };
            let room = if layout.is_turned { layout.name_pt - GRID } else { layout.pitch.x - 2.0 };
            let name = self.of.names.get(node.token).map_or("", String::as_str);
            let name = pen.type_.fit(name, size, room).into_owned();
            let color = match (self.held, is_input) {
                ([Some(query), _], false) if query == node => pen.palette.query,
                ([_, Some(key)], true) if key == node => pen.palette.key,
                _ => pen.palette.text,
            };
            let place = layout.name_at(graph, node, is_input);
            let moved = label.moved_from.map_or(0.0, |from| label.at - from);
            let at = place + vec2(moved, 0.0);
            // Edges to the sequence below go behind its name.
            if stream.first > 0 && is_input {
                let length = pen.type_.width(&name, size);
                let (middle, extent) = if layout.is_turned {
                    (at + vec2(0.0, length / 2.0), vec2(1.3 * size, length))
                } else {
                    (at, vec2(length + GRID, 1.3 * size))
                };
                pen.rect(Rect::from_center_size(middle, extent), faded(pen.palette.canvas, LABEL_OPACITY));
            }
            if layout.is_turned {
                let align = if is_input { Align::Right } else { Align::Left };
                pen.turned(&name, size, color, at, align, -FRAC_PI_2);
            } else {
                pen.text(&name, size, color, at, Align::Center);
            }
        }
    }
}
