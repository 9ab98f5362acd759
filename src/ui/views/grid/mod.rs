//! Small pictures of every head: rows of layers, or heads sorted and grouped by a number; a click selects a head, a double
//! click opens it, and a click with Shift puts it beside.

use std::sync::Arc;

use eframe::egui::{
    Color32, CursorIcon, FontId, Painter, Rect, Response, Role, Sense, Stroke, StrokeKind, Ui, WidgetInfo, pos2,
};

use self::{
    rows::PinnedRows,
    shown::{Parts, Shown, ShownAs},
    tiles::{SeenCell, Tiles},
};
use super::{
    Canvas,
    camera::Camera,
    display_list::ScenePainter,
    heads::legend,
    hover, menu,
    overview::Look,
    scale::{Footer, ScaleBar},
    source, states, tooltip,
};
use crate::{
    analysis::{detect::HeadKinds, head_statistics::HeadOrder, reading::Refusal},
    capture::Capture,
    figure::{
        font::Align,
        measure::text_size::BODY,
        pen::Pen,
        views::{
            color_map,
            grid::{
                KnownHeads, Places, high,
                layout::{GridLayout, HEADING_PT},
                lines::most_lines,
                recorded, title,
            },
            heads::which_lines,
            matrix::{around, layout::MatrixLayout},
        },
    },
    ids::{CaptureId, HeadId, StackKind},
    raster::ColorRange,
    session::{Command, HeadStep, SelectionCommand},
    text::{counted, decimal_text, grouped},
    ui::{ViewCtx, theme::text_size},
};

mod beside;
mod readout;
mod rows;
mod shown;
mod tiles;

pub use beside::room;

/// Widest cell; larger maps are zoomed into.
const MAX_CELL_PT: f32 = 480.0;

/// Everything that what stands around the cells depends on.
type AroundKey = (GridLayout, bool, Vec<String>);

/// The Grid view with what it remembers between frames.
#[derive(Default)]
pub struct GridView {
    camera: Camera,
    camera_of: Option<(CaptureId, StackKind)>,
    tiles: Tiles,
    rows: PinnedRows,
    /// Numbers of layers and heads, or headings.
    around: ScenePainter<AroundKey>,
    /// Where heads stood in the last frame.
    places: Option<Places>,
    /// The head that was selected then.
    selected: Option<HeadId>,
}

/// What the analysis thread found out about heads.
type Found<T> = Result<Arc<T>, Refusal>;

/// A cell with its head and the number that it stands by.
struct HeadCell {
    place: (usize, usize),
    rect: Rect,
    parts: Parts,
    head: HeadId,
    score: Option<f32>,
}

impl Canvas for GridView {
    fn rest(&mut self) {
        let Self { camera, camera_of, .. } = std::mem::take(self);
        *self = Self { camera, camera_of, ..Self::default() };
    }

    fn neighbour(&self, head: HeadId, step: HeadStep) -> Option<HeadId> {
        let places = self.places.as_ref().filter(|places| places.of(head).is_some())?;
        let way = match step {
            HeadStep::PreviousHead => [-1, 0],
            HeadStep::NextHead => [1, 0],
            HeadStep::PreviousLayer => [0, -1],
            HeadStep::NextLayer => [0, 1],
        };
        Some(places.beside(head, way).unwrap_or(head))
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
        let (cells, instead) = ShownAs::wanted(cx, capture, source::is_long(cx, capture));
        let high = match cells {
            // Weights on patches are small: one scale ends at the largest of all heads.
            ShownAs::Overlay(..) => (!options.grid.own_scale).then_some(0.0),
            ShownAs::Heatmap | ShownAs::Lines => high(options.grid, &reading.source),
        };
        let kinds = kinds.as_ref().and_then(|kinds| kinds.as_ref().ok()).map(|kinds| &**kinds);
        let shown = Shown { subject: &subject, whole: &whole, places: &places, kinds, look, high, cells, opens: true };
        let n_cols = shown.n_cols(ui.available_rect_before_wrap(), shown.pinned_row(cx).is_some());
        let places = places.clone().in_rows_of(n_cols);
        let shown = Shown { places: &places, ..shown };
        let side = self.canvas_ui(ui, cx, capture, &shown);
        let words = match (instead, cells) {
            (Some(why), _) => format!("{caption}; heatmaps, as {why}"),
            (None, ShownAs::Heatmap) => caption,
            (None, ShownAs::Lines) => {
                let which = which_lines(options.heads.filter());
                format!("{caption}; {which}, at most {} in a cell", grouped(most_lines(side)))
            }
            (None, ShownAs::Overlay(_, (token, role))) => {
                format!("{caption}; {}", token.in_words(&whole, role, false))
            }
        };
        let scale = self.scale(cx, &shown);
        self.places = Some(places);
        Some(Footer { words, scales: vec![scale] })
    }
}

