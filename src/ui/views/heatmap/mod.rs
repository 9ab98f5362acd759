//! One head's pattern as a matrix of colours, with thumbnails of all heads of its layer.

use std::sync::Arc;

use eframe::egui::{Color32, Rect, Role, Sense, Ui, WidgetInfo};

use super::{
    camera::{self, Camera},
    choosers, controls, empty,
    groups::HeadGroups,
    hover::HoverSender,
    sentences, source, text, texture,
    texture::HeadThumbs,
};
use crate::{
    analysis::attention,
    capture::{Capture, Matrix},
    ids::{CaptureId, HeadId, StackKind},
    session::{ColorScale, Command, Focus},
    ui::{ViewCtx, memo::Memo, theme::text_size},
};

mod mask;
mod paint;
mod pixels;
mod readout;

pub use crate::figure::views::heatmap::layout;
use layout::{HeatmapLayout, HeatmapLayoutInput};
use pixels::{Picture, PictureKey};

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

impl HeatmapView {
    /// Draws the view over all the space that is left in `ui`.
    pub fn ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>) {
        let Some(capture) = cx.document.latest_capture() else { return };
        let head = cx.pane.selection.head;
        let options = cx.pane.options.heatmap;
        let key = PictureKey {
            capture: capture.id(),
            head,
            hidden: cx.pane.options.hidden,
            sentences: sentences::filter(cx.pane, capture),
            map: options.color_map,
            scale: options.scale,
            max_side: texture::max_side(ui.ctx()),
        };
        ui.horizontal_wrapped(|ui| {
            choosers::stack_and_layer_ui(ui, cx);
            choosers::sentences_ui(ui, cx);
        });
        let layer_key = PictureKey { head: HeadId { head: 0, ..head }, ..key };
        let ctx = ui.ctx().clone();
        let mut is_new = false;
        let picture = self.picture.get_or_update(key, || {
            is_new = true;
            pixels::picture(&ctx, capture, key)
        });
        // The picture comes first; the thumbnails of all heads take a frame of their own.
        let thumbs = if is_new && !self.thumbs.knows(&layer_key) {
            ui.ctx().request_repaint();
            None
        } else {
            Some(self.thumbs.get_or_update(layer_key, || pixels::thumbnails(&ctx, capture, layer_key)))
        };
        HeadThumbs::row_ui(thumbs.as_ref(), source::n_heads(capture, head), HeadGroups::of(capture, head), ui, cx);
        let Some(picture) = picture else {
            self.hover.report(cx, Focus::NONE);
            empty::sentence_ui(ui, cx.theme, "The attention of this head was not recorded");
            return;
        };
        if source::nothing_left(cx.pane, capture) {
            self.hover.report(cx, Focus::NONE);
            empty::sentence_ui(ui, cx.theme, "Every token is left out; change what is left out in the options");
            return;
        }
        controls::caption_ui(ui, cx.theme, readout::caption(capture, &key, &picture));
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
        mask::legend_ui(ui, cx);
    }

    fn plot_ui(&mut self, ui: &mut Ui, cx: &ViewCtx<'_>, capture: &Capture, picture: &Picture) {
        let head = cx.pane.selection.head;
        let (queries, keys) = (capture.query_tokens(head.stack), capture.key_tokens(head.stack));
        let widths_key = (capture.id(), head.stack, ui.pixels_per_point());
        let mut text_widths = self
            .widths
            .get_or_update(widths_key, || [queries, keys].map(|t| text::widest(ui.painter(), t, text_size::SMALL)));
        // The names of the axes stand in the corner, where short texts leave little room.
        text_widths[0] = text_widths[0].max(readout::axis_room(head.stack));
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
        let on_axis = readout::axis_focus(ui, cx, [queries, keys], &layout, content);
        let hovered = under.map_or(on_axis, |(query, key)| Focus::cell(query, key));
        self.hover.report(cx, hovered);
        if response.clicked() && !hovered.is_empty() {
            cx.send(Command::Pin(hovered));
        }

        let painter = ui.painter().with_clip_rect(plot.intersect(ui.clip_rect()));
        painter.image(picture.texture.id(), content, texture::FULL_UV, Color32::WHITE);
        paint::frame(ui.painter(), plot, cx.theme);
        let selection = &cx.pane.selection;
        for (focus, color) in [(selection.pinned, cx.theme.accent), (selection.hover, cx.theme.text)] {
            let row = focus.query.map(|query| camera::cell_rect(content, grid, query, 0));
            let col = focus.key.map(|key| camera::cell_rect(content, grid, 0, key));
            paint::crosshair(&painter, content, row, col, color, cx.theme);
        }

        let [rows, cols] = camera::visible_cells(content, plot, grid);
        let left_out = source::hidden_keys(capture, head.stack, cx.pane.options.hidden);
        if let Some(layer) = source::layer_spec(capture, head) {
            mask::hatch(
                &painter,
                content,
                grid,
                &rows,
                |query| mask::out_of_window(capture, head, layer, query),
                cx.theme,
            );
        }
        mask::veil(&painter, content, &picture.left_out, cx.theme);
        let focus = selection.focus();
        let row_axis = paint::Axis {
            rect: layout.rows,
            content,
            n: n_query,
            visible: rows,
            focus: focus.query,
            text: &|position| source::token_text(queries, position),
            left_out: &|position| picture.left_out[0].get(position) == Some(&true),
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
            left_out: &|position| {
                left_out.get(position) == Some(&true) || picture.left_out[1].get(position) == Some(&true)
            },
            color: cx.theme.key,
        };
        let clip = Rect::from_x_y_ranges(plot.x_range().expand(4.0), layout.cols.y_range());
        col_axis.paint_cols(&ui.painter().with_clip_rect(clip.intersect(ui.clip_rect())), cx.theme);
        let cell = [content.width() / n_key.max(1) as f32, content.height() / n_query.max(1) as f32];
        if let Some(note) = layout::label_note(cell) {
            paint::note(ui.painter(), plot, &note, cx.theme);
        }
        paint::axis_names(ui.painter(), plot, readout::axis_names(head.stack), cx.theme);
        let map = texture::color_map(cx.pane.options.heatmap.color_map);
        texture::color_bar(ui.painter(), layout.bar, map, picture.range, cx.theme);
        if let Some((query, key)) = under {
            let scores =
                self.scores.get_or_update((capture.id(), head), || attention::scores(capture, head).map(Arc::new));
            readout::tooltip_ui(ui, cx, capture, picture, scores.as_deref(), (query, key));
        }
        ui.allocate_rect(area, Sense::hover());
    }
}
