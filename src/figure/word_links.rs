//! Heads of syntax as a figure: how often the best head finds each relation, beside the best fixed offset.

use super::{
    dot_rows::{DotFigure, DotRow, DotRows},
    page::Captions,
    views::joined,
};
use crate::{
    analysis::word_links::{ClassRow, LinkRow},
    capture::head_name,
    text::{counted, share_text},
};

const WIDTH_PT: f32 = 620.0;
const LEAST_WIDTH_PT: f32 = 480.0;
/// Relations that are drawn; all are in tables.
const MOST_ROWS: usize = 40;

/// Heads of one model over the sentences of a treebank.
#[derive(Clone, Debug)]
pub struct LinkSummary {
    /// What the model and its inputs are called.
    pub model: String,
    pub corpus: String,
    pub n_sentences: usize,
    pub rows: Vec<LinkRow>,
    pub classes: Vec<ClassRow>,
}

impl LinkSummary {
    /// A relation with its way.
    pub fn name(row: &LinkRow) -> String {
        format!("{}, {}", row.relation, row.way.title())
    }

    fn chart(&self) -> DotRows {
        let row = |row: &LinkRow| DotRow {
            name: Self::name(row),
            value: row.found,
            baseline: Some(row.by_offset),
            text: format!("{} by {} of {}", share_text(row.found.value), head_name(row.head), row.n[1]),
        };
        DotRows {
            rows: self.rows.iter().take(MOST_ROWS).map(row).collect(),
            axis: "words whose relation is found",
            number: share_text,
            level: None,
        }
    }

    /// The figure.
    pub fn figure(&self) -> DotFigure {
        DotFigure { chart: self.chart(), widths: [LEAST_WIDTH_PT, WIDTH_PT], captions: self.captions() }
    }

    fn captions(&self) -> Captions {
        let short = format!("{}, {} of {}", self.model, counted(self.n_sentences, "sentence"), self.corpus);
        let how = "Squares: the head that does best on every other sentence, over the others, with 95 % intervals (Wilson); \
                   ticks: the fixed offset that does best there";
        let left = self.rows.len().saturating_sub(MOST_ROWS);
        let more = if left > 0 {
            format!("{} with fewer words are in the table alone", counted(left, "row"))
        } else {
            String::new()
        };
        Captions { full: joined([&*short, how, &more]), short }
    }
}
