//! A chart of curves with error bars, with dots behind them and levels for comparison; its legend stands below.

use emath::{Pos2, Rect, pos2};

use super::{
    chart::Scale,
    font::Align,
    list::{Line, Rgba, faded},
    measure::{GRID, text_size::SMALL},
    multiples::{Around, MEAN_PT, axes, grid, named_below, numbers_below, square},
    palette::Dash,
    pen::Pen,
    views::axes::Axes,
};
use crate::analysis::bootstrap::Estimate;

/// Room around a chart: left, above, right, below.
const AROUND_PT: [f32; 4] = [9.0 * GRID, 8.0 * GRID, 4.0 * GRID, 20.0 * GRID];
const LINE_PT: f32 = 5.0 * GRID;
const POINT_PT: f32 = 2.5;

/// A curve with error bars, and its name.
pub(super) struct Curve {
    pub name: &'static str,
    pub points: Vec<(f64, Estimate)>,
    pub color: Rgba,
}

/// One chart.
pub(super) struct CurveChart<'a> {
    pub title: &'static str,
    pub x: &'static str,
    pub x_range: [f64; 2],
    pub y_range: [f64; 2],
    pub scale: Scale,
    /// How values are written.
    pub text: fn(f64) -> String,
    pub dots: Vec<[f64; 2]>,
    pub curves: Vec<Curve>,
    /// Values for comparison, with their names.
    pub levels: Vec<(f64, &'a str)>,
}

impl CurveChart<'_> {
    /// Curves that are drawn.
    fn n_curves(&self) -> usize {
        self.curves.iter().filter(|curve| !curve.points.is_empty()).count()
    }

    /// The room around its frame, which the legend decides about.
    fn around(&self) -> Around {
        let [left, above, right, below] = AROUND_PT;
        Around([left, above, right, below + (self.n_curves() + self.levels.len()).saturating_sub(2) as f32 * LINE_PT])
    }

    /// Its frame in an area, and its axes.
    pub fn frame(&self, area: Rect) -> (Rect, Axes) {
        let frame = self.around().frame(area);
        (frame, axes([self.x_range, self.y_range], frame))
    }

    pub fn draw(&self, area: Rect, pen: &mut Pen<'_>) {
        let n_curves = self.n_curves();
        let (rect, axes) = self.frame(area);
        self.around().titled(self.title, area, pen);
        let (text, weak) = (pen.palette.text, pen.palette.text_weak);
        grid(&axes, rect, &|value, _| (self.text)(value), pen);
        numbers_below(&axes, rect, self.scale, pen);
        named_below(self.x, rect, 8.0 * GRID, pen);
        let faint = faded(pen.palette.head(0), 0.3);
        for [x, y] in &self.dots {
            square(axes.at(*x, *y), POINT_PT, faint, pen);
        }
        let mut y = rect.bottom() + 12.0 * GRID;
        for (nth, (value, name)) in self.levels.iter().enumerate() {
            let dash = if nth == 0 { Dash::Dotted } else { Dash::Short };
            let height = axes.y.at(*value);
            let ends = [pos2(rect.left(), height), pos2(rect.right(), height)];
            pen.lines(dash.lines(ends, 1.0, weak).collect());
            let below = y + (n_curves + nth) as f32 * LINE_PT;
            let key = [pos2(rect.left(), below), pos2(rect.left() + 4.0 * GRID, below)];
            pen.lines(dash.lines(key, 1.0, weak).collect());
            pen.text(name, SMALL, text, pos2(rect.left() + 6.0 * GRID, below), Align::Left);
        }
        for Curve { name, points, color } in self.curves.iter().filter(|curve| !curve.points.is_empty()) {
            let at: Vec<Pos2> = points.iter().map(|(x, of)| axes.at(*x, of.value)).collect();
            pen.lines(at.windows(2).map(|two| Line { from: two[0], to: two[1], width: 1.25, color: *color }).collect());
            for ((x, of), at) in points.iter().zip(&at) {
                pen.line(axes.at(*x, of.low), axes.at(*x, of.high), 1.5, *color);
                square(*at, MEAN_PT, *color, pen);
            }
            pen.line(pos2(rect.left(), y), pos2(rect.left() + 4.0 * GRID, y), 1.5, *color);
            pen.text(name, SMALL, text, pos2(rect.left() + 6.0 * GRID, y), Align::Left);
            y += LINE_PT;
        }
    }
}
