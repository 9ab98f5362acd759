//! How a text was written: a column per step with the token, its probability, and the tokens that were nearly written.

use std::sync::Arc;

use emath::{Pos2, Rect, Vec2, vec2};

use super::joined;
use crate::{
    analysis::written::{Origin, WrittenText},
    figure::{
        measure::{GRID, text_size::BODY},
        page::{Captions, Scene},
        pen::Pen,
    },
    style::size::CONTROL_PT,
    text::{counted, decimal_text},
};

mod draw;
mod options;
mod samples;
mod spec;
mod tree;

pub use options::StepsOptions;
pub use samples::{SamplePlace, SamplesLayout};
pub use spec::SPEC;
pub use tree::{BeamTree, Fate};

/// Width of a column.
const COLUMN_PT: f32 = 34.0 * GRID;
/// Height of the number above a column.
const NUMBER_PT: f32 = 4.0 * GRID;
/// Between two columns, and between two lines of columns.
const GAP_PT: Vec2 = vec2(3.0 * GRID, 4.0 * GRID);
/// Free around the columns, for the frame of the selected one.
const MARGIN_PT: f32 = GRID;
/// Columns of a figure that is as wide as suits it.
const N_COLS: usize = 6;

/// The steps of a text as they are drawn.
#[derive(Clone, Debug)]
pub struct WritingScene {
    pub text: Arc<WrittenText>,
    /// The step that is held.
    pub selected: Option<usize>,
    pub options: StepsOptions,
    /// The texts that it is the best of.
    pub tree: Option<BeamTree>,
}

/// A token of a step: the one that was written, or one of its rivals.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct StepCell {
    pub step: usize,
    pub rival: Option<usize>,
}

impl WritingScene {
    /// With the step that a query writes, where one of its text is held.
    pub fn new(text: Arc<WrittenText>, query: Option<usize>, options: StepsOptions) -> Self {
        let selected = query.and_then(|query| text.step_of(query));
        let tree = text.beams.clone().map(BeamTree::new);
        Self { text, selected, options, tree }
    }

    fn column_height(&self) -> f32 {
        NUMBER_PT + (f32::from(self.options.rivals) + 1.0) * CONTROL_PT
    }

    fn n_columns(width: f32) -> usize {
        (((width - 2.0 * MARGIN_PT + GAP_PT.x) / (COLUMN_PT + GAP_PT.x)) as usize).max(1)
    }

    /// Width of some columns side by side.
    pub fn width_of(n_cols: usize) -> f32 {
        n_cols as f32 * (COLUMN_PT + GAP_PT.x) - GAP_PT.x + 2.0 * MARGIN_PT
    }

    /// The least width, with the tree of texts, which has no other.
    pub fn narrowest(&self) -> f32 {
        Self::width_of(1).max(self.tree.as_ref().map_or(0.0, |tree| tree.size().x))
    }

    /// Height of all in a width.
    pub fn height_in(&self, width: f32) -> f32 {
        self.height_of_steps(width) + self.tree.as_ref().map_or(0.0, |tree| GAP_PT.y + tree.size().y)
    }

    fn height_of_steps(&self, width: f32) -> f32 {
        let n_lines = self.text.steps.len().div_ceil(Self::n_columns(width)).max(1);
        n_lines as f32 * (self.column_height() + GAP_PT.y) - GAP_PT.y + 2.0 * MARGIN_PT
    }

    /// The place of a step.
    pub fn column(&self, area: Rect, nth: usize) -> Rect {
        let n_cols = Self::n_columns(area.width());
        let size = vec2(COLUMN_PT, self.column_height());
        let at = vec2((nth % n_cols) as f32, (nth / n_cols) as f32) * (size + GAP_PT);
        Rect::from_min_size(area.min + Vec2::splat(MARGIN_PT) + at, size)
    }

