//! Parts of what attention costs, as they are drawn.

use emath::{Rect, Vec2, pos2, vec2};

use super::{CostPart, CostScene, Curve, LONGEST_POWER, SHORTEST_POWER};
use crate::{
    analysis::timing::Timing,
    capture::{Matrix, RgbaBuffer},
    figure::{
        chart::{Chart, ChartAxis, Mark, MarkOf, Scale, Series, SeriesShape},
        font::Align,
        list::{Rgba, Sampling},
        measure::{GRID, text_size::SMALL},
        palette::Palette,
        pen::Pen,
        views::parts,
    },
    text::{counted, norm_text, share_text},
};

/// Operations and bytes are told in so many.
const BILLION: f64 = 1e9;
const MILLION: f64 = 1e6;
/// Radius of a measured time.
const MEASURED_PT: f32 = 3.0;
/// Pieces of a fitted curve, and the length of a dash, in powers of ten.
const N_STEPS: i32 = 32;
const DASH: f64 = 0.04;
/// Between the two maps, and below them for their names.
const BETWEEN_PT: f32 = 4.0 * GRID;

/// The places of a pattern and of its approximation in a part, each `[query, key]`.
pub fn maps(rect: Rect, [n_query, n_key]: [usize; 2]) -> [Rect; 2] {
    let data = parts::data(rect);
    let room = vec2((data.right() - rect.left() - BETWEEN_PT) / 2.0, data.height());
    let cell = (room.x / n_key.max(1) as f32).min(room.y / n_query.max(1) as f32);
    let size = Vec2::new(n_key as f32, n_query as f32) * cell;
    let left = pos2(rect.left(), data.top());
    [left, left + vec2(room.x + BETWEEN_PT, 0.0)].map(|at| Rect::from_min_size(at, size))
}

/// A level axis whose numbers are told as powers.
fn logarithmic(title: &str, scale: Scale, powers: impl Iterator<Item = f64>) -> ChartAxis {
    let (from, to) = powers.fold((f64::INFINITY, f64::NEG_INFINITY), |(from, to), at| (at.min(from), at.max(to)));
    // A single value has an axis too.
    ChartAxis { title: title.to_owned(), from, to: to.max(from + 1.0), scale }
}

/// The exponent of a number.
fn power(scale: Scale, value: f64) -> f64 {
    match scale {
        Scale::Linear | Scale::Whole => value,
        Scale::PowersOfTwo => value.log2(),
        Scale::PowersOfTen => value.log10(),
    }
}

/// A series for each line.
fn series(lines: &[Curve], [x, y]: [Scale; 2], unit: f64, palette: &Palette) -> Vec<Series> {
    let of = |(nth, (name, values)): (usize, &Curve)| Series {
        name: name.clone(),
        shape: SeriesShape::Line,
        color: palette.head(nth),
        width: 1.5,
        runs: vec![values.iter().map(|(at, value)| [power(x, *at as f64), power(y, value / unit)]).collect()],
    };
    lines.iter().enumerate().map(of).collect()
}

/// Measured seconds as points, and the curve through them, dashed beyond them.
fn seconds(timing: &Timing, palette: &Palette) -> Vec<Series> {
    let measured = timing.measured.iter().map(|it| [(it.n as f64).log10(), it.secs.log10()]);
    let points = Series {
        name: "measured".to_owned(),
        shape: SeriesShape::Points,
        color: palette.text,
        width: MEASURED_PT,
        runs: vec![measured.clone().collect()],
    };
    let Some(fit) = timing.fit() else { return vec![points] };
    let (from, to) = measured.fold((f64::INFINITY, 0.0_f64), |(from, to), [n, _]| (from.min(n), to.max(n)));
    let at = |power: f64| [power, fit.secs(10_f64.powf(power)).log10()];
    let [first, last] = [SHORTEST_POWER, LONGEST_POWER].map(|power| 2_f64.powi(power as i32).log10());
    let line = |name: String, runs| Series { name, shape: SeriesShape::Line, color: palette.head(0), width: 1.5, runs };
    let steps = 0..=N_STEPS;
    let within = steps.map(|step| at(from + (to - from) * f64::from(step) / f64::from(N_STEPS))).collect();
    // Every other piece of the way is drawn.
    let dashes = |[from, to]: [f64; 2]| {
        let n = (((to - from) / DASH).max(0.0) / 2.0).ceil() as usize;
        let dash = move |nth: usize| from + 2.0 * DASH * nth as f64;
        (0..n).map(move |nth| vec![at(dash(nth)), at((dash(nth) + DASH).min(to))])
    };
    let beyond = [[first, from], [to, last]].into_iter().flat_map(dashes).collect();
    vec![line(String::new(), beyond), line(fit.text(), vec![within]), points]
}

