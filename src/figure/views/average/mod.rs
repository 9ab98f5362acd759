//! Mean attention of one head over all inputs: between positions, by how far keys are, and for each value of an
//! annotation.

use std::{collections::BTreeMap, sync::Arc};

use emath::{Rect, pos2, vec2};

use super::{
    axes::Axis,
    cells::{RuledOut, ruled_out},
    heatmap::ruled_out::{draw_cells, hatched_text},
    joined,
};
use crate::{
    analysis::{
        aggregate::OffsetMean,
        cloud_query::{Average, CloudResult},
    },
    capture::{Matrix, RgbaBuffer},
    figure::{
        chart::{Chart, ChartAxis, Mark, MarkOf, Scale, Series, SeriesShape},
        font::Align,
        list::{Line, Sampling},
        measure::{BAR_AND_TICKS_PT, GRID, text_size::SMALL},
        page::{Captions, Scene},
        palette::Palette,
        pen::{Medium, Pen},
    },
    raster::ColorMap,
    spec::Mask,
    text::{counted, share_text, stepped_text, tick_text, whole_text},
};

pub mod layout;
mod options;
mod spec;

pub use options::{AverageOptions, PairsShow};
pub use spec::SPEC;

use layout::AverageLayout;

/// Offsets beyond this are not plotted.
const MAX_OFFSET: i32 = 24;
/// The axis of offsets ends where every weight is less than this part of the axis of weights.
const LEAST_SEEN: f64 = 0.02;
/// More values of an annotation than this are not told apart.
const MAX_GROUPS: usize = 8;
/// Numbers closer than this are left out.
const LABEL_PT: f32 = 22.0;

/// The Average view of one head.
#[derive(Clone, Debug)]
pub struct AverageScene {
    /// [`CloudResult::Average`].
    pub found: Arc<CloudResult>,
    /// How many inputs it is the mean of.
    pub n_inputs: usize,
    pub options: AverageOptions,
    pub color_map: ColorMap,
    pub mask: Mask,
}

impl AverageScene {
    /// What was found.
    pub fn average(&self) -> Option<&Average> {
        match &*self.found {
            CloudResult::Average(average) => Some(average),
            _ => None,
        }
    }

    /// Where everything stands in an area.
    pub fn layout(&self, area: Rect, medium: Medium) -> AverageLayout {
        let shape = self.average().map_or([1, 1], |average| average.positions.pattern.shape());
        AverageLayout::of(area, (shape[0].max(1), shape[1].max(1)), medium)
    }

