//! Fidelity of distance in the joint space to the dot product: all heads as mosaics, one head's pairs before
//! and after, and what the scale does to it.

use std::sync::Arc;

use emath::{Rect, pos2, vec2};

use super::joined;
use crate::{
    analysis::{
        cloud_query::CloudResult,
        distance_fidelity::{HeadPlot, HeadProxy},
    },
    figure::{
        chart::{self, Chart, ChartAxis, Mark, MarkOf, Scale, Series, SeriesShape},
        font::Align,
        list::{Line, Rgba, faded},
        measure::{BAR_AND_TICKS_PT, GRID, text_size::SMALL},
        page::{Captions, Scene},
        palette::Palette,
        pen::{Medium, Pen},
    },
    ids::{HeadId, StackKind},
    projection::correlation::Pair,
    text::{capitalised, decimal_text, norm_text, stepped_text, tick_text},
};

pub mod layout;
mod options;
mod spec;

pub use options::ShownCorrelation;
pub use spec::SPEC;

use super::axes::{Axes, Axis};
use layout::{DistanceLayout, LAYERS_PT};

/// Sides of the square of a pair.
const PAIR_PT: f32 = 2.5;
/// Opacity of a pair: many on top of each other are dark.
const PAIR_OPACITY: f32 = 0.55;
/// Numbers closer than this are left out.
const LABEL_PT: f32 = 18.0;
/// The norm disparity is coloured up to this factor at least.
const LEAST_FACTOR: f32 = 2.0;

/// The name of the axis of distances.
const DISTANCE: &str = "‖q − k‖";

/// The Distance view of one stack, and of one of its heads.
#[derive(Clone, Debug)]
pub struct DistanceScene {
    /// Numbers of every head: [`CloudResult::Proxies`].
    pub proxies: Arc<CloudResult>,
    /// Pairs and curve of one head: [`CloudResult::Plot`]; `None` while they are measured.
    pub plot: Option<Arc<CloudResult>>,
    /// Layers and the largest number of heads of a layer.
    pub grid: (usize, usize),
    /// The head that is looked at.
    pub head: HeadId,
    /// What the first mosaic shows.
    pub shown: ShownCorrelation,
    /// What distance cannot stand for here.
    pub caveat: Option<&'static str>,
}

impl DistanceScene {
    /// Numbers of every head.
    pub fn all(&self) -> &[HeadProxy] {
        match &*self.proxies {
            CloudResult::Proxies(proxies) => proxies,
            _ => &[],
        }
    }

    /// Pairs and curve, if they are of the head that is looked at.
    pub fn of_head(&self) -> Option<&HeadPlot> {
        match self.plot.as_deref()? {
            CloudResult::Plot(plot) if plot.proxy.head == self.head => Some(plot),
            _ => None,
        }
    }

    /// Where everything stands in an area.
    pub fn layout(&self, area: Rect, medium: Medium) -> DistanceLayout {
        DistanceLayout::of_scene(area, self.grid, medium)
    }

    /// What two mosaics are of: title, value, its place on the colours.
    pub fn mosaics(&self) -> [Mosaic<'_>; 2] {
        let disparity = |proxy: &HeadProxy| proxy.norms.disparity().map(|ratio| ratio as f32);
        let factors = self.all().iter().filter_map(disparity).filter(|ratio| *ratio > 0.0);
        let most = factors.map(|ratio| ratio.log2().abs()).fold(LEAST_FACTOR.log2(), f32::max);
        let shown = self.shown;
        [
            Mosaic {
                title: shown.label(),
                short: "correlation",
                value: Box::new(move |proxy| shown.of(proxy)),
                fraction: Box::new(|value| f32::midpoint(value, 1.0)),
                tick: Box::new(|fraction| tick_text(2.0 * fraction - 1.0)),
            },
            Mosaic {
                title: "Norms: mean ‖q‖ / mean ‖k‖".to_owned(),
                short: "‖q‖ / ‖k‖",
                value: Box::new(disparity),
                fraction: Box::new(move |ratio| f32::midpoint(ratio.log2() / most, 1.0)),
                tick: Box::new(move |fraction| tick_text((most * (2.0 * fraction - 1.0)).exp2())),
            },
        ]
    }

    /// Draws the numbers of all heads.
    pub fn draw_mosaics(&self, area: Rect, pen: &mut Pen<'_>) {
        let layout = self.layout(area, pen.medium);
        for (which, mosaic) in self.mosaics().iter().enumerate() {
            self.draw_mosaic(which, mosaic, &layout, pen);
        }
    }

