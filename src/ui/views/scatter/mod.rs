//! One head's joint query–key plane: near means high attention, as far as two dimensions can tell.

use std::{collections::BTreeMap, sync::Arc};

use eframe::egui::{Button, DragValue, RichText, Role, Sense, Ui, WidgetInfo, pos2, vec2};
use egui_plot::{MarkerShape, Plot, PlotPoint, PlotPoints, Points};

use super::{
    aids, choosers, controls, empty,
    groups::{GROUP_GAP_PT, HeadGroups},
    hits::HitGrid,
    hover::HoverSender,
    planes::{self, Same},
    source, tooltip,
};
use crate::{
    analysis::{
        projection::{self, ColorBy, HeadProjection, LayoutMethod, LayoutOptions, Meaning, ScaleChoice, Tint, Tints},
        reading::{ReadPattern, store::Subject},
    },
    capture::Capture,
    ids::{CloudId, HeadId},
    projection::Metric,
    session::{Command, Focus, ViewKind},
    ui::{
        ViewCtx,
        memo::Memo,
        theme::{GRID, Theme},
    },
};

mod layout;
mod paint;

/// Radius of a point.
const POINT_PT: f32 = 4.0;
/// How near the pointer must be to a point.
const REACH_PT: f32 = 12.0;
/// Lines from the focused token to its strongest partners.
const N_LINES: usize = 12;
/// Zooming out of a plane this much larger than its points leads back to all planes.
const LEAVE_ZOOM: f64 = 2.5;

/// What colours mean, for a head of a cloud.
pub type Legend = Memo<(CloudId, HeadId, ColorBy), Arc<Meaning>>;

/// The Scatter view with what it remembers between frames.
#[derive(Default)]
pub struct ScatterView {
    points: Memo<(Same<HeadProjection>, ColorBy), Arc<PlanePoints>>,
    legend: Legend,
    hover: HoverSender,
}

/// One head's points in the plot's own type, so that it can borrow them.
struct PlanePoints {
    queries: Vec<PlotPoint>,
    keys: Vec<PlotPoint>,
    /// The same by colour: the plot draws each colour at once.
    series: [Vec<(Tint, Vec<PlotPoint>)>; 2],
    hits: HitGrid,
    /// Largest extent along an axis.
    extent: f64,
}

impl PlanePoints {
    fn new(plane: &HeadProjection, tints: &Tints) -> Self {
        let convert = |points: &[[f32; 3]]| -> Vec<PlotPoint> {
            points.iter().map(|&[x, y, _]| PlotPoint::new(f64::from(x), f64::from(y))).collect()
        };
        let bounds = planes::bounds(plane);
        let (queries, keys) = (convert(&plane.queries), convert(&plane.keys));
        let series = [by_tint(&queries, &tints.queries), by_tint(&keys, &tints.keys)];
        let extent = f64::from(bounds.width().max(bounds.height()));
        Self { queries, keys, series, hits: HitGrid::new(plane), extent }
    }

    fn get(&self, focus: Focus) -> Option<PlotPoint> {
        match focus {
            Focus { query: Some(query), .. } => self.queries.get(query).copied(),
            Focus { key: Some(key), .. } => self.keys.get(key).copied(),
            _ => None,
        }
    }
}

fn by_tint(points: &[PlotPoint], tints: &[Tint]) -> Vec<(Tint, Vec<PlotPoint>)> {
    let mut series: BTreeMap<Tint, Vec<PlotPoint>> = BTreeMap::new();
    for (idx, &point) in points.iter().enumerate() {
        series.entry(tints.get(idx).copied().unwrap_or(Tint::Type)).or_default().push(point);
    }
    series.into_iter().collect()
}

