//! Signed bars: one row per token, one column per method.

use emath::{Pos2, Rect, pos2, vec2};

use super::{Hit, Piece, ROW_PT, n_lines, room, scale_text};
use crate::{
    capture::words,
    figure::{
        font::Align,
        measure::{GRID, text_size::SMALL},
        pen::Pen,
    },
    ids::Side,
    text::norm_text,
};

/// Between columns and those below them.
const BETWEEN_BLOCKS_PT: f32 = 2.0 * GRID;
/// Between the headings of the columns and the first row.
const BELOW_HEADINGS_PT: f32 = 6.0;
/// A column is as wide as this where there is room, and never narrower than the other: a word of a title fits.
const COLUMN_PT: f32 = 140.0;
const LEAST_COLUMN_PT: f32 = 78.0;
/// Around what stands in a column.
const COLUMN_MARGIN_PT: f32 = 1.5 * GRID;
/// The window has a mark behind a title.
const MARK_PT: f32 = 3.0 * GRID;
/// Height of a line of a heading.
const HEADING_LINE_PT: f32 = 14.0;
/// Widest column; more makes bars harder to compare.
const MOST_COLUMN_PT: f32 = 170.0;
/// Room for a token.
const MOST_TOKEN_PT: f32 = 132.0;

/// What one method says.
#[derive(Clone, Debug)]
pub struct BarColumn {
    pub title: String,
    /// What the numbers are counted in.
    pub unit: &'static str,
    /// Whether a number can speak against the output.
    pub signed: bool,
    /// One number per token; none while it is on its way.
    pub values: Option<Vec<f32>>,
}

impl BarColumn {
    /// The largest size.
    fn most(&self) -> f32 {
        let finite = self.values.iter().flatten().filter(|value| value.is_finite());
        finite.fold(0.0f32, |most, value| most.max(value.abs()))
    }

    /// How far the longest bar goes; none before anything is known.
    fn scale(&self) -> Option<String> {
        self.values.as_ref().map(|_| scale_text(self.most(), self.unit))
    }
}

/// The bars of several methods.
#[derive(Clone, Debug)]
pub struct Bars {
    pub side: Side,
    /// Where they are in the text.
    pub positions: Vec<usize>,
    pub tokens: Vec<String>,
    pub columns: Vec<BarColumn>,
}

impl Bars {
    fn token_width(&self) -> f32 {
        room(self.tokens.iter().map(String::as_str), MOST_TOKEN_PT).max(40.0) + 2.0 * GRID
    }

    /// How many columns stand beside each other; the others stand below them, each time with the tokens.
    fn n_beside(&self, width: f32) -> usize {
        let n = self.columns.len().max(1);
        let fit = (((width - self.token_width()) / LEAST_COLUMN_PT) as usize).clamp(1, n);
        // As many in each row of columns.
        n.div_ceil(n.div_ceil(fit))
    }

    fn n_blocks(&self, width: f32) -> usize {
        self.columns.len().div_ceil(self.n_beside(width)).max(1)
    }

    fn column_width(&self, width: f32) -> f32 {
        let n = self.n_beside(width) as f32;
        ((width - self.token_width()) / n).clamp(LEAST_COLUMN_PT.min(width), MOST_COLUMN_PT)
    }

    /// Height of the columns that stand beside each other.
    fn block_height(&self, width: f32) -> f32 {
        self.header(width) + self.tokens.len() as f32 * ROW_PT + GRID
    }

    /// Where the `nth` columns that stand beside each other are.
    fn block(&self, area: Rect, nth: usize) -> Rect {
        let height = self.block_height(area.width());
        let top = area.top() + nth as f32 * (height + BETWEEN_BLOCKS_PT);
        Rect::from_min_size(pos2(area.left(), top), vec2(area.width(), height))
    }

