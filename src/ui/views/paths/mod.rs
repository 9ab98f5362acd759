//! Paths through all layers, in the window: what is pointed at lights its paths, a click holds an output or an input.

use std::sync::Arc;

use eframe::egui::{EventFilter, Grid, Key, Modifiers, Rect, Response, Role, ScrollArea, Sense, Ui, WidgetInfo, vec2};

use super::{
    Canvas, controls,
    display_list::ScenePainter,
    hover,
    scale::{Footer, ScaleBar},
    selectors,
    states::{self, Nothing},
    text_width, tooltip,
};
use crate::{
    analysis::{
        paths::{LayerGraph, Node, PathHeads, PathMeasure, PathNumbers},
        reading::store::{CapturePair, PathQuery},
    },
    figure::{
        Scene as _,
        views::{
            Pinned,
            paths::{
                PathsGraph, PathsOptions, PathsScene,
                layout::{Extent, PathsLayout},
            },
        },
    },
    ids::{HeadId, StackKind},
    session::{Command, Focus, SelectionCommand, ViewOptions},
    text::{tick_text, weight_text},
    ui::{
        ViewCtx,
        memo::{Memo, Same},
        theme::{GRID, text_size},
    },
};

/// Inputs that are listed beside the pointer.
const MAX_ROWS: usize = 5;
/// Arrow keys: to the token before and behind, to the layer above and below.
const ARROWS: [(Key, [isize; 2]); 4] =
    [(Key::ArrowLeft, [-1, 0]), (Key::ArrowRight, [1, 0]), (Key::ArrowUp, [0, 1]), (Key::ArrowDown, [0, -1])];

/// Everything that the scene depends on.
type SceneKey = (Same<PathNumbers>, PathsOptions, HeadId, [Option<Node>; 2], Option<Node>);

/// The view with what it remembers between frames.
#[derive(Default)]
pub struct PathsView {
    graph: Memo<Same<LayerGraph>, Arc<PathsGraph>>,
    /// The numbers that were drawn last, and how: they stay while others are measured.
    drawn: Option<(Same<PathsGraph>, PathsOptions, Arc<PathNumbers>)>,
    scene: Memo<SceneKey, Arc<PathsScene>>,
    extent: Memo<(Same<PathsGraph>, f32), Extent>,
    painter: ScenePainter<SceneKey>,
    /// What is pointed at since the last frame.
    pointed: Option<Node>,
}

impl Canvas for PathsView {
    fn rest(&mut self) {
        *self = Self::default();
    }

