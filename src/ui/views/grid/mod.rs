//! Small patterns of every head: rows of layers, or heads sorted by a score; a click selects a head, a double click
//! opens it.

use std::collections::BTreeMap;

use eframe::egui::{
    Align2, Color32, CursorIcon, FontId, Painter, Rect, Role, Sense, Stroke, StrokeKind, TextureHandle, TextureOptions,
    Ui, Vec2, WidgetInfo, pos2, vec2,
};

use super::{
    Canvas,
    camera::Camera,
    controls,
    display_list::ScenePainter,
    hover, menu,
    overview::Look,
    scale::{Footer, ScaleBar},
    small_maps::SmallMaps,
    source, states,
    texture::{self, HeadThumbs},
    tooltip,
};
use crate::{
    analysis::{
        detect::{HeadKinds, HeadOrder, HeadScore},
        reading::{ReadPattern, Reading, Refusal, store::CapturePair},
    },
    capture::{Capture, Matrix, RgbaBuffer},
    figure::{
        font::Align,
        measure::text_size::BODY,
        pen::Pen,
        views::{
            color_map,
            grid::{
                KnownHeads, Places, high,
                layout::{GridLayout, HEADING_PT},
                recorded, title,
            },
            matrix::{
                around,
                layout::{COL_LABEL_PT, MatrixLayout, ROW_LABEL_PT},
            },
            regions::{Pointed, Region},
        },
    },
    ids::{CaptureId, HeadId, StackKind},
    raster::{
        ColorRange,
        heatmap::{RowsSee, small_heatmap},
    },
    session::{Command, Focus, SelectionCommand, ViewKind},
    text::{counted, decimal_text},
    ui::{ViewCtx, memo::Memo, theme::text_size},
};

mod beside;

pub use beside::room;

/// Widest cell; larger maps are zoomed into.
const MAX_CELL_PT: f32 = 480.0;
/// Free border of a cell, as a part of its smaller side.
const PAD: f32 = 0.04;
/// Height of a pinned query's row below the map, as a part of the map's, and free space between them.
const ROW: f32 = 0.18;
const ROW_GAP_PT: f32 = 2.0;
/// Height of a title.
const TITLE_PT: f32 = text_size::SMALL + 2.0;
/// Cells from this width have room for a title.
const TITLE_FROM_PT: f32 = 44.0;
/// Tokens are told apart under the pointer from this size on.
const TOKEN_FROM_PT: f32 = 3.0;
/// Strips asked for in one frame: enough for a quick picture, few enough that a click does not wait for them.
const MOST_ASKED: usize = 64;

/// Everything that what stands around the cells depends on.
type AroundKey = (GridLayout, bool, Vec<String>);

/// The Grid view with what it remembers between frames.
#[derive(Default)]
pub struct GridView {
    camera: Camera,
    camera_of: Option<(CaptureId, StackKind)>,
    layers: Vec<SmallMaps>,
    rows: Vec<Memo<RowKey, Option<TextureHandle>>>,
    /// Numbers of layers and heads.
    around: ScenePainter<AroundKey>,
}

/// Everything that the pixels of one row of each head of a layer depend on.
type RowKey = (CaptureId, Reading, usize, Look, Option<f32>);

/// The maps of the heads of a layer, and the row of the pinned query in each.
type LayerPictures = (Option<HeadThumbs>, Option<TextureHandle>);

/// The input and the way it is shown.
struct Shown<'a> {
    subject: &'a CapturePair,
    /// Rows and columns of the patterns, without a row.
    whole: &'a ReadPattern,
    places: &'a Places,
    kinds: Option<&'a HeadKinds>,
    look: Look,
    high: Option<f32>,
    /// The view that a double click opens a head in.
    opens: Option<ViewKind>,
}

impl Canvas for GridView {
    fn rest(&mut self) {
        let Self { camera, camera_of, .. } = std::mem::take(self);
        *self = Self { camera, camera_of, ..Self::default() };
    }

