//! Layout of the cells of all heads: rows of equal cells, with headings above some. Pure geometry in points.

use std::ops::Range;

use emath::{Pos2, Rect, pos2, vec2};

/// Height of a heading where all cells are in sight.
pub const HEADING_PT: f32 = 20.0;

/// The cells in a viewport.
#[derive(Clone, Debug, PartialEq)]
pub struct GridLayout {
    /// What the camera looks through.
    pub viewport: Rect,
    /// All cells and headings, some of them possibly out of sight.
    pub content: Rect,
    /// Number of rows and columns.
    pub grid: (usize, usize),
    /// Rows with a heading above them, in order.
    pub headings: Vec<usize>,
    /// Height of a heading, as a part of the height of a row.
    pub heading: f32,
}

impl GridLayout {
    fn row_height(&self) -> f32 {
        let n_rows = self.grid.0.max(1) as f32 + self.heading * self.headings.len() as f32;
        self.content.height() / n_rows
    }

    /// Where a row begins, below its heading.
    fn top(&self, row: usize) -> f32 {
        let n_above = self.headings.partition_point(|first| *first <= row) as f32;
        (row as f32 + self.heading * n_above).mul_add(self.row_height(), self.content.top())
    }

    /// The cell in a row and a column.
    pub fn cell(&self, (row, col): (usize, usize)) -> Rect {
        let size = vec2(self.content.width() / self.grid.1.max(1) as f32, self.row_height());
        Rect::from_min_size(pos2((col as f32).mul_add(size.x, self.content.left()), self.top(row)), size)
    }

    /// The room of a heading, above all columns.
    pub fn heading_rect(&self, nth: usize) -> Option<Rect> {
        let top = self.top(*self.headings.get(nth)?);
        Some(Rect::from_x_y_ranges(self.content.x_range(), top - self.heading * self.row_height()..=top))
    }

    /// Row and column of the cell at a place; none on a heading.
    pub fn cell_at(&self, at: Pos2) -> Option<(usize, usize)> {
        let [rows, cols] = self.visible();
        if !self.viewport.contains(at) {
            return None;
        }
        let row = rows.rev().find(|row| self.top(*row) <= at.y)?;
        cols.map(|col| (row, col)).find(|cell| self.cell(*cell).contains(at))
    }

    /// Rows and columns of the cells in sight.
    pub fn visible(&self) -> [Range<usize>; 2] {
        let (n_rows, n_cols) = self.grid;
        let seen = self.content.intersect(self.viewport);
        if n_rows * n_cols == 0 || !seen.is_positive() {
            return [0..0, 0..0];
        }
        let of = |n: usize, is_seen: &dyn Fn(usize) -> bool| {
            let first = (0..n).find(|at| is_seen(*at)).unwrap_or(0);
            first..(first..n).rev().find(|at| is_seen(*at)).map_or(first, |last| last + 1)
        };
        let row = |row: usize| self.cell((row, 0)).y_range();
        let col = |col: usize| self.cell((0, col)).x_range();
        [
            of(n_rows, &|at| row(at).max > seen.top() && row(at).min < seen.bottom()),
            of(n_cols, &|at| col(at).max > seen.left() && col(at).min < seen.right()),
        ]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn layout(content: Rect) -> GridLayout {
        let viewport = Rect::from_min_size(pos2(10.0, 20.0), vec2(400.0, 350.0));
        GridLayout { viewport, content, grid: (3, 4), headings: vec![0, 2], heading: 0.25 }
    }

    #[test]
    fn every_cell_is_found_below_its_heading() {
        let whole = layout(Rect::from_min_size(pos2(10.0, 20.0), vec2(400.0, 350.0)));
        for row in 0..3 {
            for col in 0..4 {
                let cell = whole.cell((row, col));
                assert_eq!((whole.cell_at(cell.center()), cell.size()), (Some((row, col)), vec2(100.0, 100.0)));
            }
        }
        let heading = whole.heading_rect(1).unwrap();
        assert_eq!((heading.top(), heading.bottom()), (whole.cell((1, 0)).bottom(), whole.cell((2, 0)).top()));
        assert_eq!(whole.cell_at(heading.center()), None);
        assert_eq!(whole.visible(), [0..3, 0..4]);
        assert_eq!(whole.heading_rect(2), None);
    }

    #[test]
    fn cells_in_sight_alone_are_found() {
        let large = layout(Rect::from_min_size(pos2(-800.0, -700.0), vec2(4000.0, 3500.0)));
        let [rows, cols] = large.visible();
        assert_eq!([rows, cols], [0..1, 0..2], "cells of 1,000 points");
        assert_eq!(large.cell_at(pos2(15.0, 100.0)), Some((0, 0)));
        assert_eq!(large.cell_at(pos2(5.0, 100.0)), None, "beside the viewport");
    }
}
