//! The charts of the tests: how each is drawn, and what it says at a place.

use std::f64::consts::LN_2;

use emath::{Pos2, Rect, pos2, vec2};

use crate::{
    analysis::{
        bootstrap::Estimate,
        debate::{BoxOf, DebateTest, Histogram, InputPoint},
    },
    figure::{
        chart::Scale,
        font::Align,
        list::{Line, Rgba, faded},
        measure::{GRID, text_size::SMALL},
        multiples::{Around, MEAN_PT, axes, grid, interval, level, named_below, numbers_below, square, upright},
        palette::Dash,
        pen::Pen,
        views::axes::Axes,
    },
    text::{counted, decimal_text, grouped, share_text},
};

/// Room for numbers, titles and words.
const AROUND_PT: Around = Around([9.0 * GRID, 9.0 * GRID, 4.0 * GRID, 46.0 * GRID]);
/// From the chart to the names of boxes, the title of its axis, and the words below.
const BELOW_PT: [f32; 3] = [3.0 * GRID, 10.0 * GRID, 13.0 * GRID];
const POINT_PT: f32 = 1.25;
/// A point is under the pointer within this.
const NEAR_PT: f32 = 7.0;
/// Half of a box, where boxes are one apart.
const HALF: f64 = 0.28;

/// One chart.
pub(super) struct Panel<'a> {
    pub test: DebateTest,
    pub title: &'static str,
    /// The name of the level axis.
    pub x: &'static str,
    pub drawn: Drawn<'a>,
    /// The result in words.
    pub note: String,
}

/// What a chart draws.
pub(super) enum Drawn<'a> {
    /// Shares of inputs over a range, with a value for comparison.
    Histograms { of: &'a [Histogram], what: &'static str, range: [f64; 2], beside: Option<f64> },
    /// Boxes beside each other, over the inputs that they are of where those are known by their largest weights.
    Boxes {
        of: Vec<(String, Option<&'a BoxOf>)>,
        points: &'a [InputPoint],
        what: &'static str,
        top: f64,
        scale: fn(f64) -> String,
    },
    /// Inputs by their length, means with intervals, and a value for comparison.
    Points { of: &'a [InputPoint], means: &'a [(f64, Estimate)], beside: f64 },
}

/// What a chart says at a place.
#[derive(Clone, Debug, PartialEq)]
pub struct ChartReading {
    /// What is marked.
    pub place: Rect,
    /// In words, a line each.
    pub lines: Vec<String>,
    /// The input that a point is.
    pub input: Option<usize>,
}

