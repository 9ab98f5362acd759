//! Positions of the points of a layout: as they lie in the plane, or as a space is looked at.

use emath::{Rect, Vec2, pos2};

use super::scatter;
use crate::analysis::projection::HeadProjection;

/// Distance of the eye from the middle, in radii of the cloud.
const EYE: f32 = 4.0;

/// Where a cloud in space is looked at from.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Turn {
    /// About the vertical axis, in radians.
    pub yaw: f32,
    pub pitch: f32,
}

impl Default for Turn {
    fn default() -> Self {
        Self { yaw: 0.5, pitch: 0.35 }
    }
}

impl Turn {
    /// Turns a vector: right, up, and towards the eye.
    pub fn apply(self, [x, y, z]: [f32; 3]) -> [f32; 3] {
        let ((sin_yaw, cos_yaw), (sin_pitch, cos_pitch)) = (self.yaw.sin_cos(), self.pitch.sin_cos());
        let (x, z) = (x * cos_yaw + z * sin_yaw, z * cos_yaw - x * sin_yaw);
        [x, y * cos_pitch - z * sin_pitch, y * sin_pitch + z * cos_pitch]
    }
}

/// Where one head's points fall before they are fitted into a cell: the plane itself, or what is seen of the space.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Seen {
    /// What all points lie in.
    pub bounds: Rect,
    turn: Option<(Turn, [f32; 3], f32)>,
}

impl Seen {
    /// Points in the plane, or in space when they are `turned`.
    pub fn new(plane: &HeadProjection, turned: Option<Turn>) -> Self {
        let Some(turn) = turned else { return Self { bounds: scatter::bounds(plane), turn: None } };
        let (low, high) =
            plane.queries.iter().chain(&plane.keys).copied().filter(|at| at.iter().all(|x| x.is_finite())).fold(
                ([f32::INFINITY; 3], [f32::NEG_INFINITY; 3]),
                |(low, high), at| {
                    ([0, 1, 2].map(|axis| low[axis].min(at[axis])), [0, 1, 2].map(|axis| high[axis].max(at[axis])))
                },
            );
        if low[0] > high[0] {
            return Self { bounds: scatter::bounds(plane), turn: None };
        }
        let center = [0, 1, 2].map(|axis| f32::midpoint(low[axis], high[axis]));
        let out = |point: &[f32; 3]| [0, 1, 2].map(|axis| (point[axis] - center[axis]).powi(2)).iter().sum::<f32>();
        let all = plane.queries.iter().chain(&plane.keys).map(out).filter(|out| out.is_finite());
        let radius = all.fold(0.0, f32::max).sqrt().max(f32::MIN_POSITIVE);
        // The ball that it can be turned in, as it is seen from near.
        let shown = Vec2::splat(2.08 * radius);
        Self { bounds: Rect::from_center_size(pos2(0.0, 0.0), shown), turn: Some((turn, center, radius)) }
    }

    /// As figures show it: a layout in space is seen from a little above and aside.
    pub fn of_figure(plane: &HeadProjection) -> Self {
        let is_space = plane.queries.iter().chain(&plane.keys).any(|point| point[2] != 0.0);
        Self::new(plane, is_space.then(Turn::default))
    }

    /// Where a point falls; the third coordinate is how near to the eye it is, from −1 to 1.
    pub fn place(&self, [x, y, z]: [f32; 3]) -> [f32; 3] {
        let Some((turn, center, radius)) = self.turn else { return [x, y, 0.0] };
        let [x, y, z] = turn.apply([x - center[0], y - center[1], z - center[2]]);
        let depth = z / radius;
        let larger = EYE / (EYE - depth);
        [x * larger, y * larger, depth]
    }

    /// Whether points have a depth.
    pub const fn is_space(&self) -> bool {
        self.turn.is_some()
    }
}
