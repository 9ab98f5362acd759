//! How far methods agree: Kendall's τ of every pair.

use emath::{Pos2, Rect, pos2, vec2};

use super::{Hit, Piece, n_lines, room};
use crate::{
    analysis::explain::{compare, rank::Kendall},
    figure::{
        font::Align,
        list::faded,
        measure::{GRID, text_size::SMALL},
        pen::Pen,
    },
};

const CELL_PT: (f32, f32) = (122.0, 18.0);
const LEAST_CELL_PT: f32 = 64.0;
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
            format!("{} and {} (τ = {})", self.titles[col], self.titles[row], tau_text(tau))
        };
        let (least, most) = (&pairs[0], &pairs[pairs.len() - 1]);
        if pairs.len() == 1 {
            return format!("{how}, signs left aside: τ = {}", tau_text(mean));
        }
        format!(
            "{how}, signs left aside: mean τ = {}; most alike {}, least {}",
            tau_text(mean),
            named(most),
            named(least)
        )
    }

    fn label_width(&self) -> f32 {
        room(self.titles.iter().map(String::as_str), 140.0) + 2.0 * GRID
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
        let top = area.top() + self.header(area.width()) + CELL_PT.1 * (row as f32 - 1.0);
        Rect::from_min_size(pos2(left, top), vec2(width, CELL_PT.1))
    }
}

fn tau_text(tau: f64) -> String {
    if tau < 0.0 { format!("−{:.2}", -tau) } else { format!("{tau:.2}") }
}

impl Piece for Agreement {
    fn width(&self) -> f32 {
        self.label_width() + (self.titles.len() - 1) as f32 * CELL_PT.0
    }

    fn least_width(&self) -> f32 {
        self.label_width() + (self.titles.len() - 1) as f32 * LEAST_CELL_PT
    }

    fn height(&self, width: f32) -> f32 {
        self.header(width) + (self.titles.len() - 1) as f32 * CELL_PT.1
    }

    fn draw(&self, area: Rect, pen: &mut Pen<'_>) {
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
            let name = pen.type_.fit(&self.titles[row], SMALL, self.label_width() - GRID).into_owned();
            pen.text(&name, SMALL, weak, pos2(area.left(), band.center().y), Align::Left);
            for (col, found) in found.iter().enumerate() {
                let cell = self.cell(area, row, col).shrink(1.0);
                let tau = found.map(|found| found.tau);
                let own = if tau.unwrap_or(0.0) < 0.0 { pen.palette.key } else { pen.palette.accent };
                pen.rect(cell, faded(own, 0.45 * tau.unwrap_or(0.0).abs() as f32));
                let value = tau.map_or_else(|| "–".to_owned(), tau_text);
                pen.text(&value, SMALL, text, cell.center(), Align::Center);
            }
        }
    }

    fn at(&self, area: Rect, at: Pos2) -> Option<Hit> {
        let pairs = self.found.iter().enumerate().flat_map(|(row, found)| (0..found.len()).map(move |col| (row, col)));
        let (row, col) = pairs.into_iter().find(|(row, col)| self.cell(area, *row, *col).contains(at))?;
        let pair = format!("{} and {}", self.titles[col], self.titles[row]);
        let text = match self.found[row][col] {
            Some(Kendall { tau, p }) => format!(
                "{pair}\nKendall’s τ = {}, p = {p:.3} if their orders had nothing to do with each other",
                tau_text(tau)
            ),
            None => format!("{pair}\nFewer than three tokens, or all values equal"),
        };
        Some(Hit::saying(self.cell(area, row, col), text))
    }

    fn spoken(&self) -> Vec<String> {
        let mut all = vec![self.verdict()];
        for (row, found) in self.found.iter().enumerate() {
            for (col, found) in found.iter().enumerate() {
                let tau = found.map_or_else(|| "–".to_owned(), |found| tau_text(found.tau));
                all.push(format!("{} and {}: {tau}", self.titles[col], self.titles[row]));
            }
        }
        all
    }
}