    /// Lines of the highest title and of the highest scale, as wide as columns are.
    fn heading_lines(&self, width: f32) -> [usize; 2] {
        let inner = self.column_width(width) - 2.0 * COLUMN_MARGIN_PT;
        let titles = self.columns.iter().map(|column| n_lines(&column.title, inner - MARK_PT));
        let scales = self.columns.iter().filter_map(BarColumn::scale).map(|scale| n_lines(&scale, inner));
        [titles.max().unwrap_or(1), scales.max().unwrap_or(1)]
    }

    /// Room for the headings of the columns: what they are, and how long the longest bar is.
    fn header(&self, width: f32) -> f32 {
        let [titles, scales] = self.heading_lines(width);
        (titles + scales) as f32 * HEADING_LINE_PT + BELOW_HEADINGS_PT
    }

    fn column(&self, area: Rect, nth: usize) -> Rect {
        let (width, beside) = (self.column_width(area.width()), self.n_beside(area.width()));
        let block = self.block(area, nth / beside);
        let left = area.left() + self.token_width() + (nth % beside) as f32 * width;
        Rect::from_x_y_ranges(left..=left + width, block.y_range()).shrink2(vec2(COLUMN_MARGIN_PT, 0.0))
    }

    /// The row of a token, below a header of this height.
    fn row(block: Rect, header: f32, nth: usize) -> Rect {
        let top = block.top() + header + nth as f32 * ROW_PT;
        Rect::from_min_size(pos2(block.left(), top), vec2(block.width(), ROW_PT))
    }

    fn draw_tokens(&self, block: Rect, header: f32, pen: &mut Pen<'_>) {
        let width = self.token_width() - 2.0 * GRID;
        for (nth, token) in self.tokens.iter().enumerate() {
            let band = Self::row(block, header, nth);
            if !pen.sees(band) {
                continue;
            }
            let token = pen.type_.fit(token, SMALL, width).into_owned();
            let color = pen.palette.text;
            pen.text(&token, SMALL, color, pos2(block.left(), band.center().y), Align::Left);
        }
    }

    fn draw_column(&self, nth: usize, area: Rect, pen: &mut Pen<'_>) {
        let column = &self.columns[nth];
        let rect = self.column(area, nth);
        let (text, weak, rule) = (pen.palette.text, pen.palette.text_weak, pen.palette.rule);
        let [title_lines, _] = self.heading_lines(area.width());
        let line_at = |line: usize| pos2(rect.left(), rect.top() + (line as f32 + 0.5) * HEADING_LINE_PT + 1.0);
        for (line, words) in pen.broken(&column.title, SMALL, rect.width() - MARK_PT).iter().enumerate() {
            pen.text(words, SMALL, text, line_at(line), Align::Left);
        }
        let Some(values) = &column.values else { return };
        let most = column.most();
        let signed = values.iter().any(|value| value.is_finite() && *value < 0.0);
        for (line, words) in pen.broken(&column.scale().unwrap_or_default(), SMALL, rect.width()).iter().enumerate() {
            pen.text(words, SMALL, weak, line_at(title_lines + line), Align::Left);
        }
        let zero = if signed { rect.center().x } else { rect.left() };
        let reach = rect.right() - zero;
        let header = self.header(area.width());
        let top = rect.top() + header;
        pen.line(pos2(zero, top), pos2(zero, top + values.len() as f32 * ROW_PT), 0.75, rule);
        for (row, value) in values.iter().enumerate() {
            let band = Self::row(rect, header, row);
            if !pen.sees(band) {
                continue;
            }
            if value.is_nan() {
                pen.text("–", SMALL, weak, pos2(zero + GRID, band.center().y), Align::Left);
            } else if most > 0.0 {
                let end = zero + (value / most).clamp(-1.0, 1.0) * reach;
                let bar = Rect::from_min_max(
                    pos2(zero.min(end), band.top() + 3.0),
                    pos2(zero.max(end).max(zero.min(end) + 0.5), band.bottom() - 3.0),
                );
                let color = match (column.signed, *value < 0.0) {
                    (false, _) => weak,
                    (true, false) => pen.palette.plus,
                    (true, true) => pen.palette.minus,
                };
                pen.rect(bar, color);
            }
        }
    }
}

