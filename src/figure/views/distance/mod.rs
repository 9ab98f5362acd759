//! How well distance in the joint space stands for the dot product: all heads as mosaics, one head's pairs before
//! and after, and what the scale does to it.

use std::sync::Arc;

use emath::{Rect, pos2, vec2};

use super::joined;
use crate::{
    analysis::{
        proxy::{HeadPlot, HeadProxy},
        survey::Finding,
    },
    figure::{
        font::Align,
        list::{Line, Rgba, faded},
        measure::{BAR_AND_TICKS_PT, GRID, text_size::SMALL},
        page::{Captions, Scene},
        pen::{Pen, tick_text},
    },
    ids::{HeadId, StackKind},
    projection::correlation::Pair,
    raster::ColorMap,
    text::{capitalised, decimal_text, norm_text},
};

pub mod layout;
mod options;
mod spec;

pub use options::Shown;
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
    /// Numbers of every head: [`Finding::Proxies`].
    pub proxies: Arc<Finding>,
    /// Pairs and curve of one head: [`Finding::Plot`]; `None` while they are measured.
    pub plot: Option<Arc<Finding>>,
    /// Layers and the largest number of heads of a layer.
    pub grid: (usize, usize),
    /// The head that is looked at.
    pub head: HeadId,
    /// What the first mosaic shows.
    pub shown: Shown,
    /// What distance cannot stand for here.
    pub caveat: Option<&'static str>,
    /// Model and input, in words.
    pub origin: String,
}

impl DistanceScene {
    /// Numbers of every head.
    pub fn all(&self) -> &[HeadProxy] {
        match &*self.proxies {
            Finding::Proxies(proxies) => proxies,
            _ => &[],
        }
    }

    /// Pairs and curve, if they are of the head that is looked at.
    pub fn of_head(&self) -> Option<&HeadPlot> {
        match self.plot.as_deref()? {
            Finding::Plot(plot) if plot.proxy.head == self.head => Some(plot),
            _ => None,
        }
    }

    /// Where everything stands in an area.
    pub fn layout(&self, area: Rect) -> DistanceLayout {
        DistanceLayout::of_scene(area, self.grid)
    }

    /// What two mosaics are of: title, value, its place on the colours.
    fn mosaics(&self) -> [Mosaic<'_>; 2] {
        let disparity = |proxy: &HeadProxy| proxy.norms.disparity().map(|ratio| ratio as f32);
        let factors = self.all().iter().filter_map(disparity).filter(|ratio| *ratio > 0.0);
        let most = factors.map(|ratio| ratio.log2().abs()).fold(LEAST_FACTOR.log2(), f32::max);
        let shown = self.shown;
        [
            Mosaic {
                title: shown.label(),
                value: Box::new(move |proxy| shown.of(proxy)),
                fraction: Box::new(|value| f32::midpoint(value, 1.0)),
                tick: Box::new(|fraction| tick_text(2.0 * fraction - 1.0)),
            },
            Mosaic {
                title: "Norms: mean ‖q‖ / mean ‖k‖".to_owned(),
                value: Box::new(disparity),
                fraction: Box::new(move |ratio| f32::midpoint(ratio.log2() / most, 1.0)),
                tick: Box::new(move |fraction| format!("{:.2}", (most * (2.0 * fraction - 1.0)).exp2())),
            },
        ]
    }

