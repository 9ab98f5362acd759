//! Layout of the heatmap, its axes and its colour bar. Pure geometry in points, without an egui
//! context.

use emath::{Rect, Vec2, pos2, vec2};

use crate::figure::{
    measure::{BAR_AND_TICKS_PT, GRID},
    pen::Medium,
    views::regions::{Pointed, Region},
};

/// Cells of short inputs are no larger than this.
const MAX_CELL_PT: f32 = 56.0;
/// Where queries and keys differ in number, cells may be so much longer one way than the other.
const MAX_ASPECT: f32 = 3.0;
/// Free space between labels and cells.
pub const LABEL_GAP_PT: f32 = 6.0;
/// Labels never take more than this part of the area.
const MAX_LABELS: f32 = 0.22;
/// Room below the cells of a figure.
const BELOW_PT: f32 = 4.0 * GRID;
/// Room for the name of an axis.
const AXIS_NAME_PT: f32 = 4.0 * GRID;

/// What the geometry depends on.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeatmapLayoutInput {
    pub area: Rect,
    pub n_query: usize,
    pub n_key: usize,
    /// Widest query label and widest key label.
    pub text_widths: [f32; 2],
    pub medium: Medium,
}

/// The parts of the view.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeatmapLayout {
    pub plot: Rect,
    /// Query labels, left of the plot.
    pub rows: Rect,
    /// Key labels, above the plot, read from bottom to top.
    pub cols: Rect,
    /// Colour bar with its numbers; the window has it in a row below.
    pub bar: Option<Rect>,
}

impl HeatmapLayout {
    /// Cells alone.
    pub const fn of_cells(plot: Rect) -> Self {
        Self { plot, rows: Rect::NOTHING, cols: Rect::NOTHING, bar: None }
    }

    /// Cells as large as fit, in the middle of the area: square ones where there are as many queries as keys.
    /// Labels take no more than a fixed part of the area.
    pub fn compute(input: HeatmapLayoutInput) -> Self {
        Self::with_labels(input, MAX_LABELS)
    }

    /// The same where labels may take another part of the area.
    pub fn with_labels(input: HeatmapLayoutInput, max_labels: f32) -> Self {
        let HeatmapLayoutInput { area, n_query, n_key, text_widths, medium } = input;
        let left = (text_widths[0].min(area.width() * max_labels) + LABEL_GAP_PT + AXIS_NAME_PT).ceil();
        let top = (text_widths[1].min(area.height() * max_labels) + LABEL_GAP_PT + AXIS_NAME_PT).ceil();
        let has_bar = medium == Medium::Paper;
        let below = if has_bar { BELOW_PT } else { 0.0 };
        let right = if has_bar { BAR_AND_TICKS_PT + 3.0 * GRID } else { 0.0 };
        let free = (area.size() - vec2(left + right, top + below)).max(Vec2::splat(1.0));
        let fit = (free / vec2(n_key.max(1) as f32, n_query.max(1) as f32)).min(Vec2::splat(MAX_CELL_PT));
        let aspect = if n_query == n_key { 1.0 } else { MAX_ASPECT };
        let cell = vec2(fit.x.min(fit.y * aspect), fit.y.min(fit.x * aspect));
        let size = cell * vec2(n_key as f32, n_query as f32);
        let x = (area.left() + left + (free.x - size.x) / 2.0).round();
        let y = (area.top() + top).round();
        let plot = Rect::from_min_size(pos2(x, y), size);
        let bar_height = plot.height().clamp(24.0 * GRID, 60.0 * GRID).min(area.bottom() - plot.top());
        Self {
            plot,
            rows: Rect::from_min_max(pos2(x - left, y), pos2(x - LABEL_GAP_PT, plot.bottom())),
            cols: Rect::from_min_max(pos2(x, area.top()), pos2(plot.right(), y - LABEL_GAP_PT)),
            bar: has_bar
                .then(|| Rect::from_min_size(pos2(plot.right() + 3.0 * GRID, y), vec2(BAR_AND_TICKS_PT, bar_height))),
        }
    }

    /// The cells and the names of queries and of keys; `content` is where all cells are.
    pub fn regions(&self, content: Rect, grid: (usize, usize)) -> [Region; 3] {
        let rows = Rect::from_x_y_ranges(self.rows.x_range(), content.y_range());
        let cols = Rect::from_x_y_ranges(content.x_range(), self.cols.y_range());
        [
            Region { of: Pointed::Pair, content, seen: self.plot, grid },
            Region { of: |row, _| Pointed::Query(row), content: rows, seen: self.rows, grid: (grid.0, 1) },
            Region { of: |_, col| Pointed::Key(col), content: cols, seen: self.cols, grid: (1, grid.1) },
        ]
    }
}

/// Which labels are left out where one query and one key in so many has one; `None` when none is.
pub fn label_note([queries, keys]: [usize; 2]) -> Option<String> {
    let every = |stride: usize| match stride {
        1 => "every".to_owned(),
        stride => format!("every {}", ordinal(stride)),
    };
    let of = match (queries, keys) {
        (1, 1) => return None,
        _ if keys == queries => format!("{} token", every(keys)),
        _ => format!("{} query, at {} key", every(queries), every(keys)),
    };
    Some(format!("labels at {of} and at the strongest"))
}

fn ordinal(n: usize) -> String {
    match n {
        2 => "second".to_owned(),
        n => format!("{n}th"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(width: f32, height: f32, n: usize) -> HeatmapLayout {
        let area = Rect::from_min_size(pos2(10.0, 20.0), vec2(width, height));
        let medium = Medium::Paper;
        HeatmapLayout::compute(HeatmapLayoutInput { area, n_query: n, n_key: n, text_widths: [70.0, 70.0], medium })
    }

    #[test]
    fn cells_are_square_and_everything_stays_inside() {
        for (width, height, n) in [(900.0, 500.0, 12), (500.0, 700.0, 200), (1600.0, 900.0, 3)] {
            let layout = layout(width, height, n);
            let area = Rect::from_min_size(pos2(10.0, 20.0), vec2(width, height)).expand(1.0);
            assert!((layout.plot.width() - layout.plot.height()).abs() < 0.01);
            for part in [layout.plot, layout.rows, layout.cols].into_iter().chain(layout.bar) {
                assert!(area.contains_rect(part), "{part:?} sticks out of {area:?}");
            }
            assert!(layout.rows.right() < layout.plot.left() && layout.cols.bottom() < layout.plot.top());
        }
    }

    #[test]
    fn a_short_text_over_many_patches_stays_legible_and_inside() {
        let area = Rect::from_min_size(pos2(0.0, 0.0), vec2(900.0, 500.0));
        let input =
            HeatmapLayoutInput { area, n_query: 9, n_key: 197, text_widths: [70.0, 40.0], medium: Medium::Paper };
        let plot = HeatmapLayout::compute(input).plot;
        let cell = plot.size() / vec2(197.0, 9.0);
        assert!(area.contains_rect(plot) && (cell.y / cell.x - MAX_ASPECT).abs() < 0.01, "{cell:?}");
    }

    #[test]
    fn short_inputs_are_not_blown_up() {
        assert!(layout(1600.0, 900.0, 3).plot.width() <= 3.0 * MAX_CELL_PT);
    }

    #[test]
    fn labels_that_are_left_out_are_counted() {
        assert_eq!(label_note([1, 1]), None);
        let note = label_note([5, 5]).unwrap();
        assert_eq!(note, "labels at every 5th token and at the strongest");
        let note = label_note([1, 2]).unwrap();
        assert_eq!(note, "labels at every query, at every second key and at the strongest");
    }
}