impl Panel<'_> {
    pub(super) fn draw(&self, area: Rect, pen: &mut Pen<'_>, is_first_of_test: bool) {
        let frame = AROUND_PT.titled(self.title, area, pen);
        let axes = self.drawn.axes(frame);
        match &self.drawn {
            Drawn::Histograms { of, range, beside, .. } => histograms(of, *range, *beside, (&axes, frame), pen),
            Drawn::Boxes { of, points, scale, .. } => boxes(of, points, *scale, (&axes, frame), pen),
            Drawn::Points { of, means, beside } => points(of, means, *beside, (&axes, frame), pen),
        }
        let [_, axis, words] = BELOW_PT;
        named_below(self.x, frame, axis, pen);
        let (mut at, width) = (pos2(area.left() + GRID, frame.bottom() + words), area.width() - 2.0 * GRID);
        if !self.note.is_empty() {
            at.y += pen.paragraph(&self.note, SMALL, pen.palette.text, at, width);
        }
        if is_first_of_test {
            at.y += 0.5 * GRID;
            pen.paragraph(self.test.published(), SMALL, pen.palette.text_weak, at, width);
        }
    }

    /// What it says at a place of its area: the nearest input, else what stands there.
    pub(super) fn read(&self, area: Rect, at: Pos2) -> Option<ChartReading> {
        let frame = AROUND_PT.frame(area);
        let axes = self.drawn.axes(frame);
        let near = self.drawn.points().map(|(point, [x, y])| (point, axes.at(x, y)));
        let near = near.map(|(point, place)| (point, place, place.distance(at))).filter(|(.., far)| *far < NEAR_PT);
        if let Some((point, place, _)) = near.min_by(|a, b| a.2.total_cmp(&b.2)) {
            let place = Rect::from_center_size(place, vec2(NEAR_PT, NEAR_PT));
            return Some(ChartReading { place, lines: vec![self.drawn.point_text(point)], input: Some(point.input) });
        }
        if !frame.contains(at) {
            return None;
        }
        let column = |nth: usize, n: usize| {
            let width = frame.width() / n as f32;
            let left = frame.left() + nth as f32 * width;
            Rect::from_x_y_ranges(left..=left + width, frame.y_range())
        };
        let part = (at.x - frame.left()) / frame.width();
        let nth = |n: usize| ((part * n as f32) as usize).min(n.saturating_sub(1));
        match &self.drawn {
            Drawn::Histograms { of, what, range: [from, to], .. } => {
                let n = of.first()?.shares.len();
                let bin = nth(n);
                let edge = |bin: usize| decimal_text(from + (to - from) * bin as f64 / n as f64);
                let mut lines = vec![format!("{what} {} to {}", edge(bin), edge(bin + 1))];
                lines.extend(of.iter().map(|of| {
                    let class = if of.class.is_empty() { String::new() } else { format!(" {}", of.class) };
                    format!("{} of {}{class}", share_text(of.shares[bin]), grouped(of.n))
                }));
                Some(ChartReading { place: column(bin, n), lines, input: None })
            }
            Drawn::Boxes { of, what, scale, .. } => {
                let bin = nth(of.len());
                let (name, found) = of.get(bin)?;
                let title = format!("{}: {name}", self.x);
                let lines = match found {
                    None => vec![title, "no inputs".to_owned()],
                    Some(BoxOf { five: [least, lower, median, upper, most], n, mean }) => vec![
                        format!("{title}, {}", counted(*n, "input")),
                        format!("{what}: median {}, quartiles {} and {}", scale(*median), scale(*lower), scale(*upper)),
                        format!("{} to {}, mean {}", scale(*least), scale(*most), interval(*mean, scale)),
                    ],
                };
                Some(ChartReading { place: column(bin, of.len()), lines, input: None })
            }
            Drawn::Points { .. } => None,
        }
    }
}

impl<'a> Drawn<'a> {
    fn axes(&self, frame: Rect) -> Axes {
        match self {
            Self::Histograms { of, range, .. } => {
                let top = of.iter().flat_map(|of| &of.shares).copied().fold(0.0, f64::max);
                axes([*range, [0.0, 1.08 * top.max(1e-6)]], frame)
            }
            Self::Boxes { of, top, .. } => axes([[0.0, of.len() as f64], [0.0, *top]], frame),
            Self::Points { of, .. } => {
                let longest = of.iter().map(|point| point.at[0]).fold(1.0, f64::max);
                axes([[0.0, 1.03 * longest], [0.0, LN_2 * 1.03]], frame)
            }
        }
    }

    /// The inputs that it draws, with their values along its axes.
    fn points(&self) -> impl Iterator<Item = (&'a InputPoint, [f64; 2])> {
        let (points, times) = match self {
            Self::Histograms { .. } => (&[][..], 1.0),
            // A quarter of the weights is one box wide.
            Self::Boxes { of, points, .. } => (*points, of.len() as f64),
            Self::Points { of, .. } => (*of, 1.0),
        };
        points.iter().map(move |point| (point, [times * point.at[0], point.at[1]]))
    }

    fn point_text(&self, InputPoint { at: [x, y], .. }: &InputPoint) -> String {
        match self {
            Self::Boxes { what, scale, .. } => format!("largest weight {}, {what} {}", decimal_text(*x), scale(*y)),
            Self::Histograms { .. } | Self::Points { .. } => {
                format!("{}, JSD {}", counted(*x as usize, "token"), decimal_text(*y))
            }
        }
    }
}