    /// The numbers of pairs of positions that are drawn.
    pub fn pairs<'a>(&self, average: &'a Average) -> &'a Matrix {
        match self.options.pairs {
            PairsShow::Mean => &average.positions.pattern,
            PairsShow::Deviation => &average.positions.deviation,
        }
    }

    /// The largest number of a pair of positions.
    pub fn high(&self) -> f32 {
        let values = self.average().map_or(&[][..], |average| self.pairs(average).as_slice());
        values.iter().copied().fold(f32::MIN_POSITIVE, f32::max)
    }

    /// The curves: all inputs, then each value of the annotation.
    pub fn curves<'a>(&self, average: &'a Average) -> Vec<(&'a str, &'a OffsetMean)> {
        let all = ("all inputs", &average.offsets);
        let groups = average.groups.iter().take(MAX_GROUPS).map(|(value, mean)| (value.as_str(), mean));
        std::iter::once(all).chain(groups).collect()
    }

    /// Mean weight by offset, a line for all inputs and for each value of the annotation.
    pub fn chart(&self, palette: &Palette) -> Chart {
        let curves = self.average().map(|average| self.curves(average)).unwrap_or_default();
        let near: Vec<Vec<[f64; 2]>> = curves.iter().map(|(_, mean)| near(mean).map(point).collect()).collect();
        // Of each offset the largest, so that a line per value of an annotation makes no difference.
        let mut largest: BTreeMap<i32, f64> = BTreeMap::new();
        for [offset, weight] in near.iter().flatten() {
            let known = largest.entry(*offset as i32).or_default();
            *known = known.max(*weight);
        }
        let weight = ChartAxis::from_zero("mean weight", Scale::Linear, largest.values().copied());
        let has_weight = |(_, largest): &(&i32, &f64)| **largest >= LEAST_SEEN * weight.to;
        let seen = largest.iter().filter(has_weight).map(|(offset, _)| f64::from(*offset));
        let offsets = ChartAxis::over("offset", Scale::Whole, seen.chain([-2.0, 2.0]));
        let series = curves.iter().zip(&near).enumerate().map(|(nth, ((name, _), points))| Series {
            name: (*name).to_owned(),
            shape: SeriesShape::Line,
            color: if nth == 0 { palette.text } else { palette.head(nth - 1) },
            width: if nth == 0 { 2.0 } else { 1.25 },
            // A gap where no pair has an offset.
            runs: points.chunk_by(|a, b| b[0] == a[0] + 1.0).map(<[_]>::to_vec).collect(),
        });
        let special = self.average().map_or(0.0, |average| average.offsets.special);
        let zero = Mark { of: MarkOf::X, value: 0.0, name: String::new(), color: palette.rule, width: 0.75 };
        Chart {
            title: "Mean weight by offset (key − query)".to_owned(),
            note: format!("{} of the attention goes to special tokens", share_text(special)),
            x: offsets,
            y: weight,
            series: series.collect(),
            marks: vec![zero],
        }
    }

    /// Draws the mean between positions.
    pub fn draw_grid(&self, area: Rect, pen: &mut Pen<'_>) {
        if let Some(average) = self.average() {
            self.draw_positions(average, &self.layout(area, pen.medium), pen);
        }
    }

    fn draw_positions(&self, average: &Average, layout: &AverageLayout, pen: &mut Pen<'_>) {
        let (rect, high) = (layout.cells, self.high());
        let [n_query, n_key] = average.positions.pattern.shape();
        let title = rect.left_top() - vec2(0.0, 9.5 * GRID);
        let name = match self.options.pairs {
            PairsShow::Mean => "Mean weight by position",
            PairsShow::Deviation => "Standard deviation by position",
        };
        pen.text(name, SMALL, pen.palette.text, title, Align::Left);
        let axes = title + vec2(0.0, 4.0 * GRID);
        let fixed = average.positions.fixed_share.map_or_else(String::new, |share| {
            format!("; {} fixed by position", share_text(share.clamp(0.0, 1.0) as f32))
        });
        let axes_text = format!("row: query, column: key{fixed}");
        pen.text(&axes_text, SMALL, pen.palette.text_weak, axes, Align::Left);
        let colors = self.color_map.on(pen.palette.ground);
        let color = |(nth, weight): (usize, &f32)| match self.ruled_out(average, (nth / n_key, nth % n_key)) {
            Some(_) => [0; 4],
            None => colors.color(weight / high),
        };
        let pixels = self.pairs(average).as_slice().iter().enumerate().flat_map(color).collect();
        pen.picture(rect, &RgbaBuffer { width: n_key, height: n_query, pixels }, Sampling::Crisp);
        draw_cells(rect, (n_query, n_key), |pair| self.ruled_out(average, pair), pen);
        pen.frame(rect, 0.75, pen.palette.rule);
        let side = rect.height() / n_query.max(1) as f32;
        let step = (LABEL_PT / side.max(0.01)).ceil().max(1.0) as usize;
        for row in (0..n_query).step_by(step) {
            let at = pos2(rect.left() - 1.5 * GRID, rect.top() + (row as f32 + 0.5) * side);
            pen.text(&row.to_string(), SMALL, pen.palette.query, at, Align::Right);
        }
        for col in (0..n_key).step_by(step) {
            let at = pos2(rect.left() + (col as f32 + 0.5) * side, rect.top() - 2.5 * GRID);
            pen.text(&col.to_string(), SMALL, pen.palette.key, at, Align::Center);
        }
        if pen.medium == Medium::Paper {
            let size = vec2(BAR_AND_TICKS_PT, rect.height().max(60.0));
            let bar = Rect::from_min_size(rect.right_top() + vec2(3.0 * GRID, 0.0), size);
            pen.color_bar(bar, |fraction| colors.color(fraction), |fraction| tick_text(fraction * high));
        }
    }

    /// Whether the head rules a pair of positions out.
    pub fn ruled_out(&self, average: &Average, (query, key): (usize, usize)) -> Option<RuledOut> {
        let pattern = &average.positions.pattern;
        ruled_out(self.mask, (query, key), pattern.shape(), pattern.get(query, key)?)
    }

    fn draw_offsets(&self, layout: &AverageLayout, pen: &mut Pen<'_>) {
        let (rect, chart) = (layout.plot, self.chart(&pen.palette));
        let axes = chart.axes(rect);
        let title = rect.left_top() - vec2(0.0, 8.0 * GRID);
        pen.text(&chart.title, SMALL, pen.palette.text, title, Align::Left);
        pen.frame(rect, 0.75, pen.palette.rule);
        for mark in &chart.marks {
            let x = axes.x.at(mark.value);
            pen.line(pos2(x, rect.top()), pos2(x, rect.bottom()), mark.width, mark.color);
        }
        let mut x = rect.left();
        for series in &chart.series {
            let line = |[from, to]: [[f64; 2]; 2]| {
                let [from, to] = [from, to].map(|[x, y]| axes.at(x, y));
                Line { from, to, width: series.width, color: series.color }
            };
            let is_seen =
                |[from, to]: &[[f64; 2]; 2]| [from, to].iter().all(|[x, _]| (axes.x.from..=axes.x.to).contains(x));
            pen.lines(series.segments_below(axes.y.to).filter(is_seen).map(line).collect());
            if chart.series.len() > 1 {
                let name = pen.type_.fit(&series.name, SMALL, 110.0).into_owned();
                if x + 20.0 < rect.right() {
                    let at = pos2(x, rect.top() - 2.5 * GRID);
                    x += pen.text(&name, SMALL, series.color, at, Align::Left) + 3.0 * GRID;
                }
            }
        }
        let weak = pen.palette.text_weak;
        for (x, name) in chart.beyond(axes.y.to) {
            let at = pos2(axes.x.at(x) + GRID, rect.top() + 2.0 * GRID);
            pen.text(&name, SMALL, pen.palette.text, at, Align::Left);
        }
        for value in axes.x.ticks(8).into_iter().filter(|value| value.fract() == 0.0) {
            let text = whole_text(value);
            let at = pos2(axes.x.at(value), rect.bottom() + 2.5 * GRID);
            pen.text(&text, SMALL, weak, at, Align::Center);
        }
        let digits = decimals(&axes.y);
        for value in axes.y.ticks(5) {
            let at = pos2(rect.left() - GRID, axes.y.at(value));
            pen.text(&stepped_text(value, 10f64.powi(-(digits as i32))), SMALL, weak, at, Align::Right);
        }
        pen.text(&chart.note, SMALL, weak, rect.left_bottom() + vec2(0.0, 6.5 * GRID), Align::Left);
    }
}

