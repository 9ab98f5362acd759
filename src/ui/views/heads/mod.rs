//! Bipartite attention lines of one layer: queries at the left, keys at the right, one colour per
//! head, opacity by weight.

use std::{ops::Range, sync::Arc};

use eframe::egui::{
    FontId, Id, Mesh, Painter, Pos2, Rangef, Rect, Role, ScrollArea, Sense, Shape, Ui, Vec2, WidgetInfo, pos2, vec2,
};

use super::{controls, empty, hover::HoverSender, source, text};
use crate::{
    capture::{Capture, Token},
    ids::{CaptureId, StackKind},
    session::{Command, Focus, HeadSet, Selection},
    ui::{
        ViewCtx,
        memo::Memo,
        theme::{GRID, text_size},
    },
};

mod edges;
pub mod layout;
mod options;
mod paint;
mod readout;

use edges::{EdgeCache, EdgesKey, HeadEdges, Known};
use layout::{Column, HeadsLayout, HeadsLayoutInput, Line};

/// Most lines in one mesh; more would neither be told apart nor drawn in time.
const MAX_LINES: usize = 12_000;
/// How near the pointer must be to a line, in points.
const LINE_REACH_PT: f32 = 4.0;
/// Height of the column headings.
const HEADING_PT: f32 = 6.0 * GRID;
/// Size of a head's swatch.
const SWATCH_PT: Vec2 = vec2(26.0, 24.0);

/// The Heads view with what it remembers between frames.
#[derive(Default)]
pub struct HeadsView {
    edges: EdgeCache,
    widths: Memo<WidthsKey, [f32; 2]>,
    lines: Memo<LinesKey, Arc<Lines>>,
    placed: Memo<(LinesKey, Pos2), Arc<Mesh>>,
    isolated: Memo<(LinesKey, Focus, Pos2), Arc<Mesh>>,
    hover: HoverSender,
}

/// Everything the column widths depend on.
#[derive(Clone, Copy, PartialEq)]
struct WidthsKey {
    capture: CaptureId,
    stack: StackKind,
    pixels_per_point: f32,
}

/// Everything the mesh of lines depends on, apart from where it stands.
#[derive(Clone, PartialEq)]
struct LinesKey {
    edges: EdgesKey,
    heads_on: HeadSet,
    n_missing: usize,
    layout: HeadsLayout,
    rows: Range<usize>,
    dark: bool,
    pixels_per_point: f32,
}

/// The lines around the visible rows, in layout coordinates.
struct Lines {
    drawn: Vec<Line>,
    n_all: usize,
    mesh: Mesh,
}

/// What one frame of the token area draws.
struct Scene<'a> {
    queries: &'a [Token],
    keys: &'a [Token],
    heads: &'a [Arc<HeadEdges>],
    layout: HeadsLayout,
    /// Which key positions are left out.
    left_out: Vec<bool>,
    /// Where layout coordinates start on screen.
    origin: Pos2,
    /// Rows on screen.
    visible: Range<usize>,
}

impl Scene<'_> {
    const fn tokens(&self, column: Column) -> &[Token] {
        match column {
            Column::Query => self.queries,
            Column::Key => self.keys,
        }
    }
}