    fn ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>) -> Option<Footer> {
        let capture = cx.document.latest_capture()?;
        let subject = source::subject(cx)?;
        let stack = cx.pane.selection.stack();
        if let Some(nothing) = source::nothing_left(cx, capture, stack) {
            nothing.ui(ui, cx);
            return None;
        }
        let layers = recorded(capture, stack);
        let Some(first) = layers.first().and_then(|heads| heads.first()) else {
            states::sentence_ui(ui, cx.theme, "No attention of this stack was recorded");
            return None;
        };
        let reading = source::shown_of_head(cx, capture, *first);
        let whole = match cx.patterns.part(&subject, &reading, 0..0) {
            Some(Ok(whole)) => whole,
            Some(Err(refusal)) => {
                states::sentence_ui(ui, cx.theme, &refusal.to_string());
                return None;
            }
            None => return None,
        };
        let options = &cx.pane.options;
        let kinds = options.grid.needs_kinds().then(|| cx.patterns.kinds(&subject, stack)).flatten();
        let order = options.grid.sort_by.and_then(|score| cx.patterns.order(&subject, stack, score));
        let (places, caption) = match arranged(cx, &layers, order.as_ref(), kinds.as_ref()) {
            Ok(arranged) => arranged,
            Err(sentence) => {
                states::sentence_ui(ui, cx.theme, &sentence);
                return None;
            }
        };
        let look = Look {
            map: color_map(&whole, options.color_map()).on(cx.theme.palette.ground),
            log: options.is_log(),
            pool: options.pool(),
        };
        let high = high(options.grid, &reading.source);
        let scale = if let Some(high) = high {
            ScaleBar::of_range(look.map, look.range(high))
        } else {
            let meaning = "Each map, and each row below one, from 0 to its own largest value".to_owned();
            ScaleBar::of_colors(|part| look.map.color(part), ["0", "", "its largest"].map(str::to_owned), meaning)
        };
        let kinds = kinds.as_ref().and_then(|kinds| kinds.as_ref().ok()).map(|kinds| &**kinds);
        let shown = Shown {
            subject: &subject,
            whole: &whole,
            places: &places,
            kinds,
            look,
            high,
            opens: Some(ViewKind::Heads),
        };
        self.canvas_ui(ui, cx, capture, &shown);
        Some(Footer { words: caption, scales: vec![scale] })
    }
}

/// What the analysis thread found out about heads.
type Found<T> = Result<std::sync::Arc<T>, Refusal>;

/// The places of heads, with a sentence about them.
fn arranged(
    cx: &ViewCtx<'_>,
    layers: &[Vec<HeadId>],
    order: Option<&Found<HeadOrder>>,
    kinds: Option<&Found<HeadKinds>>,
) -> Result<(Places, String), String> {
    let n: usize = layers.iter().map(Vec::len).sum();
    let options = cx.pane.options.grid;
    let by_layer = |sentence: String| Ok((Places::by_layer(layers), sentence));
    let waits = options.sort_by.is_some() && order.is_none() || options.needs_kinds() && kinds.is_none();
    if waits {
        return by_layer("Ranking the heads …".to_owned());
    }
    let known = |found: Option<&Found<HeadOrder>>| found.cloned().transpose().map_err(|refusal| refusal.to_string());
    let order = known(order)?;
    let kinds = kinds.cloned().transpose().map_err(|refusal| refusal.to_string())?;
    if let Some((score, why)) = order.as_ref().and_then(|order| Some((order.score, order.heads.as_ref().err()?))) {
        let title = score.title().to_lowercase();
        return Err(format!("Heads have no number for {title}: {why}. Sort by another one at the right"));
    }
    let places = Places::arranged(options, layers, KnownHeads { order: order.as_deref(), kinds: kinds.as_deref() });
    let Some(order) = order else {
        return Ok((places, format!("{}: double-click one to open it", counted(n, "head"))));
    };
    let title = order.score.title().to_lowercase();
    if places.heads().next().is_none() {
        let best = order
            .ranked()
            .first()
            .map_or(String::new(), |(head, score)| format!("; the highest score is {} ({head})", decimal_text(*score)));
        return Err(format!("No head is of the kind {title}{best}"));
    }
    Ok((places, order_text(&order, options.lowest_first, n)))
}

