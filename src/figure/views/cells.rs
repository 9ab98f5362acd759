//! A grid of equal cells over a rectangle.

use std::ops::Range;

use emath::{Pos2, Rect, pos2, vec2};

/// Rows and columns of the cells that touch `viewport`.
pub fn visible_cells(content: Rect, viewport: Rect, (n_rows, n_cols): (usize, usize)) -> [Range<usize>; 2] {
    let range = |from: f32, to: f32, start: f32, span: f32, n: usize| {
        let unit = |x: f32| (x - start) / span.max(f32::MIN_POSITIVE) * n as f32;
        (unit(from).floor().max(0.0) as usize).min(n)..(unit(to).ceil().max(0.0) as usize).min(n)
    };
    [
        range(viewport.top(), viewport.bottom(), content.top(), content.height(), n_rows),
        range(viewport.left(), viewport.right(), content.left(), content.width(), n_cols),
    ]
}

/// The rectangle of one cell.
pub fn cell_rect(content: Rect, (n_rows, n_cols): (usize, usize), row: usize, col: usize) -> Rect {
    let size = vec2(content.width() / n_cols.max(1) as f32, content.height() / n_rows.max(1) as f32);
    Rect::from_min_size(content.min + size * vec2(col as f32, row as f32), size)
}

/// Row and column of the cell at `at`.
pub fn cell_at(content: Rect, (n_rows, n_cols): (usize, usize), at: Pos2) -> Option<(usize, usize)> {
    if !content.contains(at) {
        return None;
    }
    let part = (at - content.min) / content.size();
    let at = pos2(part.x * n_cols as f32, part.y * n_rows as f32);
    Some(((at.y as usize).min(n_rows.checked_sub(1)?), (at.x as usize).min(n_cols.checked_sub(1)?)))
}
