//! Draws lines, the focused token and outlines: constants on top, no decisions.

use eframe::egui::{Align2, FontId, Painter, Pos2, Rect, Shape, Stroke, StrokeKind, vec2};

use super::outline::Outline;
use crate::{
    figure::views::{
        points::Turn,
        scatter::{LINE_OPACITY, LINE_PT, RING_PT},
    },
    ui::theme::{Theme, text_size},
};

/// Length of an axis in the corner.
const AXIS_PT: f32 = 22.0;

/// A line from a token to one of its partners.
pub fn line(painter: &Painter, ends: [Pos2; 2], weight: f32, theme: &Theme) {
    let weight = weight.clamp(0.0, 1.0);
    let color = theme.accent.gamma_multiply(LINE_OPACITY.1.mul_add(weight, LINE_OPACITY.0));
    painter.line_segment(ends, Stroke::new(LINE_PT.1.mul_add(weight, LINE_PT.0), color));
}

/// A ring around the focused token, and its text on a ground that keeps it legible.
pub fn focus(painter: &Painter, at: Pos2, text: &str, is_query: bool, theme: &Theme) -> Rect {
    let color = if is_query { theme.query } else { theme.key };
    painter.circle_stroke(at, RING_PT, Stroke::new(4.0, theme.canvas));
    painter.circle_stroke(at, RING_PT, Stroke::new(2.0, color));
    let galley = painter.layout_no_wrap(text.to_owned(), FontId::proportional(text_size::BODY), theme.text);
    let rect = Align2::LEFT_BOTTOM.anchor_size(at + vec2(RING_PT + 2.0, -RING_PT), galley.size());
    let ground = rect.expand2(vec2(4.0, 1.0));
    painter.rect_filled(ground, 3, theme.canvas.gamma_multiply(0.85));
    painter.galley(rect.min, galley, theme.text);
    ground
}

/// What the pointer draws around points.
pub fn outline(painter: &Painter, outline: &Outline, theme: &Theme) {
    let stroke = Stroke::new(1.5, theme.accent);
    match outline {
        Outline::Box(..) => {
            let fill = theme.accent.gamma_multiply(0.12);
            painter.rect(outline.bounds(), 0, fill, stroke, StrokeKind::Middle);
        }
        Outline::Lasso(corners) => {
            painter.add(Shape::closed_line(corners.clone(), stroke));
        }
    }
}

/// The three axes of the space as they are seen, in a corner.
pub fn axes(painter: &Painter, at: Pos2, turn: Turn, theme: &Theme) {
    let mut axes = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 1.0]]
        .map(|axis| turn.apply(axis))
        .into_iter()
        .zip(1..)
        .collect::<Vec<_>>();
    axes.sort_by(|a, b| a.0[2].total_cmp(&b.0[2]));
    for ([x, y, depth], number) in axes {
        let end = at + vec2(x, -y) * AXIS_PT;
        let color = theme.text_weak.gamma_multiply(0.35f32.mul_add(depth, 0.65));
        painter.line_segment([at, end], Stroke::new(1.5, color));
        let font = FontId::proportional(text_size::SMALL);
        painter.text(at + vec2(x, -y) * (AXIS_PT + 7.0), Align2::CENTER_CENTER, number.to_string(), font, color);
    }
}
