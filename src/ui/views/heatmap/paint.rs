//! Draws the crosshair of the heatmap.

use eframe::egui::{Color32, Painter, Rect, Stroke, StrokeKind};

use crate::ui::theme::Theme;

/// Outlines the row and the column of a cell: `color` between two lines of the ground's, so that it shows on
/// every colour of every map.
pub fn crosshair(painter: &Painter, plot: Rect, row: Option<Rect>, col: Option<Rect>, color: Color32, theme: &Theme) {
    let bands = [
        row.map(|row| Rect::from_x_y_ranges(plot.x_range(), row.y_range())),
        col.map(|col| Rect::from_x_y_ranges(col.x_range(), plot.y_range())),
    ];
    for (width, color) in [(3.0, theme.canvas), (1.0, color)] {
        for band in bands.into_iter().flatten() {
            // Both around the same middle, half a point outside the cells.
            painter.rect_stroke(band.expand(0.5), 0, Stroke::new(width, color), StrokeKind::Middle);
        }
    }
}
