//! The debate over a data set as a figure: small charts of each test, with what is published beside ours.

use std::f64::consts::LN_2;

use emath::{Pos2, Rect, pos2, vec2};

use super::{
    chart::Scale,
    font::Align,
    list::{Line, Rgba, faded},
    measure::{GRID, text_size::SMALL},
    multiples::{Around, Cells, MEAN_PT, axes, grid, interval, level, named_below, numbers_below, square, upright},
    page::{Captions, Scene},
    palette::Dash,
    pen::Pen,
    views::joined,
};
use crate::{
    analysis::{
        bootstrap::Estimate,
        debate::{
            AdversarySummary, AgreementSummary, BoxOf, ByLargest, DebateSummary, DebateTest, ErasureSummary, Histogram,
        },
    },
    text::{counted, decimal_text, grouped, share_text, weight_text},
};

const CELLS: Cells = Cells { usual: vec2(240.0, 384.0), least: vec2(220.0, 352.0), most_columns: 4 };
/// Room for numbers, titles and words.
const AROUND_PT: Around = Around([9.0 * GRID, 9.0 * GRID, 4.0 * GRID, 46.0 * GRID]);
/// From the chart to its numbers, the title of its axis, and the words below.
const BELOW_PT: [f32; 3] = [3.0 * GRID, 10.0 * GRID, 13.0 * GRID];
const POINT_PT: f32 = 1.25;
const QUARTERS: [&str; 4] = ["0–¼", "¼–½", "½–¾", "¾–1"];

/// All tests of one model over a data set.
#[derive(Clone, Debug)]
pub struct DebateScene {
    /// What the model and its inputs are called.
    pub model: String,
    pub corpus: String,
    pub summary: DebateSummary,
}

/// One chart.
struct Panel<'a> {
    test: DebateTest,
    title: &'static str,
    x: &'static str,
    drawn: Drawn<'a>,
    /// The result in words.
    note: String,
}