fn order_text(order: &HeadOrder, lowest_first: bool, n: usize) -> String {
    let reach = match order.score.kind() {
        Some(kind) => {
            let of_kind = order.ranked().iter().filter(|(_, score)| kind.holds(*score)).count();
            format!("{of_kind} of {} reach the threshold", counted(n, "head"))
        }
        None => counted(n, "head"),
    };
    let first = if lowest_first { "lowest" } else { "highest" };
    format!("By {}, {first} first: {reach}", order.score.title().to_lowercase())
}

impl GridView {
    fn canvas_ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>, capture: &Capture, shown: &Shown<'_>) {
        let stack = cx.pane.selection.stack();
        if self.camera_of.replace((capture.id(), stack)) != Some((capture.id(), stack)) {
            self.camera = Camera::default();
        }
        let area = ui.available_rect_before_wrap();
        let grid = shown.places.grid();
        let (viewport, heading) = viewport(shown, area, pinned_row(cx, shown.whole).is_some());
        let response = ui.interact(viewport, ui.scope_id().with("heads"), Sense::click_and_drag());
        let n_heads = shown.places.cells.iter().flatten().count();
        response.widget_info(|| {
            WidgetInfo::labeled(Role::Image, true, format!("Attention patterns of {}", counted(n_heads, "head")))
        });
        let fit = viewport.width() / grid.1.max(1) as f32;
        self.camera.interact(ui, &response, viewport, (MAX_CELL_PT / fit.max(1.0)).max(1.0));
        let headings = shown.places.groups.iter().map(|group| group.first_row).collect();
        let layout = GridLayout { viewport, content: self.camera.content_rect(viewport), grid, headings, heading };
        self.ask(ui, cx, shown, &layout);
        let painter = ui.painter().with_clip_rect(viewport.intersect(ui.clip_rect()));
        let titles: Vec<String> = shown.places.groups.iter().map(|group| group.title.clone()).collect();
        let key = (layout.clone(), shown.places.by_layer, titles);
        self.around.paint(ui.painter(), cx.theme, key, ui.clip_rect(), &|pen| draw_around(&layout, shown.places, pen));
        let under = response.hover_pos().filter(|_| !response.dragged()).and_then(|at| {
            let place = layout.cell_at(at)?;
            let (head, score) = shown.places.at(place)?;
            Some((at, place, head, score))
        });
        let [rows, cols] = layout.visible();
        let mut pictures: BTreeMap<usize, LayerPictures> = BTreeMap::new();
        for place in rows.flat_map(|row| cols.clone().map(move |col| (row, col))) {
            let Some((head, score)) = shown.places.at(place) else { continue };
            let cell = layout.cell(place);
            // Once a layer: its heads share pictures.
            let pictures = pictures.entry(head.layer).or_insert_with(|| {
                let maps = self.layers.get(head.layer).and_then(|layer| layer.shown(cx, capture, head)).cloned();
                (maps, self.rows_of(&painter, cx, shown, head))
            });
            paint_map(&painter, cx, shown, (head, score), (cell, pictures));
            let is_under = under.as_ref().is_some_and(|(_, at, ..)| *at == place);
            let width = match (head == cx.pane.selection.head, is_under) {
                (true, _) => 2.0,
                (false, true) => 1.0,
                (false, false) => continue,
            };
            painter.rect_stroke(cell, 0, Stroke::new(width, cx.theme.text), StrokeKind::Inside);
        }
        if let Some((at, place, head, score)) = under {
            let focus = token_at(shown, layout.cell(place), at, cx);
            hover::report(cx, focus);
            menu::point_at_head(&response, cx, head);
            ui.ctx().set_cursor_icon(CursorIcon::PointingHand);
            tooltip::at_pointer(ui, |ui| head_ui(ui, cx, capture, shown, (head, score), focus));
            if let Some(view) = shown.opens.filter(|_| response.double_clicked()) {
                cx.send(Command::Select(SelectionCommand::ShowHead(head)));
                cx.send(Command::Select(SelectionCommand::ShowView(view)));
            } else if response.clicked() {
                cx.send(Command::Select(SelectionCommand::Head(head)));
            }
        }
        ui.allocate_rect(ui.available_rect_before_wrap(), Sense::hover());
    }

    /// Asks for the maps of the layers in sight, the ones at the top first.
    fn ask(&mut self, ui: &Ui, cx: &ViewCtx<'_>, shown: &Shown<'_>, layout: &GridLayout) {
        let [rows, cols] = layout.visible();
        let mut n_asked = 0;
        let mut seen: Vec<usize> = Vec::new();
        for place in rows.flat_map(|row| cols.clone().map(move |col| (row, col))) {
            let Some((head, _)) = shown.places.at(place) else { continue };
            if n_asked >= MOST_ASKED || seen.contains(&head.layer) {
                continue;
            }
            seen.push(head.layer);
            if self.layers.len() <= head.layer {
                self.layers.resize_with(head.layer + 1, SmallMaps::default);
            }
            let colors = (shown.look, shown.high);
            n_asked += self.layers[head.layer].update(ui, cx, (shown.subject, head), shown.whole, colors);
        }
    }

    /// The row of the pinned query in each head of the layer of a head, one below the other; none while they are read.
    fn rows_of(
        &mut self,
        painter: &Painter,
        cx: &ViewCtx<'_>,
        shown: &Shown<'_>,
        first: HeadId,
    ) -> Option<TextureHandle> {
        let capture = &*shown.subject.this;
        let row = pinned_row(cx, shown.whole)?;
        if self.rows.len() <= first.layer {
            self.rows.resize_with(first.layer + 1, Memo::default);
        }
        let reading = |head: usize| source::shown_of_head(cx, capture, HeadId { head, ..first });
        let key = (capture.id(), reading(0), row, shown.look, shown.high);
        let memo = &mut self.rows[first.layer];
        if memo.knows(&key) {
            return memo.get_or_update(key, || None);
        }
        let ask = |head: usize| cx.patterns.part(shown.subject, &reading(head), row..row + 1);
        let answers: Vec<_> = (0..source::n_heads(capture, first)).map(ask).collect();
        let parts: Vec<_> = answers.into_iter().map(|answer| answer.map(Result::ok)).collect::<Option<_>>()?;
        let n_cols = shown.whole.cols.len();
        let empty = vec![0.0; n_cols];
        let values = |part: &Option<std::sync::Arc<ReadPattern>>| {
            part.as_ref().and_then(|part| part.row(row).map(<[f32]>::to_vec)).unwrap_or_else(|| empty.clone())
        };
        let seen = shown.whole.visible.get(row).cloned().unwrap_or(0..n_cols);
        let sight = RowsSee {
            visible: vec![seen],
            everywhere: shown.whole.everywhere.clone(),
            causal: shown.whole.causal,
            n_rest: shown.whole.cols.rest().len(),
        };
        let colored = |part| {
            let values = Matrix::new(values(part), [1, n_cols]).ok()?;
            let log = shown.look.log;
            let own = || ColorRange::of(values.as_slice(), log);
            let range = shown.high.map_or_else(own, |high| ColorRange::up_to(high, false, log));
            Some(small_heatmap(&values, shown.look.map, range, &sight).pixels)
        };
        let pixels: Vec<Vec<u8>> = parts.iter().map(colored).collect::<Option<_>>()?;
        let image = RgbaBuffer { width: n_cols, height: parts.len(), pixels: pixels.concat() };
        let texture = texture::load(painter.ctx(), "rows of heads", &image, TextureOptions::NEAREST);
        memo.get_or_update(key, || Some(texture))
    }
}