impl Piece for Bars {
    fn width(&self) -> f32 {
        self.token_width() + self.columns.len() as f32 * COLUMN_PT
    }

    fn least_width(&self) -> f32 {
        self.token_width() + LEAST_COLUMN_PT
    }

    fn height(&self, width: f32) -> f32 {
        let n = self.n_blocks(width) as f32;
        n * self.block_height(width) + (n - 1.0) * BETWEEN_BLOCKS_PT
    }

    fn draw(&self, area: Rect, pen: &mut Pen<'_>) {
        let header = self.header(area.width());
        for nth in 0..self.n_blocks(area.width()) {
            self.draw_tokens(self.block(area, nth), header, pen);
        }
        for nth in 0..self.columns.len() {
            self.draw_column(nth, area, pen);
        }
    }

    fn at(&self, area: Rect, at: Pos2) -> Option<Hit> {
        let header = self.header(area.width());
        let blocks = (0..self.n_blocks(area.width())).map(|nth| self.block(area, nth));
        let block = blocks.into_iter().find(|block| block.y_range().contains(at.y))?;
        let nth = ((at.y - block.top() - header) / ROW_PT).floor();
        let nth = (nth >= 0.0 && (nth as usize) < self.tokens.len()).then_some(nth as usize)?;
        let token = format!("{}  #{}", self.tokens[nth], self.positions[nth]);
        let under = (0..self.columns.len()).find(|column| self.column(area, *column).contains(at));
        let text = match under.map(|column| &self.columns[column]) {
            Some(BarColumn { title, unit, values: Some(values), .. }) => {
                let value = values.get(nth).copied().unwrap_or(f32::NAN);
                let larger = values.iter().filter(|other| other.abs() > value.abs()).count();
                let n = values.iter().filter(|other| other.is_finite()).count();
                let rank = if value.is_finite() {
                    format!(", rank {} of {n}", larger + 1)
                } else {
                    ": cannot be left out".to_owned()
                };
                let title = if title.is_empty() { String::new() } else { format!("{title}: ") };
                let unit = if unit.is_empty() { String::new() } else { format!(" {unit}") };
                format!("{token}\n{title}{}{unit}{rank}", norm_text(value))
            }
            _ => token,
        };
        Some(Hit {
            rect: Self::row(block, header, nth),
            text,
            token: Some((self.side, self.positions[nth])),
            head: None,
        })
    }

    fn rows_of(&self, area: Rect, (side, position): (Side, usize)) -> Vec<Rect> {
        let nth = self.positions.iter().position(|known| *known == position).filter(|_| side == self.side);
        let blocks = || (0..self.n_blocks(area.width())).map(|block| self.block(area, block));
        let header = self.header(area.width());
        nth.map_or_else(Vec::new, |nth| blocks().map(|block| Self::row(block, header, nth)).collect())
    }

    fn columns(&self, area: Rect) -> Vec<Rect> {
        let [lines, _] = self.heading_lines(area.width());
        let height = lines as f32 * HEADING_LINE_PT + 2.0;
        let top = |rect: Rect| Rect::from_min_size(rect.min, vec2(rect.width(), height));
        (0..self.columns.len()).map(|nth| top(self.column(area, nth))).collect()
    }

    fn spoken(&self) -> Vec<String> {
        let strongest = |column: &BarColumn| {
            let values = column.values.as_ref()?;
            let best = (0..values.len()).filter(|nth| values[*nth].is_finite());
            let best = best.max_by(|a, b| values[*a].abs().total_cmp(&values[*b].abs()))?;
            let position = *self.positions.get(best)?;
            Some(format!("{}: most on {}", column.title, words::named(&self.tokens, best, position)))
        };
        self.columns.iter().filter_map(strongest).collect()
    }
}