impl CostScene {
    /// Draws one part.
    pub(super) fn draw_one(&self, part: CostPart, rect: Rect, pen: &mut Pen<'_>) {
        let (facts, options) = (&self.facts, self.options);
        let palette = pen.palette;
        let chart = match (part, &facts.of_head) {
            (CostPart::Time, _) => {
                let Some(timing) = &self.timing else { return };
                let note = format!("Seconds a pass, measured: {}; dashed: extrapolated", timing.machine_text());
                self.by_length("Time by length", note, seconds(timing, &palette), palette.rule)
            }
            (CostPart::Work, _) => {
                let note = format!("Formula, GFLOP: {}", facts.even_text());
                let lines = facts.work(options);
                self.by_length(
                    "Work by length",
                    note,
                    series(&lines, [Scale::PowersOfTen; 2], BILLION, &palette),
                    palette.rule,
                )
            }
            (CostPart::Memory, _) => {
                let note = "Formula, MB as f32; patterns where they are recorded".to_owned();
                let lines = facts.memory();
                self.by_length(
                    "Memory by length",
                    note,
                    series(&lines, [Scale::PowersOfTen; 2], MILLION, &palette),
                    palette.rule,
                )
            }
            (CostPart::Patterns, _) => {
                self.draw_patterns(rect, pen);
                return;
            }
            (CostPart::Ranks, Some(of_head)) => {
                let lines = self.rank_lines();
                let crop = if of_head.exact.is_masked() { ", cropped to what is seen" } else { "" };
                let note = format!("{}: relative errors by rank{crop}", facts.head);
                Self::by_power("Low rank", note, "rank", options.rank, &lines, &palette)
            }
            (CostPart::Hashing, Some(of_head)) if of_head.hashing.is_empty() => {
                parts::titled("Hashing", "Queries and keys are not recorded", rect, pen);
                return;
            }
            (CostPart::Hashing, Some(of_head)) => {
                let note = format!("{}: weight on keys in the query’s bucket, by buckets", facts.head);
                Self::by_power("Hashing", note, "buckets", options.buckets, &of_head.hashing, &palette)
            }
            (CostPart::Features, Some(of_head)) => match &of_head.features {
                Ok(lines) => {
                    let note = format!("{}: relative error by number of features", facts.head);
                    Self::by_power("Random features", note, "features", options.features, lines, &palette)
                }
                Err(why) => {
                    parts::titled("Random features", &format!("Not for this head: {why}"), rect, pen);
                    return;
                }
            },
            (CostPart::Ranks | CostPart::Hashing | CostPart::Features, None) => return,
        };
        parts::chart(&chart, rect, pen);
    }

    /// Errors by rank: of the pattern, of its rows, of what the head takes.
    pub(super) fn rank_lines(&self) -> Vec<Curve> {
        let Some(of_head) = &self.facts.of_head else { return Vec::new() };
        let ranks = &of_head.ranks;
        let line = |name: &str, values: Vec<(usize, f64)>| (name.to_owned(), values);
        let mix = ranks.iter().map(|(rank, errors)| Some((*rank, errors.mix?))).collect::<Option<Vec<_>>>();
        let mut lines = vec![
            line("pattern", ranks.iter().map(|(rank, errors)| (*rank, errors.frobenius)).collect()),
            line(
                "rows, half of the differences",
                ranks.iter().map(|(rank, errors)| (*rank, errors.variation)).collect(),
            ),
        ];
        lines.extend(mix.map(|mix| line("weighted values", mix)));
        lines
    }

