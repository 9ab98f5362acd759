//! A score taken apart, beside the steps that it is one of.

use std::{borrow::Cow, sync::Arc};

use emath::{Pos2, Rect, Vec2, pos2, vec2};

use crate::{
    analysis::explain::report::{ColumnValues, LabQuestion, Report, Value},
    capture::{Capture, head_name},
    figure::{
        font::Align,
        measure::{
            GRID,
            text_size::{BODY, SMALL},
        },
        pen::Pen,
        views::lab::{Answered, Hit, ROW_PT, TitledPiece, compose, n_lines},
    },
    ids::HeadId,
    text::{norm_text, sentence},
};

/// Height of the heading, and of the title of a picture.
const HEADING_PT: f32 = 7.0 * GRID;
const TITLE_PT: f32 = 5.0 * GRID;
/// Between two pictures, one below the other and side by side.
const GAP_PT: f32 = 3.0 * GRID;
const BESIDE_PT: f32 = 6.0 * GRID;
/// Widest panel of several pictures, and the narrowest of all.
const MOST_PT: f32 = 160.0 * GRID;
const LEAST_PT: f32 = 80.0 * GRID;

/// What is known of the parts of a score.
#[derive(Clone)]
pub struct Parts {
    /// By what the score is taken apart.
    pub title: String,
    /// What they come to and what is to be known of them, or why there are none yet.
    pub said: String,
    pieces: Vec<TitledPiece>,
    report: Option<Arc<Report>>,
}

impl Parts {
    /// Nothing but a sentence.
    pub fn saying(title: &str, said: impl Into<String>) -> Self {
        Self { title: title.to_owned(), said: said.into(), pieces: Vec::new(), report: None }
    }

