//! What methods say about the patches of a picture, side by side.

use eframe::egui::{Color32, Pos2, Rect, RichText, Sense, Ui, Vec2};

use crate::{
    capture::Capture,
    ui::{ViewCtx, theme::GRID},
};

/// Longest side of a map.
const MAP_PT: f32 = 26.0 * GRID;

/// Draws one map per method: the more a patch speaks for the output, the stronger its colour.
pub fn patches_ui(ui: &mut Ui, cx: &ViewCtx<'_>, capture: &Capture, maps: &[(&str, Option<Vec<f32>>)]) {
    let Some(image) = capture.image() else { return };
    let (rows, cols) = image.grid;
    let cell = MAP_PT / rows.max(cols).max(1) as f32;
    ui.horizontal_wrapped(|ui| {
        for (title, values) in maps {
            ui.vertical(|ui| {
                let size = Vec2::new(cols as f32 * cell, rows as f32 * cell);
                let (rect, response) = ui.allocate_exact_size(size, Sense::hover());
                ui.painter().rect_filled(rect, 0.0, cx.theme.panel);
                if let Some(values) = values {
                    let patches = values.get(image.n_prefix..).unwrap_or(&[]);
                    let most = patches.iter().filter(|x| x.is_finite()).fold(0.0f32, |most, x| most.max(x.abs()));
                    for (idx, value) in patches.iter().enumerate().filter(|(_, value)| value.is_finite()) {
                        let (row, col) = (idx / cols.max(1), idx % cols.max(1));
                        let corner = Pos2::new(rect.left() + col as f32 * cell, rect.top() + row as f32 * cell);
                        let share = if most > 0.0 { value.abs() / most } else { 0.0 };
                        let color = if *value < 0.0 { cx.theme.key } else { cx.theme.accent };
                        let color: Color32 = color.gamma_multiply(share);
                        ui.painter().rect_filled(Rect::from_min_size(corner, Vec2::splat(cell)), 0.0, color);
                    }
                    if let Some(at) = response.hover_pos() {
                        let offset = (at - rect.min) / cell;
                        let (row, col) = (offset.y as usize, offset.x as usize);
                        if let Some(value) = patches.get(row * cols + col) {
                            response.on_hover_text(format!("r{row} c{col}: {value:.6}"));
                        }
                    }
                }
                ui.label(RichText::new(*title).small());
            });
        }
    });
}
