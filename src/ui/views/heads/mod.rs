//! Bipartite attention lines of one layer: queries at the left, keys at the right, one colour per
//! head, strength by weight.

use std::{ops::Range, sync::Arc};

use eframe::egui::{Pos2, Rect, RectAlign, Role, ScrollArea, Sense, Ui, UiBuilder, Vec2, WidgetInfo, vec2};

use super::{
    Canvas, controls,
    display_list::{PiecePainter, line_shape, paint_part},
    grid, hover,
    line_painter::{LinePainter, Lines, Painted},
    scale::Footer,
    source, text_width,
};
use crate::{
    analysis::reading::{self, Axes, Axis, Heads, Marks, Reading},
    figure::{
        palette::{Ink, Palette},
        pen::Pen,
        views::{
            heads::{HEADING_PT, MAX_LINES, look::LineLook, marks, pair_text},
            regions::Pointed,
        },
    },
    ids::CaptureId,
    raster::lines::LineStroke,
    session::{Command, Focus, SelectionCommand},
    ui::{ViewCtx, memo::Memo, theme::text_size},
};

mod columns;
pub(super) mod legend;
pub(super) mod lines;
mod minimap;
pub(super) mod paint;
mod readout;
pub(super) mod swatches;
mod words;

pub use crate::figure::views::heads::layout;
use layout::{HeadsLayout, HeadsLayoutInput, Line, Placing, TokenColumn};
use lines::{HeadLines, LinesOf};
use minimap::Minimap;

/// How near the pointer must be to a line, in points.
const LINE_REACH_PT: f32 = 4.0;

/// The Heads view with what it remembers between frames.
#[derive(Default)]
pub struct HeadsView {
    axes: Memo<AxesKey, Axes>,
    widths: Memo<WidthsKey, [f32; 2]>,
    lines: Memo<LinesKey, Arc<VisibleLines>>,
    painter: LinePainter<LinesKey>,
    isolated: Memo<(LinesKey, Focus), Arc<[LineStroke]>>,
    isolated_painter: LinePainter<(LinesKey, Focus)>,
    tokens: PiecePainter<columns::ColumnKey>,
    /// What was held in the frame before.
    held: Focus,
    /// The queries that were in sight then.
    in_sight: Range<usize>,
    minimap: Minimap,
    beside: grid::GridView,
}

/// Everything the columns depend on.
type AxesKey = (CaptureId, Reading);
/// Everything their widths depend on.
type WidthsKey = (AxesKey, f32);

/// Everything the mesh of lines depends on, apart from where it stands.
#[derive(Clone, PartialEq)]
struct LinesKey {
    of: LinesOf,
    layout: HeadsLayout,
    rows: [Range<usize>; 2],
    dark: bool,
    pixels_per_point: f32,
}

impl LinesKey {
    /// Whether lines of `self` may stand in for those of `other` for a moment: the same layer of the same input.
    fn resembles(&self, other: &Self) -> bool {
        let place = |key: &Self| (key.of.captures, key.dark);
        let layer = |key: &Self| match &key.of.reading.heads {
            Heads::One(head) => Some((head.stack, head.layer)),
            Heads::Many(_) => None,
        };
        place(self) == place(other)
            && layer(self) == layer(other)
            && self.layout == other.layout
            && self.pixels_per_point == other.pixels_per_point
    }
}

/// The lines around the visible rows, in layout coordinates.
struct VisibleLines {
    drawn: Vec<Line>,
    n_all: usize,
    strokes: Arc<[LineStroke]>,
}

/// What one frame of the token area draws. Its queries and keys are rows and columns of the patterns:
/// tokens, or words where those are merged.
struct Scene<'a> {
    axes: [&'a Axis; 2],
    heads: &'a [HeadLines],
    layout: HeadsLayout,
    /// Where layout coordinates start on screen.
    origin: Pos2,
    /// Queries and keys on screen.
    visible: [Range<usize>; 2],
}