    fn choosers_ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>) {
        let mut own = |ui: &mut Ui| {
            for measure in PathMeasure::ALL {
                let is_shown = cx.pane.options.paths.measure == measure;
                if ui.selectable_label(is_shown, measure.title()).clicked() {
                    controls::edit_options(cx, |options| options.paths.measure = measure);
                }
            }
        };
        selectors::choosers_ui(ui, cx, selectors::HeadsIn::Row, Some(&mut own));
    }

    fn ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>) -> Option<Footer> {
        let capture = cx.document.latest_capture()?;
        let (head, mut options) = (cx.pane.selection.head, cx.pane.options.paths);
        let of = if options.of_heads == PathHeads::Selected { head } else { HeadId { layer: 0, head: 0, ..head } };
        let subject = CapturePair::one(Arc::clone(capture));
        let graph = match cx.patterns.layers(&subject, of, options.of_heads) {
            Some(Ok(graph)) => graph,
            Some(Err(refusal)) => {
                Nothing::from(refusal.to_string()).ui(ui, cx);
                return None;
            }
            None => {
                states::sentence_ui(ui, cx.theme, "Taking the heads of each layer together");
                return None;
            }
        };
        let named = || Arc::new(PathsGraph::named(capture, Arc::clone(&graph)));
        let graph = self.graph.get_or_update(Same(Arc::clone(&graph)), named);
        let ends = |focus: Focus| graph.ends(head, Pinned { query: focus.query, key: focus.key });
        let pinned = ends(cx.pane.selection.pinned);
        let query = PathQuery {
            head: of,
            heads: options.of_heads,
            measure: options.measure,
            residual: options.residual.to_bits(),
            n_edges: options.n_edges,
            ends: pinned,
        };
        let of = Same(Arc::clone(&graph));
        let numbers = match cx.patterns.paths(&subject, query) {
            Some(Ok(numbers)) => numbers,
            Some(Err(why)) => {
                let show = ("Show raw weights", "Weights as they are, which need not be multiplied");
                let raw = |options: &mut ViewOptions| options.paths.measure = PathMeasure::Raw;
                Nothing::from(why.to_string()).by_options(cx, show, raw).ui(ui, cx);
                return None;
            }
            None => match &self.drawn {
                Some((graph, then, numbers)) if *graph == of => {
                    options = *then;
                    Arc::clone(numbers)
                }
                _ => {
                    states::sentence_ui(ui, cx.theme, "Measuring the edges");
                    return None;
                }
            },
        };
        self.drawn = Some((of, options, Arc::clone(&numbers)));
        // Another view of this input may be pointed at.
        let pointed = self.pointed.filter(|node| graph.graph.has(*node));
        let held = if pointed.is_some() { pinned } else { ends(cx.pane.selection.focus()) };
        let key = (Same(Arc::clone(&numbers)), options, head, held, pointed);
        let scene = self.scene.get_or_update(key.clone(), || {
            Arc::new(PathsScene::new(Arc::clone(&graph), numbers, options, head, held, pointed))
        });
        let extent = self.extent.get_or_update((Same(Arc::clone(&graph)), ui.pixels_per_point()), || {
            let width = |name: &String| text_width::width(ui.painter(), name, text_size::SMALL);
            Extent::of(&graph.graph, graph.names.iter().map(width).fold(0.0, f32::max))
        });
        ScrollArea::both().id_salt("paths").auto_shrink(false).show(ui, |ui| {
            let room = ui.available_size();
            let width = room.x.max(extent.least_width());
            let size = vec2(width, room.y.max(extent.heights(width)[1]));
            let (response, painter) = ui.allocate_painter(size, Sense::click());
            let area = response.rect;
            self.painter.paint(&painter, cx.theme, key, area, &|pen| scene.draw_graph(area, pen));
            self.point(ui, cx, (&response, &scene), extent);
        });
        Some(Footer { words: scene.captions().short, scales: vec![scale(cx, &scene)] })
    }
}

impl PathsView {
    /// What the pointer and the keys do.
    fn point(&mut self, ui: &Ui, cx: &ViewCtx<'_>, (response, scene): (&Response, &PathsScene), extent: Extent) {
        let graph = &scene.of.graph;
        let under = |area: Rect| PathsLayout::of(extent, area).node_at(graph, response.hover_pos()?);
        let hovered = under(response.rect);
        let at_keys = stepped(ui, response, graph);
        let pointed = hovered.or(at_keys);
        response.widget_info(|| {
            let at =
                pointed.map_or_else(String::new, |node| format!("; {}, {}", scene.of.name(node), place(graph, node)));
            WidgetInfo::labeled(Role::Image, true, format!("Paths through all layers{at}"))
        });
        if std::mem::replace(&mut self.pointed, pointed) != pointed {
            ui.ctx().request_repaint();
        }
        if response.clicked() {
            match pointed {
                Some(node) => hold(cx, graph, node),
                None => cx.send(Command::Select(SelectionCommand::Release)),
            }
        }
        let Some(node) = pointed else { return };
        let own = focus_of(cx, graph, node).filter(|(_, stack)| *stack == cx.pane.selection.stack());
        if let Some((focus, _)) = own {
            hover::report(cx, focus);
        }
        if hovered.is_some() {
            tooltip::at_pointer(ui, |ui| node_ui(ui, cx, scene, node));
        }
    }
}

/// The node that the keyboard is at, while the canvas has the focus.
fn stepped(ui: &Ui, response: &Response, graph: &LayerGraph) -> Option<Node> {
    if !response.has_focus() {
        return None;
    }
    let filter = EventFilter { horizontal_arrows: true, vertical_arrows: true, ..EventFilter::default() };
    ui.memory_mut(|memory| memory.set_focus_lock_filter(response.id, filter));
    let known = ui.data(|data| data.get_temp::<Node>(response.id)).filter(|node| graph.has(*node));
    let begin = || graph.streams.last().map(|last| Node { level: last.ends[1], token: last.first });
    let mut node = known.or_else(begin)?;
    for (key, [along, up]) in ARROWS {
        if ui.input_mut(|input| input.consume_key(Modifiers::NONE, key)) {
            node = graph.step(node, along, up);
        }
    }
    ui.data_mut(|data| data.insert_temp(response.id, node));
    Some(node)
}