/// The places of heads, with a sentence about them.
fn arranged(
    cx: &ViewCtx<'_>,
    layers: &[Vec<HeadId>],
    order: Option<&Found<HeadOrder>>,
    kinds: Option<&Found<HeadKinds>>,
) -> Result<(Places, String), String> {
    let n: usize = layers.iter().map(Vec::len).sum();
    let options = cx.pane.options.grid;
    let waits = options.sort_by.is_some() && order.is_none() || options.needs_kinds() && kinds.is_none();
    if waits {
        return Ok((Places::by_layer(layers), "Ranking the heads …".to_owned()));
    }
    let order = order.cloned().transpose().map_err(|refusal| refusal.to_string())?;
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
    /// Draws the cells; the shorter side of a map, in points.
    fn canvas_ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>, capture: &Capture, shown: &Shown<'_>) -> f32 {
        let stack = cx.pane.selection.stack();
        if self.camera_of.replace((capture.id(), stack)) != Some((capture.id(), stack)) {
            self.camera = Camera::default();
        }
        let area = ui.available_rect_before_wrap();
        let grid = shown.places.grid();
        let row = shown.pinned_row(cx);
        let (viewport, heading) = shown.viewport(area, row.is_some());
        let response = ui.interact(viewport, ui.scope_id().with("heads"), Sense::click_and_drag());
        let n_heads = shown.places.heads().count();
        response.widget_info(|| {
            WidgetInfo::labeled(Role::Image, true, format!("Attention patterns of {}", counted(n_heads, "head")))
        });
        let fit = viewport.width() / grid.1.max(1) as f32;
        self.camera.interact(ui, &response, viewport, (MAX_CELL_PT / fit.max(1.0)).max(1.0));
        self.reveal(cx, shown, (viewport, heading));
        let layout = self.layout(shown, (viewport, heading));
        let painter = ui.painter().with_clip_rect(viewport.intersect(ui.clip_rect()));
        let titles: Vec<String> = shown.places.groups.iter().map(|group| group.title.clone()).collect();
        let key = (layout.clone(), shown.places.by_layer, titles);
        self.around.paint(ui.painter(), cx.theme, key, ui.clip_rect(), &|pen| draw_around(&layout, shown.places, pen));
        let cells = cells_of(&layout, shown, row.is_some(), ui.pixels_per_point());
        let seen: Vec<SeenCell> = cells.iter().map(|cell| SeenCell { head: cell.head, map: cell.parts.map }).collect();
        self.tiles.update(ui, cx, shown, &seen);
        let under = response.hover_pos().filter(|_| !response.dragged()).and_then(|at| {
            let place = layout.cell_at(at)?;
            Some((at, cells.iter().find(|cell| cell.place == place)?))
        });
        self.paint(&painter, cx, shown, &cells, &seen, under.map(|(_, cell)| cell.head));
        if let Some((at, cell)) = under {
            let focus = readout::token_at(cx, shown, &self.tiles, (cell.head, cell.parts.map), at);
            hover::report(cx, focus);
            menu::point_at_head(&response, cx, cell.head);
            ui.ctx().set_cursor_icon(CursorIcon::PointingHand);
            tooltip::at_pointer(ui, |ui| readout::head_ui(ui, cx, capture, shown, (cell.head, cell.score), focus));
            clicked(ui, cx, &response, cell.head, shown.opens);
        }
        ui.allocate_rect(ui.available_rect_before_wrap(), Sense::hover());
        cells.first().map_or(fit, |cell| cell.parts.map.size().min_elem())
    }

    fn layout(&self, shown: &Shown<'_>, (viewport, heading): (Rect, f32)) -> GridLayout {
        let headings = shown.places.groups.iter().map(|group| group.first_row).collect();
        let content = self.camera.content_rect(viewport);
        GridLayout { viewport, content, grid: shown.places.grid(), headings, heading }
    }

    /// Brings a head that was just selected into sight.
    fn reveal(&mut self, cx: &ViewCtx<'_>, shown: &Shown<'_>, (viewport, heading): (Rect, f32)) {
        let head = cx.pane.selection.head;
        if self.selected.replace(head) == Some(head) {
            return;
        }
        let Some(place) = shown.places.of(head) else { return };
        let layout = self.layout(shown, (viewport, heading));
        let at = (layout.cell(place).center() - layout.content.min) / layout.content.size();
        self.camera.reveal([Some(at.x), Some(at.y)]);
    }

    fn paint(
        &mut self,
        painter: &Painter,
        cx: &ViewCtx<'_>,
        shown: &Shown<'_>,
        cells: &[HeadCell],
        seen: &[SeenCell],
        under: Option<HeadId>,
    ) {
        let ground = if matches!(shown.cells, ShownAs::Lines) { cx.theme.canvas } else { cx.theme.raised };
        for cell in cells {
            painter.rect_filled(cell.parts.map, 0, ground);
        }
        self.tiles.draw(painter, cx, shown, seen);
        let row = shown.pinned_row(cx);
        for cell in cells {
            painter.rect_stroke(cell.parts.map, 0, Stroke::new(1.0, cx.theme.rule), StrokeKind::Outside);
            if let (Some(row), Some(strip)) = (row, cell.parts.row) {
                self.paint_row(painter, cx, shown, (cell, row, strip));
            }
            paint_marks(painter, cx, shown, cell);
            let width = match (cell.head == cx.pane.selection.head, under == Some(cell.head)) {
                (true, _) => 2.0,
                (false, true) => 1.0,
                (false, false) => continue,
            };
            painter.rect_stroke(cell.rect, 0, Stroke::new(width, cx.theme.text), StrokeKind::Inside);
        }
    }

    /// The row of the query that is pinned, below the map, and where in the map it is.
    fn paint_row(
        &mut self,
        painter: &Painter,
        cx: &ViewCtx<'_>,
        shown: &Shown<'_>,
        (cell, row, strip): (&HeadCell, usize, Rect),
    ) {
        let map = cell.parts.map;
        let high = map.top() + (row as f32 + 0.5) / shown.whole.rows.len().max(1) as f32 * map.height();
        painter.hline(map.x_range(), high, Stroke::new(1.0, cx.theme.query));
        painter.rect_filled(strip, 0, cx.theme.raised);
        if let Some((texture, uv)) = self.rows.picture(painter, cx, shown, (cell.head, row)) {
            painter.image(texture, strip, uv, Color32::WHITE);
        }
        painter.rect_stroke(strip, 0, Stroke::new(1.0, cx.theme.query), StrokeKind::Outside);
    }

    /// The scale of what the cells show.
    fn scale(&self, cx: &ViewCtx<'_>, shown: &Shown<'_>) -> ScaleBar {
        let colors = tiles::overlay_colors(cx, shown, shown.look.map);
        match (shown.cells, self.tiles.high(shown)) {
            (ShownAs::Lines, _) => legend::scale_of(cx, None),
            (ShownAs::Heatmap, Some(high)) => ScaleBar::of_range(colors, shown.look.range(high)),
            (ShownAs::Overlay(_, (token, _)), Some(high)) => {
                ScaleBar::of_range(colors, ColorRange::up_to(high, token.is_signed(shown.whole), false))
            }
            (ShownAs::Heatmap | ShownAs::Overlay(..), None) => {
                let below = if shown.pinned_row(cx).is_some() { ", and each row below one," } else { "" };
                let meaning = format!("Each head{below} from 0 to its own largest value");
                ScaleBar::of_colors(|part| colors.color(part), ["0", "", "its largest"].map(str::to_owned), meaning)
            }
        }
    }
}

