//! The legend of what a layer rules out: later keys, keys outside a sliding window,
//! and what is left out.

use eframe::egui::{Color32, Sense, Stroke, Ui, vec2};

use crate::{
    analysis::reading::Rest,
    figure::views::heatmap::ruled_out,
    raster::colormap::{MASKED_COLOR, OUT_OF_WINDOW_COLOR},
    spec::Mask,
    ui::{
        ViewCtx,
        theme::{GRID, Theme},
        views::{controls, source, texture},
    },
};

/// What the neutral colours of the selected layer mean.
pub fn legend_ui(ui: &mut Ui, cx: &ViewCtx<'_>) {
    let Some(capture) = cx.document.latest_capture() else { return };
    let Mask { causal, window } = capture.model().mask_of(cx.pane.selection.head).unwrap_or_default();
    let pattern = source::shown_pattern(cx).and_then(Result::ok);
    let marks = pattern.as_ref().map(|pattern| &pattern.marks).filter(|marks| !marks.is_empty());
    let is_incomplete = pattern.as_ref().is_some_and(|pattern| pattern.cols.rest().contains(&Rest::Missing));
    if !causal && window.is_none() && marks.is_none() && !is_incomplete {
        return;
    }
    controls::heading_ui(ui, cx.theme, "Legend");
    if causal {
        controls::swatch_row_ui(ui, cx.theme, texture::color(MASKED_COLOR), "Masked (causal)");
    }
    if let Some(reach) = window {
        let text = format!("Outside the window of {}", controls::grouped(reach));
        hatched_row_ui(ui, cx.theme, texture::color(OUT_OF_WINDOW_COLOR), &text);
    }
    if is_incomplete {
        hatched_row_ui(ui, cx.theme, cx.theme.text_weak, "Not in the file (its rows are incomplete)");
    }
    let n_global = capture.global_tokens(cx.pane.selection.head).len();
    if n_global > 0 {
        controls::caption_ui(ui, cx.theme, format!("{} all, and all see them", tokens_see(n_global)));
    }
    let Some(marks) = marks else { return };
    if !marks.hidden_cols.is_empty() {
        hatched_row_ui(ui, cx.theme, cx.theme.text_weak, "Hidden by a what-if change");
    }
    if !marks.cut.is_empty() {
        crossed_row_ui(ui, cx.theme, "Cut by a what-if change");
    }
}

fn tokens_see(n: usize) -> String {
    if n == 1 { "1 token sees".to_owned() } else { format!("{} tokens see", controls::grouped(n)) }
}

fn crossed_row_ui(ui: &mut Ui, theme: &Theme, text: &str) {
    ui.horizontal(|ui| {
        let (rect, _) = ui.allocate_exact_size(vec2(3.0 * GRID, 3.0 * GRID), Sense::hover());
        let rect = rect.shrink(1.5);
        for ends in [[rect.left_top(), rect.right_bottom()], [rect.left_bottom(), rect.right_top()]] {
            ui.painter().line_segment(ends, Stroke::new(1.25, theme.key));
        }
        controls::caption_ui(ui, theme, text);
    });
}

fn hatched_row_ui(ui: &mut Ui, theme: &Theme, color: Color32, text: &str) {
    ui.horizontal(|ui| {
        let (rect, _) = ui.allocate_exact_size(vec2(3.0 * GRID, 3.0 * GRID), Sense::hover());
        ui.painter().rect_filled(rect, 2, color);
        let stroke = Stroke::new(1.0, theme.panel);
        for line in ruled_out::diagonals(rect) {
            ui.painter().line_segment(line, stroke);
        }
        controls::caption_ui(ui, theme, text);
    });
}
