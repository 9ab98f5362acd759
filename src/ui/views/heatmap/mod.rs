//! One head's pattern as a matrix of colours, with thumbnails of all heads of its layer.

use std::sync::Arc;

use eframe::egui::{
    Color32, Grid, PopupAnchor, Rect, RichText, Role, Sense, TextureHandle, TextureOptions, Ui, WidgetInfo,
    containers::Tooltip,
};

use super::{
    camera::{self, Camera},
    controls, empty,
    hover::HoverSender,
    source, text, texture,
    texture::HeadThumbs,
};
use crate::{
    analysis::attention,
    capture::{Capture, Matrix},
    ids::{CaptureId, HeadId, StackKind},
    raster::{
        ColorRange,
        heatmap::{atlas, heatmap, reduce_by_max},
    },
    session::{ColorMapChoice, ColorScale, Command, Focus, HiddenTokens},
    ui::{
        ViewCtx,
        memo::Memo,
        theme::{GRID, text_size},
    },
};

pub mod layout;
mod paint;

use layout::{HeatmapLayout, HeatmapLayoutInput};

/// Side of a thumbnail in texture pixels.
const THUMB_PX: usize = 96;
/// Cells are not zoomed beyond this many points.
const MAX_CELL_PT: f32 = 96.0;

/// The Heatmap view with what it remembers between frames.
#[derive(Default)]
pub struct HeatmapView {
    thumbs: Memo<PictureKey, HeadThumbs>,
    picture: Memo<PictureKey, Option<Picture>>,
    scores: Memo<(CaptureId, HeadId), Option<Arc<Matrix>>>,
    widths: Memo<(CaptureId, StackKind, f32), [f32; 2]>,
    camera: Camera,
    camera_of: Option<(CaptureId, StackKind)>,
    hover: HoverSender,
}

/// Everything the pixels depend on. The head is left at 0 where all heads are meant.
#[derive(Clone, Copy, PartialEq)]
struct PictureKey {
    capture: CaptureId,
    head: HeadId,
    hidden: HiddenTokens,
    map: ColorMapChoice,
    scale: ColorScale,
    max_side: usize,
}

/// One head's pattern and its texture.
#[derive(Clone)]
struct Picture {
    pattern: Matrix,
    range: ColorRange,
    texture: TextureHandle,
}

