//! A chart of named rows: a share with its interval in each, on one axis from 0 to 1.

use emath::{Rect, pos2, vec2};

use super::{
    font::Align,
    list::faded,
    measure::{GRID, text_size::SMALL},
    page::{Captions, Scene},
    palette::Dash,
    pen::Pen,
    views::axes::Axis,
};
use crate::analysis::bootstrap::Estimate;

const LINE_PT: f32 = 5.0 * GRID;
const MARK_PT: f32 = 7.0;
/// Room for the name of the level, and for numbers and the name of the axis.
const AROUND_PT: f32 = 4.0 * LINE_PT;

/// One row.
#[derive(Clone, Debug)]
pub struct DotRow {
    pub name: String,
    pub value: Estimate,
    /// What it is held against.
    pub baseline: Option<f64>,
    /// Stands at its end.
    pub text: String,
}

/// All rows, from above.
#[derive(Clone, Debug)]
pub struct DotRows {
    pub rows: Vec<DotRow>,
    /// What is counted.
    pub axis: &'static str,
    /// A share as the axis tells it.
    pub number: fn(f64) -> String,
    /// A value across all rows, with its name.
    pub level: Option<(f64, &'static str)>,
}

impl DotRows {
    /// Points from the first row's level to the name of the axis.
    pub fn height(&self) -> f32 {
        AROUND_PT + LINE_PT * self.rows.len() as f32
    }

    /// Draws them.
    pub fn draw(&self, area: Rect, pen: &mut Pen<'_>) {
        let widest = |pen: &mut Pen<'_>, of: fn(&DotRow) -> &str| {
            self.rows.iter().map(|row| pen.type_.width(of(row), SMALL)).fold(0.0, f32::max)
        };
        let (names, texts) = (widest(pen, |row| &row.name), widest(pen, |row| &row.text));
        let top = area.top() + LINE_PT;
        let chart = Rect::from_min_max(
            pos2(area.left() + names + 3.0 * GRID, top),
            pos2(area.right() - texts - 3.0 * GRID, top + LINE_PT * self.rows.len() as f32),
        );
        let axis = Axis { from: 0.0, to: 1.0, points: chart.x_range() };
        let (weak, text, color) = (pen.palette.text_weak, pen.palette.text, pen.palette.head(0));
        for value in [0.0, 0.25, 0.5, 0.75, 1.0] {
            let x = axis.at(value);
            pen.line(pos2(x, chart.top()), pos2(x, chart.bottom()), 0.5, faded(pen.palette.rule, 0.6));
            pen.text(&(self.number)(value), SMALL, weak, pos2(x, chart.bottom() + 3.0 * GRID), Align::Center);
        }
        if let Some((value, name)) = self.level {
            let x = axis.at(value);
            pen.lines(Dash::Dotted.lines([pos2(x, chart.top()), pos2(x, chart.bottom())], 1.0, weak).collect());
            pen.text(name, SMALL, weak, pos2(x, area.top() + 2.0 * GRID), Align::Center);
        }
        for (nth, row) in self.rows.iter().enumerate() {
            let y = chart.top() + LINE_PT * (nth as f32 + 0.5);
            pen.text(&row.name, SMALL, text, pos2(chart.left() - 2.0 * GRID, y), Align::Right);
            pen.line(pos2(axis.at(row.value.low), y), pos2(axis.at(row.value.high), y), 1.25, faded(color, 0.7));
            pen.rect(Rect::from_center_size(pos2(axis.at(row.value.value), y), vec2(MARK_PT, MARK_PT)), color);
            if let Some(baseline) = row.baseline {
                let x = axis.at(baseline);
                pen.line(pos2(x, y - MARK_PT), pos2(x, y + MARK_PT), 1.5, weak);
            }
            pen.text(&row.text, SMALL, text, pos2(chart.right() + 2.0 * GRID, y), Align::Left);
        }
        let below = pos2(chart.center().x, chart.bottom() + 8.0 * GRID);
        pen.text(self.axis, SMALL, weak, below, Align::Center);
    }
}

/// Such a chart as a figure.
#[derive(Clone, Debug)]
pub struct DotFigure {
    pub chart: DotRows,
    /// Points: the least at which nothing overlaps, and those that suit it.
    pub widths: [f32; 2],
    pub captions: Captions,
}

impl Scene for DotFigure {
    fn width(&self, _: &mut Pen<'_>) -> f32 {
        self.widths[1]
    }

    fn least_width(&self, _: &mut Pen<'_>) -> f32 {
        self.widths[0]
    }

    fn height(&self, _: f32, _: &mut Pen<'_>) -> f32 {
        self.chart.height()
    }

    fn least_height(&self, _: f32, _: &mut Pen<'_>) -> f32 {
        self.chart.height()
    }

    fn draw(&self, area: Rect, pen: &mut Pen<'_>) {
        self.chart.draw(area, pen);
    }

    fn captions(&self) -> Captions {
        self.captions.clone()
    }
}