/// The cells in sight that have a head, row by row.
fn cells_of(layout: &GridLayout, shown: &Shown<'_>, has_row: bool, pixels_per_point: f32) -> Vec<HeadCell> {
    let [rows, cols] = layout.visible();
    let places = rows.flat_map(|row| cols.clone().map(move |col| (row, col)));
    let cell = |place| {
        let (head, score) = shown.places.at(place)?;
        let rect = layout.cell(place);
        Some(HeadCell { place, rect, parts: shown.parts(rect, has_row, pixels_per_point), head, score })
    };
    places.filter_map(cell).collect()
}

/// What a click on a head does.
fn clicked(ui: &Ui, cx: &ViewCtx<'_>, response: &Response, head: HeadId, opens: bool) {
    let has_shift = ui.input(|input| input.modifiers.shift);
    if opens && response.double_clicked() && !has_shift {
        cx.send(Command::Select(SelectionCommand::OpenHead(Some(head))));
    } else if opens && response.clicked() && has_shift {
        // The second of two quick clicks is none.
        if !response.double_clicked() {
            cx.send(Command::CompareHead(Some(head)));
        }
    } else if response.clicked() {
        cx.send(Command::Select(SelectionCommand::Head(head)));
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
            let text = pen.type_.fit(&group.title, BODY, layout.viewport.width()).into_owned();
            pen.text(&text, BODY, pen.palette.text, at, Align::Left);
        }
    }
}