    fn draw_mosaic(&self, which: usize, mosaic: &Mosaic<'_>, layout: &DistanceLayout, pen: &mut Pen<'_>) {
        let rect = layout.mosaics[which];
        let weak = pen.palette.text_weak;
        pen.text(&mosaic.title, SMALL, pen.palette.text, rect.left_top() - vec2(0.0, 7.5 * GRID), Align::Left);
        for proxy in self.all() {
            let cell = layout.cell(which, proxy.head.layer, proxy.head.head);
            let color = (mosaic.value)(proxy).map_or(pen.palette.masked, |value| ramp((mosaic.fraction)(value)));
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
        let bar = Rect::from_min_size(rect.right_top() + vec2(3.0 * GRID, 0.0), vec2(BAR_AND_TICKS_PT, rect.height()));
        pen.color_bar(bar, ramp, &mosaic.tick);
    }

    fn draw_pairs(&self, which: usize, plot: &HeadPlot, layout: &DistanceLayout, pen: &mut Pen<'_>) {
        let rect = layout.plots[which];
        let axes = self.axes(which, layout);
        let (title, of) = match which {
            0 => ("As given", plot.proxy.correlations.before),
            _ => ("After scaling", plot.proxy.correlations.after),
        };
        frame(title, rect, pen);
        let color = faded(pen.palette.accent, PAIR_OPACITY);
        let square = |pair: &Pair| {
            let at = axes.at(f64::from(distance(which, pair)), f64::from(pair.dot));
            let half = vec2(PAIR_PT / 2.0, 0.0);
            Line { from: at - half, to: at + half, width: PAIR_PT, color }
        };
        pen.lines(plot.pairs.iter().map(square).collect());
        numbers(&axes, rect, [4, 6], pen);
        let below = rect.left_bottom() + vec2(0.0, 6.5 * GRID);
        let words = format!("all pairs {}, per query {}", number(of.pooled.pearson), number(of.per_query.pearson));
        // Beside a narrow plot there is no room for the rest.
        let size = SMALL * (rect.width() / pen.type_.width(&words, SMALL).max(1.0)).clamp(0.8, 1.0);
        pen.text(&words, size, pen.palette.text_weak, below, Align::Left);
    }

    /// The axes of one of the plots: distance along, dot product up.
    pub fn axes(&self, which: usize, layout: &DistanceLayout) -> Axes {
        let pairs = self.of_head().map_or(&[][..], |plot| &plot.pairs);
        let values = pairs.iter().map(|pair| (f64::from(distance(which, pair)), f64::from(pair.dot)));
        Axes::over(values, layout.plots[which])
    }

    /// The axes of the curve: the scale's power of two along, correlation up.
    pub fn curve_axes(&self, layout: &DistanceLayout) -> Axes {
        let steps = self.of_head().map_or(&[][..], |plot| &plot.curve);
        let mut axes = Axes::over(steps.iter().map(|step| (step.c.log2(), 0.0)), layout.curve);
        let most = steps.iter().flat_map(|step| [step.pooled, step.per_query]).flatten().fold(0.2, f64::max);
        (axes.y.from, axes.y.to) = (-1.08, most + 0.1);
        axes
    }

    fn draw_curve(&self, plot: &HeadPlot, layout: &DistanceLayout, pen: &mut Pen<'_>) {
        let rect = layout.curve;
        let axes = self.curve_axes(layout);
        frame("Correlation by scale c", rect, pen);
        let zero = axes.y.at(0.0);
        pen.line(pos2(rect.left(), zero), pos2(rect.right(), zero), 0.75, pen.palette.rule);
        let lines = |of: &dyn Fn(usize) -> Option<f64>, color: Rgba, width: f32| -> Vec<Line> {
            let at = |idx: usize| Some(axes.at(plot.curve[idx].c.log2(), of(idx)?));
            let segment = |idx: usize| Some(Line { from: at(idx)?, to: at(idx + 1)?, width, color });
            (0..plot.curve.len().saturating_sub(1)).filter_map(segment).collect()
        };
        let (accent, weak) = (pen.palette.accent, pen.palette.text_weak);
        pen.lines(lines(&|idx| plot.curve[idx].per_query, weak, 1.25));
        pen.lines(lines(&|idx| plot.curve[idx].pooled, accent, 2.0));
        // Each number stands at the outer side of its line, so that the other line does not cross it.
        let marks = [
            (plot.best.c, format!("lowest {}", two(plot.best.c)), weak, rect.top() + 5.0 * GRID),
            (plot.proxy.c, format!("c = {}", two(plot.proxy.c)), accent, rect.top() + 2.0 * GRID),
        ];
        let [best, own] = [0, 1].map(|nth| axes.x.at(marks[nth].0.log2()));
        for ((_, text, color, y), (x, other)) in marks.into_iter().zip([(best, own), (own, best)]) {
            pen.line(pos2(x, rect.top()), pos2(x, rect.bottom()), 1.0, color);
            let width = pen.type_.width(&text, SMALL) + GRID;
            let is_left = if x == other { x > rect.center().x } else { x < other };
            let (align, nudge) = match is_left {
                true if x - width >= rect.left() => (Align::Right, -GRID),
                false if x + width > rect.right() => (Align::Right, -GRID),
                _ => (Align::Left, GRID),
            };
            pen.text(&text, SMALL, color, pos2(x + nudge, y), align);
        }
        for power in axes.x.ticks(7).into_iter().filter(|power| power.fract() == 0.0) {
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
        for (text, color) in [("per query", weak), ("all pairs", accent)] {
            let at = pos2(x, rect.top() - 2.0 * GRID);
            x -= pen.text(text, SMALL, color, at, Align::Right) + 3.0 * GRID;
        }
    }
}

/// A head's number, where it has one.
type Number<'a> = Box<dyn Fn(&HeadProxy) -> Option<f32> + 'a>;

/// One of the two mosaics.
struct Mosaic<'a> {
    title: String,
    value: Number<'a>,
    fraction: Box<dyn Fn(f32) -> f32>,
    tick: Box<dyn Fn(f32) -> String>,
}

/// How far apart a query and a key are, as given (0) or in the joint space (1).
pub const fn distance(which: usize, pair: &Pair) -> f32 {
    if which == 0 { pair.before } else { pair.after }
}

/// The colour of a fraction, the middle being neutral.
fn ramp(fraction: f32) -> Rgba {
    ColorMap::Diverging.color(fraction)
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
        let digits = usize::from(axis.to - axis.from < 4.0);
        let text = format!("{:.digits$}", value.abs());
        if value < 0.0 { format!("−{text}") } else { text }
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
        let layout = self.layout(area);
        for (which, mosaic) in self.mosaics().iter().enumerate() {
            self.draw_mosaic(which, mosaic, &layout, pen);
        }
        if let Some(plot) = self.of_head() {
            self.draw_pairs(0, plot, &layout, pen);
            self.draw_pairs(1, plot, &layout, pen);
            self.draw_curve(plot, &layout, pen);
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
        let full = joined([what.as_str(), &average, &head, how, self.caveat.unwrap_or_default(), &self.origin]);
        Captions { short, full }
    }
}
