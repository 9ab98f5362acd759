//! What a view says of itself for the row below it: how much of what there is it shows, and the scales of its colours
//! or lines.

use eframe::egui::{
    Align2, FontId, Mesh, Rect, Role, Sense, StrokeKind, Ui, WidgetInfo, emath::GuiRounding as _, lerp, pos2, vec2,
};

use super::texture;
use crate::{
    figure::{list::Rgba, pen::range_tick},
    raster::{ColorRange, Colors},
    ui::theme::{GRID, Theme, text_size},
};

/// Steps from one end of a scale to the other.
const STEPS: u32 = 48;
/// Width of a scale, and the least in a narrow pane.
const WIDTH_PT: (f32, f32) = (40.0 * GRID, 20.0 * GRID);
/// The most that a scale takes of the row.
const PART: f32 = 0.3;
/// Height of the colours, and of all with the numbers below.
const COLORS_PT: f32 = 2.0 * GRID;
const HEIGHT_PT: f32 = COLORS_PT + 3.5 * GRID;

/// What the row below a view says of it.
pub struct Footer {
    /// How much of what there is, in words.
    pub words: String,
    pub scales: Vec<ScaleBar>,
}

/// Colours, or strengths of lines, with numbers.
pub struct ScaleBar {
    colors: Vec<Rgba>,
    /// Below its beginning, middle and end.
    ticks: [String; 3],
    meaning: String,
}

impl ScaleBar {
    /// Of colours at shares from 0 to 1.
    pub fn of_colors(color: impl Fn(f32) -> Rgba, ticks: [String; 3], meaning: String) -> Self {
        let colors = (0..=STEPS).map(|step| color(step as f32 / STEPS as f32)).collect();
        Self { colors, ticks, meaning }
    }

    /// Of a range of numbers.
    pub fn of_range(colors: Colors, range: ColorRange) -> Self {
        let meaning = format!("Colours from {} to {}", range.low(), range.high());
        Self::of_colors(|share| colors.color(share), [0.0, 0.5, 1.0].map(range_tick(range)), meaning)
    }

    /// Draws it in a row.
    pub fn ui(&self, ui: &mut Ui, theme: &Theme) {
        let width = (ui.available_width() * PART).clamp(WIDTH_PT.1, WIDTH_PT.0).round();
        let (rect, response) = ui.allocate_exact_size(vec2(width, HEIGHT_PT), Sense::hover());
        let rect = rect.round_to_pixels(ui.pixels_per_point());
        let whole = Rect::from_min_size(rect.min, vec2(width, COLORS_PT));
        let mut mesh = Mesh::default();
        for (step, &color) in (0..).zip(&self.colors) {
            let x = lerp(whole.x_range(), step as f32 / STEPS as f32);
            for y in [whole.top(), whole.bottom()] {
                mesh.colored_vertex(pos2(x, y), texture::color(color));
            }
            if step > 0 {
                mesh.add_triangle(2 * step - 2, 2 * step - 1, 2 * step);
                mesh.add_triangle(2 * step - 1, 2 * step, 2 * step + 1);
            }
        }
        ui.painter().add(mesh);
        ui.painter().rect_stroke(whole, 0, (1.0, theme.rule), StrokeKind::Outside);
        let places = [Align2::LEFT_BOTTOM, Align2::CENTER_BOTTOM, Align2::RIGHT_BOTTOM];
        for (tick, place) in self.ticks.iter().zip(places) {
            let font = FontId::proportional(text_size::SMALL);
            ui.painter().text(place.pos_in_rect(&rect), place, tick, font, theme.text_weak);
        }
        response.widget_info(|| WidgetInfo::labeled(Role::Image, true, &self.meaning));
        response.on_hover_text(&self.meaning);
    }
}