impl HeadsView {
    /// Draws the view over all the space that is left in `ui`.
    pub fn ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>) {
        let Some(capture) = cx.session.latest_capture() else { return };
        let selection = &cx.session.selection;
        let key = EdgesKey {
            capture: capture.id(),
            stack: selection.stack(),
            layer: selection.head.layer,
            filter: cx.session.settings.views.heads.filter,
            hidden: cx.session.settings.views.hidden,
        };
        let known = self.edges.update(capture, key, selection.heads_on);
        if known.n_missing > 0 {
            ui.ctx().request_repaint();
        }
        ui.horizontal_wrapped(|ui| {
            controls::stack_and_layer_ui(ui, cx);
            ui.add_space(2.0 * GRID);
            swatches_ui(ui, cx, source::n_heads(capture, selection.head));
        });
        if let Some(sentence) = nothing_to_draw(cx, capture, &known) {
            self.hover.report(cx, Focus::NONE);
            empty::sentence_ui(ui, cx.theme, sentence);
            return;
        }
        let caption = controls::caption_ui(ui, cx.theme, caption(&known));
        let caption_rect = caption.rect;
        let area = ui.available_rect_before_wrap();
        let layout = self.layout(ui, capture, key.stack, area.size());
        let headings = Rect::from_min_size(area.min, vec2(area.width(), HEADING_PT));
        headings_ui(ui.painter(), headings, &layout, key.stack, cx);
        ui.allocate_rect(headings, Sense::hover());

        let scroll = ScrollArea::vertical().auto_shrink(false).id_salt(("rows", key.capture.0, key.stack));
        let shown = scroll.show_viewport(ui, |ui, viewport| {
            let (rect, _) = ui.allocate_exact_size(vec2(ui.available_width(), layout.height()), Sense::hover());
            let scene = Scene {
                queries: capture.query_tokens(key.stack),
                keys: capture.key_tokens(key.stack),
                heads: &known.heads,
                layout,
                left_out: source::hidden_keys(capture, key.stack, key.hidden),
                origin: rect.min,
                visible: layout.rows_in(viewport.y_range()),
            };
            let lines_key = LinesKey {
                edges: key,
                heads_on: selection.heads_on,
                n_missing: known.n_missing,
                layout,
                rows: layout.mesh_rows(&scene.visible),
                dark: cx.theme.dark,
                pixels_per_point: ui.pixels_per_point(),
            };
            self.tokens_and_lines_ui(ui, cx, &scene, &lines_key)
        });
        let n_all = shown.inner;
        if n_all > MAX_LINES {
            let text = format!("strongest {} of {} in sight", controls::grouped(MAX_LINES), controls::grouped(n_all));
            let font = FontId::proportional(text_size::SMALL);
            let at = caption_rect.right_center() + vec2(2.0 * GRID, 0.0);
            let at = pos2(at.x.min(area.right()), at.y);
            ui.painter().text(at, eframe::egui::Align2::LEFT_CENTER, text, font, cx.theme.text_weak);
        }
    }

    /// Draws the options and the legend.
    #[expect(clippy::unused_self, reason = "every view has the same two methods")]
    pub fn options_ui(&self, ui: &mut Ui, cx: &ViewCtx<'_>) {
        options::options_ui(ui, cx);
    }

    fn layout(&mut self, ui: &Ui, capture: &Capture, stack: StackKind, area: Vec2) -> HeadsLayout {
        let (queries, keys) = (capture.query_tokens(stack), capture.key_tokens(stack));
        let key = WidthsKey { capture: capture.id(), stack, pixels_per_point: ui.pixels_per_point() };
        let text_widths = self
            .widths
            .get_or_update(key, || [queries, keys].map(|tokens| text::widest(ui.painter(), tokens, text_size::BODY)));
        let bar = ui.spacing().scroll.allocated_width();
        HeadsLayout::compute(HeadsLayoutInput {
            width: area.x - bar,
            height: area.y - HEADING_PT - GRID,
            n_query: queries.len(),
            n_key: keys.len(),
            text_widths,
        })
    }

    /// Draws the scrolled part; returns how many lines start or end around the visible rows.
    fn tokens_and_lines_ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>, scene: &Scene<'_>, key: &LinesKey) -> usize {
        let lines = self.lines.get_or_update(key.clone(), || {
            let (drawn, n_all) = layout::visible_lines(scene.heads, &key.rows, MAX_LINES);
            let mesh = paint::lines_mesh(&scene.layout, &drawn, cx.theme, 1.0 / key.pixels_per_point);
            Arc::new(Lines { drawn, n_all, mesh })
        });
        let placed = self.placed.get_or_update((key.clone(), scene.origin), || at(&lines.mesh, scene.origin));
        let lines_rect =
            Rect::from_x_y_ranges(scene.layout.lines, 0.0..=scene.layout.height()).translate(scene.origin.to_vec2());
        let line_response = ui.interact(lines_rect, ui.scope_id().with("lines"), Sense::click());
        let painter = ui.painter().with_clip_rect(ui.clip_rect());
        painter.add(Shape::Mesh(placed));

        let focus = cx.session.selection.focus();
        if !focus.is_empty() {
            paint::veil(&painter, lines_rect.intersect(ui.clip_rect()), cx.theme);
            let isolated = self.isolated.get_or_update((key.clone(), focus, scene.origin), || {
                let lines = isolated_lines(scene, focus);
                let mesh = paint::lines_mesh(&scene.layout, &lines, cx.theme, 1.0 / key.pixels_per_point);
                at(&mesh, scene.origin)
            });
            painter.add(Shape::Mesh(isolated));
            bars(&painter, scene, focus, cx);
        }

        let over_columns = [Column::Query, Column::Key].map(|column| column_ui(ui, cx, scene, column));
        let mut hovered = over_columns.into_iter().flatten().next();
        if let Some(pointer) = line_response.hover_pos() {
            let found = scene.layout.line_at((pointer - scene.origin).to_pos2(), &lines.drawn, LINE_REACH_PT);
            let found = found.map(|(query, key)| Focus::cell(query, key));
            if line_response.clicked() {
                cx.send(found.map_or(Command::Release, Command::Pin));
            }
            hovered = hovered.or(found);
        }
        line_response.widget_info(|| WidgetInfo::labeled(Role::Image, true, "Attention lines"));
        if let Some(focus) = hovered {
            readout::tooltip_ui(ui, cx, scene, focus);
        }
        self.hover.report(cx, hovered.unwrap_or(Focus::NONE));
        lines.n_all
    }
}