/// Numbers of layers and heads beside the cells, or headings above groups of them.
fn draw_around(layout: &GridLayout, places: &Places, pen: &mut Pen<'_>) {
    if places.by_layer {
        let GridLayout { viewport, content, grid, .. } = *layout;
        return around::labels(&MatrixLayout { viewport, content, grid }, 1, pen);
    }
    let x = layout.content.left().max(layout.viewport.left());
    for (nth, group) in places.groups.iter().enumerate() {
        let Some(rect) = layout.heading_rect(nth) else { continue };
        let at = pos2(x, rect.bottom() - HEADING_PT / 2.0);
        if layout.viewport.y_range().contains(at.y) {
            let title = pen.type_.fit(&group.title, BODY, layout.viewport.width()).into_owned();
            pen.text(&title, BODY, pen.palette.text, at, Align::Left);
        }
    }
}

/// The map of a head in its cell, and below it the row of the query that is pinned.
fn paint_map(
    painter: &Painter,
    cx: &ViewCtx<'_>,
    shown: &Shown<'_>,
    (head, score): (HeadId, Option<f32>),
    (cell, (maps, rows)): (Rect, &LayerPictures),
) {
    let row = pinned_row(cx, shown.whole);
    let parts = parts(shown, cell, row.is_some());
    painter.rect_filled(parts.map, 0, cx.theme.raised);
    if let Some((texture, uv)) = maps.as_ref().and_then(|maps| maps.picture(head.head)) {
        painter.image(texture, parts.map, uv, Color32::WHITE);
    }
    painter.rect_stroke(parts.map, 0, Stroke::new(1.0, cx.theme.rule), StrokeKind::Outside);
    if let (Some(row), Some(strip)) = (row, parts.row) {
        let high = parts.map.top() + (row as f32 + 0.5) / shown.whole.rows.len().max(1) as f32 * parts.map.height();
        painter.hline(parts.map.x_range(), high, Stroke::new(1.0, cx.theme.query));
        painter.rect_filled(strip, 0, cx.theme.raised);
        let n_heads = source::n_heads(&shown.subject.this, head);
        if let Some(texture) = rows {
            let at = |head: usize| head as f32 / n_heads.max(1) as f32;
            let uv = Rect::from_min_max(pos2(0.0, at(head.head)), pos2(1.0, at(head.head + 1)));
            painter.image(texture.id(), strip, uv, Color32::WHITE);
        }
        painter.rect_stroke(strip, 0, Stroke::new(1.0, cx.theme.query), StrokeKind::Outside);
    }
    if let Some(col) = cx.pane.selection.pinned.key.and_then(|key| shown.whole.cols.group_of(key)) {
        let at = parts.map.left() + (col as f32 + 0.5) / shown.whole.cols.len().max(1) as f32 * parts.map.width();
        painter.vline(at, parts.map.y_range(), Stroke::new(1.0, cx.theme.key));
    }
    if let Some(at) = parts.title {
        let font = FontId::proportional(text_size::SMALL);
        painter.text(at, Align2::LEFT_TOP, title(head, score), font, cx.theme.text_weak);
    }
}