impl Scene<'_> {
    /// What the lines of each of `heads` are drawn in.
    fn inks(&self) -> Vec<Ink> {
        self.heads.iter().map(|head| head.ink).collect()
    }

    /// What changes of the run took away.
    fn marks(&self) -> Option<&Marks> {
        self.heads.first().map(|head| &head.lines.pattern.marks)
    }

    /// Whether there is one row for all queries.
    fn has_one_row(&self) -> bool {
        self.heads.first().is_some_and(|head| head.lines.pattern.has_one_row())
    }

    /// The row and the column that the token positions of a focus belong to.
    fn rows_of(&self, focus: Focus) -> Focus {
        let [query, key] = hover::in_pattern(focus, self.axes);
        Focus { query, key }
    }

    /// The token positions that are meant.
    fn tokens(&self, hit: Pointed) -> Focus {
        hover::tokens(hit.in_pattern(), self.axes, self.has_one_row())
    }
}

impl Canvas for HeadsView {
    fn rest(&mut self) {
        let Self { held, in_sight, .. } = std::mem::take(self);
        *self = Self { held, in_sight, ..Self::default() };
    }

    fn ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>) -> Option<Footer> {
        let capture = cx.document.latest_capture()?;
        let selection = &cx.pane.selection;
        let known = lines::known(cx, capture, &self.in_sight)?;
        let is_long = known.of.rows.is_some();
        let stack = selection.stack();
        if let Some(nothing) = words::nothing_to_draw(cx, capture, &known) {
            nothing.ui(ui, cx);
            return None;
        }
        let caption = words::caption(cx, &known);
        let whole = ui.available_rect_before_wrap();
        // The columns are the same for every head.
        let axes_of = crate::ids::HeadId { stack, ..Default::default() };
        let axes_key = (capture.id(), source::shown_of_head(cx, capture, axes_of));
        let look = known.of.look;
        // A long text has room for a column alone.
        let placing = if is_long { Placing::Columns } else { cx.pane.options.heads.placing };
        let is_rows = placing == Placing::Rows;
        let axes = self.axes.get_or_update(axes_key.clone(), || reading::axes(capture, &axes_key.1));
        let widest = self.layout(ui, &axes, (axes_key.clone(), look, placing), whole.size());
        let used = widest.keys.max - widest.queries.min + ui.spacing().scroll.allocated_width();
        let beside = grid::room(whole, used).filter(|_| source::has_heads(cx) && !is_long && !is_rows);
        let all = if beside.is_some() { whole.with_max_x(whole.left() + used) } else { whole };
        let map_width = if is_long { minimap::WIDTH_PT } else { 0.0 };
        let (area, map_area) = all.split_left_right_at_x(all.right() - map_width);
        let layout = self.layout(ui, &axes, (axes_key, look, placing), area.size());
        let headings = Rect::from_min_size(area.min, vec2(area.width(), HEADING_PT));
        columns::headings_ui(ui, headings, &layout, &axes, cx);
        ui.allocate_rect(headings, Sense::hover());

        let scroll = ScrollArea::new([is_rows, !is_rows]).auto_shrink(false).id_salt(("rows", capture.id().0, stack));
        let scroll = match self.minimap.scroll_to(layout.height(), area.height() - HEADING_PT) {
            Some(top) => scroll.vertical_scroll_offset(top),
            None => scroll,
        };
        let mut in_sight = 0..0;
        let below = ui.available_rect_before_wrap().intersect(area);
        let mut left = ui.new_child(UiBuilder::new().max_rect(below));
        let shown = scroll.show_viewport(&mut left, |ui, viewport| {
            let wanted = if is_rows { layout.size() } else { vec2(ui.available_width(), layout.height()) };
            let (rect, _) = ui.allocate_exact_size(wanted, Sense::hover());
            let layout = layout.scrolled(layout.seen(viewport));
            let visible = layout.rows_in(layout.seen(viewport));
            let rows = layout.mesh_rows(&visible);
            let layout = if is_long { layout.leaving(&rows) } else { layout };
            in_sight = visible[0].clone();
            let scene = Scene { axes: [&axes[0], &axes[1]], heads: &known.heads, layout, origin: rect.min, visible };
            let lines_key = LinesKey {
                of: known.of.clone(),
                layout,
                rows,
                dark: cx.theme.dark,
                pixels_per_point: ui.pixels_per_point(),
            };
            self.tokens_and_lines_ui(ui, cx, &scene, &lines_key)
        });
        let n_all = shown.inner;
        if let Some(beside) = beside {
            self.beside.beside_ui(ui, cx, capture, beside);
            ui.allocate_rect(whole, Sense::hover());
        }
        if is_long {
            let below = map_area.intersect(Rect::everything_below(below.top()));
            self.minimap.ui(ui, cx, below, &in_sight);
            ui.allocate_rect(all, Sense::hover());
        }
        if std::mem::replace(&mut self.in_sight, in_sight.clone()) != in_sight && is_long {
            ui.ctx().request_repaint();
        }
        let most = format!("strongest {} of {} on screen", controls::grouped(MAX_LINES), controls::grouped(n_all));
        let words = if n_all > MAX_LINES { format!("{caption}; {most}") } else { caption };
        Some(Footer { words, scales: vec![legend::scale(cx)] })
    }
}

