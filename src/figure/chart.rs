//! A chart as plain data: the display list of a figure and the plot of the window are made from the same one.

use emath::{Pos2, Rangef, Rect, vec2};

use super::{
    list::{Line, Rgba},
    views::axes::{Axes, Axis},
};
use crate::text::{norm_text, power_text, stepped_text, whole_text};

/// A value this many times as large as the second largest would flatten the others.
const FLATTENS: f64 = 4.0;
/// Where an axis ends then, by the second largest value: there is room above it for the name of the largest.
const ABOVE_REST: f64 = 1.5;
/// Between the shaft of an arrow and a side of its tip.
const TIP_TURN: f32 = std::f32::consts::TAU / 14.0;

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
    /// Points above `top`, a value of the second axis: where along the first axis each is, and its value in words. Of
    /// several series the first names it.
    pub fn beyond(&self, top: f64) -> Vec<(f64, String)> {
        let mut beyond: Vec<(f64, String)> = Vec::new();
        for [x, y] in self.series.iter().flat_map(Series::points).filter(|[_, y]| *y > top) {
            if beyond.iter().all(|(known, _)| (known - x).abs() > f64::EPSILON) {
                beyond.push((x, format!("{}: {} ↑", self.x.scale.text(x, 1.0), norm_text(y))));
            }
        }
        beyond
    }

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
    /// From 0 over all values; one that is so large that the others would lie flat is cut off.
    pub fn from_zero(title: impl Into<String>, scale: Scale, values: impl Iterator<Item = f64>) -> Self {
        let mut sizes: Vec<f64> = values.filter(|value| value.is_finite()).collect();
        sizes.sort_by(|a, b| b.total_cmp(a));
        let to = match sizes[..] {
            [first, second, third, ..] if second > 0.0 && third > 0.0 && first > FLATTENS * second => {
                ABOVE_REST * second
            }
            [first, ..] if first > 0.0 => 1.03 * first,
            _ => 1.0,
        };
        Self { title: title.into(), from: 0.0, to, scale }
    }

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
    /// Exponents of ten.
    PowersOfTen,
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
            Self::PowersOfTwo if value >= 0.0 => whole_text(value.exp2()),
            Self::PowersOfTwo => norm_text(value.exp2()),
            Self::PowersOfTen => power_text(value.round() as i32),
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

    /// The straight pieces of a line, as far as they lie below `top`.
    pub fn segments_below(&self, top: f64) -> impl Iterator<Item = [[f64; 2]; 2]> + '_ {
        let cut = move |[from, to]: [[f64; 2]; 2]| {
            let end = |a: [f64; 2], b: [f64; 2]| {
                let part = if a[1] > top { (top - a[1]) / (b[1] - a[1]) } else { 0.0 };
                [a[0] + part * (b[0] - a[0]), a[1] + part * (b[1] - a[1])]
            };
            (from[1] <= top || to[1] <= top).then(|| [end(from, to), end(to, from)])
        };
        self.segments().filter_map(cut)
    }

    /// The strokes of its arrows.
    pub fn arrows(&self, axes: &Axes) -> Vec<Line> {
        let ends = self.runs.iter().filter_map(|run| Some([*run.first()?, *run.last()?]));
        let strokes = ends.flat_map(|[from, to]| arrow(axes.at(from[0], from[1]), axes.at(to[0], to[1])));
        strokes.map(|[from, to]| Line { from, to, width: self.width, color: self.color }).collect()
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
    /// Each run is an arrow from its first point to its last.
    Arrows,
}

/// How long the sides of the tip of an arrow are.
pub const TIP_PT: f32 = 5.0;

/// The strokes of an arrow: its shaft and the two sides of its tip; one that is too short to be seen has none.
pub fn arrow(from: Pos2, to: Pos2) -> Vec<[Pos2; 2]> {
    let length = (to - from).length();
    if length < 1.0 {
        return Vec::new();
    }
    let back = (from - to) / length * TIP_PT.min(length / 2.0);
    let side = |turn: f32| {
        let (sin, cos) = turn.sin_cos();
        [to, to + vec2(cos * back.x - sin * back.y, sin * back.x + cos * back.y)]
    };
    vec![[from, to], side(TIP_TURN), side(-TIP_TURN)]
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
        let powers = [-2.0, 0.0, 4.0, 9.0].map(|power| Scale::PowersOfTen.text(power, 1.0));
        assert_eq!(powers, ["0.01", "1", "10,000", "10⁹"]);
    }

    #[test]
    fn one_spike_is_cut_off_and_named_and_equals_are_not() {
        let axis = |values: &[f64]| ChartAxis::from_zero("weight", Scale::Linear, values.iter().copied());
        let spiked = axis(&[0.01, 0.93, 0.04, 0.02]);
        assert!((spiked.to - 0.06).abs() < 1e-12, "{spiked:?}");
        for whole in [&[0.3, 0.9, 0.4][..], &[0.9, 0.0, 0.0], &[0.9, 0.1]] {
            assert!(axis(whole).to > 0.9, "{whole:?}");
        }
        assert!((axis(&[]).to - 1.0).abs() < 1e-12);
        let points = vec![[-2.0, 0.04], [-1.0, 0.93], [0.0, 0.02]];
        let series = |name: &str| Series {
            name: name.to_owned(),
            shape: SeriesShape::Line,
            color: [0; 4],
            width: 1.0,
            runs: vec![points.clone()],
        };
        let x = ChartAxis::over("offset", Scale::Whole, [-2.0, 0.0].into_iter());
        let (title, note) = (String::new(), String::new());
        let chart = Chart { title, note, x, y: spiked, series: vec![series("all"), series("some")], marks: Vec::new() };
        assert_eq!(chart.beyond(chart.y.to), [(-1.0, "−1: 0.930 ↑".to_owned())]);
        assert!(chart.beyond(1.0).is_empty());
        let below = chart.series[0].segments_below(chart.y.to).collect::<Vec<_>>();
        assert!(below.iter().flatten().all(|[_, y]| *y <= chart.y.to + 1e-12) && below.len() == 2, "{below:?}");
    }
}