/// Draws the visible tokens of one column; returns what the pointer means.
fn column_ui(ui: &Ui, cx: &ViewCtx<'_>, scene: &Scene<'_>, column: Column) -> Option<Focus> {
    let selection = &cx.session.selection;
    let tokens = scene.tokens(column);
    let focus = selection.focus();
    let mut hovered = None;
    for position in scene.visible.start..scene.visible.end.min(tokens.len()) {
        let cell = scene.layout.token_rect(column, position).translate(scene.origin.to_vec2());
        let text = source::token_text(tokens, position);
        let (here, name, pinned, focused) = match column {
            Column::Query => (Focus::query(position), "Query", selection.pinned.query, focus.query),
            Column::Key => (Focus::key(position), "Key", selection.pinned.key, focus.key),
        };
        let response = ui.interact(cell, token_id(ui, column, position), Sense::click());
        let is_pinned = pinned == Some(position);
        response
            .widget_info(|| WidgetInfo::selected(Role::Button, true, is_pinned, format!("{name} {position} {text}")));
        let look = paint::TokenLook {
            hovered: focused == Some(position) || response.has_focus(),
            pinned: is_pinned,
            left_out: column == Column::Key && scene.left_out.get(position) == Some(&true),
        };
        paint::token(ui.painter(), cell, column, &text, look, cx.theme);
        if response.hovered() {
            hovered = Some(with_pinned_partner(selection, here));
        }
        if response.clicked() {
            cx.send(Command::Pin(here));
        }
    }
    hovered
}

/// A hovered key with a pinned query means their cell, and the other way round.
fn with_pinned_partner(selection: &Selection, here: Focus) -> Focus {
    Focus {
        query: here.query.or(selection.pinned.query.filter(|_| selection.pinned.key.is_none())),
        key: here.key.or(selection.pinned.key.filter(|_| selection.pinned.query.is_none())),
    }
}

fn token_id(ui: &Ui, column: Column, position: usize) -> Id {
    ui.scope_id().with((column, position))
}

/// The lines that `focus` means: of a query, of a key, or of one cell.
fn isolated_lines(scene: &Scene<'_>, focus: Focus) -> Vec<Line> {
    let mut lines = Vec::new();
    for head in scene.heads {
        let meant = head.set.edges.iter().filter(|edge| {
            focus.query.is_none_or(|query| query == edge.query as usize)
                && focus.key.is_none_or(|key| key == edge.key as usize)
        });
        lines.extend(meant.map(|edge| Line {
            head: head.head as u32,
            query: edge.query,
            key: edge.key,
            weight: edge.weight,
        }));
    }
    lines.sort_unstable_by(|a, b| a.weight.total_cmp(&b.weight));
    lines
}

