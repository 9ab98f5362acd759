//! Likeness of states by layer as a figure: which are still their own token, and how alike they are.

use emath::{Rect, pos2, vec2};

use super::{
    chart::Scale,
    curves::{Curve, CurveChart},
    page::{Captions, Scene},
    pen::Pen,
    views::joined,
};
use crate::{
    analysis::{bootstrap::Estimate, likeness::LikenessRow},
    text::{counted, decimal_text, share_text},
};

const CELL_PT: [f32; 2] = [290.0, 280.0];
const LEAST_CELL_PT: [f32; 2] = [220.0, 240.0];

/// One model over many texts.
#[derive(Clone, Debug)]
pub struct LikenessScene {
    /// What the model and its inputs are called.
    pub model: String,
    pub corpus: String,
    pub n_texts: usize,
    /// Mean of one over the number of tokens: what would be their own by chance.
    pub chance: f64,
    /// The embeddings, and each layer.
    pub rows: Vec<LikenessRow>,
}

impl Scene for LikenessScene {
    fn width(&self, _: &mut Pen<'_>) -> f32 {
        2.0 * CELL_PT[0]
    }

    fn least_width(&self, _: &mut Pen<'_>) -> f32 {
        2.0 * LEAST_CELL_PT[0]
    }

    fn height(&self, _: f32, _: &mut Pen<'_>) -> f32 {
        CELL_PT[1]
    }

    fn least_height(&self, _: f32, _: &mut Pen<'_>) -> f32 {
        LEAST_CELL_PT[1]
    }

    fn draw(&self, area: Rect, pen: &mut Pen<'_>) {
        let points = |of: fn(&LikenessRow) -> Estimate| -> Vec<(f64, Estimate)> {
            self.rows.iter().enumerate().map(|(nth, row)| (nth as f64, of(row))).collect()
        };
        let last = self.rows.len().max(2) as f64 - 0.7;
        let least = self.rows.iter().map(|row| row.cosine.low).fold(0.0, f64::min);
        let chart = |title, y_range, text, curves, levels| CurveChart {
            title,
            x: "layers passed",
            x_range: [-0.3, last],
            y_range,
            scale: Scale::Whole,
            text,
            dots: Vec::new(),
            curves,
            levels,
        };
        let [first, second] = [pen.palette.head(0), pen.palette.head(1)];
        let own = Curve { name: "nearest input token is its own", points: points(|row| row.own), color: first };
        let cosine = Curve { name: "cosine of two states", points: points(|row| row.cosine), color: first };
        let conicity =
            Curve { name: "cosine with the mean (conicity)", points: points(|row| row.conicity), color: second };
        let charts = [
            chart(
                "States that are still their token",
                [0.0, 1.03],
                share_text,
                vec![own],
                vec![(self.chance, "by chance")],
            ),
            chart(
                "Likeness of the states of a text",
                [1.05 * least, 1.03],
                decimal_text,
                vec![cosine, conicity],
                Vec::new(),
            ),
        ];
        let width = area.width() / 2.0;
        for (nth, chart) in charts.iter().enumerate() {
            let min = pos2(area.left() + nth as f32 * width, area.top());
            chart.draw(Rect::from_min_size(min, vec2(width, area.height())), pen);
        }
    }

    fn captions(&self) -> Captions {
        let short = format!("{}, {} of {}", self.model, counted(self.n_texts, "text"), self.corpus);
        let how = "Squares are means over texts with 95 % of the texts drawn anew; nearest by cosine among the tokens of the \
                   same text, special tokens left aside";
        Captions { full: joined([&*short, how]), short }
    }
}
