//! Measuring the texts of rows and columns.

use eframe::egui::{Color32, FontId, Painter};

use crate::analysis::reading::Axis;

/// Longest texts that are measured.
const N_MEASURED: usize = 16;

/// The widest of the longest texts. Measuring every text of a long input would cost a frame.
pub fn widest(painter: &Painter, axis: &Axis, size: f32) -> f32 {
    // Wide scripts take about twice the room per character.
    let estimate = |text: &str| text.chars().map(|c| if c.is_ascii() { 1 } else { 2 }).sum::<usize>();
    let mut longest: Vec<(usize, usize)> =
        axis.groups.iter().enumerate().map(|(idx, group)| (estimate(&group.text), idx)).collect();
    longest.sort_unstable_by(|a, b| b.cmp(a));
    longest.iter().take(N_MEASURED).map(|&(_, idx)| width(painter, axis.text(idx), size)).fold(0.0, f32::max)
}

/// The width of one text.
pub fn width(painter: &Painter, text: &str, size: f32) -> f32 {
    painter.layout_no_wrap(text.to_owned(), FontId::proportional(size), Color32::BLACK).size().x
}
