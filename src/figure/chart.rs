//! A chart as plain data: the display list of a figure and the plot of the window are made from the same one.

use emath::{Rangef, Rect};

use super::{
    list::Rgba,
    views::axes::{Axes, Axis},
};
use crate::text::{norm_text, stepped_text};

/// Series over two axes, with the values that matter.
#[derive(Clone, Debug)]
pub struct Chart {
    pub title: String,
    /// What the series come to, in a few words; empty where nothing is to be said.
    pub note: String,
    pub x: ChartAxis,
    pub y: ChartAxis,
    /// From back to front.
    pub series: Vec<Series>,
    pub marks: Vec<Mark>,
}

impl Chart {
    /// Both axes over a rectangle.
    pub fn axes(&self, rect: Rect) -> Axes {
        let axis = |axis: &ChartAxis, points: Rangef| Axis { from: axis.from, to: axis.to, points };
        Axes { x: axis(&self.x, rect.x_range()), y: axis(&self.y, Rangef::new(rect.bottom(), rect.top())) }
    }
}

/// One of the axes, as much of it as is seen at first.
#[derive(Clone, Debug)]
pub struct ChartAxis {
    pub title: String,
    pub from: f64,
    pub to: f64,
    pub scale: Scale,
}

impl ChartAxis {
    /// Over all finite values, with a little room.
    pub fn over(title: impl Into<String>, scale: Scale, values: impl Iterator<Item = f64>) -> Self {
        let Axis { from, to, .. } = Axis::over(values, Rangef::new(0.0, 1.0));
        Self { title: title.into(), from, to, scale }
    }
}

/// What the numbers of an axis are.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scale {
    Linear,
    /// Only whole numbers mean something.
    Whole,
    /// Exponents of two.
    PowersOfTwo,
}

impl Scale {
    /// Round values within a range, about `n`.
    pub fn ticks(self, (from, to): (f64, f64), n: usize) -> Vec<f64> {
        let mut ticks = Axis { from, to, points: Rangef::new(0.0, 1.0) }.ticks(n);
        if self != Self::Linear {
            ticks.retain(|value| value.fract() == 0.0);
        }
        ticks
    }

    /// A number of the axis, whose numbers are `step` apart.
    pub fn text(self, value: f64, step: f64) -> String {
        match self {
            Self::Linear => stepped_text(value, step),
            Self::Whole => stepped_text(value, 1.0),
            Self::PowersOfTwo => norm_text(value.exp2()),
        }
    }
}

/// Points of one kind.
#[derive(Clone, Debug)]
pub struct Series {
    pub name: String,
    pub shape: SeriesShape,
    pub color: Rgba,
    /// Width of the line, or side of a point.
    pub width: f32,
    /// Points that are joined; between two runs is a gap.
    pub runs: Vec<Vec<[f64; 2]>>,
}

impl Series {
    /// All points, those of the first run first.
    pub fn points(&self) -> impl Iterator<Item = [f64; 2]> + '_ {
        self.runs.iter().flatten().copied()
    }

    /// The straight pieces of a line.
    pub fn segments(&self) -> impl Iterator<Item = [[f64; 2]; 2]> + '_ {
        self.runs.iter().flat_map(|run| run.windows(2).map(|pair| [pair[0], pair[1]]))
    }
}

/// How the points of a series are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SeriesShape {
    Line,
    Points,
}

/// A value across the whole chart.
#[derive(Clone, Debug)]
pub struct Mark {
    /// The axis that it is a value of.
    pub of: MarkOf,
    pub value: f64,
    /// Empty where the value speaks for itself.
    pub name: String,
    pub color: Rgba,
    pub width: f32,
}

/// The axis of a [`Mark`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum MarkOf {
    X,
    Y,
}

/// Runs of points; where there is none is a gap.
pub fn runs(points: impl IntoIterator<Item = Option<[f64; 2]>>) -> Vec<Vec<[f64; 2]>> {
    let mut runs: Vec<Vec<[f64; 2]>> = vec![Vec::new()];
    for point in points {
        match (point, runs.last_mut()) {
            (Some(point), Some(run)) => run.push(point),
            (None, Some(run)) if !run.is_empty() => runs.push(Vec::new()),
            _ => {}
        }
    }
    runs.retain(|run| !run.is_empty());
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gaps_part_runs_and_numbers_of_an_axis_suit_its_steps() {
        let at = |x: f64| Some([x, 1.0]);
        let found = runs([None, at(0.0), at(1.0), None, None, at(4.0), None]);
        assert_eq!(found, [vec![[0.0, 1.0], [1.0, 1.0]], vec![[4.0, 1.0]]]);
        let series = Series { name: String::new(), shape: SeriesShape::Line, color: [0; 4], width: 1.0, runs: found };
        assert_eq!((series.points().count(), series.segments().count()), (3, 1));
        assert_eq!(Scale::Linear.text(-0.25, 0.05), "−0.25");
        assert_eq!(Scale::Whole.ticks((-1.2, 1.2), 8), [-1.0, 0.0, 1.0]);
        assert_eq!(Scale::PowersOfTwo.text(-2.0, 1.0), "0.250");
    }
}