/// What a chart draws.
enum Drawn<'a> {
    /// Shares of inputs over a range, with a value for comparison.
    Histograms { of: &'a [Histogram], range: [f64; 2], beside: Option<f64> },
    /// Boxes beside each other.
    Boxes { of: Vec<(String, Option<&'a BoxOf>)>, top: f64, scale: fn(f64) -> String },
    /// Points, means with intervals, and a value for comparison.
    Points { of: &'a [[f64; 2]], means: &'a [(f64, Estimate)], beside: f64 },
}

impl DebateScene {
    /// How far two measures agree, in words.
    pub fn agreement_text(&self, of: &AgreementSummary) -> String {
        let constant = if of.n_constant > 0 { format!(", {} without an order", of.n_constant) } else { String::new() };
        let chance = of.by_chance.map_or_else(String::new, |tau| format!("; random weights {}", decimal_text(tau)));
        let by_class: Vec<String> = of
            .by_class
            .iter()
            .filter(|of| !of.class.is_empty())
            .map(|of| format!("{} {}", of.class, decimal_text(of.mean)))
            .collect();
        let by_class = if by_class.len() > 1 { format!("; {}", by_class.join(", ")) } else { String::new() };
        format!(
            "mean {} ± {}, p ≤ .05 in {}, n {}{constant}{by_class}{chance}",
            interval(of.mean, decimal_text),
            decimal_text(of.std),
            share_text(of.significant),
            grouped(of.n),
        )
    }

    /// The change under shuffled weights, in words.
    pub fn permutation_text(of: &ByLargest) -> String {
        let [_, _, median, _, _] = of.all.five;
        format!("median {}, mean {}, n {}", weight_text(median), interval(of.all.mean, weight_text), grouped(of.all.n))
    }

    /// The distances of other weights, in words.
    pub fn adversary_text(&self, of: &AdversarySummary) -> String {
        format!(
            "mean {}, n {}; such rows allow at most {}, two random rows are {} apart; {} of the candidates keep |Δŷ| ≤ {} \
             ({} steps)",
            interval(of.by_largest.all.mean, decimal_text),
            grouped(of.by_largest.all.n),
            decimal_text(of.reachable),
            decimal_text(of.by_chance),
            share_text(of.kept),
            weight_text(self.summary.epsilon),
            grouped(of.n_steps),
        )
    }

    fn panels(&self) -> Vec<Panel<'_>> {
        let DebateSummary { gradient, leave_one_out, both, permutation, adversary, erasure, .. } = &self.summary;
        let agreements = [
            ("Attention and gradient × input", gradient),
            ("Attention and leave-one-out", leave_one_out),
            ("Gradient × input and leave-one-out", both),
        ];
        let mut panels: Vec<Panel<'_>> = Vec::new();
        for (title, of) in agreements.into_iter().filter_map(|(title, of)| Some((title, of.as_ref()?))) {
            let drawn = Drawn::Histograms { of: &of.by_class, range: [-1.0, 1.0], beside: of.by_chance };
            let note = self.agreement_text(of);
            panels.push(Panel { test: DebateTest::Correlation, title, x: "Kendall’s τ of an input", drawn, note });
        }
        if let Some(of) = permutation {
            panels.push(Panel {
                test: DebateTest::Permutation,
                title: "Change under shuffled weights",
                x: "largest weight of the input",
                drawn: by_largest(of, weight_text),
                note: Self::permutation_text(of),
            });
        }
        if let Some(of) = adversary {
            let of_panel =
                |title, x, drawn| Panel { test: DebateTest::Adversary, title, x, drawn, note: String::new() };
            let far = Drawn::Histograms { of: &of.by_class, range: [0.0, LN_2], beside: Some(of.reachable) };
            panels.push(Panel {
                note: self.adversary_text(of),
                ..of_panel("Other weights, same output", "distance (JSD, nats, at most ln 2)", far)
            });
            let boxes = by_largest(&of.by_largest, decimal_text);
            panels.push(of_panel("The same by the largest weight", "largest weight of the input", boxes));
            let points = Drawn::Points { of: &of.by_length, means: &of.of_lengths, beside: of.reachable };
            panels.push(of_panel("The same by length", "tokens of the input", points));
        }
        if let Some(orders) = erasure {
            let never = |of: &ErasureSummary| {
                format!("{} {}", short_order(of), share_text(of.n_never as f64 / of.n.max(1) as f64))
            };
            let never: Vec<String> = orders.iter().map(never).collect();
            let n = orders.iter().map(|of| of.n).max().unwrap_or(0);
            panels.push(Panel {
                test: DebateTest::Erasure,
                title: "Share of weights erased until it flips",
                x: "order of erasing",
                drawn: Drawn::Boxes {
                    of: orders.iter().map(|of| (short_order(of).to_owned(), of.flips.as_ref())).collect(),
                    top: 1.0,
                    scale: |value| share_text(value),
                },
                note: format!("never flips, of n {}: {}", grouped(n), never.join(", ")),
            });
        }
        panels
    }
}

/// A short name of an order, below its box.
fn short_order(of: &ErasureSummary) -> &'static str {
    match of.name {
        "attention" => "weight",
        "gradient" => "gradient",
        "attention_gradient" => "product",
        _ => "random",
    }
}

fn by_largest(of: &ByLargest, scale: fn(f64) -> String) -> Drawn<'_> {
    let top = of.boxes.iter().flatten().map(|of| of.five[4]).fold(0.0, f64::max);
    let boxes = QUARTERS.iter().zip(&of.boxes).map(|(name, of)| ((*name).to_owned(), of.as_ref()));
    Drawn::Boxes { of: boxes.collect(), top: if top > 0.0 { 1.05 * top } else { 1.0 }, scale }
}