    fn draw_mosaic(&self, which: usize, mosaic: &Mosaic<'_>, layout: &DistanceLayout, pen: &mut Pen<'_>) {
        let rect = layout.mosaics[which];
        let weak = pen.palette.text_weak;
        pen.text(&mosaic.title, SMALL, pen.palette.text, rect.left_top() - vec2(0.0, 7.5 * GRID), Align::Left);
        for proxy in self.all() {
            let cell = layout.cell(which, proxy.head.layer, proxy.head.head);
            let color =
                (mosaic.value)(proxy).map_or(pen.palette.raised, |value| ramp(&pen.palette, (mosaic.fraction)(value)));
            pen.rect(cell.shrink(0.5), color);
        }
        let step = |side: f32| (LABEL_PT / side.max(0.1)).ceil().max(1.0) as usize;
        let cell = layout.cell(which, 0, 0).size();
        for layer in (0..self.grid.0).step_by(step(cell.y)) {
            let at = pos2(rect.left() - 1.5 * GRID, layout.cell(which, layer, 0).center().y);
            pen.text(&format!("L{layer}"), SMALL, weak, at, Align::Right);
        }
        for head in (0..self.grid.1).step_by(step(cell.x)) {
            let at = pos2(layout.cell(which, 0, head).center().x, rect.top() - 2.0 * GRID);
            let text = if head == 0 { "H0".to_owned() } else { head.to_string() };
            pen.text(&text, SMALL, weak, at, Align::Center);
        }
        let chosen = layout.cell(which, self.head.layer, self.head.head);
        pen.frame(chosen.shrink(1.0), 1.0, pen.palette.text);
        pen.frame(chosen.shrink(2.0), 1.0, pen.palette.canvas);
        if pen.medium == Medium::Paper {
            let size = vec2(BAR_AND_TICKS_PT, rect.height());
            let palette = pen.palette;
            let bar = Rect::from_min_size(rect.right_top() + vec2(3.0 * GRID, 0.0), size);
            pen.color_bar(bar, |fraction| ramp(&palette, fraction), &mosaic.tick);
        }
    }

    /// The pairs as given (0) or in the joint space (1): distance along, dot product up.
    pub fn pairs_chart(&self, which: usize, palette: &Palette) -> Chart {
        let plot = self.of_head();
        let points: Vec<[f64; 2]> =
            plot.map_or(&[][..], |plot| &plot.pairs).iter().map(|pair| at(which, pair)).collect();
        let note = plot.map_or_else(String::new, |plot| {
            let correlations = &plot.proxy.correlations;
            let of = if which == 0 { &correlations.before } else { &correlations.after };
            format!("all pairs {}, per query {}", number(of.pooled.pearson), number(of.per_query.pearson))
        });
        Chart {
            title: if which == 0 { "As given" } else { "After scaling" }.to_owned(),
            note,
            x: ChartAxis::over(DISTANCE, Scale::Linear, points.iter().map(|point| point[0])),
            y: ChartAxis::over("q·k", Scale::Linear, points.iter().map(|point| point[1])),
            series: vec![Series {
                name: String::new(),
                shape: SeriesShape::Points,
                color: faded(palette.head(0), PAIR_OPACITY),
                width: PAIR_PT,
                runs: vec![points],
            }],
            marks: Vec::new(),
        }
    }

    /// The correlation by the scale's power of two.
    pub fn curve_chart(&self, palette: &Palette) -> Chart {
        let plot = self.of_head();
        let steps = plot.map_or(&[][..], |plot| &plot.curve);
        let most = steps.iter().flat_map(|step| [step.pooled, step.per_query]).flatten().fold(0.2, f64::max);
        let line = |name: &str, of: &dyn Fn(usize) -> Option<f64>, color: Rgba, width: f32| Series {
            name: name.to_owned(),
            shape: SeriesShape::Line,
            color,
            width,
            runs: chart::runs((0..steps.len()).map(|nth| Some([steps[nth].c.log2(), of(nth)?]))),
        };
        let (own_ink, weak) = (palette.head(0), palette.text_weak);
        let mark = |name: String, c: f64, color: Rgba| Mark { of: MarkOf::X, value: c.log2(), name, color, width: 1.0 };
        let zero = Mark { of: MarkOf::Y, value: 0.0, name: String::new(), color: palette.rule, width: 0.75 };
        let scales = plot.into_iter().flat_map(|plot| {
            let (best, own) = (plot.best.c, plot.proxy.c);
            [mark(format!("lowest {}", two(best)), best, weak), mark(format!("c = {}", two(own)), own, own_ink)]
        });
        Chart {
            title: "Correlation by scale c".to_owned(),
            note: String::new(),
            x: ChartAxis::over("scale c", Scale::PowersOfTwo, steps.iter().map(|step| step.c.log2())),
            y: ChartAxis { title: "correlation".to_owned(), from: -1.08, to: most + 0.1, scale: Scale::Linear },
            series: vec![
                line("per query", &|nth| steps[nth].per_query, weak, 1.25),
                line("all pairs", &|nth| steps[nth].pooled, own_ink, 2.0),
            ],
            marks: std::iter::once(zero).chain(scales).collect(),
        }
    }

