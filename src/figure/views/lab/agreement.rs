//! Agreement of methods: Kendall's τ of every pair.

use emath::{Pos2, Rangef, Rect, pos2, vec2};

use super::{Hit, Piece, n_lines, room, stacked};
use crate::{
    analysis::explain::{compare, rank::Kendall},
    figure::{
        font::Align,
        list::faded,
        measure::{GRID, text_size::SMALL},
        pen::Pen,
    },
    text::{decimal_text, weight_text},
};

const CELL_PT: (f32, f32) = (122.0, 18.0);
const LEAST_CELL_PT: f32 = 64.0;
/// Room for the name of a method at the left.
const MOST_LABEL_PT: f32 = 140.0;
/// Room for the number of a pair, where each has a line of its own.
const NUMBER_PT: f32 = 48.0;
/// The least width of all.
const LEAST_PT: f32 = 170.0;
/// Height of a line of a column's name.
const HEADING_LINE_PT: f32 = 13.0;
/// Below this the order of the other method says little.
const WEAK: f64 = 0.3;
/// From here on two orders are much alike.
const STRONG: f64 = 0.7;

/// Kendall's τ between every two of some methods.
#[derive(Clone, Debug)]
pub struct Agreement {
    titles: Vec<String>,
    /// Row by row, of the pairs below the diagonal.
    found: Vec<Vec<Option<Kendall>>>,
}

impl Agreement {
    /// Compares methods; none where there are not two.
    pub fn of(scores: &[(String, Vec<f32>)]) -> Option<Self> {
        if scores.len() < 2 {
            return None;
        }
        let row = |nth: usize| (0..nth).map(|other| compare::agreement(&scores[nth].1, &scores[other].1)).collect();
        let titles = scores.iter().map(|(title, _)| title.clone()).collect();
        Some(Self { titles, found: (0..scores.len()).map(row).collect() })
    }

    /// The answer in a sentence.
    pub fn verdict(&self) -> String {
        let pairs = self.found.iter().enumerate().flat_map(|(row, found)| {
            found.iter().enumerate().filter_map(move |(col, found)| Some((row, col, (*found)?.tau)))
        });
        let mut pairs: Vec<(usize, usize, f64)> = pairs.collect();
        if pairs.is_empty() {
            return "Too few or too many tokens to compare".to_owned();
        }
        pairs.sort_by(|a, b| a.2.total_cmp(&b.2));
        let mean = pairs.iter().map(|pair| pair.2).sum::<f64>() / pairs.len() as f64;
        let how = if mean >= STRONG {
            "Yes, mostly"
        } else if mean >= WEAK {
            "In part"
        } else {
            "Hardly"
        };
        let named = |&(row, col, tau): &(usize, usize, f64)| {
            format!("{} and {} (τ = {})", self.titles[col], self.titles[row], decimal_text(tau))
        };
        let (least, most) = (&pairs[0], &pairs[pairs.len() - 1]);
        if pairs.len() == 1 {
            return format!("{how} (ignoring signs): τ = {}", decimal_text(mean));
        }
        format!(
            "{how} (ignoring signs): mean τ = {}; most alike {}, least {}",
            decimal_text(mean),
            named(most),
            named(least)
        )
    }

    fn label_width(&self) -> f32 {
        room(self.titles.iter().map(String::as_str), MOST_LABEL_PT) + 2.0 * GRID
    }

    /// Whether there is no room for a table: then each pair has a line of its own.
    fn is_list(&self, width: f32) -> bool {
        width < self.label_width() + (self.titles.len() - 1) as f32 * LEAST_CELL_PT
    }

    /// Two methods and how far they agree.
    fn pairs(&self) -> impl Iterator<Item = (usize, usize, Option<Kendall>)> + '_ {
        let of_row = |(row, found): (usize, &'_ Vec<Option<Kendall>>)| -> Vec<_> {
            found.iter().enumerate().map(|(col, found)| (row, col, *found)).collect()
        };
        self.found.iter().enumerate().flat_map(of_row)
    }

    fn pair_text(&self, row: usize, col: usize) -> String {
        format!("{} and {}", self.titles[col], self.titles[row])
    }

    /// From the top of each line of a list to its bottom.
    fn lines(&self, width: f32) -> Vec<Rangef> {
        let n = |(row, col, _)| n_lines(&self.pair_text(row, col), width - NUMBER_PT).max(1);
        stacked(self.pairs().map(|pair| n(pair) as f32 * CELL_PT.1))
    }

    /// Height of a row of the table: names may take several lines.
    fn row_height(&self) -> f32 {
        let inner = self.label_width() - GRID;
        let lines = self.titles.iter().map(|title| n_lines(title, inner)).max().unwrap_or(1);
        (lines as f32 * HEADING_LINE_PT + 4.0).max(CELL_PT.1)
    }

    fn draw_list(&self, area: Rect, pen: &mut Pen<'_>) {
        let (text, weak) = (pen.palette.text, pen.palette.text_weak);
        for ((row, col, found), span) in self.pairs().zip(self.lines(area.width())) {
            let top = area.top() + span.min;
            for (line, words) in
                pen.broken(&self.pair_text(row, col), SMALL, area.width() - NUMBER_PT).iter().enumerate()
            {
                pen.text(words, SMALL, weak, pos2(area.left(), top + (line as f32 + 0.5) * CELL_PT.1), Align::Left);
            }
            let tau = found.map(|found| found.tau);
            let cell = Rect::from_min_size(pos2(area.right() - NUMBER_PT, top), vec2(NUMBER_PT, CELL_PT.1)).shrink(1.0);
            let own = if tau.unwrap_or(0.0) < 0.0 { pen.palette.minus } else { pen.palette.plus };
            pen.rect(cell, faded(own, 0.45 * tau.unwrap_or(0.0).abs() as f32));
            let value = tau.map_or_else(|| "–".to_owned(), decimal_text);
            pen.text(&value, SMALL, text, cell.center(), Align::Center);
        }
    }

    fn cell_width(&self, width: f32) -> f32 {
        let n = (self.titles.len() - 1).max(1) as f32;
        ((width - self.label_width()) / n).min(CELL_PT.0)
    }

    /// Room for the names of columns.
    fn header(&self, width: f32) -> f32 {
        let inner = self.cell_width(width) - GRID;
        let lines = self.titles[..self.titles.len() - 1].iter().map(|title| n_lines(title, inner)).max();
        lines.unwrap_or(1) as f32 * HEADING_LINE_PT + 4.0
    }

    /// The cell of a pair, `row` from 1 on.
    fn cell(&self, area: Rect, row: usize, col: usize) -> Rect {
        let width = self.cell_width(area.width());
        // The first method has no row, the last no column.
        let left = area.left() + self.label_width() + col as f32 * width;
        let height = self.row_height();
        let top = area.top() + self.header(area.width()) + height * (row as f32 - 1.0);
        Rect::from_min_size(pos2(left, top), vec2(width, height))
    }
}

