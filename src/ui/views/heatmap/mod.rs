//! One head's pattern as a matrix of colours, with thumbnails of all heads of its layer.

use std::sync::Arc;

use eframe::egui::{Color32, Rect, Role, Sense, Ui, WidgetInfo};

use super::{
    Canvas,
    camera::Camera,
    display_list::PiecePainter,
    grid,
    groups::HeadGroups,
    hover,
    overview::Look,
    scale::{Footer, ScaleBar},
    selectors::{self, HeadsIn},
    small_maps::SmallMaps,
    source, states, text_width, texture,
    texture::HeadThumbs,
};
use crate::{
    analysis::reading::{Axis, Heads, ReadPattern, Reading, store::CapturePair},
    capture::Capture,
    figure::{
        pen::Medium,
        views::{
            color_map,
            heatmap::{HeatmapOptions, around::Around, axis_names},
            regions::Pointed,
        },
    },
    ids::{CaptureId, HeadId, StackKind},
    raster::ColorRange,
    session::{Command, Focus, SelectionCommand},
    ui::{
        ViewCtx,
        memo::{Memo, Same},
        theme::{GRID, text_size},
    },
};

mod drawing;
mod fit;
mod long;
mod mask;
mod paint;
mod pixels;
mod readout;
mod tiles;

pub use crate::figure::views::heatmap::layout;
pub use drawing::is_drawn_on;
use layout::{HeatmapLayout, HeatmapLayoutInput};
use pixels::{Picture, PictureKey};
use tiles::LongCells;

/// Cells are not zoomed beyond this many points.
const MAX_CELL_PT: f32 = 96.0;

/// Everything that what stands on the cells and around them depends on.
#[derive(Clone, PartialEq)]
struct PartKey {
    pattern: Same<ReadPattern>,
    layout: HeatmapLayout,
    content: Rect,
    options: HeatmapOptions,
    range: ColorRange,
    names: [String; 2],
    focus: [Option<usize>; 2],
    picked: [Vec<usize>; 2],
    /// Of a long text: how much is there of its values.
    n_known: usize,
}

/// The Heatmap view with what it remembers between frames.
#[derive(Default)]
pub struct HeatmapView {
    thumbs: Memo<PictureKey, HeadThumbs>,
    picture: Memo<PictureKey, Picture>,
    /// What is shown while the next one is read.
    last: Option<Picture>,
    /// What stands on the cells, and what stands around them.
    static_parts: PiecePainter<PartKey>,
    widths: Memo<(CaptureId, StackKind, Reading, f32), [f32; 2]>,
    camera: Camera,
    camera_of: Option<(CaptureId, StackKind)>,
    long: LongCells,
    long_thumbs: SmallMaps,
    /// What was held in the frame before.
    held: Focus,
    /// Beside the cells stand small pictures of the heads, in place of those above.
    has_beside: bool,
    heads_in: HeadsIn,
    beside: grid::GridView,
}

impl Canvas for HeatmapView {
    fn rest(&mut self) {
        let Self { camera, camera_of, held, .. } = std::mem::take(self);
        *self = Self { camera, camera_of, held, ..Self::default() };
    }

