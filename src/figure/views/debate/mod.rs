//! The published tests of attention as explanation, over many inputs: small charts of each test, with what is published
//! beside ours.

use emath::{Rect, vec2};

use super::joined;
use crate::{
    analysis::debate::{
        AdversarySummary, AgreementSummary, ByLargest, DebateSummary, DebateTest, ErasureSummary, InputPoint, Labelled,
    },
    figure::{
        multiples::{ChartCells, interval},
        page::{Captions, Scene},
        pen::Pen,
    },
    text::{counted, decimal_text, grouped, share_text, weight_text},
};

mod options;
mod panels;
mod spec;

pub use options::DebateChoices;
pub use panels::ChartReading;
pub use spec::{SPEC, rows};

use panels::{Drawn, Panel};

const CELLS: ChartCells = ChartCells { usual: vec2(240.0, 384.0), least: vec2(220.0, 352.0), most_columns: 4 };
const QUARTERS: [&str; 4] = ["0–¼", "¼–½", "½–¾", "¾–1"];

/// All tests of one model over a data set.
#[derive(Clone, Debug)]
pub struct DebateScene {
    /// What the model and its inputs are called.
    pub model: String,
    pub corpus: String,
    pub summary: DebateSummary,
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

    /// The inputs and their classes, in words.
    pub fn inputs_text(&self) -> String {
        let of_class: Vec<String> =
            self.summary.classes.iter().map(|(class, n)| format!("{class} {}", grouped(*n))).collect();
        format!("{} ({})", counted(self.summary.n_inputs, "input"), of_class.join(", "))
    }

    /// The least height of the charts in a width.
    pub fn height_in(&self, width: f32) -> f32 {
        CELLS.least_height(self.panels().len(), width)
    }

    /// The least width of a chart.
    pub const fn least_chart_width() -> f32 {
        CELLS.least.x
    }

    /// What the charts in an area say at a place.
    pub fn reading(&self, area: Rect, at: emath::Pos2) -> Option<ChartReading> {
        let panels = self.panels();
        let places = CELLS.places(area, panels.len());
        panels.iter().zip(places).find(|(_, place)| place.contains(at)).and_then(|(panel, place)| panel.read(place, at))
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
            let drawn = Drawn::Histograms { of: &of.by_class, what: "τ", range: [-1.0, 1.0], beside: of.by_chance };
            let note = self.agreement_text(of);
            panels.push(Panel { test: DebateTest::Correlation, title, x: "Kendall’s τ of an input", drawn, note });
        }
        if let Some(of) = permutation {
            panels.push(Panel {
                test: DebateTest::Permutation,
                title: "Change under shuffled weights",
                x: "largest weight of the input",
                drawn: by_largest(of, "change", weight_text),
                note: Self::permutation_text(of),
            });
        }
        if let Some(of) = adversary {
            let of_panel =
                |title, x, drawn| Panel { test: DebateTest::Adversary, title, x, drawn, note: String::new() };
            let range = [0.0, std::f64::consts::LN_2];
            let far = Drawn::Histograms { of: &of.by_class, what: "JSD", range, beside: Some(of.reachable) };
            panels.push(Panel {
                note: self.adversary_text(of),
                ..of_panel("Other weights, same output", "distance (JSD, nats, at most ln 2)", far)
            });
            let boxes = by_largest(&of.by_largest, "JSD", decimal_text);
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
                    points: &[],
                    what: "erased",
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

fn by_largest<'a>(of: &'a ByLargest, what: &'static str, scale: fn(f64) -> String) -> Drawn<'a> {
    let top = of.boxes.iter().flatten().map(|of| of.five[4]).fold(0.0, f64::max);
    let boxes = QUARTERS.iter().zip(&of.boxes).map(|(name, of)| ((*name).to_owned(), of.as_ref()));
    let points: &[InputPoint] = &of.points;
    Drawn::Boxes { of: boxes.collect(), points, what, top: if top > 0.0 { 1.05 * top } else { 1.0 }, scale }
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
        self.height_in(width)
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
        let classes = self.summary.labelled.as_ref().map_or_else(|| "by predicted class".to_owned(), Labelled::text);
        let short = format!("{}, {n} of {}, {classes}", self.model, self.corpus);
        let how = "Upright lines are means, dotted ones random weights or the largest distance that the rows allow. Points are \
                   inputs, boxes quartiles with least and largest, squares means with 95 % of the inputs drawn anew";
        let mut tests: Vec<DebateTest> = self.panels().iter().map(|panel| panel.test).collect();
        tests.dedup();
        let shows = tests.iter().map(|test| test.shows());
        let full: Vec<&str> = [short.as_str(), how].into_iter().chain(shows).collect();
        Captions { full: joined(full), short: joined([short.as_str(), how]) }
    }
}