/// The query and the key under the pointer, where they can be told apart.
fn token_at(shown: &Shown<'_>, cell: Rect, at: eframe::egui::Pos2, cx: &ViewCtx<'_>) -> Focus {
    let (rows, cols) = (&shown.whole.rows, &shown.whole.cols);
    let map = parts(shown, cell, pinned_row(cx, shown.whole).is_some()).map;
    let pairs = Region::whole(Pointed::Pair, map, (rows.len(), cols.len()));
    let hit = pairs.at(at).filter(|_| pairs.cell(0, 0).size().min_elem() >= TOKEN_FROM_PT);
    hit.map_or(Focus::NONE, |hit| hover::tokens(hit.in_pattern(), [rows, cols], shown.whole.has_one_row()))
}

/// The area of all cells: they fit into `area` below and beside their labels, each as high as its map and row take. The
/// second is the height of a heading, as a part of a row's.
fn viewport(shown: &Shown<'_>, area: Rect, has_row: bool) -> (Rect, f32) {
    let labels = if shown.places.by_layer { vec2(ROW_LABEL_PT, COL_LABEL_PT) } else { Vec2::ZERO };
    let free = Rect::from_min_max(area.min + labels, area.max);
    let (n_rows, n_cols) = shown.places.grid();
    let n = vec2(n_cols.max(1) as f32, n_rows.max(1) as f32);
    let title = if shown.places.by_layer { 0.0 } else { TITLE_PT };
    let row = if has_row { ROW } else { 0.0 };
    let headings = HEADING_PT * shown.places.groups.len() as f32;
    // The height of a cell is its width by this, and its title.
    let high = (1.0 + row) / aspect(shown.whole);
    let width = (free.width() / n.x).min(((free.height() - headings) / n.y - title) / high).max(1.0);
    let size = vec2(width, width * high + title) * n + vec2(0.0, headings);
    let heading = HEADING_PT / (width * high + title);
    (Rect::from_min_size(free.min, size.min(free.size().max(Vec2::splat(1.0)))), heading)
}

