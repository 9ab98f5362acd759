//! Small multiples: charts of one size beside each other, each with a title, a frame with numbers, and words below it.

use emath::{Pos2, Rangef, Rect, Vec2, pos2, vec2};

use super::{
    chart::Scale,
    font::Align,
    list::{Rgba, faded},
    measure::{GRID, text_size::SMALL},
    palette::Dash,
    pen::Pen,
    views::axes::{Axes, Axis},
};
use crate::analysis::bootstrap::Estimate;

/// Numbers along an axis.
const TICKS: usize = 4;
/// Side of the square that stands for a mean.
pub const MEAN_PT: f32 = 5.0;

/// The sizes of charts, and how many stand beside each other at most.
#[derive(Clone, Copy, Debug)]
pub struct ChartCells {
    pub usual: Vec2,
    pub least: Vec2,
    pub most_columns: usize,
}

impl ChartCells {
    /// The width of `n` charts.
    pub fn width(self, n: usize) -> f32 {
        self.usual.x * n.clamp(1, self.most_columns) as f32
    }

    /// The least width of as many charts beside each other.
    pub fn least_width(self, n: usize) -> f32 {
        self.least.x * n.clamp(1, self.most_columns) as f32
    }

    /// The height of `n` charts in a width.
    pub fn height(self, n: usize, width: f32) -> f32 {
        self.usual.y * n.max(1).div_ceil(self.columns(n, width)) as f32
    }

    /// The least height of `n` charts in a width.
    pub fn least_height(self, n: usize, width: f32) -> f32 {
        self.least.y * n.max(1).div_ceil(self.columns(n, width)) as f32
    }

    /// The places of `n` charts, row by row.
    pub fn places(self, area: Rect, n: usize) -> impl Iterator<Item = Rect> {
        let columns = self.columns(n, area.width());
        let size = area.size() / vec2(columns as f32, n.max(1).div_ceil(columns) as f32);
        (0..n).map(move |nth| {
            let at = vec2((nth % columns) as f32, (nth / columns) as f32) * size;
            Rect::from_min_size(area.min + at, size)
        })
    }

    fn columns(self, n: usize, width: f32) -> usize {
        // A width that was made of columns holds them all, whatever was rounded.
        let fitting = ((width + 1.0) / self.least.x) as usize;
        fitting.clamp(1, self.most_columns).min(n.max(1))
    }
}

/// The room around the frame of a chart: left, above, right, below.
#[derive(Clone, Copy, Debug)]
pub struct Around(pub [f32; 4]);

impl Around {
    /// The frame of a chart.
    pub fn frame(self, area: Rect) -> Rect {
        let Self([left, above, right, below]) = self;
        Rect::from_min_max(area.min + vec2(left, above), area.max - vec2(right, below))
    }

    /// Draws the title of a chart; its frame.
    pub fn titled(self, title: &str, area: Rect, pen: &mut Pen<'_>) -> Rect {
        let frame = self.frame(area);
        let at = pos2(frame.left(), area.top() + 2.0 * GRID);
        pen.text(title, SMALL, pen.palette.text, at, Align::Left);
        frame
    }
}

/// Draws the lower edge of a frame, and the name of its axis so far below.
pub fn named_below(name: &str, frame: Rect, below: f32, pen: &mut Pen<'_>) {
    pen.line(frame.left_bottom(), frame.right_bottom(), 0.75, pen.palette.rule);
    let at = pos2(frame.center().x, frame.bottom() + below);
    pen.text(name, SMALL, pen.palette.text_weak, at, Align::Center);
}

/// Axes over two ranges in a frame.
pub fn axes([x, y]: [[f64; 2]; 2], frame: Rect) -> Axes {
    let axis = |[from, to]: [f64; 2], points: Rangef| Axis { from, to, points };
    Axes { x: axis(x, frame.x_range()), y: axis(y, Rangef::new(frame.bottom(), frame.top())) }
}

/// Lines across at round values, with their numbers.
pub fn grid(axes: &Axes, frame: Rect, text: &dyn Fn(f64, f64) -> String, pen: &mut Pen<'_>) {
    let ticks = axes.y.ticks(TICKS);
    let step = ticks.windows(2).map(|pair| pair[1] - pair[0]).next().unwrap_or(0.1);
    for value in ticks {
        let y = axes.y.at(value);
        pen.line(pos2(frame.left(), y), pos2(frame.right(), y), 0.5, faded(pen.palette.rule, 0.6));
        pen.text(&text(value, step), SMALL, pen.palette.text_weak, pos2(frame.left() - GRID, y), Align::Right);
    }
}

/// Numbers below the level axis.
pub fn numbers_below(axes: &Axes, frame: Rect, scale: Scale, pen: &mut Pen<'_>) {
    let ticks = scale.ticks((axes.x.from, axes.x.to), TICKS);
    let step = ticks.windows(2).map(|pair| pair[1] - pair[0]).next().unwrap_or(0.1);
    for value in ticks {
        let at = pos2(axes.x.at(value), frame.bottom() + 4.0 * GRID);
        pen.line(pos2(at.x, frame.bottom()), pos2(at.x, frame.bottom() + GRID), 0.75, pen.palette.rule);
        pen.text(&scale.text(value, step), SMALL, pen.palette.text_weak, at, Align::Center);
    }
}

/// A value across the chart, from below.
pub fn upright(axes: &Axes, value: f64, frame: Rect, dash: Dash, color: Rgba, pen: &mut Pen<'_>) {
    let x = axes.x.at(value);
    pen.lines(dash.lines([pos2(x, frame.bottom()), pos2(x, frame.top())], 1.0, color).collect());
}

/// A value across the chart, from the left.
pub fn level(axes: &Axes, value: f64, frame: Rect, color: Rgba, pen: &mut Pen<'_>) {
    let y = axes.y.at(value);
    pen.lines(Dash::Dotted.lines([pos2(frame.left(), y), pos2(frame.right(), y)], 1.0, color).collect());
}

/// A square around a place.
pub fn square(at: Pos2, side: f32, color: Rgba, pen: &mut Pen<'_>) {
    pen.rect(Rect::from_center_size(at, Vec2::splat(side)), color);
}

/// A number with its interval.
pub fn interval(Estimate { value, low, high }: Estimate, text: impl Fn(f64) -> String) -> String {
    format!("{} ({} to {})", text(value), text(low), text(high))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn charts_keep_apart_and_stand_in_fewer_columns_where_there_is_less_room() {
        let cells = ChartCells { usual: vec2(240.0, 384.0), least: vec2(220.0, 352.0), most_columns: 4 };
        for (width, n, columns) in [(cells.width(8), 8, 4), (cells.least_width(8), 8, 4), (500.0, 8, 2), (90.0, 3, 1)] {
            let height = cells.least_height(n, width);
            assert_eq!(height, 352.0 * (n as f32 / columns as f32).ceil(), "{width}");
            let area = Rect::from_min_size(pos2(7.0, 9.0), vec2(width, height));
            let places: Vec<Rect> = cells.places(area, n).collect();
            assert!(places.len() == n && places.iter().all(|place| area.expand(1e-3).contains_rect(*place)));
            for (nth, place) in places.iter().enumerate() {
                assert!(places[nth + 1..].iter().all(|other| !other.shrink(1e-3).intersects(*place)), "{width} {nth}");
            }
        }
    }
}