impl Piece for Agreement {
    fn width(&self) -> f32 {
        self.label_width() + (self.titles.len() - 1) as f32 * CELL_PT.0
    }

    fn least_width(&self) -> f32 {
        LEAST_PT
    }

    fn height(&self, width: f32) -> f32 {
        if self.is_list(width) {
            return self.lines(width).last().map_or(0.0, |last| last.max);
        }
        self.header(width) + (self.titles.len() - 1) as f32 * self.row_height()
    }

    fn draw(&self, area: Rect, pen: &mut Pen<'_>) {
        if self.is_list(area.width()) {
            return self.draw_list(area, pen);
        }
        let (text, weak) = (pen.palette.text, pen.palette.text_weak);
        for col in 0..self.titles.len() - 1 {
            let bottom = self.cell(area, 1, col);
            let lines = pen.broken(&self.titles[col], SMALL, bottom.width() - GRID);
            for (nth, words) in lines.iter().rev().enumerate() {
                let y = bottom.top() - (nth as f32 + 0.5) * HEADING_LINE_PT - 2.0;
                pen.text(words, SMALL, weak, pos2(bottom.center().x, y), Align::Center);
            }
        }
        for (row, found) in self.found.iter().enumerate().skip(1) {
            let band = self.cell(area, row, 0);
            let lines = pen.broken(&self.titles[row], SMALL, self.label_width() - GRID);
            for (nth, words) in lines.iter().enumerate() {
                let middle = nth as f32 - (lines.len() - 1) as f32 / 2.0;
                let at = pos2(area.left(), band.center().y + middle * HEADING_LINE_PT);
                pen.text(words, SMALL, weak, at, Align::Left);
            }
            for (col, found) in found.iter().enumerate() {
                let cell = self.cell(area, row, col).shrink(1.0);
                let tau = found.map(|found| found.tau);
                let own = if tau.unwrap_or(0.0) < 0.0 { pen.palette.minus } else { pen.palette.plus };
                pen.rect(cell, faded(own, 0.45 * tau.unwrap_or(0.0).abs() as f32));
                let value = tau.map_or_else(|| "–".to_owned(), decimal_text);
                pen.text(&value, SMALL, text, cell.center(), Align::Center);
            }
        }
    }

    fn at(&self, area: Rect, at: Pos2) -> Option<Hit> {
        let spans = self.is_list(area.width()).then(|| self.lines(area.width()));
        let rect = |nth: usize, row: usize, col: usize| match &spans {
            Some(spans) => {
                let y = area.top() + spans[nth].min..=area.top() + spans[nth].max;
                Rect::from_x_y_ranges(area.x_range(), y)
            }
            None => self.cell(area, row, col),
        };
        let mut rects = self.pairs().enumerate().map(|(nth, (row, col, _))| (row, col, rect(nth, row, col)));
        let (row, col, rect) = rects.find(|(.., rect)| rect.contains(at))?;
        let pair = self.pair_text(row, col);
        let text = match self.found[row][col] {
            Some(Kendall { tau, p }) => {
                format!("{pair}\nKendall’s τ = {}, p-value {}", decimal_text(tau), weight_text(p))
            }
            None => format!("{pair}\nFewer than three tokens, or all values equal"),
        };
        Some(Hit::saying(rect, text))
    }

    fn spoken(&self) -> Vec<String> {
        let mut all = vec![self.verdict()];
        for (row, col, found) in self.pairs() {
            let tau = found.map_or_else(|| "–".to_owned(), |found| decimal_text(found.tau));
            all.push(format!("{}: {tau}", self.pair_text(row, col)));
        }
        all
    }
}
