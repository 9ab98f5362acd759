//! Tables of texts and numbers.

use emath::{Pos2, Rangef, Rect, pos2};

use super::{Hit, Piece, ROW_PT, facts::Facts, n_lines, room, stacked};
use crate::figure::{
    font::Align,
    measure::{GRID, text_size::SMALL},
    pen::Pen,
};

/// Room for a cell.
const MOST_CELL_PT: f32 = 300.0;
/// A text has at least this width; where there is less for it, rows are told as names with values.
const LEAST_CELL_PT: f32 = 110.0;
/// What stays free at the right of a text, and of a number, which reaches as far.
const INNER_PT: [f32; 2] = [2.0 * GRID, 3.5 * GRID];
/// Between two rows that are told as names with values.
const BETWEEN_ROWS_PT: f32 = 2.0 * GRID;
/// The least width of a table.
const LEAST_PT: f32 = 170.0;

/// Columns of texts.
#[derive(Clone, Debug)]
pub struct Grid {
    /// What the columns are called, their cells, and whether those are numbers.
    pub columns: Vec<(String, Vec<String>, bool)>,
    /// How many rows there are beside those that are shown.
    pub n_left_out: usize,
}

/// Where the cells of a table stand.
struct CellLayout {
    widths: Vec<f32>,
    /// Lines of the names, then of each row.
    lines: Vec<usize>,
}

impl Grid {
    fn widths(&self) -> Vec<f32> {
        let of = |(name, cells, _): &(String, Vec<String>, bool)| {
            room(cells.iter().map(String::as_str).chain([name.as_str()]), MOST_CELL_PT) + 4.0 * GRID
        };
        self.columns.iter().map(of).collect()
    }

    fn n_rows(&self) -> usize {
        self.columns.iter().map(|(_, cells, _)| cells.len()).max().unwrap_or(0)
    }

    /// Where cells stand beside each other; none where there is no room for that.
    fn cells(&self, width: f32) -> Option<CellLayout> {
        let wanted = self.widths();
        let least: Vec<f32> = self
            .columns
            .iter()
            .zip(&wanted)
            .map(|((.., numbers), wanted)| if *numbers { *wanted } else { wanted.min(LEAST_CELL_PT) })
            .collect();
        let (all, needed) = (wanted.iter().sum::<f32>(), least.iter().sum::<f32>());
        if needed > width {
            return None;
        }
        // What there is beside the least is shared out as it is wanted.
        let share = ((width - needed) / (all - needed).max(1.0)).min(1.0);
        let widths: Vec<f32> =
            wanted.iter().zip(&least).map(|(wanted, least)| least + share * (wanted - least)).collect();
        // The names come first.
        let lines_of = |row: usize| {
            let n_lines_of = |((name, cells, numbers), width): (&(String, Vec<String>, bool), &f32)| {
                let text = row.checked_sub(1).map_or(Some(name), |row| cells.get(row))?;
                Some(n_lines(text, width - INNER_PT[usize::from(*numbers)]))
            };
            self.columns.iter().zip(&widths).filter_map(n_lines_of).max().unwrap_or(1).max(1)
        };
        let lines = (0..=self.n_rows()).map(lines_of).collect();
        Some(CellLayout { widths, lines })
    }

    /// A row as names with values.
    fn record(&self, row: usize) -> Facts {
        let line = |(name, cells, _): &(String, Vec<String>, bool)| {
            Some([name.clone(), cells.get(row)?.clone(), String::new()])
        };
        Facts { lines: self.columns.iter().filter_map(line).collect() }
    }

    /// From the top of each row to its bottom; the names of columns are the first, where they stand above.
    fn spans(&self, width: f32) -> Vec<Rangef> {
        match self.cells(width) {
            Some(cells) => stacked(cells.lines.iter().map(|n| *n as f32 * ROW_PT)),
            None => stacked((0..self.n_rows()).map(|row| self.record(row).height(width) + BETWEEN_ROWS_PT)),
        }
    }

