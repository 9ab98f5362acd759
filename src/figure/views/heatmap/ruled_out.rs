//! What a layer rules out and what is left out, as geometry: the window and figures paint the same.

use std::ops::Range;

use emath::{Pos2, Rect, pos2};

use crate::{
    analysis::reading::{ReadPattern, Rest},
    figure::{
        list::{Line, faded},
        pen::{Medium, Pen},
        views::cells::{cell_rect, visible_cells},
    },
};

/// Largest cross on a cell.
const CROSS_PT: f32 = 18.0;
/// Between two lines of a hatching, in points.
const HATCH_PT: f32 = 9.0;

/// Hatches what is ruled out, crosses what is cut, and covers what is left out; `content` is where the whole pattern is, of
/// which `plot` is in sight.
pub fn draw(pattern: &ReadPattern, (content, plot): (Rect, Rect), pen: &mut Pen<'_>) {
    let [rows, _] = visible_cells(content, plot, (pattern.rows.len(), pattern.cols.len()));
    let canvas = pen.palette.canvas;
    let hatched = outside_window(pattern, content, rows).into_iter().chain(hidden(pattern, content));
    hatch(hatched.map(|rect| rect.intersect(plot)), pen);
    cross(&cut(pattern, content), pen);
    for rect in left_out(pattern, content) {
        pen.rect(rect, canvas);
    }
    if let Some([from, to]) = end_of_keys(pattern, content) {
        pen.line(from, to, if pen.medium == Medium::Paper { 2.0 } else { 3.0 }, canvas);
    }
}

/// Hatches rectangles.
pub fn hatch(rects: impl IntoIterator<Item = Rect>, pen: &mut Pen<'_>) {
    let color = faded(pen.palette.canvas, 0.55);
    let line = |[from, to]: [Pos2; 2]| Line { from, to, width: 1.0, color };
    pen.lines(rects.into_iter().flat_map(diagonals).map(line).collect());
}

/// Crosses rectangles out.
pub fn cross(rects: &[Rect], pen: &mut Pen<'_>) {
    for (width, color) in [(3.0, pen.palette.canvas), (1.25, pen.palette.key)] {
        let lines = rects.iter().flat_map(|rect| {
            let ends = [[rect.left_top(), rect.right_bottom()], [rect.left_bottom(), rect.right_top()]];
            ends.map(|[from, to]| Line { from, to, width, color })
        });
        pen.lines(lines.collect());
    }
}

/// Columns that are outside the window of a row: before, and without a causal mask also after it.
fn out_of_window(pattern: &ReadPattern, row: usize) -> [Range<usize>; 2] {
    let n_cols = pattern.cols.n_of_tokens();
    let visible = pattern.visible.get(row).cloned().unwrap_or(0..n_cols);
    let after = if pattern.causal { n_cols..n_cols } else { visible.end..n_cols };
    [0..visible.start, after]
}

/// What of `rows` lies outside a sliding window, to be hatched, so that it differs from a weight of 0 in every
/// colour map. `content` is where the whole pattern is.
pub fn outside_window(pattern: &ReadPattern, content: Rect, rows: Range<usize>) -> Vec<Rect> {
    let (n_rows, n_cols) = (pattern.rows.len(), pattern.cols.len());
    let grid = (n_rows, n_cols);
    let cell = content.height() / n_rows.max(1) as f32;
    // Thin rows are hatched together; the first has the smallest part before the window.
    let block = ((HATCH_PT / cell.max(0.1)).ceil() as usize).max(1);
    let n_keys = pattern.cols.n_of_tokens();
    let sees_all = |row: usize| pattern.visible.get(row).is_none_or(|visible| *visible == (0..n_keys));
    let mut hatched = Vec::new();
    let mut first = rows.start;
    while first < rows.end.min(n_rows) {
        // A row that sees all is not hatched with its neighbours.
        let n = if sees_all(first) { 1 } else { (first..n_rows).take(block).take_while(|row| !sees_all(*row)).count() };
        let last = first + n - 1;
        let ([before, _], [_, after]) = (out_of_window(pattern, first), out_of_window(pattern, last));
        for keys in [before, after].into_iter().flat_map(|keys| between(keys, &pattern.everywhere)) {
            let (start, end) =
                (cell_rect(content, grid, first, keys.start), cell_rect(content, grid, last, keys.end - 1));
            hatched.push(Rect::from_min_max(start.min, end.max));
        }
        first = last + 1;
    }
    hatched
}

/// What is left of some columns without those in `taken`, which are in order.
fn between(columns: Range<usize>, taken: &[usize]) -> impl Iterator<Item = Range<usize>> {
    let Range { start, end } = columns;
    let inside = taken.iter().copied().filter(move |col| (start..end).contains(col));
    let starts = std::iter::once(start).chain(inside.clone().map(|col| col + 1));
    starts.zip(inside.chain(std::iter::once(end))).map(|(start, end)| start..end).filter(|part| !part.is_empty())
}