    fn choosers_ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>) {
        let Some(capture) = cx.document.latest_capture() else { return };
        // Where they stand beside the cells as well.
        self.heads_in = if self.has_beside { HeadsIn::Row } else { HeadsIn::of(ui, cx) };
        if source::is_long(cx, capture) {
            return long::choosers_ui(ui, cx, self.heads_in);
        }
        selectors::choosers_ui(ui, cx, self.heads_in, Some(&mut |ui| drawing::switch_ui(ui, cx, capture)));
        drawing::brush_ui(ui, cx);
    }

    fn ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>) -> Option<Footer> {
        let capture = cx.document.latest_capture()?;
        let subject = source::subject(cx)?;
        if source::is_long(cx, capture) {
            return self.long_ui(ui, cx, capture, &subject);
        }
        let head = cx.pane.selection.head;
        let options = cx.pane.options.heatmap;
        let key = PictureKey {
            captures: (subject.this.id(), subject.other.as_ref().map(|other| other.id())),
            reading: source::shown(cx, capture),
            map: options.color_map.on(cx.theme.palette.ground),
            scale: options.scale,
            shared_high: cx.shared_high,
            max_side: texture::max_side(ui.ctx()),
        };
        let answer = cx.patterns.pattern(&subject, &key.reading);
        let nothing_left = source::nothing_left(cx, capture, head.stack);
        // A picture that never comes must not have the window drawn again and again.
        let is_new = nothing_left.is_none() && matches!(answer, Some(Ok(_))) && !self.picture.knows(&key);
        let top = ui.cursor().top();
        if self.heads_in == HeadsIn::Pictures {
            self.thumbs_ui(ui, cx, &subject, &key, is_new);
        }
        if let Some(nothing) = nothing_left {
            nothing.ui(ui, cx);
            return None;
        }
        let ctx = ui.ctx().clone();
        let picture = match answer {
            Some(Ok(pattern)) => {
                let picture = self.picture.get_or_update(key.clone(), || pixels::picture(&ctx, &pattern, &key));
                self.last = Some(picture.clone());
                Some(picture)
            }
            Some(Err(refusal)) => {
                states::sentence_ui(ui, cx.theme, &refusal.to_string());
                return None;
            }
            // Another head of the same text stays until this one is read.
            None => {
                let fits = |last: &Picture| last.captures == key.captures && last.pattern.stack == head.stack;
                self.last.clone().filter(fits)
            }
        };
        let picture = picture?;
        let words = readout::caption(cx, capture, &picture.pattern, picture.pattern.total_mass());
        Some(self.plot_ui(ui, cx, capture, (&picture.pattern, words), (&key.reading, Cells::Whole(&picture)), top))
    }

    fn legend_ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>) {
        mask::legend_ui(ui, cx);
    }
}

