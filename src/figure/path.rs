//! Outlines made of straight lines and cubic curves.

use std::f32::consts::TAU;

use emath::{Pos2, Rect, Vec2, pos2, vec2};

/// How far the handles of a cubic quarter circle reach, as a part of its radius.
const QUARTER: f32 = 0.552_284_8;

/// One step of an outline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum PathStep {
    Move(Pos2),
    Line(Pos2),
    /// A cubic curve: two handles and the end.
    Cubic(Pos2, Pos2, Pos2),
    Close,
}

/// One or more closed outlines, filled by non-zero winding.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Path(Vec<PathStep>);

impl Path {
    /// The steps, in their order.
    pub fn segments(&self) -> &[PathStep] {
        &self.0
    }

    /// Between which heights it lies, handles of curves included; `None` when it is empty.
    pub fn rows(&self) -> Option<[f32; 2]> {
        let heights = self.0.iter().flat_map(|segment| match *segment {
            PathStep::Move(to) | PathStep::Line(to) => [to.y; 3],
            PathStep::Cubic(a, b, to) => [a.y, b.y, to.y],
            PathStep::Close => [f32::NAN; 3],
        });
        let both = |[least, most]: [f32; 2], y: f32| [least.min(y), most.max(y)];
        let [least, most] = heights.fold([f32::INFINITY, f32::NEG_INFINITY], both);
        (least <= most).then_some([least, most])
    }

    /// Corners joined by straight lines.
    pub fn polygon(corners: impl IntoIterator<Item = Pos2>) -> Self {
        let mut path = Self::default();
        path.add_polygon(corners);
        path
    }

    /// A rectangle with sharp corners.
    pub fn rect(rect: Rect) -> Self {
        Self::polygon(corners(rect))
    }

    /// A rectangle with round corners of `radius`.
    pub fn rounded(rect: Rect, radius: f32) -> Self {
        let r = radius.min(rect.width() / 2.0).min(rect.height() / 2.0).max(0.0);
        if r == 0.0 {
            return Self::rect(rect);
        }
        let mut path = Self::default();
        let starts = [vec2(0.0, r), vec2(-r, 0.0), vec2(0.0, -r), vec2(r, 0.0)];
        let [left_top, right_top, right_bottom, left_bottom] = corners(rect);
        // Clockwise from the left end of the top edge.
        path.0.push(PathStep::Move(left_top + vec2(r, 0.0)));
        for (corner, (before, after)) in [right_top, right_bottom, left_bottom, left_top].into_iter().zip([
            (vec2(-r, 0.0), starts[0]),
            (vec2(0.0, -r), starts[1]),
            (vec2(r, 0.0), starts[2]),
            (vec2(0.0, r), starts[3]),
        ]) {
            let (from, to) = (corner + before, corner + after);
            path.0.push(PathStep::Line(from));
            let towards = |point: Pos2| point + (corner - point) * QUARTER;
            path.0.push(PathStep::Cubic(towards(from), towards(to), to));
        }
        path.0.push(PathStep::Close);
        path
    }

    /// A disc.
    pub fn circle(center: Pos2, radius: f32) -> Self {
        Self::rounded(Rect::from_center_size(center, Vec2::splat(2.0 * radius)), radius)
    }

    /// A square on its tip, the mark of keys.
    pub fn diamond(center: Pos2, radius: f32) -> Self {
        Self::polygon([Vec2::UP, Vec2::RIGHT, Vec2::DOWN, Vec2::LEFT].map(|side| center + side * radius))
    }

    /// The band of `width` inside the edge of `rect`.
    pub fn frame(rect: Rect, width: f32) -> Self {
        let mut path = Self::rect(rect);
        let inner = rect.shrink(width.min(rect.width() / 2.0).min(rect.height() / 2.0));
        let mut inner = corners(inner);
        inner.reverse();
        path.add_polygon(inner);
        path
    }

    /// The same of a rectangle with round corners.
    pub fn rounded_frame(rect: Rect, radius: f32, width: f32) -> Self {
        let mut path = Self::rounded(rect, radius);
        let radius = (radius - width).max(0.0);
        let [left_top, right_top, right_bottom, left_bottom] = corners(rect.shrink(width + radius));
        // Turned the other way round, so that it counts as a hole; seven points are rounder than any corner here.
        let quarter = |(nth, center): (usize, Pos2)| {
            (0..=6).map(move |step| center - Vec2::angled(TAU * (6.0 - (6 * nth + step) as f32) / 24.0) * radius)
        };
        path.add_polygon([left_top, left_bottom, right_bottom, right_top].into_iter().enumerate().flat_map(quarter));
        path
    }

    /// The band of `width` inside the edge of a disc.
    pub fn ring(center: Pos2, radius: f32, width: f32) -> Self {
        let mut path = Self::circle(center, radius);
        let inner = (radius - width).max(0.0);
        // Turned the other way round, so that it counts as a hole; 24 corners are rounder than any ring here.
        path.add_polygon((0..24).map(|i| center + Vec2::angled(-TAU * i as f32 / 24.0) * inner));
        path
    }

    /// Adds another closed outline.
    pub fn add_polygon(&mut self, corners: impl IntoIterator<Item = Pos2>) {
        let mut corners = corners.into_iter();
        let Some(first) = corners.next() else { return };
        self.0.push(PathStep::Move(first));
        self.0.extend(corners.map(PathStep::Line));
        self.0.push(PathStep::Close);
    }
}

impl FromIterator<PathStep> for Path {
    fn from_iter<I: IntoIterator<Item = PathStep>>(segments: I) -> Self {
        Self(segments.into_iter().collect())
    }
}

/// Clockwise from the left top.
fn corners(rect: Rect) -> [Pos2; 4] {
    [rect.min, pos2(rect.right(), rect.top()), rect.max, pos2(rect.left(), rect.bottom())]
}
