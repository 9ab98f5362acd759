//! The legend of what a layer rules out: later keys, keys outside a sliding window,
//! and what is left out.

use eframe::egui::Ui;

use crate::{
    analysis::reading::Rest,
    figure::{
        list::Rgba,
        palette::Palette,
        views::heatmap::ruled_out::{self, HIDDEN_PT},
    },
    spec::Mask,
    style::HATCH_PT,
    ui::{
        ViewCtx,
        theme::{GRID, Theme},
        views::{controls, source},
    },
};

/// Side of a mark.
const SIDE_PT: f32 = 3.0 * GRID;

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
    let Palette { canvas, raised, rule, edge, .. } = cx.theme.palette;
    controls::heading_ui(ui, cx.theme, "Legend");
    if causal {
        hatched_row_ui(ui, cx.theme, [canvas, rule], (HATCH_PT, "Masked (causal)"));
    }
    if let Some(reach) = window {
        let text = format!("Outside the window of {}", controls::grouped(reach));
        hatched_row_ui(ui, cx.theme, [raised, rule], (HATCH_PT, &text));
    }
    if is_incomplete {
        hatched_row_ui(ui, cx.theme, [canvas, edge], (HIDDEN_PT, "Not in the file (its rows are incomplete)"));
    }
    let n_global = capture.global_tokens(cx.pane.selection.head).len();
    if n_global > 0 {
        controls::caption_ui(ui, cx.theme, format!("{} all, and all see them", tokens_see(n_global)));
    }
    let Some(marks) = marks else { return };
    if !marks.hidden_cols.is_empty() {
        hatched_row_ui(ui, cx.theme, [canvas, edge], (HIDDEN_PT, "Hidden by a what-if change"));
    }
    if !marks.cut.is_empty() {
        let text = "Cut by a what-if change";
        controls::mark_row_ui(ui, cx.theme, SIDE_PT, text, |rect, pen| ruled_out::cross(&[rect.shrink(1.5)], pen));
    }
}

fn tokens_see(n: usize) -> String {
    if n == 1 { "1 token sees".to_owned() } else { format!("{} tokens see", controls::grouped(n)) }
}

fn hatched_row_ui(ui: &mut Ui, theme: &Theme, [ground, line]: [Rgba; 2], (pitch, text): (f32, &str)) {
    controls::mark_row_ui(ui, theme, SIDE_PT, text, |rect, pen| {
        pen.rect(rect, ground);
        ruled_out::hatch([rect], (pitch, line), pen);
    });
}