impl ScatterView {
    /// Draws the view over all the space that is left in `ui`.
    pub fn ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>) {
        let Some(capture) = cx.document.latest_capture() else { return };
        let head = cx.pane.selection.head;
        ui.horizontal_wrapped(|ui| {
            if ui.button("‹ All heads").on_hover_text("Back to the planes of all heads").clicked() {
                cx.send(Command::ShowView(ViewKind::Matrix));
            }
            ui.add_space(GRID);
            choosers::stack_and_layer_ui(ui, cx);
            aids::menu_ui(ui, cx);
            head_ui(ui, cx, source::n_heads(capture, head), HeadGroups::of(capture, head));
        });
        let Some(projection) = cx.pane.shown_projection(cx.document).cloned() else {
            self.hover.report(cx, Focus::NONE);
            planes::placeholder_ui(ui, cx);
            return;
        };
        let Some(plane) = planes::head(&projection, head) else {
            self.hover.report(cx, Focus::NONE);
            empty::sentence_ui(ui, cx.theme, "The queries and keys of this layer were not recorded");
            return;
        };
        controls::caption_ui(ui, cx.theme, caption(plane));
        planes::state_ui(ui, cx, &projection);
        let color = cx.pane.options.scatter.color;
        let points = self.points.get_or_update((Same(Arc::clone(plane)), color), || {
            Arc::new(PlanePoints::new(plane, &projection::tints(&projection.cloud, head, color)))
        });
        // The points are one head's, whatever else is taken together.
        let subject = Subject::one(Arc::clone(capture));
        let pattern = cx.patterns.pattern(&subject, &source::of_head(cx, capture, head));
        self.plot_ui(ui, cx, capture, &points, pattern.and_then(Result::ok).as_deref());
    }

    /// Draws the options and the legend.
    pub fn options_ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>) {
        options_ui(ui, cx, &mut self.legend);
    }

    fn plot_ui(
        &mut self,
        ui: &mut Ui,
        cx: &ViewCtx<'_>,
        capture: &Capture,
        points: &PlanePoints,
        pattern: Option<&ReadPattern>,
    ) {
        let head = cx.pane.selection.head;
        let plot = Plot::new(("plane", head))
            .data_aspect(1.0)
            .show_axes(false)
            .show_crosshair(false)
            .show_x(false)
            .show_y(false)
            .show_background(false)
            .grid_color(cx.theme.rule)
            .label_formatter(|_| None)
            .set_margin_fraction(vec2(0.06, 0.06))
            .allow_boxed_zoom(false)
            .allow_scroll(false)
            .sense(Sense::click_and_drag());
        let mut wheel = 0.0;
        let shown = plot.show(ui, |plot_ui| {
            let [queries, keys] = &points.series;
            for (name, series, shape, own) in [
                ("Queries", queries, MarkerShape::Circle, cx.theme.query),
                ("Keys", keys, MarkerShape::Diamond, cx.theme.key),
            ] {
                for (tint, series) in series {
                    let markers = Points::new(name, PlotPoints::Borrowed(series)).shape(shape).radius(POINT_PT);
                    plot_ui.points(markers.color(cx.theme.tint(*tint, own)).allow_hover(false));
                }
            }
            if plot_ui.response().hovered() {
                // The wheel zooms; egui_plot would pan with it.
                wheel = plot_ui.ctx().input(|input| input.smooth_scroll_delta().y);
                if wheel != 0.0 {
                    plot_ui.zoom_bounds_around_hovered(eframe::egui::Vec2::splat((wheel / 240.0).exp()));
                }
            }
            plot_ui.plot_bounds()
        });
        let response = shown.response;
        response.widget_info(|| WidgetInfo::labeled(Role::Image, true, format!("Query–key plane of {head}")));
        if wheel < 0.0 && shown.inner.width().min(shown.inner.height()) > LEAVE_ZOOM * points.extent {
            cx.send(Command::ShowView(ViewKind::Matrix));
        }
        let under = response.hover_pos().filter(|_| !response.dragged()).map_or(Focus::NONE, |at| {
            let PlotPoint { x, y } = shown.transform.value_from_position(at);
            let reach = f64::from(REACH_PT) * shown.transform.dvalue_dpos()[0].abs();
            points.hits.nearest(pos2(x as f32, y as f32), reach as f32)
        });
        self.hover.report(cx, under);
        if response.clicked() && !under.is_empty() {
            cx.send(Command::Pin(under));
        }
        let painter = ui.painter().with_clip_rect(response.rect.intersect(ui.clip_rect()));
        let selection = &cx.pane.selection;
        for focus in [selection.pinned, selection.hover] {
            let Some(from) = points.get(focus) else { continue };
            let from = shown.transform.position_from_point(&from);
            for (partner, weight) in
                pattern.map(|pattern| layout::partners(pattern, focus, N_LINES)).unwrap_or_default()
            {
                let Some(to) = points.get(partner) else { continue };
                let to = shown.transform.position_from_point(&to);
                paint::line(&painter, [from, to], weight, cx.theme);
            }
            let tokens = [capture.query_tokens(head.stack), capture.key_tokens(head.stack)];
            let text = match focus {
                Focus { query: Some(query), .. } => source::token_text(tokens[0], query),
                Focus { key: Some(key), .. } => source::token_text(tokens[1], key),
                _ => String::new(),
            };
            paint::focus(&painter, from, &text, focus, cx.theme);
        }
        if !under.is_empty() {
            readout_ui(ui, cx, capture, pattern, under);
        }
    }
}

