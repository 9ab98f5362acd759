//! Layout of the Average view.

use emath::{Rect, vec2};

use crate::figure::{
    measure::{BAR_AND_TICKS_PT, GRID},
    pen::Medium,
    views::regions::{Pointed, Region},
};

/// Room for a title above each part.
const TITLE_PT: f32 = 6.0 * GRID;
/// Room for the numbers of positions.
const NUMBERS_PT: f32 = 8.0 * GRID;
/// Between parts.
const GAP_PT: f32 = 8.0 * GRID;
/// From this proportion on the parts stand side by side.
const BESIDE: f32 = 1.15;
/// Cells are at most this wide and high.
const MAX_CELL_PT: f32 = 48.0;
/// The plot is at least this high, and at most so many times as wide as high.
const LEAST_PLOT_PT: f32 = 120.0;
const MOST_ACROSS: f32 = 2.0;

/// The parts of the view: rectangles without titles and numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct AverageLayout {
    /// Query positions down, key positions across.
    pub cells: Rect,
    pub plot: Rect,
    /// Positions of queries and keys.
    pub grid: (usize, usize),
}

impl AverageLayout {
    /// Shares out an area, in the window without room for a colour bar: side by side, or one above the other where it is higher than wide.
    pub fn of(area: Rect, grid: (usize, usize), medium: Medium) -> Self {
        let is_beside = area.width() > BESIDE * area.height();
        let (first, second) =
            if is_beside { area.split_left_right_at_fraction(0.52) } else { area.split_top_bottom_at_fraction(0.56) };
        let bar = if medium == Medium::Paper { BAR_AND_TICKS_PT } else { 0.0 };
        let free = Rect::from_min_max(
            first.min + vec2(NUMBERS_PT, TITLE_PT + 5.0 * GRID),
            first.max - vec2(bar + GAP_PT / 2.0, GRID),
        );
        let n = vec2(grid.1.max(1) as f32, grid.0.max(1) as f32);
        let side = (free.size().max(vec2(1.0, 1.0)) / n).min_elem().min(MAX_CELL_PT);
        let cells = Rect::from_min_size(free.min, n * side);
        let free = Rect::from_min_max(
            second.min + vec2(2.0 * NUMBERS_PT, TITLE_PT + 5.0 * GRID),
            second.max - vec2(2.0 * GRID, NUMBERS_PT),
        );
        // Side by side both are as high.
        let height = if is_beside { cells.height().max(LEAST_PLOT_PT) } else { free.height() };
        let height = height.min(free.height());
        let plot = Rect::from_min_size(free.min, vec2(free.width().min(MOST_ACROSS * height), height));
        Self { cells, plot, grid }
    }

    /// The plot with its title, its numbers and what stands below them.
    pub fn chart(&self) -> Rect {
        let above = vec2(2.0 * NUMBERS_PT, TITLE_PT + 5.0 * GRID);
        Rect::from_min_max(self.plot.min - above, self.plot.max + vec2(2.0 * GRID, NUMBERS_PT))
    }

    /// The cells of positions.
    pub const fn pairs(&self) -> Region {
        Region::whole(Pointed::Pair, self.cells, self.grid)
    }
}

#[cfg(test)]
mod tests {
    use emath::pos2;

    use super::*;

    #[test]
    fn parts_keep_apart_and_cells_are_squares() {
        for (size, grid) in
            [(vec2(900.0, 600.0), (30, 30)), (vec2(480.0, 900.0), (7, 30)), (vec2(640.0, 300.0), (1, 1))]
        {
            let area = Rect::from_min_size(pos2(5.0, 5.0), size);
            let layout = AverageLayout::of(area, grid, Medium::Paper);
            assert!(area.contains_rect(layout.cells) && area.contains_rect(layout.plot), "{size:?} {grid:?}");
            assert!(!layout.cells.intersects(layout.chart()) && layout.plot.is_positive());
            assert!(area.expand(1e-3).contains_rect(layout.chart()) && layout.chart().contains_rect(layout.plot));
            let cell = layout.pairs().cell(grid.0 - 1, 0);
            assert!((cell.width() - cell.height()).abs() < 1e-3);
            assert_eq!(layout.pairs().at(cell.center()), Some(Pointed::Pair(grid.0 - 1, 0)));
        }
    }
}
