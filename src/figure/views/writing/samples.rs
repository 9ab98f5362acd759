//! Texts that were drawn by chance, side by side: a column per text, tokens in lines, the place where each leaves the
//! first one marked.

use emath::{Pos2, Rect, Vec2, pos2, vec2};

use crate::{
    analysis::written::WrittenText,
    figure::{
        font::Align,
        measure::{
            GRID,
            text_size::{BODY, SMALL},
        },
        pen::Pen,
        views::text::layout::shown_text,
    },
    text::decimal_text,
};

/// The least width of a column.
const COLUMN_PT: f32 = 48.0 * GRID;
/// Between two columns, and between two rows of columns.
const GAP_PT: Vec2 = vec2(5.0 * GRID, 4.0 * GRID);
/// Height of the number of a text with what is said of it.
const HEADER_PT: f32 = 10.0 * GRID;
/// From one line of a text to the next.
const LINE_PT: f32 = 6.0 * GRID;
/// Between the words of a text.
const SPACE_PT: f32 = GRID;
/// Height of the line below a token, which is as long as the token is probable.
const BAR_PT: f32 = 2.0;

/// A token of a text, or the head of its column.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct SamplePlace {
    pub text: usize,
    pub token: Option<usize>,
    pub rect: Rect,
}

/// Where the texts stand, from their corner.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct SamplesLayout {
    pub places: Vec<SamplePlace>,
    pub size: Vec2,
}

/// A token as it is read, and whether a space stands before it.
fn shown(label: &str) -> (String, bool) {
    let word = label.strip_prefix('␣');
    (shown_text(word.unwrap_or(label)).into_owned(), word.is_some())
}

impl SamplesLayout {
    /// Lays them out in a width; `measure` gives the width of a text of the usual size.
    pub fn compute(text: &WrittenText, width: f32, measure: &mut dyn FnMut(&str) -> f32) -> Self {
        let n = text.samples.len();
        if n == 0 {
            return Self::default();
        }
        let n_fit = ((width + GAP_PT.x) / (COLUMN_PT + GAP_PT.x)) as usize;
        let n_cols = n.div_ceil(n.div_ceil(n_fit.max(1)));
        let column = ((width + GAP_PT.x) / n_cols as f32 - GAP_PT.x).max(COLUMN_PT);
        let mut layout = Self { places: Vec::new(), size: vec2(width.max(column), 0.0) };
        for (row, texts) in text.samples.chunks(n_cols).enumerate() {
            let top = layout.size.y;
            let mut bottom = top;
            for (col, tokens) in texts.iter().enumerate() {
                let nth = row * n_cols + col;
                let left = col as f32 * (column + GAP_PT.x);
                let head = Rect::from_min_size(pos2(left, top), vec2(column, HEADER_PT));
                layout.places.push(SamplePlace { text: nth, token: None, rect: head });
                let mut at = vec2(0.0, HEADER_PT);
                for (token, item) in tokens.iter().enumerate() {
                    let (text, spaced) = shown(&item.label);
                    let width = measure(&text).max(SPACE_PT);
                    let space = if spaced && at.x > 0.0 { SPACE_PT } else { 0.0 };
                    if at.x > 0.0 && at.x + space + width > column {
                        at = vec2(0.0, at.y + LINE_PT);
                    } else {
                        at.x += space;
                    }
                    let rect = Rect::from_min_size(pos2(left, top) + at, vec2(width.min(column), LINE_PT));
                    layout.places.push(SamplePlace { text: nth, token: Some(token), rect });
                    at.x += width;
                    if text.contains('⏎') {
                        at = vec2(0.0, at.y + LINE_PT);
                    }
                }
                bottom = bottom.max(top + at.y + LINE_PT);
            }
            layout.size.y = bottom + GAP_PT.y;
        }
        layout
    }

    /// Draws the texts from a corner on.
    pub fn draw(&self, text: &WrittenText, corner: Pos2, pen: &mut Pen<'_>) {
        for SamplePlace { text: nth, token, rect } in &self.places {
            let rect = rect.translate(corner.to_vec2());
            if !pen.sees(rect) {
                continue;
            }
            let parts_at = text.parts_at(*nth);
            let Some(token) = *token else {
                draw_head(text, (*nth, parts_at), rect, pen);
                continue;
            };
            let Some(item) = text.samples.get(*nth).and_then(|tokens| tokens.get(token)) else { continue };
            let is_common = *nth > 0 && parts_at.is_none_or(|parts_at| token < parts_at);
            let parts_here = parts_at == Some(token);
            let ink = match (is_common, parts_here) {
                (true, _) => pen.palette.text_weak,
                (false, true) => pen.palette.changed,
                (false, false) => pen.palette.text,
            };
            let (shown, _) = shown(&item.label);
            let shown = pen.type_.fit(&shown, BODY, rect.width() + 1.0).into_owned();
            pen.text(&shown, BODY, ink, rect.left_center(), Align::Left);
            let line = Rect::from_min_max(rect.left_bottom() - vec2(0.0, BAR_PT), rect.max);
            let probable = line.with_max_x(line.left() + line.width() * item.value.clamp(0.0, 1.0));
            pen.rect(probable, if parts_here { pen.palette.changed } else { pen.palette.bar });
            if parts_here {
                pen.frame(rect.expand2(vec2(1.0, 0.0)), 1.0, pen.palette.changed);
            }
        }
    }
}

/// The number of a text, where it leaves the first one, and how probable it is.
fn draw_head(text: &WrittenText, (nth, parts_at): (usize, Option<usize>), rect: Rect, pen: &mut Pen<'_>) {
    let top = rect.min + vec2(0.0, 2.5 * GRID);
    pen.text(&format!("Text {}", nth + 1), BODY, pen.palette.text, top, Align::Left);
    let said = said_of(text, nth, parts_at);
    pen.text(&said, SMALL, pen.palette.text_weak, rect.min + vec2(0.0, 6.5 * GRID), Align::Left);
    let rule = Rect::from_min_max(rect.left_bottom() - vec2(0.0, 1.0), rect.max);
    pen.rect(rule, pen.palette.rule);
}

/// How probable a text is, and from which step on it is another than the first.
fn said_of(text: &WrittenText, nth: usize, parts_at: Option<usize>) -> String {
    let probability = format!("log p {}", decimal_text(text.log_probability(nth)));
    match (nth, parts_at) {
        (0, _) => format!("{probability}, the one that is read"),
        (_, None) => format!("{probability}, the same as text 1"),
        (_, Some(parts_at)) => format!("{probability}, differs from step {} on", text.n_given() + parts_at + 1),
    }
}
