//! Quality by length as a figure: right tokens or BLEU of one or two models, and their difference.

use emath::{Rangef, Rect, pos2, vec2};

use super::{
    chart::{Chart, ChartAxis, Mark, MarkOf, Scale, Series, SeriesShape},
    font::Align,
    list::{Line, Rgba, faded},
    measure::{GRID, text_size::SMALL},
    page::{Captions, Scene},
    palette::Palette,
    pen::Pen,
    views::joined,
};
use crate::{
    analysis::lengths::{Estimate, LengthBin, LengthCurve},
    text::{change_text, counted, decimal_text, stepped_text},
};

/// Room for numbers and titles around a chart: left, above, right, below.
const AROUND_PT: [f32; 4] = [11.0 * GRID, 6.0 * GRID, 4.0 * GRID, 19.0 * GRID];
const POINT_RADIUS_PT: f32 = 2.5;
/// Intervals, line and points.
const N_SERIES: usize = 3;
/// Between the points of two models at one length.
const APART_PT: f32 = 5.0;
const TICKS: usize = 5;

/// Quality by length of one or two models.
#[derive(Clone, Debug)]
pub struct LengthScene {
    /// What the models are called.
    pub models: Vec<String>,
    pub curve: LengthCurve,
}

impl LengthScene {
    /// The measure of each model; of two, also their difference.
    pub fn charts(&self, palette: &Palette) -> Vec<Chart> {
        let of_model = |model: usize| move |bin: &LengthBin| bin.quality.get(model).copied();
        let models = (0..self.models.len()).flat_map(|model| {
            let (name, color) = (self.models[model].as_str(), palette.head(model));
            series(name, color, &self.points(&of_model(model)))
        });
        let models = chart(self.curve.measure.title(), models.collect(), Vec::new());
        let slope = self.curve.slope.map(|slope| {
            let gap = series("", palette.text, &self.points(&|bin| bin.difference)).into();
            let zero = Mark { of: MarkOf::Y, value: 0.0, name: String::new(), color: palette.rule, width: 0.75 };
            Chart { note: slope_text(slope), ..chart(&self.difference_title(), gap, vec![zero]) }
        });
        std::iter::once(models).chain(slope).collect()
    }

    fn difference_title(&self) -> String {
        format!("{} less {}", self.models[0], self.models[self.models.len() - 1])
    }

    /// The bins with a value, at the mean length of their sentences.
    fn points(&self, of: &dyn Fn(&LengthBin) -> Option<Estimate>) -> Vec<(f64, Estimate)> {
        self.curve.bins.iter().filter_map(|bin| Some((bin.mean, of(bin)?))).collect()
    }

    fn draw_chart(&self, chart: &Chart, area: Rect, pen: &mut Pen<'_>) {
        let [left, above, right, below] = AROUND_PT;
        let rect = Rect::from_min_max(area.min + vec2(left, above), area.max - vec2(right, below));
        let (axes, weak) = (chart.axes(rect), pen.palette.text_weak);
        let title = pos2(rect.left(), area.top() + 2.0 * GRID);
        pen.text(&chart.title, SMALL, pen.palette.text, title, Align::Left);
        let ticks = axes.y.ticks(TICKS);
        let step = ticks.windows(2).map(|pair| pair[1] - pair[0]).next().unwrap_or(0.1);
        for value in ticks {
            let y = axes.y.at(value);
            pen.line(pos2(rect.left(), y), pos2(rect.right(), y), 0.5, faded(pen.palette.rule, 0.6));
            let text = stepped_text(100.0 * value, 100.0 * step);
            pen.text(&text, SMALL, weak, pos2(rect.left() - GRID, y), Align::Right);
        }
        for mark in &chart.marks {
            let y = axes.y.at(mark.value);
            pen.line(pos2(rect.left(), y), pos2(rect.right(), y), 1.0, weak);
        }
        let mut name_at = rect.right();
        for (nth, series) in chart.series.iter().enumerate().rev() {
            let middle = (chart.series.len() / N_SERIES - 1) as f32 / 2.0;
            let aside = vec2(APART_PT * ((nth / N_SERIES) as f32 - middle), 0.0);
            let line = |[from, to]: [[f64; 2]; 2]| {
                let [from, to] = [from, to].map(|[x, y]| axes.at(x, y) + aside);
                Line { from, to, width: series.width, color: series.color }
            };
            pen.lines(series.segments().map(line).collect());
            if series.shape == SeriesShape::Points {
                for [x, y] in series.points() {
                    let size = vec2(2.0 * POINT_RADIUS_PT, 2.0 * POINT_RADIUS_PT);
                    pen.rect(Rect::from_center_size(axes.at(x, y) + aside, size), series.color);
                }
                let at = pos2(name_at, area.top() + 2.0 * GRID);
                name_at -= pen.text(&series.name, SMALL, series.color, at, Align::Right) + 4.0 * GRID;
            }
        }
        pen.line(rect.left_bottom(), rect.right_bottom(), 0.75, pen.palette.rule);
        for bin in &self.curve.bins {
            let x = axes.x.at(bin.mean);
            let range =
                if bin.least == bin.most { bin.least.to_string() } else { format!("{}–{}", bin.least, bin.most) };
            pen.text(&range, SMALL, weak, pos2(x, rect.bottom() + 3.0 * GRID), Align::Center);
            pen.text(
                &format!("n {}", bin.n_sentences),
                SMALL,
                weak,
                pos2(x, rect.bottom() + 6.5 * GRID),
                Align::Center,
            );
        }
        let middle = pos2(rect.center().x, rect.bottom() + 10.0 * GRID);
        pen.text(&chart.x.title, SMALL, weak, middle, Align::Center);
        let note = pos2(rect.left(), rect.bottom() + 12.0 * GRID);
        pen.paragraph(&chart.note, SMALL, pen.palette.text, note, rect.width() + right);
    }
}