impl HeadsView {
    fn layout(
        &mut self,
        ui: &Ui,
        axes: &Axes,
        (key, look, placing): (AxesKey, LineLook, Placing),
        area: Vec2,
    ) -> HeadsLayout {
        // Headings that tell the sides apart must fit over short words.
        let two_sides = key.1.heads.stack().is_cross();
        let least = if two_sides || key.1.source.explained().is_some() { columns::HEADING_WIDTH_PT / 2.0 } else { 0.0 };
        let least = match placing {
            Placing::Rows => 0.0,
            Placing::Columns if two_sides => columns::HEADING_WIDTH_PT,
            Placing::Columns => least,
        };
        let text_widths = self.widths.get_or_update((key, ui.pixels_per_point()), || {
            [&axes[0], &axes[1]].map(|axis| text_width::widest(ui.painter(), axis, text_size::BODY))
        });
        let bar = ui.spacing().scroll.allocated_width();
        HeadsLayout::compute(HeadsLayoutInput {
            width: area.x - bar,
            // Between the headings and the rows stands what stands between any two.
            height: area.y
                - HEADING_PT
                - ui.spacing().item_spacing.y
                - if placing == Placing::Rows { bar } else { 0.0 },
            n_query: axes[0].len(),
            n_key: axes[1].len(),
            text_widths: text_widths.map(|width| width.max(least)),
            strip: layout::STRIP_PT,
            placing,
            from_right: placing == Placing::Rows && layout::reads_from_right(axes[1].texts()),
        })
        .with_course(look.course)
    }

    /// Draws the scrolled part; returns how many lines start or end around the visible rows.
    fn tokens_and_lines_ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>, scene: &Scene<'_>, key: &LinesKey) -> usize {
        let lines = self.lines.get_or_update(key.clone(), || {
            // Of a long text nothing is known of the queries that are not in sight.
            let [queries, keys] = key.rows.clone();
            let rows = [queries, if key.of.rows.is_some() { 0..0 } else { keys }];
            let (drawn, n_all) =
                layout::visible_lines(scene.heads.iter().map(HeadLines::set).enumerate(), &rows, MAX_LINES);
            let strokes =
                paint::strokes((&scene.layout, key.of.look), &drawn, &scene.inks(), |weight| weight, cx.theme);
            Arc::new(VisibleLines { drawn, n_all, strokes })
        });
        let lines_rect = scene.layout.lines_rect().translate(scene.origin.to_vec2());
        let line_response = ui.interact(lines_rect, ui.scope_id().with("lines"), Sense::click());
        let painter = ui.painter().with_clip_rect(ui.clip_rect());
        let focus = scene.rows_of(cx.pane.selection.focus());
        let extent = scene.layout.lines_extent(&key.rows);
        let all = Lines { strokes: &lines.strokes, extent, origin: scene.origin, is_running: cx.is_running };
        let opacity = if focus.is_empty() { 1.0 } else { 1.0 - Palette::VEIL };
        let painted = self.painter.paint(&painter, key, &all, opacity, |before| before.resembles(key));
        if !focus.is_empty() {
            if painted == Painted::Triangles {
                paint::veil(&painter, lines_rect.intersect(ui.clip_rect()), cx.theme);
            }
            let isolated = self.isolated.get_or_update((key.clone(), focus), || {
                // One that was asked for by name stands out in full, however small its weight is.
                let is_pair = focus.query.is_some() && focus.key.is_some();
                let shade = |weight: f32| if is_pair { 1.0 } else { weight };
                paint::strokes(
                    (&scene.layout, key.of.look),
                    &lines::isolated(scene, focus),
                    &scene.inks(),
                    shade,
                    cx.theme,
                )
            });
            let isolated = Lines { strokes: &isolated, ..all };
            let isolated_key = (key.clone(), focus);
            let same = |before: &(LinesKey, Focus)| before.1 == focus && before.0.resembles(key);
            self.isolated_painter.paint(&painter, &isolated_key, &isolated, 1.0, same);
            columns::bars(&painter, scene, focus, cx);
            if let Some(pair) = focus.query.zip(focus.key) {
                pair_label_ui(ui, cx, scene, pair);
            }
        }