/// Where the key is that is pinned, and the title of a head.
fn paint_marks(painter: &Painter, cx: &ViewCtx<'_>, shown: &Shown<'_>, cell: &HeadCell) {
    let map = cell.parts.map;
    let key = cx.pane.selection.pinned.key.filter(|_| matches!(shown.cells, ShownAs::Heatmap));
    if let Some(col) = key.and_then(|key| shown.whole.cols.group_of(key)) {
        let at = map.left() + (col as f32 + 0.5) / shown.whole.cols.len().max(1) as f32 * map.width();
        painter.vline(at, map.y_range(), Stroke::new(1.0, cx.theme.key));
    }
    if let (ShownAs::Overlay(image, (token, _)), Some(held)) = (shown.cells, cx.pane.selection.pinned.query) {
        // A patch that asks stands on the picture.
        if token.position() == Some(held) && held >= image.n_prefix && shown.whole.rows.len() > held {
            let rect = shown::on_picture(map, image).token_rect(held);
            if shown.is_of_patches(cx) && rect.width() >= 2.0 {
                painter.rect_stroke(rect, 0, Stroke::new(1.5, cx.theme.query), StrokeKind::Outside);
            }
        }
    }
    if let Some(at) = cell.parts.title {
        let text = |score| {
            let font = FontId::proportional(text_size::SMALL);
            painter.layout_no_wrap(title(cell.head, score), font, cx.theme.text_weak)
        };
        // The number where there is room for it.
        let whole = text(cell.score);
        let fits = whole.size().x <= cell.rect.right() - at.x;
        painter.galley(at, if fits { whole } else { text(None) }, cx.theme.text_weak);
    }
}