/// A chart over the words of the source.
fn chart(title: &str, series: Vec<Series>, marks: Vec<Mark>) -> Chart {
    let along = |nth: usize| series.iter().flat_map(Series::points).map(move |point| point[nth]).collect::<Vec<_>>();
    let zero = marks.iter().map(|mark| mark.value);
    let y = ChartAxis::over("", Scale::Linear, along(1).into_iter().chain(zero));
    let x = ChartAxis::over("words of the source", Scale::Whole, along(0).into_iter());
    Chart { title: title.to_owned(), note: String::new(), x, y, series, marks }
}

/// Values with their intervals: a line through the values, one across each interval, and the points.
fn series(name: &str, color: Rgba, points: &[(f64, Estimate)]) -> [Series; N_SERIES] {
    let values: Vec<[f64; 2]> = points.iter().map(|(x, estimate)| [*x, estimate.value]).collect();
    let spans = points.iter().map(|(x, estimate)| vec![[*x, estimate.low], [*x, estimate.high]]).collect();
    let of = |shape, width, runs| Series { name: name.to_owned(), shape, color, width, runs };
    [
        of(SeriesShape::Line, 1.0, spans),
        of(SeriesShape::Line, 1.5, vec![values.clone()]),
        // A run of its own each: points are not joined again.
        of(SeriesShape::Points, 0.0, values.into_iter().map(|value| vec![value]).collect()),
    ]
}

/// Growth of a difference in words, in percentage points for ten words more.
pub fn slope_text(slope: Estimate) -> String {
    let [value, low, high] = [slope.value, slope.low, slope.high].map(|slope| change_text(1000.0 * slope));
    let verdict = match (slope.differs(), slope.value > 0.0) {
        (false, _) => "has no sure change with length",
        (true, true) => "grows with length",
        (true, false) => "shrinks with length",
    };
    format!("The difference {verdict}: {value} points for ten words more, 95 % {low} to {high}")
}

/// A number in hundredths with its interval.
pub fn with_interval(Estimate { value, low, high }: Estimate) -> String {
    let [value, low, high] = [value, low, high].map(|part| decimal_text(100.0 * part));
    format!("{value} ({low} to {high})")
}

impl Scene for LengthScene {
    fn width(&self, _: &mut Pen<'_>) -> f32 {
        if self.models.len() > 1 { 760.0 } else { 420.0 }
    }

    fn least_width(&self, pen: &mut Pen<'_>) -> f32 {
        0.75 * self.width(pen)
    }

    fn height(&self, _: f32, _: &mut Pen<'_>) -> f32 {
        330.0
    }

    fn least_height(&self, _: f32, _: &mut Pen<'_>) -> f32 {
        220.0
    }

    fn draw(&self, area: Rect, pen: &mut Pen<'_>) {
        let charts = self.charts(&pen.palette);
        let width = area.width() / charts.len() as f32;
        for (nth, chart) in charts.iter().enumerate() {
            let left = area.left() + nth as f32 * width;
            let part = Rect::from_x_y_ranges(Rangef::new(left, left + width), area.y_range());
            self.draw_chart(chart, part, pen);
        }
    }

    fn captions(&self) -> Captions {
        let n = self.curve.bins.iter().map(|bin| bin.n_sentences).sum();
        let what = format!("{}, over {}", self.curve.measure.meaning(), counted(n, "sentence"));
        let how =
            "Points stand at the mean length of their sentences; bars are 95 % of 1,000 sets of sentences drawn anew";
        Captions { short: what.clone(), full: joined([what.as_str(), how]) }
    }
}
