//! Draws what lies around the points of all heads: lines between cells, names of rows, columns and cells.

use eframe::egui::{Align2, Color32, FontId, Painter, Pos2, Rangef, Rect, Stroke, StrokeKind, pos2, vec2};

use super::arrangement::Arrangement;
use crate::{
    figure::views::matrix::{column_name, layout::MatrixLayout},
    ui::{
        theme::{GRID, Theme, text_size},
        views::groups::HeadGroups,
    },
};

/// Cells from this width on have their name inside, where rows and columns do not name it.
const NAME_FROM_PT: f32 = 36.0;
/// Labels closer than this are left out.
const LABEL_PT: f32 = 22.0;

/// What is in sight of all cells.
fn shown(layout: &MatrixLayout) -> Rect {
    layout.content.intersect(layout.viewport)
}

/// Lines between the cells in sight.
pub fn lines(painter: &Painter, layout: &MatrixLayout, theme: &Theme) {
    let [rows, cols] = layout.visible();
    let stroke = Stroke::new(1.0, theme.rule);
    for row in rows.start..=rows.end {
        painter.hline(shown(layout).x_range(), layout.cell(row, 0).top(), stroke);
    }
    for col in cols.start..=cols.end {
        painter.vline(layout.cell(0, col).left(), shown(layout).y_range(), stroke);
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
    let viewport = shown(layout);
    let painter = painter.with_clip_rect(viewport.expand2(vec2(1.0, GRID)).intersect(painter.clip_rect()));
    for head in cols {
        let x = layout.cell(0, head).x_range();
        groups.bracket(&painter, head, Rangef::new(x.min + 1.0, x.max - 1.0), viewport.top() - 1.0, 2.0, theme);
    }
}

/// The names of cells that stand in the order of a number.
pub fn names(painter: &Painter, layout: &MatrixLayout, arrangement: &Arrangement, theme: &Theme) {
    if layout.cell(0, 0).width() < NAME_FROM_PT {
        return;
    }
    let [rows, cols] = layout.visible();
    for (row, col) in rows.flat_map(|row| cols.clone().map(move |col| (row, col))) {
        let Some(name) = arrangement.name((row, col)) else { continue };
        let at = layout.cell(row, col).intersect(layout.viewport).min + vec2(GRID, GRID / 2.0);
        painter.text(at, Align2::LEFT_TOP, name, FontId::proportional(text_size::SMALL), theme.text_weak);
    }
}

/// Numbers of layers at the left and of heads on top, beside the cells in sight; `sharing` heads to a column.
pub fn labels(painter: &Painter, layout: &MatrixLayout, sharing: usize, theme: &Theme) {
    let [rows, cols] = layout.visible();
    let viewport = shown(layout);
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
        let (number, what) = column_name(col, sharing);
        let text = if idx == 0 && cell.x >= 2.0 * LABEL_PT { format!("{what} {number}") } else { number };
        let at = pos2(range.center(), viewport.top() - GRID);
        painter.text(at, Align2::CENTER_BOTTOM, text, font.clone(), theme.text_weak);
    }
}