/// Bars beside the tokens of the other column: how much each head attends between them and the focus.
fn bars(painter: &Painter, scene: &Scene<'_>, focus: Focus, cx: &ViewCtx<'_>) {
    let mut mesh = Mesh::default();
    let column = if focus.query.is_some() { Column::Key } else { Column::Query };
    for position in scene.visible.start..scene.visible.end.min(scene.layout.n_tokens(column)) {
        let weight = |head: &HeadEdges| match focus {
            Focus { query: Some(query), key } if key.is_none_or(|key| key == position) => {
                head.pattern.get(query, position)
            }
            Focus { query: None, key: Some(key) } => head.pattern.get(position, key),
            _ => None,
        };
        let weights: Vec<_> = scene.heads.iter().filter_map(|head| Some((head.head, weight(head)?))).collect();
        if !weights.is_empty() {
            let strip = scene.layout.strip_rect(column, position).translate(scene.origin.to_vec2());
            paint::bars(&mut mesh, strip, &weights, cx.theme);
        }
    }
    painter.add(Shape::mesh(mesh));
}

fn at(mesh: &Mesh, origin: Pos2) -> Arc<Mesh> {
    let mut mesh = mesh.clone();
    mesh.translate(origin.to_vec2());
    Arc::new(mesh)
}

fn headings_ui(painter: &Painter, rect: Rect, layout: &HeadsLayout, stack: StackKind, cx: &ViewCtx<'_>) {
    let [query, key] = match stack {
        StackKind::Cross => ["Query (decoder)", "Key (encoder)"],
        _ => ["Query", "Key"],
    };
    let y = rect.center().y;
    let x = |range: Rangef, from_right: bool| {
        rect.left() + if from_right { range.max - layout::TEXT_PAD_PT } else { range.min + layout::TEXT_PAD_PT }
    };
    paint::column_heading(painter, pos2(x(layout.queries, true), y), Column::Query, query, cx.theme);
    paint::column_heading(painter, pos2(x(layout.keys, false), y), Column::Key, key, cx.theme);
}

/// One swatch per head: a click turns its lines on or off, a double click shows it alone.
fn swatches_ui(ui: &mut Ui, cx: &ViewCtx<'_>, n_heads: usize) {
    let selection = &cx.session.selection;
    ui.label(eframe::egui::RichText::new("Heads").color(cx.theme.text_weak));
    ui.spacing_mut().item_spacing.x = 2.0;
    for head in 0..n_heads {
        let (rect, response) = ui.allocate_exact_size(SWATCH_PT, Sense::click());
        let on = selection.heads_on.contains(head);
        response.widget_info(|| WidgetInfo::selected(Role::CheckBox, true, on, format!("Head {head}")));
        let look = paint::SwatchLook {
            on,
            selected: selection.head.head == head,
            hovered: response.hovered() || response.has_focus(),
        };
        paint::swatch(ui.painter(), rect, head, look, cx.theme);
        if response.double_clicked() {
            cx.send(Command::SoloHead(head));
        } else if response.clicked() {
            cx.send(Command::ToggleHead(head));
        }
        response.on_hover_text(format!("Head {head}\nClick to show or hide, double-click to show alone"));
    }
    ui.add_space(GRID);
    let all_on = (0..n_heads).all(|head| selection.heads_on.contains(head));
    let all = ui.add_enabled(!all_on, eframe::egui::Button::new("All"));
    if all.accessible_name("Show all heads").clicked() {
        cx.send(Command::AllHeads);
    }
}

fn nothing_to_draw(cx: &ViewCtx<'_>, capture: &Capture, known: &Known) -> Option<&'static str> {
    let head = cx.session.selection.head;
    let n_heads = source::n_heads(capture, head);
    if cx.session.selection.heads_on.iter(n_heads).next().is_none() {
        Some("All heads are off; click a swatch to see its lines")
    } else if source::nothing_left(cx.session, capture) {
        Some("Every token is left out; change what is left out in the options")
    } else if known.heads.is_empty() && known.n_missing == 0 {
        Some("The attention of this layer was not recorded")
    } else {
        None
    }
}

/// What is drawn of what there is.
fn caption(known: &Known) -> String {
    let n_lines: usize = known.heads.iter().map(|head| head.set.edges.len()).sum();
    let n_total: usize = known.heads.iter().map(|head| head.set.n_total).sum();
    let mass: f64 = known.heads.iter().map(|head| head.set.mass_shown).sum();
    let total: f64 = known.heads.iter().map(|head| head.set.mass_total).sum();
    let percent = 100.0 * mass / total.max(f64::MIN_POSITIVE);
    format!("{} of {} lines, {percent:.0} % of the mass", controls::grouped(n_lines), controls::grouped(n_total))
}