/// The offsets that are plotted, with their mean weights.
pub fn near(mean: &OffsetMean) -> impl Iterator<Item = (i32, f32)> {
    let all = mean.offsets.iter().copied().zip(mean.weights.iter().copied());
    all.filter(|(offset, _)| offset.abs() <= MAX_OFFSET)
}

fn point((offset, weight): (i32, f32)) -> [f64; 2] {
    [f64::from(offset), f64::from(weight)]
}

/// Digits that tell neighbouring numbers apart.
fn decimals(axis: &Axis) -> usize {
    let span = axis.to - axis.from;
    if span > 0.5 {
        1
    } else if span > 0.05 {
        2
    } else {
        3
    }
}

impl Scene for AverageScene {
    fn width(&self, _: &mut Pen<'_>) -> f32 {
        760.0
    }

    fn least_width(&self, _: &mut Pen<'_>) -> f32 {
        460.0
    }

    fn height(&self, width: f32, _: &mut Pen<'_>) -> f32 {
        0.52 * width
    }

    fn least_height(&self, _: f32, _: &mut Pen<'_>) -> f32 {
        240.0
    }

    fn draw(&self, area: Rect, pen: &mut Pen<'_>) {
        self.draw_grid(area, pen);
        if self.average().is_some() {
            self.draw_offsets(&self.layout(area, pen.medium), pen);
        }
    }

    fn captions(&self) -> Captions {
        let head = self.average().map_or_else(String::new, |average| average.head.to_string());
        let number = match self.options.pairs {
            PairsShow::Mean => "Mean",
            PairsShow::Deviation => "Standard deviation of the",
        };
        let what = format!("{number} attention of {head} over {}", counted(self.n_inputs, "input"));
        let how = match self.options.pairs {
            PairsShow::Mean => {
                "Rows of the matrix sum to 1; a pair of positions is averaged over the inputs that have both"
            }
            PairsShow::Deviation => {
                "The deviation of a pair of positions is over the inputs that have both, and 0 where one has"
            }
        };
        let fixed =
            self.average().and_then(|average| average.positions.fixed_share).map_or_else(String::new, |share| {
                let share = share_text(share.clamp(0.0, 1.0) as f32);
                format!(
                    "Fixed by position: {share} of the squared difference from uniform attention is that of the means \
                 of positions (all of it where every input has the same pattern)"
                )
            });
        let offsets = "Masked pairs do not count for offsets";
        let groups = self.average().map_or(0, |average| average.groups.len());
        let by = match &self.options.annotation {
            Some(name) if groups > MAX_GROUPS => {
                format!("Lines: the first {MAX_GROUPS} of {groups} values of “{name}”")
            }
            Some(name) if groups > 0 => format!("Lines: values of “{name}”"),
            _ => String::new(),
        };
        let mask = hatched_text(self.mask.causal, self.mask.window.is_some());
        let far = format!("Offsets up to {MAX_OFFSET} are shown");
        Captions {
            short: joined([what.as_str(), &by]),
            full: joined([what.as_str(), how, &fixed, offsets, mask, &by, &far]),
        }
    }
}
