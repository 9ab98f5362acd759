//! Layout of what makes scores weights: parts side by side where there is room, else below each other.

use emath::{Pos2, Rect, Vec2, pos2, vec2};

use crate::{
    analysis::simplex::{HEIGHT, Rule, point, scores_at},
    figure::measure::GRID,
};

/// Size of a part, with its title and its note.
pub const PART_PT: Vec2 = vec2(82.0 * GRID, 70.0 * GRID);
/// Between two parts.
const GAP_PT: f32 = 6.0 * GRID;
/// Height of the title and the note of a part.
const TITLE_PT: f32 = 11.0 * GRID;
/// Free below a part's data, for the numbers of an axis.
const FOOT_PT: f32 = 8.0 * GRID;
/// Free left of a part's data.
const LEFT_PT: f32 = 10.0 * GRID;
/// Side of the triangle.
const SIDE_PT: f32 = 46.0 * GRID;
/// A mark is pointed at from this far.
const NEAR_PT: f32 = 2.0 * GRID;

/// A part of the view.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Part {
    Simplex,
    Curves,
    Row,
    Jacobian,
    Before,
    After,
}

impl Part {
    /// Every one, in the order in which they are drawn.
    pub const ALL: [Self; 6] = [Self::Simplex, Self::Curves, Self::Row, Self::Jacobian, Self::Before, Self::After];
}

/// How many parts stand side by side in a width.
fn n_columns(width: f32) -> usize {
    (((width + GAP_PT) / (PART_PT.x + GAP_PT)) as usize).clamp(1, 3)
}

/// The parts in an area, from its left upper corner on.
pub fn parts(area: Rect) -> impl Iterator<Item = (Part, Rect)> {
    let n_cols = n_columns(area.width());
    Part::ALL.into_iter().enumerate().map(move |(nth, part)| {
        let at = vec2((nth % n_cols) as f32, (nth / n_cols) as f32) * (PART_PT + Vec2::splat(GAP_PT));
        (part, Rect::from_min_size(area.min + at, PART_PT))
    })
}

/// The rectangle of one part.
pub fn part(area: Rect, part: Part) -> Rect {
    parts(area).find(|(other, _)| *other == part).map_or(Rect::NOTHING, |(_, rect)| rect)
}

/// The width of so many parts side by side.
pub fn width(n_cols: usize) -> f32 {
    n_cols as f32 * (PART_PT.x + GAP_PT) - GAP_PT
}

/// The height of all parts in a width.
pub fn height(width: f32) -> f32 {
    Part::ALL.len().div_ceil(n_columns(width)) as f32 * (PART_PT.y + GAP_PT) - GAP_PT
}

/// Where the data of a part are.
pub fn data(rect: Rect) -> Rect {
    Rect::from_min_max(rect.min + vec2(LEFT_PT, TITLE_PT), rect.max - vec2(GRID, FOOT_PT))
}

/// The triangle of three weights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Triangle {
    left_bottom: Pos2,
}

impl Triangle {
    /// In the part's rectangle.
    pub fn of(rect: Rect) -> Self {
        Self { left_bottom: pos2(rect.left() + 2.0 * GRID, rect.bottom() - FOOT_PT - 2.0 * GRID) }
    }

    /// The place of three weights.
    pub fn at(self, weights: [f64; 3]) -> Pos2 {
        let [x, y] = point(weights).map(|value| value as f32 * SIDE_PT);
        self.left_bottom + vec2(x, -y)
    }

    /// The scores whose softmax is at a place.
    pub fn scores(self, at: Pos2) -> [f64; 3] {
        let along = (at - self.left_bottom) / SIDE_PT;
        scores_at([f64::from(along.x), f64::from(-along.y)])
    }

    /// The corners, one for each key.
    pub fn corners(self) -> [Pos2; 3] {
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]].map(|corner| self.at(corner))
    }

    /// The names beside it: one row for each rule.
    pub fn name(self, rule: Rule) -> Pos2 {
        let top = self.left_bottom.y - HEIGHT as f32 * SIDE_PT;
        self.left_bottom + vec2(SIDE_PT + 3.0 * GRID, top - self.left_bottom.y + rule as usize as f32 * 5.0 * GRID)
    }

    /// Whether a place is on a mark.
    pub fn is_near(at: Pos2, mark: Pos2) -> bool {
        at.distance(mark) <= NEAR_PT
    }
}

/// The cells of a matrix of `n` keys.
pub fn matrix(rect: Rect, n: usize) -> Rect {
    let data = data(rect);
    Rect::from_min_max(data.min + vec2(5.0 * GRID, 4.0 * GRID), data.max)
        .intersect(Rect::from_min_size(data.min + vec2(5.0 * GRID, 4.0 * GRID), vec2(8.0, 6.0) * GRID * n as f32))
}
