//! A text in one line, around one of its tokens, tinted by a number of each.

use std::sync::Arc;

use emath::{Rect, pos2, vec2};

use crate::figure::{
    font::Align,
    list::faded,
    measure::{GRID, text_size::SMALL},
    pen::Pen,
};

/// The part of the line left of the token that it is about.
const MIDDLE: f32 = 0.55;
/// The strongest tint.
const TINT: f32 = 0.55;
/// Between two tokens.
const SPACE_PT: f32 = 2.0;

/// Tokens around one of them, with a number each.
#[derive(Clone, Debug)]
pub struct RunningText {
    tokens: Arc<[String]>,
    values: Vec<f32>,
    middle: usize,
    /// The number with the strongest tint.
    most: f32,
}

impl RunningText {
    /// Tokens with the numbers that some have, by position.
    pub fn new(tokens: Arc<[String]>, of: Vec<(usize, f32)>, middle: usize, most: f32) -> Self {
        let mut values = vec![0.0; tokens.len()];
        for (position, value) in of {
            if let Some(slot) = values.get_mut(position) {
                *slot = value;
            }
        }
        Self { tokens, values, middle, most }
    }

    /// The number of the token that it is about.
    pub fn at_middle(&self) -> f32 {
        self.values.get(self.middle).copied().unwrap_or(0.0)
    }

    /// Draws as many tokens as there is room for; the token in the middle is underlined.
    pub fn draw(&self, line: Rect, pen: &mut Pen<'_>) {
        let middle = line.left() + MIDDLE * line.width();
        pen.clip(line, |pen| {
            let mut left = middle;
            for at in self.middle..self.tokens.len() {
                if left > line.right() {
                    break;
                }
                left = self.token(at, line, left, pen);
            }
            let mut right = middle;
            for at in (0..self.middle).rev() {
                if right < line.left() {
                    break;
                }
                right -= pen.type_.width(&self.tokens[at], SMALL) + SPACE_PT;
                self.token(at, line, right, pen);
            }
        });
    }

    /// Draws a token from its left edge; where the next one begins.
    fn token(&self, at: usize, line: Rect, left: f32, pen: &mut Pen<'_>) -> f32 {
        let width = pen.type_.width(&self.tokens[at], SMALL);
        let part = (self.values[at] / self.most.max(f32::MIN_POSITIVE)).clamp(-1.0, 1.0);
        let tint = if part < 0.0 { pen.palette.minus } else { pen.palette.plus };
        let back = Rect::from_min_size(
            pos2(left - 0.5 * SPACE_PT, line.top() + 1.0),
            vec2(width + SPACE_PT, line.height() - 2.0),
        );
        if part != 0.0 {
            pen.rect(back, faded(tint, TINT * part.abs()));
        }
        pen.text(&self.tokens[at], SMALL, pen.palette.text, pos2(left, line.center().y), Align::Left);
        if at == self.middle {
            let y = line.bottom() - 0.5 * GRID;
            pen.line(pos2(left, y), pos2(left + width, y), 1.0, pen.palette.text);
        }
        left + width + SPACE_PT
    }
}
