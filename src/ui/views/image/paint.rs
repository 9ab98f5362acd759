//! Draws the frame of the picked patch.

use eframe::egui::{Painter, Rect, Stroke, StrokeKind};

use crate::{figure::views::image::PICKED_PT, session::PatchRole, ui::theme::Theme};

/// The frame of the picked patch, in the colour of its role.
pub fn picked(painter: &Painter, cell: Rect, role: PatchRole, theme: &Theme) {
    let color = match role {
        PatchRole::Query => theme.query,
        PatchRole::Key => theme.key,
    };
    painter.rect_stroke(cell, 0, Stroke::new(PICKED_PT + 2.0, theme.canvas), StrokeKind::Middle);
    painter.rect_stroke(cell, 0, Stroke::new(PICKED_PT, color), StrokeKind::Middle);
}
