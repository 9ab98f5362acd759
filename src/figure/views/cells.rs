//! A grid of equal cells over a rectangle.

use std::ops::Range;

use emath::{Pos2, Rect, pos2, vec2};

use crate::spec::Mask;

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

/// Why a mask rules a cell out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RuledOut {
    Later,
    /// The key lies outside a window.
    OutOfWindow,
}

/// Whether `mask` rules a query and a key out, of so many of each. A value that is there all the same is shown.
pub fn ruled_out(mask: Mask, (query, key): (usize, usize), shape: [usize; 2], value: f32) -> Option<RuledOut> {
    let visible = mask.visible(query, shape[0], shape[1]);
    match (value == 0.0 || value.is_nan(), mask.causal && key >= visible.end) {
        (false, _) => None,
        (true, true) => Some(RuledOut::Later),
        (true, false) => (!visible.contains(&key)).then_some(RuledOut::OutOfWindow),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_cell_is_ruled_out_by_its_mask_and_not_by_being_small() {
        let mask = Mask { causal: true, window: Some(2) };
        let of = |cell, value| ruled_out(mask, cell, [4, 4], value);
        assert_eq!([of((1, 2), 0.0), of((3, 3), 0.0)], [Some(RuledOut::Later), None]);
        assert_eq!([of((3, 1), 0.0), of((3, 2), 0.0)], [Some(RuledOut::OutOfWindow), None]);
        assert_eq!(of((1, 2), 0.1), None, "a value that is there is shown");
        assert_eq!(of((1, 2), f32::NAN), Some(RuledOut::Later));
        assert_eq!(ruled_out(Mask::default(), (0, 3), [4, 4], 0.0), None);
    }
}