/// Where a node is, in words.
fn place(graph: &LayerGraph, node: Node) -> String {
    let Some((_, stream)) = graph.stream_of(node.token) else { return String::new() };
    let of = if graph.streams.len() > 1 { format!(" of the {}", stream.side.name()) } else { String::new() };
    match node.level {
        level if level == stream.ends[0] => format!("input{of}"),
        level if level == stream.ends[1] => format!("output{of}"),
        level => format!("behind layer {}{of}", level - stream.ends[0] - 1),
    }
}

/// What an output or an input is as a query or a key: of the selected stack where it can be, else of another one, which is
/// given.
fn focus_of(cx: &ViewCtx<'_>, graph: &LayerGraph, node: Node) -> Option<(Focus, StackKind)> {
    let (_, stream) = graph.stream_of(node.token)?;
    let position = node.token - stream.first;
    let now = cx.pane.selection.stack();
    let stacks = cx.document.latest_capture()?.model().stacks.iter().map(|stack| stack.kind);
    let mut all = std::iter::once(now).chain(stacks);
    let found = match stream.ends {
        [input, _] if node.level == input => {
            let mut with_query = all.clone().filter(|kind| kind.query_side() == now.query_side());
            let is_of = |kind: &StackKind| kind.key_side() == stream.side;
            (Focus::key(position), with_query.find(is_of).or_else(|| all.find(is_of)))
        }
        [_, output] if node.level == output => {
            (Focus::query(position), all.find(|kind| kind.query_side() == stream.side))
        }
        _ => return None,
    };
    Some((found.0, found.1?))
}

/// Holds an output or an input, or lets go of it.
fn hold(cx: &ViewCtx<'_>, graph: &LayerGraph, node: Node) {
    let Some((here, stack)) = focus_of(cx, graph, node) else { return };
    let (now, pinned) = (cx.pane.selection.stack(), cx.pane.selection.pinned);
    // What is held of another sequence is none of this stack.
    let kept = Focus {
        query: pinned.query.filter(|_| stack.query_side() == now.query_side()),
        key: pinned.key.filter(|_| stack.key_side() == now.key_side()),
    };
    let was_pinned = here.query.is_some() && here.query == kept.query || here.key.is_some() && here.key == kept.key;
    if stack != now {
        cx.send(Command::Select(SelectionCommand::Stack(stack)));
    }
    cx.send(Command::Select(SelectionCommand::Pin(hover::clicked(kept, here, was_pinned))));
}

/// A node and the inputs that its drawn paths lead to.
fn node_ui(ui: &mut Ui, cx: &ViewCtx<'_>, scene: &PathsScene, node: Node) {
    let graph = &scene.of.graph;
    ui.strong(scene.of.name(node));
    controls::caption_ui(ui, cx.theme, place(graph, node));
    let inputs = scene.lit.as_ref().map(|lit| lit.inputs(graph)).unwrap_or_default();
    if inputs.is_empty() || graph.stream_of(node.token).is_some_and(|(_, stream)| stream.ends[0] == node.level) {
        return;
    }
    Grid::new("inputs").num_columns(2).spacing([4.0 * GRID, 2.0]).show(ui, |ui| {
        for (input, product) in inputs.iter().take(MAX_ROWS) {
            ui.label(scene.of.name(*input));
            ui.label(weight_text(*product));
            ui.end_row();
        }
    });
    controls::caption_ui(ui, cx.theme, "products along drawn edges, summed over paths");
}

/// The strength of an edge by its value.
fn scale(cx: &ViewCtx<'_>, scene: &PathsScene) -> ScaleBar {
    let palette = cx.theme.palette;
    let look = |strength: f32| palette.line(palette.ink(scene.ink()), strength);
    let meaning = match scene.options.measure {
        PathMeasure::Raw => "Strength of the edge: weight from 0 to 1",
        PathMeasure::Rollout | PathMeasure::Flow => "Stronger means more; not attention",
    };
    let ticks = [0.0, 0.5, 1.0].map(|share: f32| tick_text(share * scene.high()));
    ScaleBar::of_colors(look, ticks, meaning.to_owned())
}