impl HeatmapView {
    /// Draws the view over all the space that is left in `ui`.
    pub fn ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>) {
        let Some(capture) = cx.session.latest_capture() else { return };
        let head = cx.session.selection.head;
        let options = cx.session.settings.views.heatmap;
        let key = PictureKey {
            capture: capture.id(),
            head,
            hidden: cx.session.settings.views.hidden,
            map: options.color_map,
            scale: options.scale,
            max_side: texture::max_side(ui.ctx()),
        };
        ui.horizontal_wrapped(|ui| controls::stack_and_layer_ui(ui, cx));
        let layer_key = PictureKey { head: HeadId { head: 0, ..head }, ..key };
        let ctx = ui.ctx().clone();
        let mut is_new = false;
        let picture = self.picture.get_or_update(key, || {
            is_new = true;
            picture(&ctx, capture, key)
        });
        // The picture comes first; the thumbnails of all heads take a frame of their own.
        let thumbs = if is_new && !self.thumbs.knows(&layer_key) {
            ui.ctx().request_repaint();
            None
        } else {
            Some(self.thumbs.get_or_update(layer_key, || thumbnails(&ctx, capture, layer_key)))
        };
        HeadThumbs::row_ui(thumbs.as_ref(), source::n_heads(capture, head), ui, cx);
        let Some(picture) = picture else {
            self.hover.report(cx, Focus::NONE);
            empty::sentence_ui(ui, cx.theme, "The attention of this head was not recorded");
            return;
        };
        if source::nothing_left(cx.session, capture) {
            self.hover.report(cx, Focus::NONE);
            empty::sentence_ui(ui, cx.theme, "Every token is left out; change what is left out in the options");
            return;
        }
        controls::caption_ui(ui, cx.theme, caption(capture, head, &picture.pattern));
        if self.camera_of != Some((key.capture, head.stack)) {
            self.camera_of = Some((key.capture, head.stack));
            self.camera = Camera::default();
        }
        self.plot_ui(ui, cx, capture, &picture);
    }

    /// Draws the options and the legend.
    #[expect(clippy::unused_self, reason = "every view has the same two methods")]
    pub fn options_ui(&self, ui: &mut Ui, cx: &ViewCtx<'_>) {
        controls::edit_options(cx, |options| {
            controls::heading_ui(ui, cx.theme, "Heatmap");
            controls::color_map_ui(ui, cx.theme, &mut options.heatmap.color_map);
            controls::row_ui(ui, cx.theme, "Scale", |ui| {
                let scales = [(ColorScale::Linear, "Linear"), (ColorScale::Log, "Logarithmic")];
                controls::choice_ui(ui, "Scale", &mut options.heatmap.scale, &scales);
            });
            controls::hidden_tokens_ui(ui, cx, options);
        });
        if is_causal(cx) {
            controls::heading_ui(ui, cx.theme, "Legend");
            let masked = crate::raster::colormap::MASKED_COLOR;
            controls::swatch_row_ui(ui, cx.theme, texture::color(masked), "Ruled out by the causal mask");
        }
    }

    fn plot_ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>, capture: &Capture, picture: &Picture) {
        let head = cx.session.selection.head;
        let (queries, keys) = (capture.query_tokens(head.stack), capture.key_tokens(head.stack));
        let widths_key = (capture.id(), head.stack, ui.pixels_per_point());
        let text_widths = self
            .widths
            .get_or_update(widths_key, || [queries, keys].map(|t| text::widest(ui.painter(), t, text_size::SMALL)));
        let [n_query, n_key] = picture.pattern.shape();
        let area = ui.available_rect_before_wrap();
        let layout = HeatmapLayout::compute(HeatmapLayoutInput { area, n_query, n_key, text_widths });
        let HeatmapLayout { plot, .. } = layout;
        let response = ui.interact(plot, ui.scope_id().with("cells"), Sense::click_and_drag());
        response.widget_info(|| WidgetInfo::labeled(Role::Image, true, format!("Attention pattern of {head}")));
        let fit_cell = plot.width() / n_key.max(1) as f32;
        self.camera.interact(ui, &response, plot, MAX_CELL_PT / fit_cell.max(0.01));
        let content = self.camera.content_rect(plot);
        let grid = (n_query, n_key);

        let under =
            response.hover_pos().filter(|_| !response.dragged()).and_then(|at| camera::cell_at(content, grid, at));
        let hovered = under.map_or(Focus::NONE, |(query, key)| Focus::cell(query, key));
        self.hover.report(cx, hovered);
        if response.clicked() && !hovered.is_empty() {
            cx.send(Command::Pin(hovered));
        }

        let painter = ui.painter().with_clip_rect(plot.intersect(ui.clip_rect()));
        painter.image(picture.texture.id(), content, texture::FULL_UV, Color32::WHITE);
        paint::frame(ui.painter(), plot, cx.theme);
        let selection = &cx.session.selection;
        for (focus, color) in [(selection.pinned, cx.theme.accent), (selection.hover, cx.theme.text)] {
            let row = focus.query.map(|query| camera::cell_rect(content, grid, query, 0));
            let col = focus.key.map(|key| camera::cell_rect(content, grid, 0, key));
            paint::crosshair(&painter, content, row, col, color);
        }

        let [rows, cols] = camera::visible_cells(content, plot, grid);
        let left_out = source::hidden_keys(capture, head.stack, cx.session.settings.views.hidden);
        let focus = selection.focus();
        let row_axis = paint::Axis {
            rect: layout.rows,
            content,
            n: n_query,
            visible: rows,
            focus: focus.query,
            text: &|position| source::token_text(queries, position),
            left_out: &|_| false,
            color: cx.theme.query,
        };
        let clip = Rect::from_x_y_ranges(layout.rows.x_range(), plot.y_range().expand(4.0));
        row_axis.paint_rows(&ui.painter().with_clip_rect(clip.intersect(ui.clip_rect())), cx.theme);
        let col_axis = paint::Axis {
            rect: layout.cols,
            content,
            n: n_key,
            visible: cols,
            focus: focus.key,
            text: &|position| source::token_text(keys, position),
            left_out: &|position| left_out.get(position) == Some(&true),
            color: cx.theme.key,
        };
        let clip = Rect::from_x_y_ranges(plot.x_range().expand(4.0), layout.cols.y_range());
        col_axis.paint_cols(&ui.painter().with_clip_rect(clip.intersect(ui.clip_rect())), cx.theme);
        paint::axis_names(ui.painter(), plot, cx.theme);
        let map = texture::color_map(cx.session.settings.views.heatmap.color_map);
        texture::color_bar(ui.painter(), layout.bar, map, picture.range, cx.theme);
        if let Some((query, key)) = under {
            self.readout_ui(ui, cx, capture, picture, (query, key));
        }
        ui.allocate_rect(area, Sense::hover());
    }

    fn readout_ui(
        &mut self,
        ui: &Ui,
        cx: &ViewCtx<'_>,
        capture: &Capture,
        picture: &Picture,
        (query, key): (usize, usize),
    ) {
        let head = cx.session.selection.head;
        let scores = self.scores.get_or_update((capture.id(), head), || attention::scores(capture, head).map(Arc::new));
        let id = ui.scope_id().with("readout");
        let layer = ui.layer_id();
        Tooltip::always_open(ui.ctx().clone(), layer, id, PopupAnchor::Pointer).gap(4.0 * GRID).show(|ui| {
            Grid::new("readout").num_columns(2).spacing([3.0 * GRID, 2.0]).show(ui, |ui| {
                let name = |text: &str| RichText::new(text).color(cx.theme.text_weak);
                ui.label(name("Query"));
                let text = source::token_text(capture.query_tokens(head.stack), query);
                ui.label(RichText::new(text).color(cx.theme.query));
                ui.end_row();
                ui.label(name("Key"));
                let text = source::token_text(capture.key_tokens(head.stack), key);
                ui.label(RichText::new(text).color(cx.theme.key));
                ui.end_row();
                let score = scores.as_ref().and_then(|scores| scores.get(query, key));
                if score == Some(f32::NEG_INFINITY) {
                    ui.label(name("Weight"));
                    ui.label("masked");
                    ui.end_row();
                    return;
                }
                ui.label(name("Weight"));
                ui.monospace(controls::weight_text(picture.pattern.get(query, key).unwrap_or(f32::NAN)));
                ui.end_row();
                if let Some(score) = score {
                    ui.label(name("Score"));
                    ui.monospace(format!("{score:.3}"));
                    ui.end_row();
                }
            });
        });
    }
}

