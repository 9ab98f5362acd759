//! Where the parts of the Distance view stand, and which place in them means what.

use emath::{Pos2, Rangef, Rect, pos2, vec2};

use crate::figure::{
    measure::{BAR_AND_TICKS_PT, GRID},
    views::cells,
};

/// Room for a title above each part.
pub const TITLE_PT: f32 = 5.0 * GRID;
/// Room for the numbers of an axis.
pub const TICKS_PT: f32 = 4.5 * GRID;
/// Room for the numbers of layers.
pub const LAYERS_PT: f32 = 6.0 * GRID;
/// Between parts.
const GAP_PT: f32 = 5.0 * GRID;
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
    /// Correlation by scale.
    pub curve: Rect,
    /// Layers and heads.
    pub grid: (usize, usize),
}

impl DistanceLayout {
    /// As a scene lays out the area that it is given.
    pub fn of_scene(area: Rect, grid: (usize, usize)) -> Self {
        Self::of(area.with_min_y(area.top() + GRID), grid)
    }

    /// Shares out an area: the mosaics at the left, or on top where it is higher than wide.
    fn of(area: Rect, grid: (usize, usize)) -> Self {
        let beside = area.width() > BESIDE * area.height();
        let (left, right) = if beside {
            area.split_left_right_at_fraction(MOSAICS)
        } else {
            area.split_top_bottom_at_fraction(MOSAICS)
        };
        let right =
            if beside { right.with_min_x(right.left() + GAP_PT) } else { right.with_min_y(right.top() + GAP_PT) };
        let mosaics = halves(left, !beside).map(|half| mosaic(half, grid));
        let (top, bottom) = right.split_top_bottom_at_fraction(0.58);
        let framed = |rect: Rect| {
            Rect::from_min_max(
                rect.min + vec2(LAYERS_PT + 3.0 * GRID, TITLE_PT),
                rect.max - vec2(GRID, TICKS_PT + TITLE_PT),
            )
        };
        let plots = halves(top, true).map(framed);
        let curve = framed(bottom.with_min_y(bottom.top() + 2.0 * GRID)).with_max_y(bottom.bottom() - TICKS_PT);
        Self { mosaics, plots, curve, grid }
    }

    /// The cell of a head in one of the mosaics.
    pub fn cell(&self, mosaic: usize, layer: usize, head: usize) -> Rect {
        cells::cell_rect(self.mosaics[mosaic], self.grid, layer, head)
    }

    /// Layer and head of the cell at a place, in either mosaic.
    pub fn head_at(&self, at: Pos2) -> Option<(usize, usize)> {
        let mosaic = self.mosaics.into_iter().find(|mosaic| mosaic.contains(at))?;
        cells::cell_at(mosaic, self.grid, at)
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

/// Cells that fit beside their numbers and their colour bar.
fn mosaic(rect: Rect, (n_layers, n_heads): (usize, usize)) -> Rect {
    let free =
        Rect::from_min_max(rect.min + vec2(LAYERS_PT, TITLE_PT + TICKS_PT), rect.max - vec2(BAR_AND_TICKS_PT, 0.0));
    let side = |room: f32, n: usize| (room.max(1.0) / n.max(1) as f32).min(MAX_CELL_PT);
    let size = vec2(side(free.width(), n_heads) * n_heads as f32, side(free.height(), n_layers) * n_layers as f32);
    Rect::from_min_size(free.min, size)
}

/// Values along one axis of a plot.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Axis {
    /// The value at the start.
    pub from: f64,
    /// The value at the end.
    pub to: f64,
    /// Points on screen at the start and at the end.
    pub points: Rangef,
}

impl Axis {
    /// Over all finite values, with a little room.
    pub fn over(values: impl Iterator<Item = f64>, points: Rangef) -> Self {
        let finite = values.filter(|value| value.is_finite());
        let (low, high) = finite.fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), x| (low.min(x), high.max(x)));
        let (low, high) = if low <= high { (low, high) } else { (0.0, 1.0) };
        let room = if high > low { 0.03 * (high - low) } else { 0.5 };
        Self { from: low - room, to: high + room, points }
    }

    /// Where a value is.
    pub fn at(&self, value: f64) -> f32 {
        let part = (value - self.from) / (self.to - self.from);
        self.points.min + part as f32 * (self.points.max - self.points.min)
    }

    /// What is at a place.
    pub fn value(&self, at: f32) -> f64 {
        let part = f64::from((at - self.points.min) / (self.points.max - self.points.min));
        self.from + part * (self.to - self.from)
    }

    /// Round values within, about `n` of them.
    pub fn ticks(&self, n: usize) -> Vec<f64> {
        let span = self.to - self.from;
        if !(span > 0.0 && span.is_finite()) {
            return Vec::new();
        }
        let rough = span / n.max(1) as f64;
        let power = 10f64.powf(rough.log10().floor());
        let step = [1.0, 2.0, 5.0, 10.0].into_iter().map(|m| m * power).find(|step| *step >= rough).unwrap_or(rough);
        let first = (self.from / step).ceil() as i64;
        (first..).map(|k| k as f64 * step).take_while(|tick| *tick <= self.to).take(4 * n + 4).collect()
    }
}

/// A plot's two axes; y grows upwards.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Axes {
    /// Along.
    pub x: Axis,
    /// Up.
    pub y: Axis,
}

impl Axes {
    /// Over all pairs of values.
    pub fn over(values: impl Iterator<Item = (f64, f64)> + Clone, rect: Rect) -> Self {
        let y = Rangef::new(rect.bottom(), rect.top());
        Self { x: Axis::over(values.clone().map(|(x, _)| x), rect.x_range()), y: Axis::over(values.map(|(_, y)| y), y) }
    }

    /// Where a pair of values is.
    pub fn at(&self, x: f64, y: f64) -> Pos2 {
        pos2(self.x.at(x), self.y.at(y))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_keep_apart_in_every_shape() {
        for size in [vec2(900.0, 600.0), vec2(620.0, 560.0), vec2(400.0, 900.0)] {
            for grid in [(12, 12), (2, 4), (48, 64)] {
                let area = Rect::from_min_size(pos2(10.0, 10.0), size);
                let layout = DistanceLayout::of(area, grid);
                let parts = [layout.mosaics[0], layout.mosaics[1], layout.plots[0], layout.plots[1], layout.curve];
                for (idx, part) in parts.iter().enumerate() {
                    assert!(part.is_positive() && area.contains_rect(*part), "{size:?} {grid:?}: {idx} {part:?}");
                    assert!(parts[idx + 1..].iter().all(|other| !other.intersects(*part)), "{size:?} {grid:?}");
                }
                let (layer, head) = (grid.0 - 1, grid.1 / 2);
                for mosaic in [0, 1] {
                    assert_eq!(layout.head_at(layout.cell(mosaic, layer, head).center()), Some((layer, head)));
                }
            }
        }
    }

    #[test]
    fn axes_go_there_and_back_and_have_round_numbers() {
        let axis = Axis::over([3.0, -1.0, f64::NAN].into_iter(), Rangef::new(100.0, 300.0));
        assert!((axis.value(axis.at(1.7)) - 1.7).abs() < 1e-5);
        assert_eq!(axis.ticks(4), [-1.0, 0.0, 1.0, 2.0, 3.0]);
        let flat = Axis::over([2.0, 2.0].into_iter(), Rangef::new(0.0, 10.0));
        assert!((flat.at(2.0) - 5.0).abs() < 1e-5 && !flat.ticks(3).is_empty());
        assert!(Axis::over(std::iter::empty(), Rangef::new(0.0, 1.0)).at(0.5).is_finite());
    }
}