impl Panel<'_> {
    fn draw(&self, area: Rect, pen: &mut Pen<'_>, is_first_of_test: bool) {
        let rect = AROUND_PT.titled(self.title, area, pen);
        let weak = pen.palette.text_weak;
        match &self.drawn {
            Drawn::Histograms { of, range, beside } => histograms(of, *range, *beside, rect, pen),
            Drawn::Boxes { of, top, scale } => boxes(of, *top, *scale, rect, pen),
            Drawn::Points { of, means, beside } => points(of, means, *beside, rect, pen),
        }
        let [_, axis, words] = BELOW_PT;
        named_below(self.x, rect, axis, pen);
        let (mut at, width) = (pos2(area.left() + GRID, rect.bottom() + words), area.width() - 2.0 * GRID);
        if !self.note.is_empty() {
            at.y += pen.paragraph(&self.note, SMALL, pen.palette.text, at, width);
        }
        if is_first_of_test {
            at.y += 0.5 * GRID;
            pen.paragraph(self.test.published(), SMALL, weak, at, width);
        }
    }
}

fn histograms(of: &[Histogram], [from, to]: [f64; 2], beside: Option<f64>, rect: Rect, pen: &mut Pen<'_>) {
    let top = of.iter().flat_map(|of| &of.shares).copied().fold(0.0, f64::max);
    let axes = axes([[from, to], [0.0, 1.08 * top.max(1e-6)]], rect);
    grid(&axes, rect, &|value, _| share_text(value), pen);
    numbers_below(&axes, rect, Scale::Linear, pen);
    let mut name_at = rect.right();
    for (nth, histogram) in of.iter().enumerate().rev() {
        let color = if of.len() == 1 { pen.palette.bar } else { pen.palette.head(nth) };
        let width = (to - from) / histogram.shares.len() as f64;
        let mut outline: Vec<Pos2> = Vec::new();
        for (bin, share) in histogram.shares.iter().enumerate() {
            let ends = [bin, bin + 1].map(|edge| axes.at(from + edge as f64 * width, *share));
            let bar = Rect::from_min_max(ends[0], pos2(ends[1].x, rect.bottom()));
            if *share > 0.0 {
                pen.rect(bar, faded(color, 0.25));
            }
            outline.extend(ends);
        }
        let line = |pair: &[Pos2]| Line { from: pair[0], to: pair[1], width: 1.0, color };
        pen.lines(outline.windows(2).filter(|pair| pair[0] != pair[1]).map(line).collect());
        upright(&axes, histogram.mean, rect, Dash::Solid, color, pen);
        if of.len() > 1 {
            let name = format!("{} {}", histogram.class, grouped(histogram.n));
            let at = pos2(name_at, rect.top() - 2.0 * GRID);
            name_at -= pen.text(&name, SMALL, color, at, Align::Right) + 3.0 * GRID;
        }
    }
    if let Some(value) = beside {
        upright(&axes, value, rect, Dash::Dotted, pen.palette.text_weak, pen);
    }
}

