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
    let measure = |&(_, idx): &(usize, usize)| {
        let text = axis.text(idx).to_owned();
        painter.layout_no_wrap(text, FontId::proportional(size), Color32::BLACK).size().x
    };
    longest.iter().take(N_MEASURED).map(measure).fold(0.0, f32::max)
}