/// One number per head, the selected one marked.
fn head_ui(ui: &mut Ui, cx: &ViewCtx<'_>, n_heads: usize, groups: HeadGroups) {
    let head = cx.pane.selection.head;
    ui.add_space(GRID);
    ui.label(RichText::new("Head").color(cx.theme.text_weak));
    ui.spacing_mut().item_spacing.x = 2.0;
    for idx in 0..n_heads {
        let button = Button::selectable(idx == head.head, idx.to_string()).min_size(vec2(6.0 * GRID, 0.0));
        if groups.gap_before(idx) {
            ui.add_space(GROUP_GAP_PT);
        }
        let response = ui.add(button).accessible_name(format!("Head {idx}"));
        groups.bracket(ui.painter(), idx, response.rect.x_range(), response.rect.bottom() + 2.0, 2.0, cx.theme);
        if response.clicked() {
            cx.send(Command::SelectHead(HeadId { head: idx, ..head }));
        }
        if let Some(note) = groups.note(idx) {
            response.on_hover_text(note);
        }
    }
}

/// Options and legend, shared with the Matrix view.
pub fn options_ui(ui: &mut Ui, cx: &ViewCtx<'_>, legend: &mut Legend) {
    controls::edit_options(cx, |options| {
        controls::heading_ui(ui, cx.theme, "Joint space");
        let scatter = &mut options.scatter;
        controls::row_ui(ui, cx.theme, "Colour", |ui| {
            let cloud = cx.pane.cloud(cx.document);
            let named = cloud.map_or_else(Vec::new, |cloud| ColorBy::choices(&cloud, cx.pane.selection.stack()));
            let choices: Vec<_> = named.iter().map(|(by, text)| (*by, text.as_str())).collect();
            controls::choice_ui(ui, "Colour of points", &mut scatter.color, &choices);
        });
        controls::row_ui(ui, cx.theme, "Scale c", |ui| {
            let mut fixed = match scatter.projection.scale {
                ScaleChoice::Auto => 0,
                ScaleChoice::None => 1,
                ScaleChoice::Fixed(_) => 2,
                ScaleChoice::Search => 3,
            };
            let choices = [(0, "Equal norms"), (3, "Best correlation"), (1, "As given"), (2, "Fixed")];
            if controls::choice_ui(ui, "Scale of queries and keys", &mut fixed, &choices) {
                scatter.projection.scale = match fixed {
                    0 => ScaleChoice::Auto,
                    1 => ScaleChoice::None,
                    3 => ScaleChoice::Search,
                    _ => ScaleChoice::Fixed(1.0),
                };
            }
        });
        if let ScaleChoice::Fixed(c) = &mut scatter.projection.scale {
            let mut draft = *c;
            let slider =
                eframe::egui::Slider::new(&mut draft, 0.1..=10.0).logarithmic(true).update_while_editing(false);
            if ui.add(slider).accessible_name("Scale c").drag_stopped()
                || (draft != *c && !ui.ctx().egui_is_using_pointer())
            {
                *c = draft;
            }
        }
        ui.checkbox(&mut scatter.projection.translate_keys, "Move the mean key onto the mean query");
        layout_ui(ui, cx, &mut scatter.projection.layout);
    });
    controls::heading_ui(ui, cx.theme, "Legend");
    let Some(cloud) = cx.pane.cloud(cx.document) else { return };
    let (head, by) = (cx.pane.selection.head, cx.pane.options.scatter.color);
    let meaning = || Arc::new(projection::tints(&cloud, head, by).meaning);
    paint::legend_ui(ui, cx, &legend.get_or_update((cloud.id(), head, by), meaning));
}