fn is_causal(cx: &ViewCtx<'_>) -> bool {
    let stack = cx.session.selection.stack();
    cx.session.latest_capture().is_some_and(|c| c.model().stack(stack).is_some_and(|spec| spec.causal))
}

fn thumbnails(ctx: &eframe::egui::Context, capture: &Capture, key: PictureKey) -> HeadThumbs {
    let heads = 0..source::n_heads(capture, key.head);
    let patterns: Vec<Matrix> = heads
        .map(|head| {
            let id = HeadId { head, ..key.head };
            // An unrecorded head keeps its place, empty.
            source::shown_pattern(capture, id, key.hidden).or_else(|| Matrix::new(vec![0.0], [1, 1]).ok())
        })
        .map_while(|pattern| pattern)
        .collect();
    let causal = capture.model().stack(key.head.stack).is_some_and(|spec| spec.causal);
    let map = texture::color_map(key.map);
    // Enough columns for a texture that is neither too wide nor too high.
    let columns = (patterns.len() as f32).sqrt().ceil() as usize;
    let atlas = atlas(&patterns, THUMB_PX, columns, map, key.scale == ColorScale::Log, causal);
    // Thumbnails of short inputs are enlarged and keep their edges; long ones are reduced on screen.
    let enlarged = patterns.iter().all(|pattern| pattern.n_cols() <= THUMB_PX / 2);
    HeadThumbs::load(ctx, &atlas, if enlarged { TextureOptions::NEAREST } else { TextureOptions::LINEAR })
}

fn picture(ctx: &eframe::egui::Context, capture: &Capture, key: PictureKey) -> Option<Picture> {
    let pattern = source::shown_pattern(capture, key.head, key.hidden)?;
    let range = ColorRange::of(pattern.as_slice(), key.scale == ColorScale::Log);
    let causal = capture.model().stack(key.head.stack).is_some_and(|spec| spec.causal);
    // Longer inputs than a texture can hold keep their strongest entries.
    let reduced = reduce_by_max(&pattern, key.max_side);
    let image = heatmap(&reduced, texture::color_map(key.map), range, causal);
    Some(Picture { pattern, range, texture: texture::load(ctx, "heatmap", &image, TextureOptions::NEAREST) })
}

fn caption(capture: &Capture, head: HeadId, pattern: &Matrix) -> String {
    let [n_query, n_key] = pattern.shape();
    let causal = capture.model().stack(head.stack).is_some_and(|spec| spec.causal);
    let masked = if causal { ", causal" } else { "" };
    format!("{head}, {n_query} queries × {n_key} keys{masked}; each row sums to 1")
}
