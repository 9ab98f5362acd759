//! What a layer rules out and what is left out, as geometry: the window and figures paint the same.

use std::{collections::BTreeMap, f32::consts::SQRT_2, ops::Range};

use emath::{Pos2, Rect, pos2};

use crate::{
    analysis::reading::{ReadPattern, Rest},
    figure::{
        list::{Line, Rgba},
        palette::Palette,
        pen::{Medium, Pen},
        views::cells::{RuledOut, cell_rect, visible_cells},
    },
    style::HATCH_PT,
};

/// Largest cross on a cell.
const CROSS_PT: f32 = 18.0;
/// Between two lines of the hatching of columns whose weights are not the model's, in points.
pub const HIDDEN_PT: f32 = 2.0 * HATCH_PT;

/// Hatches what is ruled out, crosses what is cut, and covers what is left out; `content` is where the whole pattern is, of
/// which `plot` is in sight.
pub fn draw(pattern: &ReadPattern, (content, plot): (Rect, Rect), pen: &mut Pen<'_>) {
    let [rows, _] = visible_cells(content, plot, (pattern.rows.len(), pattern.cols.len()));
    let Palette { canvas, raised, rule, edge, .. } = pen.palette;
    let seen = |rects: Vec<Rect>| rects.into_iter().map(|rect| rect.intersect(plot)).collect::<Vec<_>>();
    let later = seen(ruled_out(pattern, content, rows.clone(), later));
    let far = seen(ruled_out(pattern, content, rows, out_of_window));
    let hidden = seen(hidden(pattern, content));
    for rect in &far {
        pen.rect(*rect, raised);
    }
    hatch(later.into_iter().chain(far), (HATCH_PT, rule), pen);
    hatch(hidden, (HIDDEN_PT, edge), pen);
    cross(&cut(pattern, content), pen);
    for rect in left_out(pattern, content) {
        pen.rect(rect, canvas);
    }
    if let Some([from, to]) = end_of_keys(pattern, content) {
        pen.line(from, to, if pen.medium == Medium::Paper { 2.0 } else { 3.0 }, canvas);
    }
}

/// What hatched cells are: later keys, and keys outside a window.
pub const fn hatched_text(later: bool, far: bool) -> &'static str {
    match (later, far) {
        (false, false) => "",
        (true, false) => "Hatched cells are masked (causal)",
        (false, true) => "Hatched cells lie outside the window of the layer",
        (true, true) => "Hatched cells are masked (causal) or, on grey, lie outside the window of the layer",
    }
}

/// The same of a grid whose cells are ruled out one by one.
pub fn draw_cells(
    content: Rect,
    (n_rows, n_cols): (usize, usize),
    why: impl Fn((usize, usize)) -> Option<RuledOut>,
    pen: &mut Pen<'_>,
) {
    let of = |wanted: RuledOut| -> Vec<Rect> {
        let cells = (0..n_rows).flat_map(|row| (0..n_cols).map(move |col| (row, col)));
        let cells = cells.filter(|cell| why(*cell) == Some(wanted));
        cells.map(|(row, col)| cell_rect(content, (n_rows, n_cols), row, col)).collect()
    };
    let (later, far) = (of(RuledOut::Later), of(RuledOut::OutOfWindow));
    for rect in &far {
        pen.rect(*rect, pen.palette.raised);
    }
    hatch(later.into_iter().chain(far), (HATCH_PT, pen.palette.rule), pen);
}