/// The lines of a hatching, from the lower left to the upper right; those of neighbouring rectangles meet.
fn diagonals(rect: Rect) -> impl Iterator<Item = [Pos2; 2]> {
    let first = ((rect.left() + rect.top()) / HATCH_PT).ceil() as i32;
    let last = ((rect.right() + rect.bottom()) / HATCH_PT).floor() as i32;
    (first..=last).filter(move |_| rect.is_positive()).map(move |line| {
        let sum = line as f32 * HATCH_PT;
        let low = (sum - rect.bottom()).max(rect.left());
        let high = (sum - rect.top()).min(rect.right());
        [pos2(low, sum - low), pos2(high, sum - high)]
    })
}

/// The columns to be hatched whose weights are not the model's: of tokens that a change of the run hid, and of what
/// an incomplete file lacks.
pub fn hidden(pattern: &ReadPattern, content: Rect) -> Vec<Rect> {
    let grid = (pattern.rows.len(), pattern.cols.len());
    let column = |col: &usize| {
        let cell = cell_rect(content, grid, 0, *col);
        Rect::from_x_y_ranges(cell.x_range(), content.y_range())
    };
    let is_missing = |col: &usize| pattern.cols.rest_at(*col) == Some(Rest::Missing);
    let missing = (0..pattern.cols.len()).filter(is_missing);
    pattern.marks.hidden_cols.iter().copied().chain(missing).map(|col| column(&col)).collect()
}

/// The line between the keys and what went to none of them.
pub fn end_of_keys(pattern: &ReadPattern, content: Rect) -> Option<[Pos2; 2]> {
    let first = (!pattern.cols.rest().is_empty()).then(|| pattern.cols.n_of_tokens())?;
    let x = cell_rect(content, (pattern.rows.len(), pattern.cols.len()), 0, first).left();
    Some([pos2(x, content.top()), pos2(x, content.bottom())])
}

/// Inside the cells that a change of the run cut.
fn cut(pattern: &ReadPattern, content: Rect) -> Vec<Rect> {
    let grid = (pattern.rows.len(), pattern.cols.len());
    let inside = |&(row, col): &(usize, usize)| {
        let cell = cell_rect(content, grid, row, col);
        Rect::from_center_size(cell.center(), cell.size().min(CROSS_PT * emath::Vec2::splat(1.0)) * 0.7)
    };
    pattern.marks.cut.iter().map(inside).collect()
}

/// The rows and columns that are left out, to be covered: any colour could be taken for a weight.
pub fn left_out(pattern: &ReadPattern, content: Rect) -> Vec<Rect> {
    let flags = [&pattern.rows, &pattern.cols]
        .map(|axis| axis.groups.iter().map(|group| group.left_out.is_some()).collect::<Vec<_>>());
    let grid = (pattern.rows.len(), pattern.cols.len());
    let rows = runs(&flags[0]).into_iter().map(|run| {
        let (first, last) = (cell_rect(content, grid, run.start, 0), cell_rect(content, grid, run.end - 1, 0));
        Rect::from_x_y_ranges(content.x_range(), first.top()..=last.bottom())
    });
    let cols = runs(&flags[1]).into_iter().map(|run| {
        let (first, last) = (cell_rect(content, grid, 0, run.start), cell_rect(content, grid, 0, run.end - 1));
        Rect::from_x_y_ranges(first.left()..=last.right(), content.y_range())
    });
    rows.chain(cols).collect()
}

/// Where `flags` are set without a break.
fn runs(flags: &[bool]) -> Vec<Range<usize>> {
    let mut runs: Vec<Range<usize>> = Vec::new();
    for (at, _) in flags.iter().enumerate().filter(|(_, flag)| **flag) {
        match runs.last_mut() {
            Some(run) if run.end == at => run.end += 1,
            _ => runs.push(at..at + 1),
        }
    }
    runs
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_are_what_lies_between_the_gaps() {
        assert_eq!(runs(&[true, true, false, true]), [0..2, 3..4]);
        assert!(runs(&[false, false]).is_empty());
    }

    #[test]
    fn columns_that_all_see_divide_what_is_hatched() {
        let of = |columns: Range<usize>, taken: &[usize]| between(columns, taken).collect::<Vec<_>>();
        assert_eq!(of(0..6, &[0, 2, 3, 9]), [1..2, 4..6]);
        assert_eq!(of(4..9, &[5]), [4..5, 6..9]);
        assert!(of(3..3, &[1]).is_empty() && of(2..4, &[2, 3]).is_empty());
    }

    #[test]
    fn hatchings_of_neighbours_meet_and_stay_inside() {
        let [left, right] = [0.0, 20.0].map(|x| Rect::from_min_max(pos2(x, 3.0), pos2(x + 20.0, 30.0)));
        for rect in [left, right] {
            assert!(diagonals(rect).flatten().all(|at| rect.expand(0.001).contains(at)));
        }
        let ends: Vec<Pos2> = diagonals(left).map(|[_, to]| to).filter(|to| to.x == 20.0 && to.y > 3.0).collect();
        let starts: Vec<Pos2> = diagonals(right).map(|[from, _]| from).filter(|from| from.x == 20.0).collect();
        assert!(!ends.is_empty() && ends.iter().all(|end| starts.contains(end)), "{ends:?} {starts:?}");
        assert_eq!(diagonals(Rect::NOTHING).count(), 0);
    }
}
