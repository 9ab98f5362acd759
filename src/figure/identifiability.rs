//! Identifiability over a data set as a figure: rank and effective share by length, mixing by layer.

use emath::{Rect, vec2};

use super::{
    chart::Scale,
    curves::{Curve, CurveChart},
    multiples::ChartCells,
    page::{Captions, Scene},
    pen::Pen,
    views::joined,
};
use crate::{
    analysis::{
        bootstrap::Estimate,
        debate::identifiability::{IdentitySummary, PUBLISHED, SHOWS},
    },
    text::{counted, decimal_text, grouped},
};

const CELLS: ChartCells = ChartCells { usual: vec2(270.0, 270.0), least: vec2(220.0, 230.0), most_columns: 3 };

/// One model over a data set.
#[derive(Clone, Debug)]
pub struct IdentityScene {
    /// What the model and its inputs are called.
    pub model: String,
    pub corpus: String,
    pub summary: IdentitySummary,
}

impl IdentityScene {
    fn has_mixing(&self) -> bool {
        self.summary.layers.iter().any(|layer| layer.mixing.is_some() || layer.mixing_attention.is_some())
    }

    fn n_charts(&self) -> usize {
        2 + usize::from(self.has_mixing())
    }

    fn charts(&self, pen: &Pen<'_>) -> Vec<CurveChart<'_>> {
        let IdentitySummary { width, points, of_lengths, layers, .. } = &self.summary;
        let longest = points.iter().map(|point| point[0]).fold(1.0, f64::max);
        let by_length = |of: &dyn Fn(usize) -> Estimate| {
            of_lengths.iter().enumerate().map(|(nth, group)| (group.n_tokens, of(nth))).collect::<Vec<_>>()
        };
        let dots = |axis: usize| points.iter().map(|point| [point[0], point[axis]]).collect::<Vec<_>>();
        let [first, second] = [pen.palette.head(0), pen.palette.head(1)];
        let lengths = [0.0, 1.03 * longest];
        let most = points.iter().map(|point| point[1]).fold(*width as f64, f64::max).min(longest.max(1.0));
        let mut charts = vec![
            CurveChart {
                title: "Rank of the values",
                x: "tokens of the input",
                x_range: lengths,
                y_range: [0.0, 1.1 * most],
                scale: Scale::Whole,
                text: |value| grouped(value as usize),
                dots: dots(1),
                curves: vec![Curve {
                    name: "mean of heads and layers",
                    points: by_length(&|nth| of_lengths[nth].rank),
                    color: first,
                }],
                levels: (*width as f64 <= 1.1 * most)
                    .then_some((*width as f64, "width of a value"))
                    .into_iter()
                    .collect(),
            },
            CurveChart {
                title: "Share of attention that is effective",
                x: "tokens of the input",
                x_range: lengths,
                y_range: [0.0, 1.05],
                scale: Scale::Whole,
                text: |value| decimal_text(value),
                dots: dots(2),
                curves: vec![
                    Curve { name: "attention", points: by_length(&|nth| of_lengths[nth].effective), color: first },
                    Curve { name: "random rows", points: by_length(&|nth| of_lengths[nth].by_chance), color: second },
                ],
                levels: Vec::new(),
            },
        ];
        if self.has_mixing() {
            let of_layers = |of: &dyn Fn(usize) -> Option<Estimate>| {
                (0..layers.len()).filter_map(|layer| Some((layer as f64, of(layer)?))).collect::<Vec<_>>()
            };
            charts.push(CurveChart {
                title: "Mixing: share of other tokens",
                x: "layer",
                x_range: [-0.3, layers.len().max(2) as f64 - 0.7],
                y_range: [0.0, 1.05],
                scale: Scale::Whole,
                text: |value| decimal_text(value),
                dots: Vec::new(),
                curves: vec![
                    Curve { name: "with the stream", points: of_layers(&|layer| layers[layer].mixing), color: first },
                    Curve {
                        name: "attention alone",
                        points: of_layers(&|layer| layers[layer].mixing_attention),
                        color: second,
                    },
                ],
                levels: Vec::new(),
            });
        }
        charts
    }
}

impl Scene for IdentityScene {
    fn width(&self, _: &mut Pen<'_>) -> f32 {
        CELLS.width(self.n_charts())
    }

    fn least_width(&self, _: &mut Pen<'_>) -> f32 {
        CELLS.least_width(self.n_charts())
    }

    fn height(&self, width: f32, _: &mut Pen<'_>) -> f32 {
        CELLS.height(self.n_charts(), width)
    }

    fn least_height(&self, width: f32, _: &mut Pen<'_>) -> f32 {
        CELLS.least_height(self.n_charts(), width)
    }

    fn draw(&self, area: Rect, pen: &mut Pen<'_>) {
        let charts = self.charts(pen);
        for (chart, place) in charts.iter().zip(CELLS.places(area, charts.len())) {
            chart.draw(place, pen);
        }
    }

    fn captions(&self) -> Captions {
        let short = format!("{}, {} of {}", self.model, counted(self.summary.n_inputs, "input"), self.corpus);
        let how =
            "Dots are inputs, squares means of inputs of like length or of a layer with 95 % of the inputs drawn anew";
        let full: Vec<&str> = vec![&short, how, SHOWS, PUBLISHED];
        Captions { full: joined(full), short: joined([short.as_str(), how]) }
    }
}