/// Hatches rectangles that come from above to below.
pub fn hatch(rects: impl IntoIterator<Item = Rect>, (pitch, color): (f32, Rgba), pen: &mut Pen<'_>) {
    let line = |[from, to]: [Pos2; 2]| Line { from, to, width: 1.0, color };
    pen.lines(hatching(rects, pitch).into_iter().map(line).collect());
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
pub fn out_of_window(pattern: &ReadPattern, row: usize) -> [Range<usize>; 2] {
    let n_cols = pattern.cols.n_of_tokens();
    let visible = pattern.visible.get(row).cloned().unwrap_or(0..n_cols);
    let after = if pattern.causal { n_cols..n_cols } else { visible.end..n_cols };
    [0..visible.start, after]
}

/// Columns that a causal mask hides from a row.
pub fn later(pattern: &ReadPattern, row: usize) -> [Range<usize>; 2] {
    let n_cols = pattern.cols.n_of_tokens();
    let end = pattern.visible.get(row).filter(|_| pattern.causal).map_or(n_cols, |visible| visible.end);
    [0..0, end..n_cols]
}

/// What is ruled out of `rows`, by the columns before and behind what a row sees: to be hatched, so that it differs from
/// a weight of 0 in every colour map. `content` is where the whole pattern is.
pub fn ruled_out(
    pattern: &ReadPattern,
    content: Rect,
    rows: Range<usize>,
    columns: impl Fn(&ReadPattern, usize) -> [Range<usize>; 2],
) -> Vec<Rect> {
    let (n_rows, n_cols) = (pattern.rows.len(), pattern.cols.len());
    let grid = (n_rows, n_cols);
    let cell = content.height() / n_rows.max(1) as f32;
    // Thin rows are hatched together; the first has the smallest part before what is seen, the last behind it.
    let block = ((HATCH_PT / cell.max(0.1)).ceil() as usize).max(1);
    let n_keys = pattern.cols.n_of_tokens();
    let sees_all = |row: usize| pattern.visible.get(row).is_none_or(|visible| *visible == (0..n_keys));
    let mut hatched = Vec::new();
    let mut first = rows.start;
    while first < rows.end.min(n_rows) {
        // A row that sees all is not hatched with its neighbours.
        let n = if sees_all(first) { 1 } else { (first..n_rows).take(block).take_while(|row| !sees_all(*row)).count() };
        let last = first + n - 1;
        let ([before, _], [_, after]) = (columns(pattern, first), columns(pattern, last));
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

/// The lines of a hatching with their numbers, from the lower left to the upper right, `step` apart along the sides; those
/// of neighbouring rectangles meet.
fn numbered_diagonals(rect: Rect, step: f32) -> impl Iterator<Item = (i32, [Pos2; 2])> {
    let first = ((rect.left() + rect.top()) / step).ceil() as i32;
    let last = ((rect.right() + rect.bottom()) / step).floor() as i32;
    (first..=last).filter(move |_| rect.is_positive()).map(move |line| {
        let sum = line as f32 * step;
        let low = (sum - rect.bottom()).max(rect.left());
        let high = (sum - rect.top()).min(rect.right());
        (line, [pos2(low, sum - low), pos2(high, sum - high)])
    })
}

/// The lines of the hatching of rectangles that come from above to below: those that meet are one.
fn hatching(rects: impl IntoIterator<Item = Rect>, pitch: f32) -> Vec<[Pos2; 2]> {
    let mut lines: BTreeMap<i32, Vec<[Pos2; 2]>> = BTreeMap::new();
    for (line, ends) in rects.into_iter().flat_map(|rect| numbered_diagonals(rect, pitch * SQRT_2)) {
        let parts = lines.entry(line).or_default();
        match parts.last_mut().filter(|above| above[0].distance(ends[1]) < 0.01) {
            Some(above) => above[0] = ends[0],
            None => parts.push(ends),
        }
    }
    lines.into_values().flatten().collect()
}

/// The columns to be hatched whose weights are not the model's: of tokens that a change of the run hid, and of what
/// an incomplete file lacks.
fn hidden(pattern: &ReadPattern, content: Rect) -> Vec<Rect> {
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
            assert!(numbered_diagonals(rect, 6.0).flat_map(|(_, ends)| ends).all(|at| rect.expand(0.001).contains(at)));
        }
        let ends: Vec<Pos2> = numbered_diagonals(left, 6.0)
            .map(|(_, ends)| ends)
            .map(|[_, to]| to)
            .filter(|to| to.x == 20.0 && to.y > 3.0)
            .collect();
        let starts: Vec<Pos2> = numbered_diagonals(right, 6.0)
            .map(|(_, ends)| ends)
            .map(|[from, _]| from)
            .filter(|from| from.x == 20.0)
            .collect();
        assert!(!ends.is_empty() && ends.iter().all(|end| starts.contains(end)), "{ends:?} {starts:?}");
        assert_eq!(numbered_diagonals(Rect::NOTHING, 6.0).count(), 0);
    }

    #[test]
    fn lines_of_a_hatching_go_on_from_row_to_row() {
        let rows = (0..10).map(|row| Rect::from_min_max(pos2(0.0, row as f32), pos2(30.0, row as f32 + 1.0)));
        let whole = Rect::from_min_max(pos2(0.0, 0.0), pos2(30.0, 10.0));
        let (joined, one) = (hatching(rows, 4.0), hatching([whole], 4.0));
        assert_eq!(joined.len(), one.len());
        let far = joined.iter().zip(&one).flat_map(|(a, b)| [a[0].distance(b[0]), a[1].distance(b[1])]);
        assert!(far.fold(0.0, f32::max) < 0.01, "{joined:?} {one:?}");
    }
}
