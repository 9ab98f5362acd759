//! Steps of a text, as they are drawn.

use emath::{Rect, pos2, vec2};

use super::{StepCell, WritingScene};
use crate::{
    analysis::written::Origin,
    figure::{
        font::Align,
        list::Rgba,
        measure::{
            GRID,
            text_size::{BODY, SMALL},
        },
        pen::Pen,
        views::heatmap::ruled_out::hatch,
    },
    style::HATCH_PT,
    text::share_text,
};

/// Width of a token's name.
const NAME_PT: f32 = 16.0 * GRID;
/// Length of the bar of a probability of 1.
const BAR_PT: f32 = 7.0 * GRID;
/// Height of a bar.
const BAR_HEIGHT_PT: f32 = 2.5 * GRID;
/// Between a column and the frame that marks it.
const FRAME_PT: f32 = 0.5 * GRID;

impl WritingScene {
    pub(super) fn draw_steps(&self, area: Rect, pen: &mut Pen<'_>) {
        for nth in 0..self.text.steps.len() {
            let column = self.column(area, nth);
            if pen.sees(column) {
                self.draw_step(nth, area, column, pen);
            }
        }
    }

    fn draw_step(&self, nth: usize, area: Rect, column: Rect, pen: &mut Pen<'_>) {
        let step = &self.text.steps[nth];
        let what = match step.origin {
            Origin::Chosen => "",
            Origin::Given => " given",
            Origin::End => " end",
        };
        let number = format!("{}{what}", nth + 1);
        let at = column.min + vec2(GRID, 2.0 * GRID);
        pen.text(&number, SMALL, pen.palette.text_weak, at, Align::Left);
        let is_branch = self.text.is_branch() && nth + 1 == self.text.n_given();
        for (StepCell { rival, .. }, rect) in self.cells(area, nth) {
            if let Some(rival) = rival.and_then(|rival| step.rivals.get(rival)) {
                draw_token((&rival.label, Some(rival.value)), pen.palette.text_weak, rect, pen);
                continue;
            }
            if step.origin == Origin::Given {
                hatch([rect.shrink2(vec2(0.0, 1.0))], (HATCH_PT, pen.palette.rule), pen);
            }
            let ink = if is_branch { pen.palette.changed } else { pen.palette.text };
            draw_token((&step.text, step.probability), ink, rect, pen);
            pen.rect(Rect::from_min_max(rect.left_bottom() - vec2(0.0, 1.0), rect.max), pen.palette.rule);
        }
        if self.selected == Some(nth) {
            pen.frame(column.expand(FRAME_PT), 2.0, pen.palette.text);
        }
    }
}

/// A token with its probability as a bar and a number.
fn draw_token((text, probability): (&str, Option<f32>), ink: Rgba, rect: Rect, pen: &mut Pen<'_>) {
    let middle = rect.center().y;
    let name = pen.type_.fit(text, BODY, NAME_PT - GRID).into_owned();
    pen.text(&name, BODY, ink, pos2(rect.left() + GRID, middle), Align::Left);
    let bar = Rect::from_min_size(
        pos2(rect.left() + NAME_PT + GRID, middle - BAR_HEIGHT_PT / 2.0),
        vec2(BAR_PT * probability.unwrap_or(0.0).clamp(0.0, 1.0), BAR_HEIGHT_PT),
    );
    pen.rect(bar, pen.palette.bar);
    let number = probability.map_or_else(|| "–".to_owned(), share_text);
    pen.text(&number, SMALL, ink, pos2(rect.right() - GRID, middle), Align::Right);
}