fn boxes(of: &[(String, Option<&BoxOf>)], top: f64, scale: fn(f64) -> String, rect: Rect, pen: &mut Pen<'_>) {
    let axes = axes([[0.0, of.len() as f64], [0.0, top]], rect);
    grid(&axes, rect, &|value, _| scale(value), pen);
    let (color, text, weak) = (pen.palette.head(0), pen.palette.text, pen.palette.text_weak);
    for (nth, (name, found)) in of.iter().enumerate() {
        let middle = nth as f64 + 0.5;
        let x = axes.x.at(middle);
        pen.text(name, SMALL, weak, pos2(x, rect.bottom() + BELOW_PT[0]), Align::Center);
        let n = found.map_or(0, |of| of.n);
        pen.text(
            &format!("n {}", grouped(n)),
            SMALL,
            weak,
            pos2(x, rect.bottom() + BELOW_PT[0] + 3.25 * GRID),
            Align::Center,
        );
        let Some(BoxOf { five: [least, lower, median, upper, most], mean, .. }) = found else { continue };
        let half = 0.28;
        let part = |low: f64, high: f64, half: f64| {
            Rect::from_min_max(axes.at(middle - half, high), axes.at(middle + half, low))
        };
        let upright = |low: f64, high: f64, width: f32, color: Rgba| Line {
            from: axes.at(middle, low),
            to: axes.at(middle, high),
            width,
            color,
        };
        pen.lines(vec![upright(*least, *lower, 1.0, color), upright(*upper, *most, 1.0, color)]);
        let quartiles = part(*lower, *upper, half);
        pen.rect(quartiles, faded(color, 0.3));
        pen.frame(quartiles, 0.75, color);
        pen.line(axes.at(middle - half, *median), axes.at(middle + half, *median), 2.0, color);
        // The mean with its interval.
        pen.lines(vec![upright(mean.low, mean.high, 2.0, text)]);
        let at = axes.at(middle, mean.value);
        square(at, MEAN_PT, text, pen);
    }
}

fn points(of: &[[f64; 2]], means: &[(f64, Estimate)], beside: f64, rect: Rect, pen: &mut Pen<'_>) {
    let longest = of.iter().map(|[x, _]| *x).fold(1.0, f64::max);
    let axes = axes([[0.0, 1.03 * longest], [0.0, LN_2 * 1.03]], rect);
    grid(&axes, rect, &|value, _| decimal_text(value), pen);
    numbers_below(&axes, rect, Scale::Whole, pen);
    let color = faded(pen.palette.head(0), 0.35);
    for [x, y] in of {
        square(axes.at(*x, *y), 2.0 * POINT_PT, color, pen);
    }
    let text = pen.palette.text;
    level(&axes, beside, rect, pen.palette.text_weak, pen);
    let mean = means.iter().map(|(x, of)| axes.at(*x, of.value)).collect::<Vec<Pos2>>();
    pen.lines(mean.windows(2).map(|pair| Line { from: pair[0], to: pair[1], width: 1.5, color: text }).collect());
    for (x, of) in means {
        pen.line(axes.at(*x, of.low), axes.at(*x, of.high), 2.0, text);
        square(axes.at(*x, of.value), MEAN_PT, text, pen);
    }
}

impl Scene for DebateScene {
    fn width(&self, _: &mut Pen<'_>) -> f32 {
        CELLS.width(self.panels().len())
    }

    fn least_width(&self, _: &mut Pen<'_>) -> f32 {
        CELLS.least_width(self.panels().len())
    }

    fn height(&self, width: f32, _: &mut Pen<'_>) -> f32 {
        CELLS.height(self.panels().len(), width)
    }

    fn least_height(&self, width: f32, _: &mut Pen<'_>) -> f32 {
        CELLS.least_height(self.panels().len(), width)
    }

    fn draw(&self, area: Rect, pen: &mut Pen<'_>) {
        let panels = self.panels();
        let mut last = None;
        for (panel, place) in panels.iter().zip(CELLS.places(area, panels.len())) {
            panel.draw(place, pen, last != Some(panel.test));
            last = Some(panel.test);
        }
    }

    fn captions(&self) -> Captions {
        let n = counted(self.summary.n_inputs, "input");
        let short = format!("{}, {n} of {}, by predicted class", self.model, self.corpus);
        let how = "Upright lines are means, dotted ones random weights or the largest distance that the rows allow. Boxes \
                   are quartiles with least and largest, squares means with 95 % of the inputs drawn anew";
        let mut tests: Vec<DebateTest> = self.panels().iter().map(|panel| panel.test).collect();
        tests.dedup();
        let shows = tests.iter().map(|test| test.shows());
        let full: Vec<&str> = [short.as_str(), how].into_iter().chain(shows).collect();
        Captions { full: joined(full), short: joined([short.as_str(), how]) }
    }
}