    fn draw_pairs(&self, which: usize, layout: &DistanceLayout, pen: &mut Pen<'_>) {
        let (rect, chart) = (layout.plots[which], self.pairs_chart(which, &pen.palette));
        let axes = chart.axes(rect);
        frame(&chart.title, rect, pen);
        for series in &chart.series {
            let square = |[x, y]: [f64; 2]| {
                let (at, half) = (axes.at(x, y), vec2(series.width / 2.0, 0.0));
                Line { from: at - half, to: at + half, width: series.width, color: series.color }
            };
            pen.lines(series.points().map(square).collect());
        }
        numbers(&axes, rect, [4, 6], pen);
        let below = rect.left_bottom() + vec2(0.0, 4.75 * GRID);
        pen.paragraph(&chart.note, SMALL, pen.palette.text_weak, below, rect.width());
    }

    fn draw_curve(&self, layout: &DistanceLayout, pen: &mut Pen<'_>) {
        let (rect, chart) = (layout.curve, self.curve_chart(&pen.palette));
        let axes = chart.axes(rect);
        frame(&chart.title, rect, pen);
        for mark in chart.marks.iter().filter(|mark| mark.of == MarkOf::Y) {
            let y = axes.y.at(mark.value);
            pen.line(pos2(rect.left(), y), pos2(rect.right(), y), mark.width, mark.color);
        }
        for series in &chart.series {
            let line = |[from, to]: [[f64; 2]; 2]| {
                let [from, to] = [from, to].map(|[x, y]| axes.at(x, y));
                Line { from, to, width: series.width, color: series.color }
            };
            pen.lines(series.segments().map(line).collect());
        }
        Self::draw_scales(&chart, rect, pen);
        let weak = pen.palette.text_weak;
        for power in Scale::PowersOfTwo.ticks((axes.x.from, axes.x.to), 7) {
            let text = two(power.exp2());
            // The last number ends with the frame at the latest.
            let half = pen.type_.width(&text, SMALL) / 2.0;
            let x = axes.x.at(power).clamp(rect.left(), rect.right() - half);
            pen.text(&text, SMALL, weak, pos2(x, rect.bottom() + 2.5 * GRID), Align::Center);
        }
        for value in axes.y.ticks(4) {
            let at = pos2(rect.left() - GRID, axes.y.at(value));
            pen.text(&tick_text(value as f32), SMALL, weak, at, Align::Right);
        }
        let mut x = rect.right() - GRID;
        for series in &chart.series {
            let at = pos2(x, rect.top() - 2.0 * GRID);
            x -= pen.text(&series.name, SMALL, series.color, at, Align::Right) + 3.0 * GRID;
        }
    }

    /// The scale that is used and the best one.
    fn draw_scales(chart: &Chart, rect: Rect, pen: &mut Pen<'_>) {
        let axes = chart.axes(rect);
        let scales: Vec<&Mark> = chart.marks.iter().filter(|mark| mark.of == MarkOf::X).collect();
        let [best, own] = scales[..] else { return };
        let at = |mark: &Mark| axes.x.at(mark.value);
        // Each number stands at the outer side of its line, so that the other line does not cross it.
        for (mark, other, y) in [(best, own, rect.top() + 5.0 * GRID), (own, best, rect.top() + 2.0 * GRID)] {
            let (x, other) = (at(mark), at(other));
            pen.line(pos2(x, rect.top()), pos2(x, rect.bottom()), mark.width, mark.color);
            let width = pen.type_.width(&mark.name, SMALL) + GRID;
            let is_left = if x == other { x > rect.center().x } else { x < other };
            let (align, nudge) = match is_left {
                true if x - width >= rect.left() => (Align::Right, -GRID),
                false if x + width > rect.right() => (Align::Right, -GRID),
                _ => (Align::Left, GRID),
            };
            pen.text(&mark.name, SMALL, mark.color, pos2(x + nudge, y), align);
        }
    }
}
/// A head's number, where it has one.
type Number<'a> = Box<dyn Fn(&HeadProxy) -> Option<f32> + 'a>;

