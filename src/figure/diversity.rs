//! Twins whose states are kept apart, as a figure: likeness of states, agreement of attention with gradients, and the
//! change of the output under other orders of the weights, by the weight of conicity in the loss.

use emath::{Rect, pos2, vec2};

use super::{
    chart::Scale,
    curves::{Curve, CurveChart},
    page::{Captions, Scene},
    pen::Pen,
    views::joined,
};
use crate::{
    analysis::{
        bootstrap::Estimate,
        debate::diversity::{DiverseRow, DiverseTwin, PUBLISHED},
    },
    text::{counted, decimal_text, weight_text},
};

const CELL_PT: [f32; 2] = [235.0, 290.0];
const LEAST_CELL_PT: [f32; 2] = [190.0, 260.0];
const N_CHARTS: usize = 3;

/// Twins of one model over a data set.
#[derive(Clone, Debug)]
pub struct DiverseScene {
    /// What the model and its texts are called.
    pub model: String,
    pub corpus: String,
    pub n_trained: usize,
    pub rows: Vec<DiverseRow>,
}

/// A title, how numbers are written, and where they come from.
type Measured = (&'static str, fn(f64) -> String, fn(&DiverseRow) -> Option<Estimate>);

impl DiverseScene {
    const CHARTS: [Measured; N_CHARTS] = [
        ("Conicity of the states", decimal_text, |row| Some(row.conicity)),
        ("τ of attention and gradient", decimal_text, |row| row.tau),
        ("Change under shuffled weights", weight_text, |row| Some(row.permuted)),
    ];

    /// Texts that no twin was trained on.
    pub fn n_held_out(&self) -> usize {
        self.rows.first().map_or(0, |row| row.texts.len())
    }

    fn draw_chart(&self, nth: usize, area: Rect, pen: &mut Pen<'_>) {
        let (title, text, of) = Self::CHARTS[nth];
        let found = || self.rows.iter().filter_map(|row| Some((row.twin, of(row)?)));
        let (mut points, mut dots, mut level) = (Vec::new(), Vec::new(), None);
        for (twin, value) in found() {
            match twin {
                DiverseTwin::Model => level = Some(value.value),
                DiverseTwin::Seed(0) => points.push((0.0, value)),
                DiverseTwin::Seed(_) => dots.push([0.0, value.value]),
                DiverseTwin::Diverse(lambda) => points.push((lambda, value)),
            }
        }
        let most = points.iter().map(|(lambda, _)| *lambda).fold(0.0, f64::max).max(1e-3);
        let ends = || found().flat_map(|(_, value)| [value.low, value.high]);
        let (low, high) = (ends().fold(0.0, f64::min), ends().fold(1e-3, f64::max));
        let chart = CurveChart {
            title,
            x: "λ, the weight of conicity",
            x_range: [-0.05 * most, 1.05 * most],
            y_range: [1.08 * low, 1.08 * high],
            scale: Scale::Linear,
            text,
            dots,
            curves: vec![Curve { name: "twins; squares at 0: seeds", points, color: pen.palette.head(0) }],
            levels: level.into_iter().map(|level| (level, "the model itself")).collect(),
        };
        chart.draw(area, pen);
    }
}

impl Scene for DiverseScene {
    fn width(&self, _: &mut Pen<'_>) -> f32 {
        N_CHARTS as f32 * CELL_PT[0]
    }

    fn least_width(&self, _: &mut Pen<'_>) -> f32 {
        N_CHARTS as f32 * LEAST_CELL_PT[0]
    }

    fn height(&self, _: f32, _: &mut Pen<'_>) -> f32 {
        CELL_PT[1]
    }

    fn least_height(&self, _: f32, _: &mut Pen<'_>) -> f32 {
        LEAST_CELL_PT[1]
    }

    fn draw(&self, area: Rect, pen: &mut Pen<'_>) {
        let width = area.width() / N_CHARTS as f32;
        for nth in 0..N_CHARTS {
            let min = pos2(area.left() + nth as f32 * width, area.top());
            self.draw_chart(nth, Rect::from_min_size(min, vec2(width, area.height())), pen);
        }
    }

    fn captions(&self) -> Captions {
        let n = counted(self.n_held_out(), "text");
        let short = format!("{}, {}: {n} that no twin was trained on", self.model, self.corpus);
        let how = "Means with 95 % of the texts drawn anew; change: median over orders of the weights, total variation distance";
        Captions { full: joined([&*short, how, PUBLISHED]), short }
    }
}