/// Width of a map where its height is 1; very long ones are shown less long.
fn aspect(whole: &ReadPattern) -> f32 {
    (whole.cols.len().max(1) as f32 / whole.rows.len().max(1) as f32).clamp(0.4, 2.5)
}

/// The parts of a cell.
struct Parts {
    map: Rect,
    row: Option<Rect>,
    title: Option<eframe::egui::Pos2>,
}

/// The map with its own proportions, a row below it, and a title above it where heads do not stand by layer.
fn parts(shown: &Shown<'_>, cell: Rect, has_row: bool) -> Parts {
    let mut free = cell.shrink(PAD * cell.width().min(cell.height()) + 1.0);
    let has_title = !shown.places.by_layer && free.width() >= TITLE_FROM_PT;
    let title = has_title.then_some(free.min);
    if has_title {
        free.min.y += TITLE_PT;
    }
    let row_height = if has_row { (free.height() * ROW / (1.0 + ROW) - ROW_GAP_PT).max(2.0) } else { 0.0 };
    let below = if has_row { row_height + ROW_GAP_PT } else { 0.0 };
    let room = Rect::from_min_max(free.min, free.max - vec2(0.0, below));
    let aspect = aspect(shown.whole);
    let width = room.width().min(room.height() * aspect);
    let size: Vec2 = vec2(width, width / aspect);
    let map = Rect::from_min_size(pos2(room.center().x - size.x / 2.0, room.top()), size);
    let row =
        has_row.then(|| Rect::from_min_size(map.left_bottom() + vec2(0.0, ROW_GAP_PT), vec2(map.width(), row_height)));
    Parts { map, row, title }
}

/// The row of the query that is pinned.
fn pinned_row(cx: &ViewCtx<'_>, whole: &ReadPattern) -> Option<usize> {
    whole.rows.group_of(cx.pane.selection.pinned.query?)
}

/// What is under the pointer.
fn head_ui(
    ui: &mut Ui,
    cx: &ViewCtx<'_>,
    capture: &Capture,
    shown: &Shown<'_>,
    (head, score): (HeadId, Option<f32>),
    focus: Focus,
) {
    ui.strong(head.to_string());
    let sort_by = cx.pane.options.grid.sort_by;
    if let (Some(by), Some(score)) = (sort_by, score) {
        ui.label(format!("{} {}", by.title(), decimal_text(score)));
    }
    let of_head = shown.kinds.map(|kinds| kinds.of_head(head)).unwrap_or_default();
    for (kind, score) in of_head.iter().filter(|(kind, _)| Some(HeadScore::Kind(*kind)) != sort_by) {
        ui.label(format!("{} {}", kind.definition().title, decimal_text(*score)));
    }
    let text = |tokens: &[crate::capture::Token], at: Option<usize>| at.map(|at| source::token_text(tokens, at));
    let query = text(capture.query_tokens(head.stack), focus.query);
    if let (Some(query), Some(key)) = (query, text(capture.key_tokens(head.stack), focus.key)) {
        ui.label(format!("{query} › {key}"));
    }
    controls::caption_ui(ui, cx.theme, "Double-click: open in Lines");
}
