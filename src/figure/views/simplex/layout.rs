//! Layout of what makes scores weights: parts side by side where there is room, else below each other.

use emath::{Pos2, Rect, pos2, vec2};

use crate::{
    analysis::simplex::{HEIGHT, Rule, point, scores_at},
    figure::{
        measure::GRID,
        views::parts::{self, FOOT_PT},
    },
};

/// Side of the triangle in a part of the least size.
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

/// The rectangle of one part.
pub fn part(area: Rect, part: Part) -> Rect {
    let place = Part::ALL.into_iter().position(|other| other == part);
    place.and_then(|nth| parts::places(area, Part::ALL.len()).nth(nth)).unwrap_or(Rect::NOTHING)
}

/// The triangle of three weights.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Triangle {
    left_bottom: Pos2,
    side: f32,
}

impl Triangle {
    /// In the part's rectangle.
    pub fn of(rect: Rect) -> Self {
        let left_bottom = pos2(rect.left() + 2.0 * GRID, rect.bottom() - FOOT_PT - 2.0 * GRID);
        Self { left_bottom, side: SIDE_PT * parts::growth(rect) }
    }

    /// The place of three weights.
    pub fn at(self, weights: [f64; 3]) -> Pos2 {
        let [x, y] = point(weights).map(|value| value as f32 * self.side);
        self.left_bottom + vec2(x, -y)
    }

    /// The scores whose softmax is at a place.
    pub fn scores(self, at: Pos2) -> [f64; 3] {
        let along = (at - self.left_bottom) / self.side;
        scores_at([f64::from(along.x), f64::from(-along.y)])
    }

    /// The corners, one for each key.
    pub fn corners(self) -> [Pos2; 3] {
        [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]].map(|corner| self.at(corner))
    }

    /// The names beside it: one row for each rule.
    pub fn name(self, rule: Rule) -> Pos2 {
        let down = rule as usize as f32 * 5.0 * GRID;
        self.left_bottom + vec2(self.side + 3.0 * GRID, down - HEIGHT as f32 * self.side)
    }

    /// Whether a place is on a mark.
    pub fn is_near(at: Pos2, mark: Pos2) -> bool {
        at.distance(mark) <= NEAR_PT
    }
}

/// The cells of a matrix of `n` keys.
pub fn matrix(rect: Rect, n: usize) -> Rect {
    let data = parts::data(rect);
    Rect::from_min_max(data.min + vec2(5.0 * GRID, 4.0 * GRID), data.max).intersect(Rect::from_min_size(
        data.min + vec2(5.0 * GRID, 4.0 * GRID),
        vec2(8.0, 6.0) * GRID * n as f32 * parts::growth(rect),
    ))
}
