//! Heads of syntax as a figure: how often the best head finds each relation, beside the best fixed offset.

use emath::Rect;

use super::{
    dot_rows::{DotRow, DotRows},
    page::{Captions, Scene},
    pen::Pen,
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
pub struct LinkScene {
    /// What the model and its inputs are called.
    pub model: String,
    pub corpus: String,
    pub n_sentences: usize,
    pub rows: Vec<LinkRow>,
    pub classes: Vec<ClassRow>,
}

impl LinkScene {
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
}

impl Scene for LinkScene {
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
