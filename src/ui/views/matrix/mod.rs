//! The joint query–key planes of all heads of a stack, layers by heads, in one zoomable canvas.

use std::sync::Arc;

use eframe::egui::{Mesh, Rect, RichText, Role, Sense, Shape, Ui, WidgetInfo};

use super::{
    camera::Camera,
    choosers, controls,
    groups::HeadGroups,
    hits::HitGrid,
    hover::HoverSender,
    planes::{self, Same},
    scatter, source, tooltip,
};
use crate::{
    analysis::projection::{self, ColorBy, HeadProjection, Projection, Tint, Tints},
    capture::Capture,
    ids::{CaptureId, HeadId, StackKind},
    session::{Command, Focus, ViewKind},
    spec::LayerSpec,
    ui::{ViewCtx, memo::Memo},
};

mod paint;

pub use crate::figure::views::matrix::layout;
use layout::{CellTransform, MatrixLayout};
use paint::Mark;

/// How far the camera backs off when a cell has become the Scatter view, so that coming back shows
/// where that cell is.
const BACK_OFF: f32 = 0.6;
/// How near the pointer must be to a point.
const REACH_PT: f32 = 10.0;

/// The Matrix view with what it remembers between frames.
#[derive(Default)]
pub struct MatrixView {
    camera: Camera,
    camera_of: Option<(CaptureId, StackKind)>,
    bounds: Memo<Same<Projection>, Arc<[Rect]>>,
    points: Memo<(Same<Projection>, MatrixLayout, ColorBy, bool), Arc<Mesh>>,
    legend: scatter::Legend,
    /// Of the head under the pointer.
    hits: Memo<Same<HeadProjection>, Arc<HitGrid>>,
    hover: HoverSender,
}

