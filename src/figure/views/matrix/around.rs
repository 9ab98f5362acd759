//! What stands around the planes of all heads, in a figure and in the window: lines between them, and names.

use emath::{Rect, pos2, vec2};

use super::{column_name, layout::MatrixLayout};
use crate::figure::{
    font::Align,
    measure::{GRID, text_size::SMALL},
    pen::Pen,
};

/// Labels closer than this are left out.
const LABEL_PT: f32 = 22.0;

/// What is in sight of all cells.
fn shown(layout: &MatrixLayout) -> Rect {
    layout.content.intersect(layout.viewport)
}

/// Lines between the cells in sight.
pub fn lines(layout: &MatrixLayout, pen: &mut Pen<'_>) {
    let ([rows, cols], shown) = (layout.visible(), shown(layout));
    let (rule, width) = (pen.palette.rule, pen.hairline());
    for row in rows.start..=rows.end {
        let y = layout.cell(row, 0).top();
        pen.line(pos2(shown.left(), y), pos2(shown.right(), y), width, rule);
    }
    for col in cols.start..=cols.end {
        let x = layout.cell(0, col).left();
        pen.line(pos2(x, shown.top()), pos2(x, shown.bottom()), width, rule);
    }
}

/// Names in the corners of the cells in sight.
pub fn cell_names<'a>(layout: &MatrixLayout, name: impl Fn((usize, usize)) -> Option<&'a str>, pen: &mut Pen<'_>) {
    let [rows, cols] = layout.visible();
    for (row, col) in rows.flat_map(|row| cols.clone().map(move |col| (row, col))) {
        let Some(name) = name((row, col)) else { continue };
        let at = layout.cell(row, col).intersect(layout.viewport).min + vec2(GRID, 2.0 * GRID);
        pen.text(name, SMALL, pen.palette.text_weak, at, Align::Left);
    }
}

/// Numbers of layers at the left and of heads on top, beside the cells in sight; `sharing` heads to a column.
pub fn labels(layout: &MatrixLayout, sharing: usize, pen: &mut Pen<'_>) {
    let ([rows, cols], shown) = (layout.visible(), shown(layout));
    let (cell, weak) = (layout.cell(0, 0).size(), pen.palette.text_weak);
    let step = |side: f32| (LABEL_PT / side.max(0.1)).ceil().max(1.0) as usize;
    for row in rows.filter(|row| row.is_multiple_of(step(cell.y))) {
        // The label stays beside the part of the cell that is in sight.
        let y = layout.cell(row, 0).y_range().intersection(shown.y_range()).center();
        pen.text(&format!("Layer {row}"), SMALL, weak, pos2(shown.left() - 1.5 * GRID, y), Align::Right);
    }
    // One column names what the numbers count.
    for (nth, col) in cols.filter(|col| col.is_multiple_of(step(cell.x))).enumerate() {
        let x = layout.cell(0, col).x_range().intersection(shown.x_range()).center();
        let (number, what) = column_name(col, sharing);
        let text = if nth == 0 && cell.x >= 2.0 * LABEL_PT { format!("{what} {number}") } else { number };
        pen.text(&text, SMALL, weak, pos2(x, shown.top() - 2.5 * GRID), Align::Center);
    }
}
