//! Layout of the Atlas view.

use emath::{Rect, vec2};

use crate::figure::{
    measure::GRID,
    pen::Medium,
    views::{
        distance::layout::{LAYERS_PT, TICKS_PT, TITLE_PT, mosaic},
        regions::{Pointed, Region},
    },
};

/// What the charts get of the height; the rest is the table's.
const CHARTS: f32 = 0.62;
/// Between parts.
const GAP_PT: f32 = 5.0 * GRID;
/// Height of a row of the table.
const ROW_PT: f32 = 4.5 * GRID;

/// The parts of the view.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AtlasLayout {
    /// The frame of the points, without title and numbers.
    pub plot: Rect,
    /// Cells, layers down and heads across.
    pub mosaic: Rect,
    /// Rows of the table, the first with the names of the columns.
    pub table: Rect,
    pub grid: (usize, usize),
}

impl AtlasLayout {
    /// As a scene lays out the area that it is given.
    pub fn of_scene(area: Rect, grid: (usize, usize), medium: Medium) -> Self {
        let (charts, table) = area.split_top_bottom_at_fraction(CHARTS);
        let (left, right) = charts.split_left_right_at_fraction(0.5);
        let above = vec2(LAYERS_PT + 3.0 * GRID, TITLE_PT + TICKS_PT);
        let plot = Rect::from_min_max(left.min + above, left.max - vec2(GAP_PT, 2.0 * TICKS_PT));
        let mosaic = mosaic(right.with_max_y(right.bottom() - TICKS_PT), grid, medium);
        Self { plot, mosaic, table: table.with_min_y(table.top() + GRID), grid }
    }

    /// The points with their title and numbers.
    pub fn chart(&self) -> Rect {
        Rect::from_min_max(
            self.plot.min - vec2(LAYERS_PT + 3.0 * GRID, TITLE_PT + TICKS_PT - GRID),
            self.plot.max + vec2(GRID, 2.0 * TICKS_PT),
        )
    }

    /// What the title of the mosaic has room for.
    pub fn heads_width(&self) -> f32 {
        self.table.right() - self.mosaic.left()
    }

    /// The cells of the mosaic.
    pub fn heads(&self) -> Region {
        Region::whole(Pointed::Head, self.mosaic, self.grid)
    }

    /// How many heads the table has room for.
    pub fn n_rows(&self) -> usize {
        ((self.table.height() / ROW_PT) as usize).saturating_sub(1)
    }

    /// A row of the table; 0 has the names of the columns.
    pub fn row(&self, nth: usize) -> Rect {
        let top = self.table.top() + nth as f32 * ROW_PT;
        Rect::from_x_y_ranges(self.table.x_range(), top..=top + ROW_PT)
    }
}

#[cfg(test)]
mod tests {
    use emath::pos2;

    use super::*;

    #[test]
    fn parts_keep_apart_in_every_shape() {
        for size in [vec2(900.0, 600.0), vec2(480.0, 320.0), vec2(500.0, 900.0)] {
            for grid in [(12, 12), (2, 4), (32, 32)] {
                let area = Rect::from_min_size(pos2(10.0, 10.0), size);
                let layout = AtlasLayout::of_scene(area, grid, Medium::Paper);
                let parts = [layout.chart(), layout.mosaic, layout.table];
                for (nth, part) in parts.iter().enumerate() {
                    assert!(part.is_positive() && area.expand(1e-3).contains_rect(*part), "{size:?} {nth} {part:?}");
                    assert!(
                        parts[nth + 1..].iter().all(|other| !other.shrink(1e-3).intersects(*part)),
                        "{size:?} {nth}"
                    );
                }
                assert!(layout.n_rows() >= 3 && area.expand(1e-3).contains_rect(layout.row(layout.n_rows())));
            }
        }
    }
}
