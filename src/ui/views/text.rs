//! Measuring token texts.

use eframe::egui::{Color32, FontId, Painter};

use super::source;
use crate::capture::Token;

/// Longest texts that are measured.
const N_MEASURED: usize = 16;

/// The widest of the longest texts. Measuring every text of a long input would cost a frame.
pub fn widest(painter: &Painter, tokens: &[Token], size: f32) -> f32 {
    // Wide scripts take about twice the room per character.
    let estimate = |text: &str| text.chars().map(|c| if c.is_ascii() { 1 } else { 2 }).sum::<usize>();
    let mut longest: Vec<(usize, usize)> =
        tokens.iter().enumerate().map(|(position, token)| (estimate(&token.text), position)).collect();
    longest.sort_unstable_by(|a, b| b.cmp(a));
    let measure = |&(_, position): &(usize, usize)| {
        let text = source::token_text(tokens, position);
        painter.layout_no_wrap(text, FontId::proportional(size), Color32::BLACK).size().x
    };
    longest.iter().take(N_MEASURED).map(measure).fold(0.0, f32::max)
}
