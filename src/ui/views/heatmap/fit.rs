//! Button on the canvas that shows the whole pattern again.

use std::ops::Range;

use eframe::egui::{Button, Label, Rect, Ui, Vec2, pos2, vec2};

use crate::{
    analysis::reading::ReadPattern,
    ui::{
        theme::{GRID, Theme, radius},
        views::camera::Camera,
    },
};

/// Of a region with more cells nobody asks whether all of them are blank.
const MAX_CELLS: usize = 20_000;
const BUTTON: Vec2 = vec2(12.0 * GRID, 6.0 * GRID);
/// What is said above the button.
const SAID: Vec2 = vec2(48.0 * GRID, 6.0 * GRID);

/// Draws a button that shows the whole pattern, where only a part of it is in sight: in a corner of `plot`, or in its
/// middle where nothing else can be seen there.
pub fn fit_ui(ui: &mut Ui, theme: &Theme, plot: Rect, camera: &mut Camera, is_empty: bool) {
    if camera.zoom <= 1.0 {
        return;
    }
    let rect = if is_empty {
        let middle = plot.intersect(ui.clip_rect()).center();
        let said = Rect::from_center_size(middle - vec2(0.0, BUTTON.y / 2.0), SAID);
        // The ground says masked, in whatever colour.
        ui.painter().rect_filled(said, radius::CONTROL, theme.canvas);
        ui.put(said, Label::new("No visible weight here"));
        Rect::from_center_size(middle + vec2(0.0, BUTTON.y), BUTTON)
    } else {
        let corner = plot.intersect(ui.clip_rect()).right_bottom() - vec2(2.0 * GRID, 2.0 * GRID);
        Rect::from_min_max(pos2(corner.x - BUTTON.x, corner.y - BUTTON.y), corner)
    };
    let fit = ui.put(rect, Button::new("Fit").fill(theme.canvas));
    if fit.on_hover_text("Show the whole pattern; a double-click does, too").clicked() {
        *camera = Camera::default();
    }
}

/// Whether no cell of these rows and columns has a weight.
pub fn is_empty(pattern: &ReadPattern, [rows, cols]: [&Range<usize>; 2]) -> bool {
    rows.len() * cols.len() <= MAX_CELLS
        && rows.clone().all(|row| cols.clone().all(|col| pattern.blank(row, col).is_some()))
}
