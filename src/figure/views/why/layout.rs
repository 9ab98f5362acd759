//! Layout of the steps behind a weight: one strip of cells below the other.

use emath::{Pos2, Rect, Vec2, pos2, vec2};

use crate::{
    analysis::chain::{Chain, Step},
    figure::{measure::GRID, views::cells},
};

/// Room for the name of a step and its formula.
pub const NAME_PT: f32 = 42.0 * GRID;
/// Room for the sum or the length, and for the columns that are not shown.
pub const END_PT: f32 = 27.0 * GRID;
/// Width and height of a cell.
pub const CELL_PT: (f32, f32) = (10.0 * GRID, 5.0 * GRID);
/// Height of a strip, with the names of its columns above the cells.
pub const STRIP_PT: f32 = 14.0 * GRID;
/// Free above the first strip.
const TOP_PT: f32 = 2.0 * GRID;
/// Height of the names of columns.
pub const LABEL_PT: f32 = 4.0 * GRID;
/// Up to so many values are shown all, of more so many of the largest.
const ALL_UP_TO: usize = 16;
const LARGEST: usize = 12;
/// A strip has at least so many cells.
const LEAST: usize = 4;

/// The strips.
#[derive(Clone, Debug, PartialEq)]
pub struct WhyLayout {
    pub strips: Vec<Strip>,
}

/// One step.
#[derive(Clone, Debug, PartialEq)]
pub struct Strip {
    pub rect: Rect,
    pub cells: Rect,
    /// The columns that are shown.
    pub columns: Vec<usize>,
}

impl WhyLayout {
    /// Shares out an area for some of the steps of a chain.
    pub fn of(area: Rect, chain: &Chain, n_steps: usize) -> Self {
        let room = ((area.width() - NAME_PT - END_PT) / CELL_PT.0).max(LEAST as f32) as usize;
        let strip = |(nth, step): (usize, &Step)| {
            let top = area.top() + TOP_PT + nth as f32 * STRIP_PT;
            let most = if step.values.len() <= ALL_UP_TO { ALL_UP_TO } else { LARGEST };
            let columns = chain.columns(step.over, most.min(room));
            let size = vec2(columns.len() as f32 * CELL_PT.0, CELL_PT.1);
            Strip {
                rect: Rect::from_min_size(pos2(area.left(), top), vec2(area.width(), STRIP_PT)),
                cells: Rect::from_min_size(pos2(area.left() + NAME_PT, top + LABEL_PT), size),
                columns,
            }
        };
        Self { strips: chain.steps.iter().take(n_steps).enumerate().map(strip).collect() }
    }

    /// The least width, and the height of so many steps.
    pub fn least(n_steps: usize) -> Vec2 {
        vec2(NAME_PT + LEAST as f32 * CELL_PT.0 + END_PT, n_steps as f32 * STRIP_PT + TOP_PT)
    }

    /// The width in which the largest columns of every step are shown.
    pub fn width() -> f32 {
        NAME_PT + LARGEST as f32 * CELL_PT.0 + END_PT
    }

    /// The step and the column of the cell at a place.
    pub fn at(&self, at: Pos2) -> Option<(usize, usize)> {
        self.strips.iter().enumerate().find_map(|(nth, strip)| {
            let (_, col) = cells::cell_at(strip.cells, (1, strip.columns.len()), at)?;
            Some((nth, strip.columns[col]))
        })
    }
}

impl Strip {
    /// The cell of a column, where it is shown.
    pub fn cell(&self, column: usize) -> Option<Rect> {
        let col = self.columns.iter().position(|shown| *shown == column)?;
        Some(cells::cell_rect(self.cells, (1, self.columns.len()), 0, col))
    }
}
