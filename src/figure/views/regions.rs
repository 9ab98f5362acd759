//! What of a scene can be pointed at: equal cells over rectangles, so that a million of them are a formula.

use std::ops::Range;

use emath::{Pos2, Rect};

use super::cells;

/// A part of a scene that is pointed at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Pointed {
    /// The row of a query and the column of a key.
    Pair(usize, usize),
    /// The row of a query.
    Query(usize),
    /// The column of a key.
    Key(usize),
    /// The row and the column of a head.
    Head(usize, usize),
}

impl Pointed {
    /// The row and the column of a pattern that are meant.
    pub const fn in_pattern(self) -> [Option<usize>; 2] {
        match self {
            Self::Pair(row, col) => [Some(row), Some(col)],
            Self::Query(row) => [Some(row), None],
            Self::Key(col) => [None, Some(col)],
            Self::Head(..) => [None; 2],
        }
    }
}

/// Equal cells, each of which can be pointed at.
#[derive(Clone, Copy, Debug)]
pub struct Region {
    /// What the cell in a row and a column stands for.
    pub of: fn(usize, usize) -> Pointed,
    /// All cells, some of them possibly out of sight.
    pub content: Rect,
    /// What of them is in sight.
    pub seen: Rect,
    /// Number of rows and columns.
    pub grid: (usize, usize),
}

impl Region {
    /// Cells that are all in sight.
    pub const fn whole(of: fn(usize, usize) -> Pointed, content: Rect, grid: (usize, usize)) -> Self {
        Self { of, content, seen: content, grid }
    }

    /// Row and column of the cell at a place.
    pub fn cell_at(&self, at: Pos2) -> Option<(usize, usize)> {
        self.seen.contains(at).then(|| cells::cell_at(self.content, self.grid, at))?
    }

    /// What is meant by a place.
    pub fn at(&self, at: Pos2) -> Option<Pointed> {
        self.cell_at(at).map(|(row, col)| (self.of)(row, col))
    }

    /// The rectangle of a cell.
    pub fn cell(&self, row: usize, col: usize) -> Rect {
        cells::cell_rect(self.content, self.grid, row, col)
    }

    /// Rows and columns of the cells in sight.
    pub fn visible(&self) -> [Range<usize>; 2] {
        cells::visible_cells(self.content, self.seen, self.grid)
    }
}

#[cfg(test)]
mod tests {
    use emath::{pos2, vec2};

    use super::*;

    #[test]
    fn cells_in_sight_alone_can_be_pointed_at() {
        let content = Rect::from_min_size(pos2(0.0, 0.0), vec2(1e6, 1e6));
        let seen = Rect::from_min_size(pos2(500.0, 200.0), vec2(95.0, 49.5));
        let region = Region { of: Pointed::Pair, content, seen, grid: (1_000_000, 100_000) };
        assert_eq!(region.at(pos2(512.0, 203.5)), Some(Pointed::Pair(203, 51)));
        assert_eq!(region.at(pos2(499.0, 203.5)), None);
        assert_eq!(region.visible(), [200..250, 50..60]);
        assert!(region.cell(203, 51).contains(pos2(512.0, 203.5)));
        assert_eq!(Region::whole(Pointed::Pair, seen, (0, 0)).at(seen.center()), None);
        let names = Region::whole(|row, _| Pointed::Query(row), seen, (5, 1));
        assert_eq!(names.at(pos2(550.0, 245.0)).map(Pointed::in_pattern), Some([Some(4), None]));
    }
}