impl MatrixView {
    /// Draws the view over all the space that is left in `ui`.
    pub fn ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>) {
        let Some(capture) = cx.document.latest_capture() else { return };
        let stack = cx.pane.selection.stack();
        if capture.model().stacks.len() > 1 {
            ui.horizontal_wrapped(|ui| choosers::stack_ui(ui, cx));
        }
        let Some(projection) = cx.pane.shown_projection(cx.document).cloned() else {
            self.hover.report(cx, Focus::NONE);
            planes::placeholder_ui(ui, cx);
            return;
        };
        if self.camera_of != Some((capture.id(), stack)) {
            self.camera_of = Some((capture.id(), stack));
            self.camera = Camera::default();
        }
        ui.horizontal_wrapped(|ui| {
            controls::caption_ui(ui, cx.theme, caption(capture, stack, &projection));
            if self.camera != Camera::default() && ui.small_button("Show all").clicked() {
                self.camera = Camera::default();
            }
        });
        planes::state_ui(ui, cx, &projection);
        self.canvas_ui(ui, cx, capture, &projection);
    }

    /// Draws the options and the legend.
    pub fn options_ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>) {
        scatter::options_ui(ui, cx, &mut self.legend);
    }

    fn canvas_ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>, capture: &Capture, projection: &Arc<Projection>) {
        let stack = projection.stack;
        let spec = capture.model().stack(stack);
        let grid = spec.map_or((1, 1), |spec| (spec.layers.len().max(1), spec.max_heads().max(1)));
        let area = ui.available_rect_before_wrap();
        let viewport = MatrixLayout::viewport(area, grid);
        let response = ui.interact(viewport, ui.scope_id().with("canvas"), Sense::click_and_drag());
        response.widget_info(|| WidgetInfo::labeled(Role::Image, true, "Query–key planes of all heads"));
        let zoom_before = self.camera.zoom;
        let opened = response.double_clicked();
        if !opened {
            self.camera.interact(ui, &response, viewport, grid.0.max(grid.1) as f32);
        }
        let layout = MatrixLayout { viewport, content: self.camera.content_rect(viewport), grid };

        let under = response.hover_pos().and_then(|at| layout.head_at(at));
        let key = Same(Arc::clone(projection));
        let all_bounds = || projection.heads.iter().map(|plane| planes::bounds(plane)).collect();
        let bounds = self.bounds.get_or_update(key.clone(), all_bounds);
        let color = cx.pane.options.scatter.color;
        let mesh = self.points.get_or_update((key, layout, color, cx.theme.dark), || {
            Arc::new(points_mesh(projection, &bounds, &layout, cx))
        });
        let painter = ui.painter().with_clip_rect(viewport.expand(1.0).intersect(ui.clip_rect()));
        painter.add(Shape::Mesh(mesh));
        paint::grid(&painter, &layout, cx.theme);
        paint::labels(ui.painter(), &layout, cx.theme);
        if let Some(groups) = common_groups(capture, stack) {
            paint::groups(ui.painter(), &layout, groups, cx.theme);
        }
        let selected = cx.pane.selection.head;
        paint::frame(&painter, layout.cell(selected.layer, selected.head), cx.theme.accent);

        let head = under.map(|(layer, head)| HeadId { stack, layer, head });
        let plane_at = head.and_then(|head| projection.heads.iter().position(|plane| plane.head == head));
        let mut focus = Focus::NONE;
        if let (Some(head), Some(idx), Some(at)) = (head, plane_at, response.hover_pos()) {
            paint::frame(&painter, layout.cell(head.layer, head.head), cx.theme.text_weak);
            let transform = CellTransform::new(bounds[idx], layout.cell(head.layer, head.head));
            let plane = &projection.heads[idx];
            if !response.dragged() {
                let hits = self.hits.get_or_update(Same(Arc::clone(plane)), || Arc::new(HitGrid::new(plane)));
                focus = hits.nearest(transform.unapply(at), REACH_PT / transform.scale());
            }
            readout_ui(ui, cx, capture, head, focus);
        }
        self.hover.report(cx, focus);
        rings(&painter, projection, &bounds, &layout, cx);
        // The second click of a double click lets go of what the first one held.
        if response.clicked() && !focus.is_empty() {
            cx.send(Command::Pin(focus));
        }
        let zoomed_in = self.camera.zoom > zoom_before && layout.is_single();
        if let Some(head) = head.filter(|_| plane_at.is_some() && (opened || zoomed_in)) {
            if let Some(at) = response.hover_pos().filter(|_| zoomed_in) {
                self.camera.zoom_about(viewport, at, BACK_OFF, f32::MAX);
            }
            cx.send(Command::SelectHead(head));
            cx.send(Command::ShowView(ViewKind::Scatter));
        }
        ui.allocate_rect(area, Sense::hover());
    }
}

/// How heads share their keys, where all layers of the stack do it alike.
fn common_groups(capture: &Capture, stack: StackKind) -> Option<HeadGroups> {
    let layers = &capture.model().stack(stack)?.layers;
    let shape = |layer: &LayerSpec| (layer.n_heads, layer.n_kv_heads);
    let first = layers.first().map(shape)?;
    let alike = layers.iter().all(|layer| shape(layer) == first);
    alike.then(|| HeadGroups::of(capture, HeadId { stack, layer: 0, head: 0 }))
}

