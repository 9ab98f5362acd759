//! Draws the frames on the picture: constants on top, no decisions.

use eframe::egui::{
    Align2, Color32, FontId, Painter, Rect, Stroke, StrokeKind,
    epaint::text::{LayoutJob, TextWrapping},
    vec2,
};

use super::{layout::ImageLayout, on_screen};
use crate::{
    figure::views::image::{PICKED_PT, UNSEEN_OPACITY},
    raster::overlay::Segment,
    session::PatchRole,
    ui::theme::{GRID, Theme, text_size},
};

/// Dims what lies outside the crop and outlines the crop.
pub fn crop(painter: &Painter, layout: &ImageLayout, theme: &Theme) {
    for part in layout.unseen() {
        painter.rect_filled(part, 0, theme.canvas.gamma_multiply(UNSEEN_OPACITY));
    }
    painter.rect_stroke(layout.crop, 0, Stroke::new(1.0, theme.text_weak), StrokeKind::Outside);
}

/// The outline around the strongest patches: light on dark, so that it shows on any picture.
pub fn contour(painter: &Painter, crop: Rect, grid: (usize, usize), segments: &[Segment], theme: &Theme) {
    for (width, color) in [(4.0, theme.canvas), (1.75, theme.accent)] {
        for segment in segments {
            let ends = [segment.from, segment.to].map(|point| on_screen(crop, grid, point));
            painter.line_segment(ends, Stroke::new(width, color));
        }
    }
}

/// The frame of the picked patch, in the colour of its role.
pub fn picked(painter: &Painter, cell: Rect, role: PatchRole, theme: &Theme) {
    let color = match role {
        PatchRole::Query => theme.query,
        PatchRole::Key => theme.key,
    };
    painter.rect_stroke(cell, 0, Stroke::new(PICKED_PT + 2.0, theme.canvas), StrokeKind::Middle);
    painter.rect_stroke(cell, 0, Stroke::new(PICKED_PT, color), StrokeKind::Middle);
}

/// A prefix token beside the picture: its colour and its name. Returns where the colour is.
pub fn prefix(painter: &Painter, cell: Rect, text: &str, fill: Color32, hovered: bool, theme: &Theme) -> Rect {
    let inner = cell.shrink2(vec2(0.0, GRID / 2.0));
    let swatch = Rect::from_min_max(inner.right_top() - vec2(inner.height(), 0.0), inner.right_bottom());
    painter.rect_filled(swatch, 0, fill);
    let stroke = Stroke::new(1.0, if hovered { theme.text } else { theme.rule });
    painter.rect_stroke(swatch, 0, stroke, StrokeKind::Outside);
    let font = FontId::proportional(text_size::SMALL);
    let mut job = LayoutJob::simple_singleline(text.to_owned(), font, theme.text);
    job.wrap = TextWrapping::truncate_at_width(inner.width() - swatch.width() - GRID);
    let galley = painter.layout_job(job);
    let room = inner.with_max_x(swatch.left() - GRID);
    let at = Align2::RIGHT_CENTER.align_size_within_rect(galley.size(), room);
    painter.galley(at.min, galley, theme.text);
    swatch
}