    /// The parts that a method found.
    pub fn of(title: &str, capture: &Capture, head: HeadId, report: &Arc<Report>) -> Self {
        let answered = Answered { column: report.method.name, title: "", report: Some(Arc::clone(report)) };
        let sections = compose(capture, LabQuestion::Moves, &[answered], (head, false));
        let titled = |name: &str| report.method.value(name).map_or("", |about| about.title);
        let number = |(name, value): &(Cow<'static, str>, Value)| match value {
            Value::Number(value) => Some(format!("{} {}", titled(name), norm_text(*value))),
            _ => None,
        };
        let sums = report.values.iter().filter_map(number).collect::<Vec<_>>().join(" · ");
        let notes = sections.iter().flat_map(|section| &section.notes).map(|note| sentence(note));
        let said = [sums].into_iter().chain(notes).collect::<Vec<_>>().join(". ");
        // The steps have the dimensions already.
        let of_table =
            |(name, value): &(Cow<'static, str>, Value)| matches!(value, Value::Table(_)).then(|| titled(name));
        let tables: Vec<&str> = report.values.iter().filter_map(of_table).filter(|title| !title.is_empty()).collect();
        let parts = sections.iter().flat_map(|section| &section.parts);
        let pieces = parts.filter(|part| tables.contains(&part.title.as_str())).cloned().collect();
        Self { title: title.to_owned(), said, pieces, report: Some(Arc::clone(report)) }
    }

    /// The answer about a head among those that there are.
    pub fn among(answers: &[Answered], head: HeadId) -> Option<&Arc<Report>> {
        let name = head_name(head);
        let is_it =
            |report: &&Arc<Report>| report.parameters.iter().any(|(known, value)| known == "head" && *value == name);
        answers.iter().filter_map(|answer| answer.report.as_ref()).find(is_it)
    }

    /// Every part with what it adds: of which table, its name, its number.
    pub fn rows(&self) -> Vec<(String, String, f32)> {
        let mut rows = Vec::new();
        let Some(report) = &self.report else { return rows };
        for (name, value) in &report.values {
            let (Value::Table(columns), Some(about)) = (value, report.method.value(name).filter(|about| about.drawn))
            else {
                continue;
            };
            let Some((first, numbers)) = columns.split_first() else { continue };
            let ColumnValues::Text(names) = &first.cells else { continue };
            for column in numbers {
                let ColumnValues::Number(values) = &column.cells else { continue };
                for (part, value) in names.iter().zip(values) {
                    let part = if numbers.len() > 1 { format!("{part} × {}", column.name) } else { part.clone() };
                    rows.push((about.title.to_owned(), part, *value as f32));
                }
            }
        }
        rows
    }

    /// The width that suits it.
    pub fn width(&self) -> f32 {
        let widths = || self.pieces.iter().map(TitledPiece::width);
        let in_a_row = widths().map(|width| width + BESIDE_PT).sum::<f32>() - BESIDE_PT;
        // A sentence alone has all the room.
        let least = if self.pieces.is_empty() { MOST_PT } else { LEAST_PT };
        widths().fold(in_a_row.min(MOST_PT), f32::max).max(least)
    }

    /// The least width at which it can be read.
    pub fn least_width(&self) -> f32 {
        self.pieces.iter().map(|part| part.piece.least_width()).fold(LEAST_PT, f32::max)
    }

    fn height_said(&self, width: f32) -> f32 {
        n_lines(&self.said, width) as f32 * ROW_PT
    }

    /// Its height in a width.
    pub fn height(&self, width: f32) -> f32 {
        let area = Rect::from_min_size(Pos2::ZERO, vec2(width, 0.0));
        let pieces = self.placed(area).into_iter().map(|(_, rect)| rect.bottom() + GAP_PT);
        pieces.fold(HEADING_PT + self.height_said(width), f32::max)
    }

    /// Where each picture stands: beside the one before where there is room.
    fn placed(&self, area: Rect) -> Vec<(&TitledPiece, Rect)> {
        let mut at = area.min + vec2(0.0, HEADING_PT + self.height_said(area.width()));
        let mut bottom = at.y;
        let mut placed = Vec::with_capacity(self.pieces.len());
        for part in &self.pieces {
            let width = part.width().min(area.width());
            if at.x + width > area.right() + 0.5 {
                at = pos2(area.left(), bottom + GAP_PT);
            }
            let corner = at + vec2(0.0, TITLE_PT);
            let rect = Rect::from_min_size(corner, vec2(width, part.piece.height(width)));
            placed.push((part, rect));
            bottom = bottom.max(rect.bottom());
            at.x += width + BESIDE_PT;
        }
        placed
    }

    /// Draws it.
    pub fn draw(&self, area: Rect, pen: &mut Pen<'_>) {
        let (text, weak) = (pen.palette.text, pen.palette.text_weak);
        let title = pen.type_.fit(&self.title, BODY, area.width()).into_owned();
        pen.text(&title, BODY, text, area.left_top() + vec2(0.0, 2.5 * GRID), Align::Left);
        for (line, words) in pen.broken(&self.said, SMALL, area.width()).iter().enumerate() {
            let at = area.left_top() + vec2(0.0, HEADING_PT + (line as f32 + 0.5) * ROW_PT - GRID);
            pen.text(words, SMALL, weak, at, Align::Left);
        }
        for (part, rect) in self.placed(area) {
            let name = pen.type_.fit(&part.title, SMALL, rect.width()).into_owned();
            pen.text(&name, SMALL, weak, rect.left_top() - vec2(0.0, 0.5 * TITLE_PT), Align::Left);
            part.piece.draw(rect, pen);
        }
    }

    /// What is at a place.
    pub fn at(&self, area: Rect, at: Pos2) -> Option<Hit> {
        self.placed(area).into_iter().find_map(|(part, rect)| part.piece.at(rect, at))
    }

    /// What it says to somebody who does not see it.
    pub fn spoken(&self) -> String {
        let pieces = self.pieces.iter().flat_map(|part| part.piece.spoken());
        [self.title.clone()].into_iter().chain(pieces).chain([self.said.clone()]).collect::<Vec<_>>().join(". ")
    }
}

/// Where the steps and the parts stand: side by side where both can be read, else the parts above.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Halves {
    pub steps: Rect,
    /// Empty where there are no parts.
    pub parts: Rect,
}

impl Halves {
    /// Between both.
    const GAP_PT: f32 = 6.0 * GRID;

    /// Shares out an area: `steps` is the width that suits them, and the height that they have.
    pub fn of(area: Rect, steps: Vec2, parts: Option<&Parts>) -> Self {
        let Some(parts) = parts else { return Self { steps: area, parts: Rect::NOTHING } };
        let beside = area.width() - steps.x - Self::GAP_PT;
        if beside >= parts.least_width() {
            let (steps, rest) = area.split_left_right_at_x(area.left() + steps.x);
            let corner = rest.min + vec2(Self::GAP_PT, 0.0);
            let width = beside.min(parts.width());
            return Self { steps, parts: Rect::from_min_size(corner, vec2(width, parts.height(width))) };
        }
        let width = area.width().min(parts.width());
        let height = parts.height(width);
        let below = Rect::from_min_max(area.min + vec2(0.0, height + Self::GAP_PT), area.max);
        Self { steps: below, parts: Rect::from_min_size(area.min, vec2(width, height)) }
    }

    /// The height of both.
    pub fn height(width: f32, steps: Vec2, parts: Option<&Parts>) -> f32 {
        let halves = Self::of(Rect::from_min_size(Pos2::ZERO, vec2(width, steps.y)), steps, parts);
        (halves.steps.top() + steps.y).max(halves.parts.bottom())
    }
}