    fn draw_cells(&self, cells: &CellLayout, area: Rect, pen: &mut Pen<'_>) {
        let (weak, text, rule) = (pen.palette.text_weak, pen.palette.text, pen.palette.rule);
        let spans = self.spans(area.width());
        let mut left = area.left();
        for ((name, own, numbers), width) in self.columns.iter().zip(&cells.widths) {
            let inner = width - INNER_PT[usize::from(*numbers)];
            let (x, align) = if *numbers { (left + inner, Align::Right) } else { (left, Align::Left) };
            let all = std::iter::once((name, weak)).chain(own.iter().map(|cell| (cell, text)));
            for ((words, color), span) in all.zip(&spans) {
                let band = Rect::from_x_y_ranges(left..=left + width, area.top() + span.min..=area.top() + span.max);
                if !pen.sees(band) {
                    continue;
                }
                for (line, words) in pen.broken(words, SMALL, inner).iter().enumerate() {
                    pen.text(words, SMALL, color, pos2(x, band.top() + (line as f32 + 0.5) * ROW_PT), align);
                }
            }
            left += width;
        }
        let line = area.top() + spans.first().map_or(0.0, |span| span.max);
        pen.line(pos2(area.left(), line), pos2(left, line), 0.75, rule);
    }
}

impl Piece for Grid {
    fn width(&self) -> f32 {
        self.widths().iter().sum()
    }

    fn least_width(&self) -> f32 {
        self.width().min(LEAST_PT)
    }

    fn height(&self, width: f32) -> f32 {
        let rows = self.spans(width).last().map_or(0.0, |last| last.max);
        rows + if self.n_left_out > 0 { ROW_PT } else { 0.0 } + GRID
    }

    fn draw(&self, area: Rect, pen: &mut Pen<'_>) {
        let (weak, rule) = (pen.palette.text_weak, pen.palette.rule);
        let spans = self.spans(area.width());
        match self.cells(area.width()) {
            Some(cells) => self.draw_cells(&cells, area, pen),
            None => {
                for (row, span) in spans.iter().enumerate() {
                    let own = Rect::from_x_y_ranges(
                        area.x_range(),
                        area.top() + span.min..=area.top() + span.max - BETWEEN_ROWS_PT,
                    );
                    if pen.sees(own) {
                        self.record(row).draw(own, pen);
                        let y = own.bottom() + BETWEEN_ROWS_PT / 2.0;
                        pen.line(pos2(own.left(), y), pos2(own.right(), y), 0.75, rule);
                    }
                }
            }
        }
        if self.n_left_out > 0 {
            let words = format!("{} more rows: see the data file", self.n_left_out);
            let y = area.top() + spans.last().map_or(0.0, |last| last.max) + ROW_PT / 2.0;
            pen.text(&words, SMALL, weak, pos2(area.left(), y), Align::Left);
        }
    }

    fn at(&self, area: Rect, at: Pos2) -> Option<Hit> {
        let spans = self.spans(area.width());
        let nth = spans.iter().position(|span| span.contains(at.y - area.top()))?;
        let has_names_above = self.cells(area.width()).is_some();
        let row = if has_names_above { nth.checked_sub(1)? } else { nth };
        let cells = self.columns.iter().filter_map(|(name, cells, _)| Some(format!("{name}: {}", cells.get(row)?)));
        let y = area.top() + spans[nth].min..=area.top() + spans[nth].max;
        let rect = Rect::from_x_y_ranges(area.left()..=area.left() + area.width().min(self.width()), y);
        Some(Hit::saying(rect, cells.collect::<Vec<_>>().join("\n")))
    }

    fn spoken(&self) -> Vec<String> {
        let row = |row: usize| {
            let cells = self.columns.iter().filter_map(|(_, cells, _)| cells.get(row).cloned());
            cells.collect::<Vec<_>>().join(" ")
        };
        (0..self.n_rows().min(12)).map(row).collect()
    }
}
