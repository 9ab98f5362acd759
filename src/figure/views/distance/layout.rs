//! Layout of the Distance view.

use emath::{Rect, Vec2, vec2};

use crate::figure::{
    measure::{BAR_AND_TICKS_PT, GRID},
    pen::Medium,
    views::regions::{Pointed, Region},
};

/// Room for a title above each part.
pub const TITLE_PT: f32 = 5.0 * GRID;
/// Room for the numbers of an axis.
pub const TICKS_PT: f32 = 4.5 * GRID;
/// Room for the numbers of layers.
pub const LAYERS_PT: f32 = 6.0 * GRID;
/// Between parts.
const GAP_PT: f32 = 5.0 * GRID;
/// At the left of a plot and above it.
const ABOVE: Vec2 = vec2(LAYERS_PT + 3.0 * GRID, TITLE_PT);
/// Cells are at most this wide and high.
const MAX_CELL_PT: f32 = 48.0;
/// From this proportion on the mosaics stand beside the plots.
const BESIDE: f32 = 1.15;
/// What the mosaics get of the width, or of the height.
const MOSAICS: f32 = 0.42;

/// The parts of the view: rectangles without titles and numbers.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DistanceLayout {
    /// Cells of the two mosaics, layers down and heads across.
    pub mosaics: [Rect; 2],
    /// Pairs as given, and in the joint space.
    pub plots: [Rect; 2],
    pub curve: Rect,
    pub grid: (usize, usize),
}

impl DistanceLayout {
    /// As a scene lays out the area that it is given.
    pub fn of_scene(area: Rect, grid: (usize, usize), medium: Medium) -> Self {
        Self::of(area.with_min_y(area.top() + GRID), grid, medium)
    }

    /// Shares out an area: the mosaics at the left, or on top where it is higher than wide.
    fn of(area: Rect, grid: (usize, usize), medium: Medium) -> Self {
        let beside = area.width() > BESIDE * area.height();
        let (left, right) = if beside {
            area.split_left_right_at_fraction(MOSAICS)
        } else {
            area.split_top_bottom_at_fraction(MOSAICS)
        };
        let right =
            if beside { right.with_min_x(right.left() + GAP_PT) } else { right.with_min_y(right.top() + GAP_PT) };
        let mosaics = halves(left, !beside).map(|half| mosaic(half, grid, medium));
        let (top, bottom) = right.split_top_bottom_at_fraction(0.58);
        let framed = |rect: Rect| Rect::from_min_max(rect.min + ABOVE, rect.max - vec2(GRID, TICKS_PT + TITLE_PT));
        let plots = halves(top, true).map(framed);
        let curve = framed(bottom.with_min_y(bottom.top() + 2.0 * GRID)).with_max_y(bottom.bottom() - TICKS_PT);
        Self { mosaics, plots, curve, grid }
    }

    /// A plot with its title, its numbers and what stands below them.
    pub fn chart(&self, which: usize) -> Rect {
        let (plot, below) = match self.plots.get(which) {
            Some(plot) => (*plot, TICKS_PT + TITLE_PT),
            None => (self.curve, TICKS_PT),
        };
        Rect::from_min_max(plot.min - ABOVE, plot.max + vec2(GRID, below))
    }

    /// The cell of a head in one of the mosaics.
    pub fn cell(&self, mosaic: usize, layer: usize, head: usize) -> Rect {
        self.heads()[mosaic].cell(layer, head)
    }

    /// The cells of both mosaics.
    pub fn heads(&self) -> [Region; 2] {
        self.mosaics.map(|mosaic| Region::whole(Pointed::Head, mosaic, self.grid))
    }
}

/// Two equal parts with a gap: side by side, or one above the other.
fn halves(rect: Rect, side_by_side: bool) -> [Rect; 2] {
    let (mut first, mut second) =
        if side_by_side { rect.split_left_right_at_fraction(0.5) } else { rect.split_top_bottom_at_fraction(0.5) };
    if side_by_side {
        (first.max.x, second.min.x) = (first.max.x - GAP_PT / 2.0, second.min.x + GAP_PT / 2.0);
    } else {
        (first.max.y, second.min.y) = (first.max.y - GAP_PT / 2.0, second.min.y + GAP_PT / 2.0);
    }
    [first, second]
}

/// Cells that fit beside their numbers, and in a figure beside their colour bar.
pub fn mosaic(rect: Rect, (n_layers, n_heads): (usize, usize), medium: Medium) -> Rect {
    let bar = if medium == Medium::Paper { BAR_AND_TICKS_PT } else { 0.0 };
    let free = Rect::from_min_max(rect.min + vec2(LAYERS_PT, TITLE_PT + TICKS_PT), rect.max - vec2(bar, 0.0));
    let side = |room: f32, n: usize| (room.max(1.0) / n.max(1) as f32).min(MAX_CELL_PT);
    let size = vec2(side(free.width(), n_heads) * n_heads as f32, side(free.height(), n_layers) * n_layers as f32);
    Rect::from_min_size(free.min, size)
}

#[cfg(test)]
mod tests {
    use emath::{pos2, vec2};

    use super::*;

    #[test]
    fn parts_keep_apart_in_every_shape() {
        for size in [vec2(900.0, 600.0), vec2(620.0, 560.0), vec2(400.0, 900.0)] {
            for grid in [(12, 12), (2, 4), (48, 64)] {
                let area = Rect::from_min_size(pos2(10.0, 10.0), size);
                let layout = DistanceLayout::of(area, grid, Medium::Paper);
                let parts = [layout.mosaics[0], layout.mosaics[1], layout.plots[0], layout.plots[1], layout.curve];
                for (idx, part) in parts.iter().enumerate() {
                    assert!(part.is_positive() && area.contains_rect(*part), "{size:?} {grid:?}: {idx} {part:?}");
                    assert!(parts[idx + 1..].iter().all(|other| !other.intersects(*part)), "{size:?} {grid:?}");
                }
                let charts = [0, 1, 2].map(|which| layout.chart(which));
                for (nth, chart) in charts.iter().enumerate() {
                    assert!(area.expand(1e-3).contains_rect(*chart), "{size:?} {grid:?}: {nth} {chart:?}");
                    assert!(charts[nth + 1..].iter().all(|other| !other.shrink(1e-3).intersects(*chart)));
                }
                let (layer, head) = (grid.0 - 1, grid.1 / 2);
                for mosaic in [0, 1] {
                    let cells = layout.heads()[mosaic];
                    assert_eq!(cells.at(cells.cell(layer, head).center()), Some(Pointed::Head(layer, head)));
                }
            }
        }
    }
}
