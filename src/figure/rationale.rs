//! Agreement of methods with marked words as a figure: average precision by method.

use emath::Rect;

use super::{
    dot_rows::{DotRow, DotRows},
    page::{Captions, Scene},
    pen::Pen,
    views::joined,
};
use crate::{
    analysis::rationale::RationaleRow,
    text::{counted, decimal_text},
};

const WIDTH_PT: f32 = 560.0;
const LEAST_WIDTH_PT: f32 = 420.0;

/// Methods over texts with marked words, of one model.
#[derive(Clone, Debug)]
pub struct RationaleScene {
    /// What the model and its inputs are called.
    pub model: String,
    pub corpus: String,
    /// The best first.
    pub rows: Vec<RationaleRow>,
    /// Mean over texts of what is to be expected by chance.
    pub chance: f64,
    pub n_texts: usize,
}

impl RationaleScene {
    fn chart(&self) -> DotRows {
        let row = |row: &RationaleRow| DotRow {
            name: row.title.to_owned(),
            value: row.precision,
            baseline: None,
            text: decimal_text(row.precision.value),
        };
        DotRows {
            rows: self.rows.iter().map(row).collect(),
            axis: "average precision of the marked words",
            number: decimal_text,
            level: Some((self.chance, "by chance")),
        }
    }
}

impl Scene for RationaleScene {
    fn width(&self, _: &mut Pen<'_>) -> f32 {
        WIDTH_PT
    }

    fn least_width(&self, _: &mut Pen<'_>) -> f32 {
        LEAST_WIDTH_PT
    }

    fn height(&self, _: f32, _: &mut Pen<'_>) -> f32 {
        self.chart().height()
    }

    fn least_height(&self, _: f32, _: &mut Pen<'_>) -> f32 {
        self.chart().height()
    }

    fn draw(&self, area: Rect, pen: &mut Pen<'_>) {
        self.chart().draw(area, pen);
    }

    fn captions(&self) -> Captions {
        let short = format!("{}, {} of {}", self.model, counted(self.n_texts, "text"), self.corpus);
        let how = "Tokens by the size of what each method gives them, special tokens left aside; bars are 95 % of the texts \
                   drawn anew, the dotted line is the mean of all orders";
        Captions { full: joined([&*short, how]), short }
    }
}
