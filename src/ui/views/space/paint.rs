//! Draws lines, the focused token and outlines: constants on top, no decisions.

use eframe::egui::{Align2, FontId, Id, Painter, Pos2, Rect, Shape, Stroke, StrokeKind, Vec2, vec2};

use super::outline::Outline;
use crate::{
    figure::{
        pen::Pen,
        views::{points::Turn, scatter::marks},
    },
    ui::{
        theme::{Theme, text_size},
        views::display_list::paint_part,
    },
};

/// Length of an axis in the corner.
const AXIS_PT: f32 = 22.0;

/// A ring around the focused token, and its text; where that stands.
pub fn focus(painter: &Painter, id: Id, at: Pos2, (text, is_query): (&str, bool), theme: &Theme) -> Rect {
    let size = painter.layout_no_wrap(text.to_owned(), FontId::proportional(text_size::BODY), theme.text).size();
    let ground = marks::name_rect(at, size);
    let area = ground.union(Rect::from_center_size(at, Vec2::splat(4.0 * marks::RING_PT)));
    let draw = |pen: &mut Pen<'_>| marks::held(at, is_query, (text, ground), pen);
    paint_part(painter, id, theme, (text, is_query), area, &draw);
    ground
}

/// What the pointer draws around points.
pub fn outline(painter: &Painter, outline: &Outline, theme: &Theme) {
    let stroke = Stroke::new(1.5, theme.text);
    match outline {
        Outline::Box(..) => {
            let fill = theme.text.gamma_multiply(0.12);
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
