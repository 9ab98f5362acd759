//! What a layer rules out, in the picture and in the legend: later keys, keys outside a sliding window,
//! and what is left out.

use std::ops::Range;

use eframe::egui::{Color32, Painter, Rect, Sense, Stroke, Ui, pos2, vec2};

use crate::{
    analysis::reading::ReadPattern,
    capture::Capture,
    ids::HeadId,
    raster::colormap::{MASKED_COLOR, OUT_OF_WINDOW_COLOR},
    spec::Mask,
    ui::{
        ViewCtx,
        theme::{GRID, Theme},
        views::{camera, controls, source, texture},
    },
};

/// Between two lines of the hatching, in points.
const HATCH_PT: f32 = 9.0;

/// What the layer of `head` rules out.
pub fn of(capture: &Capture, head: HeadId) -> Mask {
    Mask {
        causal: capture.model().stack(head.stack).is_some_and(|spec| spec.causal),
        window: source::layer_spec(capture, head).and_then(|layer| layer.window),
    }
}

/// Columns that are outside the window of a row: before, and without a causal mask also after it.
pub fn out_of_window(pattern: &ReadPattern, row: usize) -> [Range<usize>; 2] {
    let n_cols = pattern.cols.len();
    let visible = pattern.visible.get(row).cloned().unwrap_or(0..n_cols);
    let after = if pattern.causal { n_cols..n_cols } else { visible.end..n_cols };
    [0..visible.start, after]
}

/// Hatches the cells of `rows` that lie outside the window, so that they differ from a weight of 0 in
/// every colour map.
pub fn hatch(
    painter: &Painter,
    content: Rect,
    grid: (usize, usize),
    rows: &Range<usize>,
    outside: impl Fn(usize) -> [Range<usize>; 2],
    theme: &Theme,
) {
    let (n_query, n_key) = grid;
    let cell = content.size() / vec2(n_key.max(1) as f32, n_query.max(1) as f32);
    // Thin rows are hatched together; the first has the smallest part before the window.
    let block = (HATCH_PT / cell.y.max(0.1)).ceil() as usize;
    let stroke = Stroke::new(1.0, theme.canvas.gamma_multiply(0.55));
    for first in rows.clone().step_by(block.max(1)) {
        let last = (first + block).min(n_query) - 1;
        let ([before, _], [_, after]) = (outside(first), outside(last));
        for keys in [before, after] {
            if keys.is_empty() {
                continue;
            }
            let start = camera::cell_rect(content, grid, first, keys.start);
            let end = camera::cell_rect(content, grid, last, keys.end - 1);
            diagonals(painter, Rect::from_min_max(start.min, end.max).intersect(painter.clip_rect()), stroke);
        }
    }
}

/// Lines from the lower left to the upper right; those of neighbouring rectangles meet.
fn diagonals(painter: &Painter, rect: Rect, stroke: Stroke) {
    if !rect.is_positive() {
        return;
    }
    let first = ((rect.left() + rect.top()) / HATCH_PT).ceil() as i32;
    let last = ((rect.right() + rect.bottom()) / HATCH_PT).floor() as i32;
    for line in first..=last {
        let sum = line as f32 * HATCH_PT;
        let low = (sum - rect.bottom()).max(rect.left());
        let high = (sum - rect.top()).min(rect.right());
        painter.line_segment([pos2(low, sum - low), pos2(high, sum - high)], stroke);
    }
}

/// Covers the rows and columns that are left out.
pub fn veil(painter: &Painter, content: Rect, pattern: &ReadPattern, theme: &Theme) {
    let left_out = [&pattern.rows, &pattern.cols]
        .map(|axis| axis.groups.iter().map(|group| group.left_out.is_some()).collect::<Vec<_>>());
    let grid = (left_out[0].len(), left_out[1].len());
    // Blank, because any colour could be taken for a weight.
    let cover = |rect: Rect| {
        painter.rect_filled(rect, 0, theme.canvas);
    };
    for run in runs(&left_out[0]) {
        let first = camera::cell_rect(content, grid, run.start, 0);
        let last = camera::cell_rect(content, grid, run.end - 1, 0);
        cover(Rect::from_x_y_ranges(content.x_range(), first.top()..=last.bottom()));
    }
    for run in runs(&left_out[1]) {
        let first = camera::cell_rect(content, grid, 0, run.start);
        let last = camera::cell_rect(content, grid, 0, run.end - 1);
        cover(Rect::from_x_y_ranges(first.left()..=last.right(), content.y_range()));
    }
}

/// Where `flags` are set without a break.
fn runs(flags: &[bool]) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (at, _) in flags.iter().enumerate().filter(|(_, flag)| **flag) {
        match runs.last_mut() {
            Some(run) if run.end == at => run.end += 1,
            _ => runs.push(at..at + 1),
        }
    }
    runs
}

/// What the neutral colours of the selected layer mean.
pub fn legend_ui(ui: &mut Ui, cx: &ViewCtx<'_>) {
    let Some(capture) = cx.document.latest_capture() else { return };
    let Mask { causal, window } = of(capture, cx.pane.selection.head);
    if !causal && window.is_none() {
        return;
    }
    controls::heading_ui(ui, cx.theme, "Legend");
    if causal {
        controls::swatch_row_ui(ui, cx.theme, texture::color(MASKED_COLOR), "Ruled out by the causal mask");
    }
    if let Some(reach) = window {
        let text = format!("Outside the window of {}", controls::grouped(reach));
        hatched_row_ui(ui, cx.theme, texture::color(OUT_OF_WINDOW_COLOR), &text);
    }
}

fn hatched_row_ui(ui: &mut Ui, theme: &Theme, color: Color32, text: &str) {
    ui.horizontal(|ui| {
        let (rect, _) = ui.allocate_exact_size(vec2(3.0 * GRID, 3.0 * GRID), Sense::hover());
        ui.painter().rect_filled(rect, 2, color);
        diagonals(&ui.painter().with_clip_rect(rect), rect, Stroke::new(1.0, theme.panel));
        controls::caption_ui(ui, theme, text);
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_what_lies_between_the_gaps() {
        assert_eq!(runs(&[true, true, false, true]), [0..2, 3..4]);
        assert!(runs(&[false, false]).is_empty());
    }
}
