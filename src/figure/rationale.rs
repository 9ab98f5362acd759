//! Agreement of methods with marked words as a figure: average precision by method.

use super::{
    dot_rows::{DotFigure, DotRow, DotRows},
    page::Captions,
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
pub struct RationaleSummary {
    /// What the model and its inputs are called.
    pub model: String,
    pub corpus: String,
    /// The best first.
    pub rows: Vec<RationaleRow>,
    /// Mean over texts of what is to be expected by chance.
    pub chance: f64,
    pub n_texts: usize,
}

impl RationaleSummary {
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

    /// The figure.
    pub fn figure(&self) -> DotFigure {
        DotFigure { chart: self.chart(), widths: [LEAST_WIDTH_PT, WIDTH_PT], captions: self.captions() }
    }

    fn captions(&self) -> Captions {
        let short = format!("{}, {} of {}", self.model, counted(self.n_texts, "text"), self.corpus);
        let how = "Tokens by the size of what each method gives them, special tokens left aside; bars are 95 % of the texts \
                   drawn anew, the dotted line is the mean of all orders";
        Captions { full: joined([&*short, how]), short }
    }
}