fn histograms(
    of: &[Histogram],
    [from, to]: [f64; 2],
    beside: Option<f64>,
    (axes, frame): (&Axes, Rect),
    pen: &mut Pen<'_>,
) {
    grid(axes, frame, &|value, _| share_text(value), pen);
    numbers_below(axes, frame, Scale::Linear, pen);
    let mut name_at = frame.right();
    for (nth, histogram) in of.iter().enumerate().rev() {
        let color = if of.len() == 1 { pen.palette.bar } else { pen.palette.head(nth) };
        let width = (to - from) / histogram.shares.len() as f64;
        let mut outline: Vec<Pos2> = Vec::new();
        for (bin, share) in histogram.shares.iter().enumerate() {
            let ends = [bin, bin + 1].map(|edge| axes.at(from + edge as f64 * width, *share));
            let bar = Rect::from_min_max(ends[0], pos2(ends[1].x, frame.bottom()));
            if *share > 0.0 {
                pen.rect(bar, faded(color, 0.25));
            }
            outline.extend(ends);
        }
        let line = |pair: &[Pos2]| Line { from: pair[0], to: pair[1], width: 1.0, color };
        pen.lines(outline.windows(2).filter(|pair| pair[0] != pair[1]).map(line).collect());
        upright(axes, histogram.mean, frame, Dash::Solid, color, pen);
        if of.len() > 1 {
            let name = format!("{} {}", histogram.class, grouped(histogram.n));
            let at = pos2(name_at, frame.top() - 2.0 * GRID);
            name_at -= pen.text(&name, SMALL, color, at, Align::Right) + 3.0 * GRID;
        }
    }
    if let Some(value) = beside {
        upright(axes, value, frame, Dash::Dotted, pen.palette.text_weak, pen);
    }
}

fn boxes(
    of: &[(String, Option<&BoxOf>)],
    points: &[InputPoint],
    scale: fn(f64) -> String,
    (axes, frame): (&Axes, Rect),
    pen: &mut Pen<'_>,
) {
    grid(axes, frame, &|value, _| scale(value), pen);
    let (color, text, weak) = (pen.palette.head(0), pen.palette.text, pen.palette.text_weak);
    for InputPoint { at: [largest, value], .. } in points {
        square(axes.at(of.len() as f64 * largest, *value), 2.0 * POINT_PT, faded(color, 0.35), pen);
    }
    for (nth, (name, found)) in of.iter().enumerate() {
        let middle = nth as f64 + 0.5;
        let below = pos2(axes.x.at(middle), frame.bottom() + BELOW_PT[0]);
        pen.text(name, SMALL, weak, below, Align::Center);
        let n = format!("n {}", grouped(found.map_or(0, |of| of.n)));
        pen.text(&n, SMALL, weak, below + vec2(0.0, 3.25 * GRID), Align::Center);
        let Some(BoxOf { five: [least, lower, median, upper, most], mean, .. }) = found else { continue };
        let part = |low: f64, high: f64| Rect::from_min_max(axes.at(middle - HALF, high), axes.at(middle + HALF, low));
        let upright = |low: f64, high: f64, width: f32, color: Rgba| Line {
            from: axes.at(middle, low),
            to: axes.at(middle, high),
            width,
            color,
        };
        pen.lines(vec![upright(*least, *lower, 1.0, color), upright(*upper, *most, 1.0, color)]);
        let quartiles = part(*lower, *upper);
        pen.rect(quartiles, faded(color, 0.3));
        pen.frame(quartiles, 0.75, color);
        pen.line(axes.at(middle - HALF, *median), axes.at(middle + HALF, *median), 2.0, color);
        // The mean with its interval.
        pen.lines(vec![upright(mean.low, mean.high, 2.0, text)]);
        square(axes.at(middle, mean.value), MEAN_PT, text, pen);
    }
}

fn points(of: &[InputPoint], means: &[(f64, Estimate)], beside: f64, (axes, frame): (&Axes, Rect), pen: &mut Pen<'_>) {
    grid(axes, frame, &|value, _| decimal_text(value), pen);
    numbers_below(axes, frame, Scale::Whole, pen);
    let color = faded(pen.palette.head(0), 0.35);
    for InputPoint { at: [x, y], .. } in of {
        square(axes.at(*x, *y), 2.0 * POINT_PT, color, pen);
    }
    let text = pen.palette.text;
    level(axes, beside, frame, pen.palette.text_weak, pen);
    let mean = means.iter().map(|(x, of)| axes.at(*x, of.value)).collect::<Vec<Pos2>>();
    pen.lines(mean.windows(2).map(|pair| Line { from: pair[0], to: pair[1], width: 1.5, color: text }).collect());
    for (x, of) in means {
        pen.line(axes.at(*x, of.low), axes.at(*x, of.high), 2.0, text);
        square(axes.at(*x, of.value), MEAN_PT, text, pen);
    }
}