/// One of the two mosaics.
pub struct Mosaic<'a> {
    pub title: String,
    /// Its title where there is little room.
    pub short: &'static str,
    value: Number<'a>,
    fraction: Box<dyn Fn(f32) -> f32>,
    /// The number at a part of its scale.
    pub tick: Box<dyn Fn(f32) -> String>,
}

/// Where a pair is in its chart.
fn at(which: usize, pair: &Pair) -> [f64; 2] {
    [f64::from(distance(which, pair)), f64::from(pair.dot)]
}

/// How far apart a query and a key are, as given (0) or in the joint space (1).
pub const fn distance(which: usize, pair: &Pair) -> f32 {
    if which == 0 { pair.before } else { pair.after }
}

/// The colour of a fraction, the middle being neutral.
pub fn ramp(palette: &Palette, fraction: f32) -> Rgba {
    palette.signed(2.0 * fraction - 1.0)
}

/// A correlation to be read.
pub fn number(value: Option<f64>) -> String {
    value.map_or_else(|| "none".to_owned(), decimal_text)
}

fn two(value: f64) -> String {
    norm_text(value)
}

fn frame(title: &str, rect: Rect, pen: &mut Pen<'_>) {
    pen.text(title, SMALL, pen.palette.text, rect.left_top() - vec2(0.0, 2.0 * GRID), Align::Left);
    pen.frame(rect, 0.75, pen.palette.rule);
}

fn numbers(axes: &Axes, rect: Rect, [along, up]: [usize; 2], pen: &mut Pen<'_>) {
    let weak = pen.palette.text_weak;
    let text = |value: f64, axis: &Axis| {
        let step = if axis.to - axis.from < 4.0 { 0.1 } else { 1.0 };
        stepped_text(value, step)
    };
    let name = pen.type_.width(DISTANCE, SMALL) + 3.0 * GRID;
    for value in axes.x.ticks(along).into_iter().filter(|value| axes.x.at(*value) < rect.right() - name) {
        let at = pos2(axes.x.at(value), rect.bottom() + 2.5 * GRID);
        pen.text(&text(value, &axes.x), SMALL, weak, at, Align::Center);
    }
    for value in axes.y.ticks(up) {
        pen.text(&text(value, &axes.y), SMALL, weak, pos2(rect.left() - GRID, axes.y.at(value)), Align::Right);
    }
    pen.text("q·k", SMALL, weak, rect.left_top() + vec2(-LAYERS_PT - 2.0 * GRID, GRID), Align::Left);
    pen.text(DISTANCE, SMALL, weak, rect.right_bottom() + vec2(0.0, 2.5 * GRID), Align::Right);
}

impl Scene for DistanceScene {
    fn width(&self, _: &mut Pen<'_>) -> f32 {
        760.0
    }

    fn least_width(&self, _: &mut Pen<'_>) -> f32 {
        480.0
    }

    fn height(&self, width: f32, _: &mut Pen<'_>) -> f32 {
        0.66 * width
    }

    fn least_height(&self, _: f32, _: &mut Pen<'_>) -> f32 {
        300.0
    }

    fn draw(&self, area: Rect, pen: &mut Pen<'_>) {
        self.draw_mosaics(area, pen);
        if self.of_head().is_some() {
            let layout = self.layout(area, pen.medium);
            self.draw_pairs(0, &layout, pen);
            self.draw_pairs(1, &layout, pen);
            self.draw_curve(&layout, pen);
        }
    }

    fn captions(&self) -> Captions {
        let stack = match self.head.stack {
            StackKind::SelfAttention => String::new(),
            stack => format!(" of the {stack} stack"),
        };
        let n = self.all().len();
        let values = self.all().iter().filter_map(|proxy| self.shown.of(proxy)).map(f64::from);
        let (sum, count) = values.fold((0.0, 0usize), |(sum, count), value| (sum + value, count + 1));
        let mean = number((count > 0).then(|| sum / count as f64));
        let what = format!("Correlation of distance and q·k, {n} heads{stack}");
        let average = format!("{}: mean {mean}", capitalised(&self.shown.label()));
        let head = self.of_head().map_or_else(String::new, |plot| {
            let pairs = format!("{} of {} pairs are drawn", plot.pairs.len(), plot.proxy.correlations.n_pairs);
            format!("{} with c = {}: {pairs}", self.head, two(plot.proxy.c))
        });
        let how = "The nearer to −1, the better distance predicts attention. Over the keys of one query it always \
            falls to −1 for small c, whatever the data; over all pairs it is lowest where norms balance";
        let short = joined([what.as_str(), &average]);
        let full = joined([what.as_str(), &average, &head, how, self.caveat.unwrap_or_default()]);
        Captions { short, full }
    }
}
