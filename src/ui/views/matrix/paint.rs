//! Draws the planes of all heads: constants on top, no decisions.

use eframe::egui::{
    Align2, Color32, FontId, Mesh, Painter, Pos2, Rangef, Rect, Stroke, StrokeKind, Vec2, epaint::Vertex, pos2, vec2,
};

use super::layout::MatrixLayout;
use crate::ui::{
    theme::{GRID, Theme, text_size},
    views::groups::HeadGroups,
};

/// Corners of the mark of a query when it is large enough to look round.
const ROUND_CORNERS: usize = 8;
/// Points from this radius are round; smaller ones are squares.
const ROUND_FROM_PT: f32 = 2.0;
/// Opacity of a point, so that dense places are darker.
const POINT_OPACITY: f32 = 0.75;
/// Labels closer than this are left out.
const LABEL_PT: f32 = 22.0;

/// What a mark stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mark {
    /// Round (square where tiny).
    Query,
    /// Diamond.
    Key,
}

/// Adds one point.
pub fn point(mesh: &mut Mesh, at: Pos2, radius: f32, mark: Mark, color: Color32) {
    let color = color.gamma_multiply(POINT_OPACITY);
    match mark {
        Mark::Query if radius >= ROUND_FROM_PT => {
            let corner = |idx: usize| Vec2::angled(std::f32::consts::TAU * idx as f32 / ROUND_CORNERS as f32) * radius;
            polygon(mesh, (0..ROUND_CORNERS).map(|idx| at + corner(idx)), color);
        }
        Mark::Query => {
            let r = radius * 0.9;
            polygon(mesh, [vec2(-r, -r), vec2(r, -r), vec2(r, r), vec2(-r, r)].map(|corner| at + corner), color);
        }
        Mark::Key => {
            let r = radius * 1.15;
            polygon(mesh, [vec2(0.0, -r), vec2(r, 0.0), vec2(0.0, r), vec2(-r, 0.0)].map(|corner| at + corner), color);
        }
    }
}

fn polygon(mesh: &mut Mesh, corners: impl IntoIterator<Item = Pos2>, color: Color32) {
    let first = mesh.vertices.len() as u32;
    let vertex = |pos| Vertex { pos, uv: eframe::egui::epaint::WHITE_UV, color };
    mesh.vertices.extend(corners.into_iter().map(vertex));
    for corner in first + 2..mesh.vertices.len() as u32 {
        mesh.add_triangle(first, corner - 1, corner);
    }
}

/// Lines between the cells in sight.
pub fn grid(painter: &Painter, layout: &MatrixLayout, theme: &Theme) {
    let [rows, cols] = layout.visible();
    let stroke = Stroke::new(1.0, theme.rule);
    for row in rows.start..=rows.end {
        painter.hline(layout.viewport.x_range(), layout.cell(row, 0).top(), stroke);
    }
    for col in cols.start..=cols.end {
        painter.vline(layout.cell(0, col).left(), layout.viewport.y_range(), stroke);
    }
}

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
    let viewport = layout.viewport;
    let painter = painter.with_clip_rect(viewport.expand2(vec2(1.0, GRID)).intersect(painter.clip_rect()));
    for head in cols {
        let x = layout.cell(0, head).x_range();
        groups.bracket(&painter, head, Rangef::new(x.min + 1.0, x.max - 1.0), viewport.top() - 1.0, 2.0, theme);
    }
}

/// Numbers of layers at the left and of heads on top, beside the cells in sight.
pub fn labels(painter: &Painter, layout: &MatrixLayout, theme: &Theme) {
    let [rows, cols] = layout.visible();
    let viewport = layout.viewport;
    let font = FontId::proportional(text_size::SMALL);
    let cell = layout.cell(0, 0).size();
    let step = |side: f32| (LABEL_PT / side.max(0.1)).ceil().max(1.0) as usize;
    for row in rows.filter(|row| row.is_multiple_of(step(cell.y))) {
        // The label stays beside the part of the cell that is in sight.
        let range = layout.cell(row, 0).y_range().intersection(viewport.y_range());
        let at = pos2(viewport.left() - GRID, range.center());
        painter.text(at, Align2::RIGHT_CENTER, format!("Layer {row}"), font.clone(), theme.text_weak);
    }
    // One column names what the numbers count.
    for (idx, col) in cols.filter(|col| col.is_multiple_of(step(cell.x))).enumerate() {
        let range = layout.cell(0, col).x_range().intersection(viewport.x_range());
        let text = if idx == 0 && cell.x >= 2.0 * LABEL_PT { format!("Head {col}") } else { col.to_string() };
        let at = pos2(range.center(), viewport.top() - GRID);
        painter.text(at, Align2::CENTER_BOTTOM, text, font.clone(), theme.text_weak);
    }
}