    fn by_length(&self, title: &str, note: String, series: Vec<Series>, rule: Rgba) -> Chart {
        let scale = Scale::PowersOfTen;
        let values = || series.iter().flat_map(Series::points).map(|[_, y]| y).filter(|y| y.is_finite());
        let [from, to] = [values().fold(f64::INFINITY, f64::min), values().fold(f64::NEG_INFINITY, f64::max)];
        let (from, to) = if from <= to { (from.floor(), to.ceil()) } else { (0.0, 1.0) };
        let lengths = series.iter().flat_map(Series::points).map(|[x, _]| x);
        let n = self.facts.n;
        let mark =
            Mark { of: MarkOf::X, value: power(scale, n as f64), name: counted(n, "token"), color: rule, width: 1.0 };
        Chart {
            title: title.to_owned(),
            note,
            x: logarithmic("tokens", scale, lengths),
            y: ChartAxis { title: String::new(), from, to, scale },
            series,
            marks: vec![mark],
        }
    }

    fn by_power(title: &str, note: String, what: &str, at: usize, lines: &[Curve], palette: &Palette) -> Chart {
        let scale = Scale::PowersOfTwo;
        let series = series(lines, [scale, Scale::Linear], 1.0, palette);
        let powers = series.iter().flat_map(Series::points).map(|[x, _]| x);
        let most = lines.iter().flat_map(|(_, values)| values).map(|(_, value)| *value).fold(1.0, f64::max);
        let mark = Mark {
            of: MarkOf::X,
            value: power(scale, at as f64),
            name: String::new(),
            color: palette.rule,
            width: 1.0,
        };
        Chart {
            title: title.to_owned(),
            note,
            x: logarithmic(what, scale, powers),
            y: ChartAxis { title: String::new(), from: 0.0, to: most, scale: Scale::Linear },
            series,
            marks: vec![mark],
        }
    }

    fn draw_patterns(&self, rect: Rect, pen: &mut Pen<'_>) {
        let title = format!("Pattern of {}, and with {}", self.facts.head, self.drawn_text());
        let (patterns, errors) = match &self.patterns {
            Ok(patterns) => patterns,
            Err(why) => {
                parts::titled(&title, &format!("Not for this head: {why}"), rect, pen);
                return;
            }
        };
        let mix = errors.mix.map_or_else(String::new, |mix| format!(", weighted values {}", norm_text(mix)));
        let top = share_text(errors.same_top);
        let note = format!("Error {}{mix}, same top key {top}", norm_text(errors.frobenius));
        parts::titled(&title, &note, rect, pen);
        let most = patterns[0].as_slice().iter().copied().fold(f32::MIN_POSITIVE, f32::max);
        let places = maps(rect, patterns[0].shape());
        let part = self.facts.of_head.as_ref().and_then(super::HeadCost::part);
        for ((matrix, place), name) in patterns.iter().zip(places).zip([part.unwrap_or_default(), self.drawn_text()]) {
            let picture = self.colors(matrix, most, pen);
            pen.picture(place, &picture, Sampling::Crisp);
            pen.frame(place, pen.hairline(), pen.palette.rule);
            let name = pen.type_.fit(&name, SMALL, (rect.width() - BETWEEN_PT) / 2.0).into_owned();
            let below = place.left_bottom() + vec2(0.0, 2.5 * GRID);
            pen.text(&name, SMALL, pen.palette.text_weak, below, Align::Left);
        }
    }

    /// Weights as colours; what is below 0 has the colour of 0.
    fn colors(&self, matrix: &Matrix, most: f32, pen: &Pen<'_>) -> RgbaBuffer {
        let colors = self.color_map.on(pen.palette.ground);
        let [height, width] = matrix.shape();
        let pixels = matrix.as_slice().iter().flat_map(|value| colors.color((value / most).clamp(0.0, 1.0)));
        RgbaBuffer { width, height, pixels: pixels.collect() }
    }
}
