//! Marks cells and points of all heads: frames, rings, brackets.

use eframe::egui::{Color32, Painter, Pos2, Rangef, Rect, Stroke, StrokeKind, vec2};

use crate::{
    figure::views::matrix::layout::MatrixLayout,
    ui::{
        theme::{GRID, Theme},
        views::groups::HeadGroups,
    },
};

/// The frame of the cell under the pointer or of the selected head.
pub fn frame(painter: &Painter, cell: Rect, color: Color32) {
    painter.rect_stroke(cell, 0, Stroke::new(1.5, color), StrokeKind::Inside);
}

/// A ring around the focused token.
pub fn ring(painter: &Painter, at: Pos2, radius: f32, color: Color32, theme: &Theme) {
    painter.circle(at, radius + 2.0, color, Stroke::new(1.5, theme.text));
}

/// Brackets over the columns of heads that share their keys.
pub fn groups(painter: &Painter, layout: &MatrixLayout, groups: HeadGroups, theme: &Theme) {
    let [_, cols] = layout.visible();
    let viewport = layout.content.intersect(layout.viewport);
    let painter = painter.with_clip_rect(viewport.expand2(vec2(1.0, GRID)).intersect(painter.clip_rect()));
    for head in cols {
        let x = layout.cell(0, head).x_range();
        groups.bracket(&painter, head, Rangef::new(x.min + 1.0, x.max - 1.0), viewport.top() - 1.0, 2.0, theme);
    }
}