/// The points of all cells in sight.
fn points_mesh(projection: &Projection, bounds: &[Rect], layout: &MatrixLayout, cx: &ViewCtx<'_>) -> Mesh {
    let mut mesh = Mesh::default();
    let [rows, cols] = layout.visible();
    let cell_size = layout.cell(0, 0).size();
    let side = cell_size.x.min(cell_size.y);
    let radius = layout::point_radius(side);
    let by = cx.pane.options.scatter.color;
    let tints_of = |head| projection::tints(&projection.cloud, head, by);
    let shared = projection.heads.first().filter(|_| !by.depends_on_head()).map(|plane| tints_of(plane.head));
    for (plane, bounds) in projection.heads.iter().zip(bounds) {
        let (layer, head) = (plane.head.layer, plane.head.head);
        if !rows.contains(&layer) || !cols.contains(&head) {
            continue;
        }
        let transform = CellTransform::new(*bounds, layout.cell(layer, head));
        let n_points = plane.queries.len() + plane.keys.len();
        let stride = layout::stride(rows.len() * cols.len(), n_points, side);
        let own_tints = shared.is_none().then(|| tints_of(plane.head));
        let Some(Tints { queries, keys, .. }) = shared.as_ref().or(own_tints.as_ref()) else { continue };
        let mut add = |position: usize, points: &[[f32; 3]], tints: &[Tint], mark, own| {
            let Some(&point) = points.get(position) else { return };
            let tint = tints.get(position).copied().unwrap_or(Tint::Type);
            paint::point(&mut mesh, transform.apply(point), radius, mark, cx.theme.tint(tint, own));
        };
        for (nth, position) in (0..plane.queries.len().max(plane.keys.len())).step_by(stride).enumerate() {
            // Taking turns, so that neither kind always covers the other.
            for query_now in [nth % 2 == 0, nth % 2 == 1] {
                if query_now {
                    add(position, &plane.queries, queries, Mark::Query, cx.theme.query);
                } else {
                    add(position, &plane.keys, keys, Mark::Key, cx.theme.key);
                }
            }
        }
    }
    mesh
}

/// Marks the focused token in every cell in sight.
fn rings(
    painter: &eframe::egui::Painter,
    projection: &Projection,
    bounds: &[Rect],
    layout: &MatrixLayout,
    cx: &ViewCtx<'_>,
) {
    let focus = cx.pane.selection.focus();
    if focus.is_empty() {
        return;
    }
    let [rows, cols] = layout.visible();
    let cell = layout.cell(0, 0).size();
    let radius = layout::point_radius(cell.x.min(cell.y));
    for (plane, bounds) in projection.heads.iter().zip(bounds) {
        if !rows.contains(&plane.head.layer) || !cols.contains(&plane.head.head) {
            continue;
        }
        let transform = CellTransform::new(*bounds, layout.cell(plane.head.layer, plane.head.head));
        let query = focus.query.and_then(|query| plane.queries.get(query));
        let key = focus.key.and_then(|key| plane.keys.get(key));
        for (point, color) in [(query, cx.theme.query), (key, cx.theme.key)] {
            if let Some(&point) = point {
                paint::ring(painter, transform.apply(point), radius, color, cx.theme);
            }
        }
    }
}

fn readout_ui(ui: &Ui, cx: &ViewCtx<'_>, capture: &Capture, head: HeadId, focus: Focus) {
    tooltip::at_pointer(ui, |ui| {
        ui.label(RichText::new(head.to_string()).strong());
        if let Some(note) = HeadGroups::of(capture, head).note(head.head) {
            controls::caption_ui(ui, cx.theme, note);
        }
        let (name, text, color) = match focus {
            Focus { query: Some(query), .. } => {
                ("Query", source::token_text(capture.query_tokens(head.stack), query), cx.theme.query)
            }
            Focus { key: Some(key), .. } => {
                ("Key", source::token_text(capture.key_tokens(head.stack), key), cx.theme.key)
            }
            _ => {
                controls::caption_ui(ui, cx.theme, "Double-click to open");
                return;
            }
        };
        ui.horizontal(|ui| {
            ui.label(RichText::new(name).color(cx.theme.text_weak));
            ui.label(RichText::new(text).color(color));
        });
    });
}

fn caption(capture: &Capture, stack: StackKind, projection: &Projection) -> String {
    let (n_query, n_key) = (capture.query_tokens(stack).len(), capture.key_tokens(stack).len());
    let n_heads = projection.heads.len();
    format!("{n_heads} heads, {n_query} queries and {n_key} keys each; scroll to zoom, double-click a head to open it")
}