impl HeatmapView {
    /// Small pictures of all heads of the layer; empty frames until all of them are read.
    fn thumbs_ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>, subject: &CapturePair, of: &PictureKey, wait: bool) {
        let capture = &*subject.this;
        let head = cx.pane.selection.head;
        let n_heads = source::n_heads(capture, head);
        let reading = source::shown_of_head(cx, capture, HeadId { head: 0, ..head });
        let key = PictureKey { reading, shared_high: None, ..of.clone() };
        let known = self.thumbs.knows(&key);
        // The picture comes first; the thumbnails of all heads take a frame of their own.
        let heads = if known || wait {
            if !known {
                ui.ctx().request_repaint();
            }
            None
        } else {
            source::heads_of_layer(cx, capture)
        };
        let ctx = ui.ctx().clone();
        let thumbs = (known || heads.is_some()).then(|| {
            self.thumbs.get_or_update(key.clone(), || pixels::thumbnails(&ctx, &heads.unwrap_or_default(), &key))
        });
        HeadThumbs::row_ui(thumbs.as_ref(), n_heads, HeadGroups::of(capture, head), ui, cx);
    }

    /// Brings what has just been pinned somewhere else into sight.
    fn reveal_held(&mut self, cx: &ViewCtx<'_>, pattern: &ReadPattern) {
        let pinned = cx.pane.selection.pinned;
        if std::mem::replace(&mut self.held, pinned) != pinned {
            self.reveal(pinned, pattern);
        }
    }

    fn reveal(&mut self, focus: Focus, pattern: &ReadPattern) {
        let [row, col] = hover::in_pattern(focus, [&pattern.rows, &pattern.cols]);
        let part = |idx: Option<usize>, n: usize| idx.map(|idx| (idx as f32 + 0.5) / n.max(1) as f32);
        self.camera.reveal([part(col, pattern.cols.len()), part(row, pattern.rows.len())]);
    }

    /// Shows all cells where those are of another run or stack than before.
    fn look_at(&mut self, subject: (CaptureId, StackKind)) {
        if self.camera_of.replace(subject) != Some(subject) {
            self.camera = Camera::default();
        }
    }

    /// Lays the cells out with all that stands around them, and says what that leaves for the heads of the layer.
    fn layout(
        &mut self,
        ui: &Ui,
        cx: &ViewCtx<'_>,
        (capture, pattern): (CaptureId, &ReadPattern),
        reading: &Reading,
        top: f32,
    ) -> (HeatmapLayout, Rect, Option<Rect>) {
        let of_any_head = Reading { heads: Heads::default(), ..reading.clone() };
        let widths_key = (capture, pattern.stack, of_any_head, ui.pixels_per_point());
        let names = axis_names(pattern);
        let text_widths = self.widths.get_or_update(widths_key, || {
            let [rows, cols] =
                [&pattern.rows, &pattern.cols].map(|axis| text_width::widest(ui.painter(), axis, text_size::SMALL));
            // The names of the axes stand in the corner, where short texts leave little room.
            let corner = names.iter().map(|name| text_width::width(ui.painter(), name, text_size::SMALL));
            [corner.fold(rows, f32::max), cols]
        });
        let [n_query, n_key] = [pattern.rows.len(), pattern.cols.len()];
        let fit = |area| {
            let medium = Medium::Screen;
            HeatmapLayout::compute(HeatmapLayoutInput { area, n_query, n_key, text_widths, medium })
        };
        let area = ui.available_rect_before_wrap();
        // As if no pictures stood above, which those beside replace.
        let (whole, widest) = (area.with_min_y(top), fit(area.with_min_y(top)));
        let used = widest.plot.right() - widest.rows.left();
        let beside = grid::room(whole, used).filter(|_| source::has_heads(cx));
        self.has_beside = beside.is_some();
        let area = if self.has_beside { area.with_max_x(area.left() + used) } else { area };
        (fit(area), area, beside)
    }

    /// Draws the cells with all that stands around them; `words` say what they are, and the choosers end at `top`.
    /// Of a long text `pattern` has no rows.
    fn plot_ui(
        &mut self,
        ui: &mut Ui,
        cx: &ViewCtx<'_>,
        capture: &Capture,
        (pattern, words): (&Arc<ReadPattern>, String),
        (reading, mut cells): (&Reading, Cells<'_>),
        top: f32,
    ) -> Footer {
        let head = cx.pane.selection.head;
        self.look_at((capture.id(), head.stack));
        let names = axis_names(pattern);
        let [n_query, n_key] = [pattern.rows.len(), pattern.cols.len()];
        let whole = ui.available_rect_before_wrap();
        let (layout, area, beside) = self.layout(ui, cx, (capture.id(), pattern), reading, top);
        let HeatmapLayout { plot, .. } = layout;
        let response = ui.interact(plot, ui.scope_id().with("cells"), Sense::click_and_drag());
        response.widget_info(|| WidgetInfo::labeled(Role::Image, true, picture_name(pattern, head)));
        let fit_cell = plot.width() / n_key.max(1) as f32;
        let max_zoom = MAX_CELL_PT / fit_cell.max(0.01);
        let drawn_on = drawing::drawn_on(cx).filter(|_| drawing::obstacle(cx).is_none());
        match &drawn_on {
            Some(_) => self.camera.zoom_by_wheel(ui, &response, plot, max_zoom),
            None => self.camera.interact(ui, &response, plot, max_zoom),
        };
        self.reveal_held(cx, pattern);
        let content = self.camera.content_rect(plot);
        let [pairs, labels @ ..] = layout.regions(content, (n_query, n_key));
        let axes: [&Axis; 2] = [&pattern.rows, &pattern.cols];

        if let Some(drawn_on) = &drawn_on {
            drawing::draw_ui(ui, cx, &response, drawn_on, pattern, &pairs);
        }
        let under = hover::under(&response, &[pairs]).filter(|_| !response.dragged());
        let (on_axis, has_moved) = readout::axis_focus(ui, cx, pattern, labels);
        if has_moved {
            self.reveal(on_axis, pattern);
        }
        let hovered = under.map_or(on_axis, |hit| hover::tokens(hit.in_pattern(), axes, pattern.has_one_row()));
        hover::report(cx, hovered);
        if response.clicked() && !hovered.is_empty() && drawn_on.is_none() {
            cx.send(Command::Select(SelectionCommand::Pin(hovered)));
        }

        let painter = ui.painter().with_clip_rect(plot.intersect(ui.clip_rect()));
        let range = match &mut cells {
            Cells::Whole(picture) => {
                painter.image(picture.texture.id(), content, texture::FULL_UV, Color32::WHITE);
                picture.range
            }
            Cells::Long { subject, look, cells } => {
                cells.paint(ui, cx, (*subject, reading), (pattern, *look), (content, plot))
            }
        };
        let value = |row, col| match &cells {
            Cells::Whole(_) => pattern.value(row, col),
            Cells::Long { cells, .. } => cells.value(row, col),
        };
        let selection = &cx.pane.selection;
        let [rows, cols] = pairs.visible();
        let is_empty = fit::is_empty(pattern, [&rows, &cols]);
        let none: &[usize] = &[];
        let (strong, n_known) = match &cells {
            Cells::Whole(picture) => (picture.strong.each_ref().map(Vec::as_slice), 0),
            Cells::Long { cells, .. } => ([none; 2], cells.n_known()),
        };
        let (focus, picked) = (hover::in_pattern(selection.focus(), axes), source::picked(cx, pattern));
        let around = Around {
            read: pattern,
            layout,
            content,
            focus,
            strong,
            picked: picked.each_ref().map(Vec::as_slice),
            names,
            options: cx.pane.options.heatmap,
            range,
        };
        let words = match around.label_note(Medium::Screen) {
            Some(note) => format!("{words}; {note}"),
            None => words,
        };
        let on_cells = PartKey {
            pattern: Same(Arc::clone(pattern)),
            layout,
            content,
            options: around.options,
            range,
            names: around.names.clone(),
            focus: [None; 2],
            picked: Default::default(),
            n_known,
        };
        let key = PartKey { focus: around.focus, picked: picked.clone(), n_known: 0, ..on_cells.clone() };
        self.static_parts.paint(0, (&painter, cx.theme), on_cells, (plot, plot), &|pen| {
            around.draw_on_cells(value, pen);
        });
        for (focus, color) in [(selection.pinned, cx.theme.text), (selection.hover, cx.theme.text)] {
            let [row, col] = hover::in_pattern(focus, axes);
            let (row, col) = (row.map(|row| pairs.cell(row, 0)), col.map(|col| pairs.cell(0, col)));
            paint::crosshair(&painter, content, row, col, color, cx.theme);
        }
        self.static_parts.paint(1, (ui.painter(), cx.theme), key, (area.expand(GRID), area), &|pen| {
            pen.frame(plot, pen.hairline(), pen.palette.rule);
            around.draw(pen);
        });
        fit::fit_ui(ui, cx.theme, plot, &mut self.camera, is_empty);
        if let Some(Pointed::Pair(row, col)) = under {
            // Of a long text the row under the pointer comes alone, with the exact weights.
            let alone = match &cells {
                Cells::Whole(_) => None,
                Cells::Long { subject, .. } => cx.patterns.part(subject, reading, row..row + 1),
            };
            let alone = alone.and_then(Result::ok);
            readout::tooltip_ui(ui, cx, capture, alone.as_deref().unwrap_or(pattern), (row, col));
        }
        if let Some(beside) = beside {
            self.beside.beside_ui(ui, cx, capture, beside);
        }
        ui.allocate_rect(whole, Sense::hover());
        let map = color_map(pattern, cx.pane.options.heatmap.color_map).on(cx.theme.palette.ground);
        Footer { words, scales: vec![ScaleBar::of_range(map, range)] }
    }
}

/// What is drawn as cells.
enum Cells<'a> {
    /// One picture of all.
    Whole(&'a Picture),
    /// What is there of a pattern that is too long for that.
    Long { subject: &'a CapturePair, look: Look, cells: &'a mut LongCells },
}

/// What the picture is called.
fn picture_name(pattern: &ReadPattern, head: HeadId) -> String {
    match pattern.explained() {
        Some(explained) => format!("{}, not attention", explained.what_of(pattern.stack, &[head])),
        None => format!("Attention pattern of {head}"),
    }
}