    /// The places of the tokens of a step: the written one, then its rivals.
    pub fn cells(&self, area: Rect, step: usize) -> impl Iterator<Item = (StepCell, Rect)> {
        let column = self.column(area, step);
        let n_rivals = self.text.steps.get(step).map_or(0, |step| step.rivals.len().min(self.options.rivals.into()));
        (0..=n_rivals).map(move |row| {
            let top = column.min + vec2(0.0, NUMBER_PT + row as f32 * CONTROL_PT);
            let rect = Rect::from_min_size(top, vec2(COLUMN_PT, CONTROL_PT));
            (StepCell { step, rival: row.checked_sub(1) }, rect)
        })
    }

    /// Where the tree of texts begins.
    pub fn corner_of_tree(&self, area: Rect) -> Pos2 {
        area.min + vec2(0.0, self.height_of_steps(area.width()) + GAP_PT.y)
    }

    /// The token at a place.
    pub fn cell_at(&self, area: Rect, at: Pos2) -> Option<(StepCell, Rect)> {
        let step = (0..self.text.steps.len()).find(|nth| self.column(area, *nth).contains(at))?;
        self.cells(area, step).find(|(_, rect)| rect.contains(at))
    }
}

impl WritingScene {
    fn samples_in(&self, width: f32, pen: &mut Pen<'_>) -> SamplesLayout {
        SamplesLayout::compute(&self.text, width, &mut |text| pen.type_.width(text, BODY))
    }

    /// Draws all but the texts that were drawn by chance, which the window lays out by itself.
    pub fn draw_written(&self, area: Rect, pen: &mut Pen<'_>) {
        self.draw_steps(area, pen);
        if let Some(tree) = &self.tree {
            tree.draw(self.corner_of_tree(area), pen);
        }
    }
}

impl Scene for WritingScene {
    fn width(&self, _: &mut Pen<'_>) -> f32 {
        let n_cols = if self.text.samples.is_empty() { self.text.steps.len() } else { N_COLS };
        Self::width_of(N_COLS.min(n_cols)).max(self.narrowest())
    }

    fn least_width(&self, _: &mut Pen<'_>) -> f32 {
        self.narrowest()
    }

    fn height(&self, width: f32, pen: &mut Pen<'_>) -> f32 {
        self.samples_in(width, pen).size.y + self.height_in(width)
    }

    fn least_height(&self, width: f32, pen: &mut Pen<'_>) -> f32 {
        self.height(width, pen)
    }

    fn draw(&self, area: Rect, pen: &mut Pen<'_>) {
        let samples = self.samples_in(area.width() - 2.0 * MARGIN_PT, pen);
        samples.draw(&self.text, area.min + vec2(MARGIN_PT, 0.0), pen);
        let area = area.with_min_y(area.top() + samples.size.y);
        self.draw_written(area, pen);
    }

    fn captions(&self) -> Captions {
        let WrittenText { steps, is_cut, .. } = self.text.as_ref();
        let (n, n_given) = (steps.len(), self.text.n_given());
        let given = match n_given {
            0 => String::new(),
            _ if n_given == n => ", all given".to_owned(),
            _ => format!(", the first {n_given} given"),
        };
        let end = match steps.last().map(|step| step.origin) {
            Some(Origin::End) => ", ended by the model",
            Some(Origin::Chosen | Origin::Given) | None if *is_cut => ", stopped at the limit",
            Some(Origin::Chosen | Origin::Given) | None => "",
        };
        let best = match self.text.beams.as_ref().map(|beams| beams.hypotheses.as_slice()) {
            Some([(_, score), others @ ..]) => {
                format!(", the best of {} by a score of {}", counted(others.len() + 1, "text"), decimal_text(*score))
            }
            Some([]) | None => String::new(),
        };
        let drawn = match self.text.samples.len() {
            0 => String::new(),
            n => format!(", the first of {} that were sampled", counted(n, "text")),
        };
        let short = format!("{}{given}{end}{best}{drawn}", counted(n, "step"));
        let hatched = if n_given > 0 { "Hatched tokens were given." } else { "" };
        let rivals = "Below each token: the most probable others.";
        let sampled = if self.text.samples.is_empty() {
            ""
        } else {
            "The line below each token of a sampled text is as long as the token is probable; a frame marks the first one \
             that differs from text 1."
        };
        Captions { full: joined([format!("{short}.").as_str(), hatched, rivals, sampled]), short }
    }
}