        // Each head has edges of its own.
        for head in scene.heads.iter().filter(|head| !head.below) {
            let cut = &head.lines.pattern.marks.cut;
            let in_sight = cut.iter().filter(|(query, _)| key.of.rows.is_none() || key.rows[0].contains(query));
            let lines = marks::cuts(&scene.layout, scene.origin.to_vec2(), in_sight, &cx.theme.palette);
            painter.extend(lines.iter().map(line_shape));
        }
        if key.of.rows.is_some() {
            paint::leaving(&painter, ui.clip_rect(), scene, &lines.drawn, cx.theme);
        }
        self.reveal_held(ui, cx, scene);
        let over_columns = [TokenColumn::Query, TokenColumn::Key]
            .map(|column| columns::column_ui(ui, cx, (scene, key), column, &mut self.tokens));
        // What is said of a token stands at its outer side, where nothing is compared.
        let sides = if scene.layout.is_of_rows() {
            [RectAlign::TOP_START, RectAlign::BOTTOM_START]
        } else {
            [RectAlign::LEFT_START, RectAlign::RIGHT_START]
        };
        let over = over_columns.into_iter().zip(sides).find_map(|(over, side)| Some((over?, side)));
        let place = over.map(|((_, cell), side)| (cell, side));
        let mut hovered = over.map(|((focus, _), _)| focus);
        if let Some(pointer) = line_response.hover_pos() {
            let found = scene.layout.line_at((pointer - scene.origin).to_pos2(), &lines.drawn, LINE_REACH_PT);
            let found = found.map(|hit| scene.tokens(hit));
            if line_response.clicked() {
                cx.send(Command::Select(found.map_or(SelectionCommand::Release, SelectionCommand::Pin)));
            }
            hovered = hovered.or(found);
        }
        line_response.widget_info(|| {
            WidgetInfo::labeled(
                Role::Image,
                true,
                if cx.pane.explained().is_some() { "Lines, not attention" } else { "Attention lines" },
            )
        });
        if let Some(focus) = hovered {
            readout::tooltip_ui(ui, cx, scene, focus, place);
        }
        hover::report(cx, hovered.unwrap_or(Focus::NONE));
        lines.n_all
    }
}

impl HeadsView {
    /// Scrolls to a token that has just been pinned somewhere else.
    fn reveal_held(&mut self, ui: &Ui, cx: &ViewCtx<'_>, scene: &Scene<'_>) {
        let held = cx.pane.selection.pinned;
        if std::mem::replace(&mut self.held, held) == held {
            return;
        }
        let held = scene.rows_of(held);
        for (column, row) in [(TokenColumn::Query, held.query), (TokenColumn::Key, held.key)] {
            let hidden = row.filter(|row| !scene.visible[column as usize].contains(row));
            if let Some(row) = hidden {
                let cell = scene.layout.token_rect(column, row).translate(scene.origin.to_vec2());
                ui.scroll_to_rect(cell, Some(eframe::egui::Align::Center));
            }
        }
    }
}

/// The weight of the pair that is held, at the middle of its line.
fn pair_label_ui(ui: &Ui, cx: &ViewCtx<'_>, scene: &Scene<'_>, pair: (usize, usize)) {
    let patterns = scene.heads.iter().filter(|head| !head.below).map(|head| (head.head, &*head.lines.pattern));
    let Some(text) = pair_text(patterns, pair) else { return };
    let ends = scene.layout.line(pair.0, pair.1).map(|end| end + scene.origin.to_vec2());
    let key = (&text, ends.map(|end| [end.x, end.y].map(f32::to_bits)));
    let draw = |pen: &mut Pen<'_>| marks::pair_label(&text, ends, pen);
    paint_part(ui.painter(), ui.scope_id().with("pair"), cx.theme, key, ui.clip_rect(), &draw);
}
