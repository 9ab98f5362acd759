//! Layout of the planes of all heads. Pure geometry in points, without an egui context.

use std::ops::Range;

use emath::{Pos2, Rect, Vec2, pos2, vec2};

use crate::figure::{
    measure::GRID,
    views::regions::{Pointed, Region},
};

/// Room for the labels of layers, at the left.
pub const ROW_LABEL_PT: f32 = 15.0 * GRID;
/// Room for the labels of heads, on top.
pub const COL_LABEL_PT: f32 = 5.0 * GRID;
/// Cells are at most this much wider than high, or higher than wide.
const MAX_ASPECT: f32 = 1.5;
/// Free border inside a cell, as a part of its smaller side.
const CELL_PAD: f32 = 0.08;

/// The parts of the view.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct MatrixLayout {
    /// What the camera looks through.
    pub viewport: Rect,
    /// All cells, most of them possibly out of sight.
    pub content: Rect,
    pub grid: (usize, usize),
}

impl MatrixLayout {
    /// The viewport: all cells fit into it at zoom 1.
    pub fn viewport(area: Rect, (n_layers, n_heads): (usize, usize)) -> Rect {
        let free = Rect::from_min_max(area.min + vec2(ROW_LABEL_PT, COL_LABEL_PT), area.max);
        let size = Self::fitted(free.size(), (n_layers, n_heads));
        let left = free.left() + ((free.width() - size.x) / 2.0).max(0.0);
        Rect::from_min_size(pos2(left.round(), free.top()), size)
    }

    /// The size of all cells when they fit into `free`.
    pub fn fitted(free: Vec2, (n_rows, n_cols): (usize, usize)) -> Vec2 {
        let n = vec2(n_cols.max(1) as f32, n_rows.max(1) as f32);
        let cell = free.max(Vec2::splat(1.0)) / n;
        vec2(cell.x.min(cell.y * MAX_ASPECT), cell.y.min(cell.x * MAX_ASPECT)) * n
    }

    /// Rows and columns of the cells in sight.
    pub fn visible(&self) -> [Range<usize>; 2] {
        self.heads().visible()
    }

    /// The cell of a head.
    pub fn cell(&self, layer: usize, head: usize) -> Rect {
        self.heads().cell(layer, head)
    }

    /// The cells.
    pub const fn heads(&self) -> Region {
        Region { of: Pointed::Head, content: self.content, seen: self.viewport, grid: self.grid }
    }

    /// Whether one cell fills most of the viewport along an axis.
    pub fn is_single(&self) -> bool {
        let cell = self.cell(0, 0).size();
        cell.x >= 0.9 * self.viewport.width() || cell.y >= 0.9 * self.viewport.height()
    }
}

/// From a head's plane to its cell: the same scale along both axes, y upwards, centred.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct CellTransform {
    scale: f32,
    from: Pos2,
    to: Pos2,
}

impl CellTransform {
    /// Fits `bounds` into `cell` with a border.
    pub fn new(bounds: Rect, cell: Rect) -> Self {
        let inner = cell.shrink(CELL_PAD * cell.width().min(cell.height()));
        let extent = bounds.size().max(Vec2::splat(f32::MIN_POSITIVE));
        let scale = (inner.width() / extent.x).min(inner.height() / extent.y);
        Self { scale, from: bounds.center(), to: cell.center() }
    }

    /// Points on screen per unit of the plane.
    pub const fn scale(&self) -> f32 {
        self.scale
    }

    /// The point of the plane that is at a place on screen.
    pub fn unapply(&self, at: Pos2) -> Pos2 {
        let off = (at - self.to) / self.scale;
        pos2(self.from.x + off.x, self.from.y - off.y)
    }

    /// A point of the plane on screen.
    pub fn apply(&self, [x, y, _]: [f32; 3]) -> Pos2 {
        self.to + vec2(x - self.from.x, self.from.y - y) * self.scale
    }
}

/// Radius of a point in a cell `side` points wide.
pub fn point_radius(side: f32) -> f32 {
    (side / 60.0).clamp((side / 16.0).min(1.0), 3.5)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn area() -> Rect {
        Rect::from_min_size(pos2(0.0, 0.0), vec2(900.0, 600.0))
    }

    #[test]
    fn all_heads_fit_at_first() {
        for grid in [(12, 12), (2, 16), (24, 4), (1, 1)] {
            let viewport = MatrixLayout::viewport(area(), grid);
            let layout = MatrixLayout { viewport, content: viewport, grid };
            assert_eq!(layout.visible(), [0..grid.0, 0..grid.1]);
            assert!(area().expand(0.6).contains_rect(viewport), "{viewport:?}");
            let aspect = layout.cell(0, 0).aspect_ratio();
            assert!((1.0 / MAX_ASPECT - 0.01..=MAX_ASPECT + 0.01).contains(&aspect), "{grid:?}: {aspect}");
        }
    }

    #[test]
    fn a_plane_keeps_its_proportions_and_stays_in_its_cell() {
        let bounds = Rect::from_min_max(pos2(-1.0, -2.0), pos2(3.0, 0.0));
        let cell = Rect::from_min_size(pos2(100.0, 100.0), vec2(80.0, 60.0));
        let transform = CellTransform::new(bounds, cell);
        let (low, high) = (transform.apply([-1.0, -2.0, 0.0]), transform.apply([3.0, 0.0, 0.0]));
        assert!(cell.contains(low) && cell.contains(high));
        assert!(low.y > high.y, "larger y is further up");
        assert!(((high.x - low.x) / (low.y - high.y) - 2.0).abs() < 1e-4);
    }
}