/// How the points come into the plane, and what that depends on.
fn layout_ui(ui: &mut Ui, cx: &ViewCtx<'_>, layout: &mut LayoutOptions) {
    controls::heading_ui(ui, cx.theme, "Layout");
    let methods =
        [(LayoutMethod::Pca, "Principal components"), (LayoutMethod::Tsne, "t-SNE"), (LayoutMethod::Umap, "UMAP")];
    controls::row_ui(ui, cx.theme, "Method", |ui| {
        controls::choice_ui(ui, "Method of the layout", &mut layout.method, &methods);
    });
    if !layout.is_refined() {
        return;
    }
    let metrics = [(Metric::Euclidean, "Euclidean"), (Metric::Cosine, "Cosine")];
    controls::row_ui(ui, cx.theme, "Distance", |ui| {
        controls::choice_ui(ui, "Distance of the layout", &mut layout.metric, &metrics);
    });
    if layout.method == LayoutMethod::Tsne {
        let meaning = "About how many neighbours each point keeps close; fewer where there are few points";
        controls::row_about_ui(ui, cx.theme, "Perplexity", meaning, |ui| {
            let drag = DragValue::new(&mut layout.perplexity).range(2.0..=500.0).update_while_editing(false);
            ui.add(drag.fixed_decimals(0)).accessible_name("Perplexity");
        });
        controls::row_about_ui(ui, cx.theme, "Iterations", "In all; the layout is shown while it is made", |ui| {
            let drag = DragValue::new(&mut layout.iterations).range(50..=10_000).update_while_editing(false);
            ui.add(drag).accessible_name("Iterations");
        });
    } else {
        let meaning = "How many points each one is compared with: few show detail, many the whole";
        controls::row_about_ui(ui, cx.theme, "Neighbours", meaning, |ui| {
            let drag = DragValue::new(&mut layout.neighbors).range(2..=500).update_while_editing(false);
            ui.add(drag).accessible_name("Neighbours");
        });
        controls::row_about_ui(ui, cx.theme, "Least distance", "How near to each other points may come", |ui| {
            let drag = DragValue::new(&mut layout.min_dist).range(0.0..=1.0).speed(0.01).update_while_editing(false);
            ui.add(drag).accessible_name("Least distance");
        });
    }
    controls::row_about_ui(ui, cx.theme, "Seed", "The same seed gives the same picture", |ui| {
        let drag = DragValue::new(&mut layout.seed).update_while_editing(false);
        ui.add(drag).accessible_name("Seed");
    });
}

fn readout_ui(ui: &Ui, cx: &ViewCtx<'_>, capture: &Capture, pattern: Option<&ReadPattern>, focus: Focus) {
    let stack = cx.pane.selection.stack();
    let (queries, keys) = (capture.query_tokens(stack), capture.key_tokens(stack));
    tooltip::at_pointer(ui, |ui| {
        let theme: &Theme = cx.theme;
        let (name, text, color) = match focus {
            Focus { query: Some(query), .. } => ("Query", source::token_text(queries, query), theme.query),
            Focus { key, .. } => ("Key", source::token_text(keys, key.unwrap_or_default()), theme.key),
        };
        ui.horizontal(|ui| {
            ui.label(RichText::new(name).color(theme.text_weak));
            ui.label(RichText::new(text).color(color).strong());
        });
        let Some(pattern) = pattern else { return };
        eframe::egui::Grid::new("partners").num_columns(2).spacing([4.0 * GRID, 2.0]).show(ui, |ui| {
            for (partner, weight) in layout::partners(pattern, focus, 5) {
                let text = match partner {
                    Focus { query: Some(query), .. } => pattern.rows.text_at(query),
                    Focus { key, .. } => pattern.cols.text_at(key.unwrap_or_default()),
                };
                ui.label(text);
                ui.monospace(controls::weight_text(weight));
                ui.end_row();
            }
        });
    });
}

fn caption(plane: &HeadProjection) -> String {
    let how = plane.refined.map_or_else(
        || {
            let [x, y, z] = plane.explained.map(|part| 100.0 * part);
            let depth = if z > 0.0 { format!(", {z:.0} %") } else { String::new() };
            format!("the axes explain {x:.0} %, {y:.0} %{depth} of the variance")
        },
        |refined| refined.text(),
    );
    let correlation =
        |value: f32| if value.is_finite() { format!("{value:.2}").replace('-', "−") } else { "none".to_owned() };
    format!(
        "{}: c = {:.2}; {how}; dot product and distance correlate {} as given, {} in the joint space",
        plane.head,
        plane.c,
        correlation(plane.correlation_before),
        correlation(plane.correlation_after),
    )
}
