//! Layout of the page of a head: texts of an interval to the left, numbers and small charts to the right.

use emath::{Rect, Vec2, pos2, vec2};

use crate::{
    analysis::head_page::{HeadPage, PageSequence},
    figure::measure::GRID,
};

/// The line with the head, its kinds and its strongest numbers.
const LINE_PT: f32 = 16.0 * GRID;
/// The texts get so much of the width.
const TEXTS: f32 = 0.58;
const GAP_PT: f32 = 6.0 * GRID;
/// In less width the numbers stand below the texts.
const TWO_COLUMNS_PT: f32 = 150.0 * GRID;
/// Height of a line of text, and of a row of a table.
pub const TEXT_PT: f32 = 6.0 * GRID;
pub const ROW_PT: f32 = 4.5 * GRID;
/// Room for the title above a part.
pub const TITLE_PT: f32 = 6.0 * GRID;
/// Height of a small chart with its numbers below.
const CHART_PT: f32 = 26.0 * GRID;
pub const NUMBERS_PT: f32 = 4.0 * GRID;
/// Rows of the token tables, and of the strongest pairs.
pub const N_TOKENS: usize = 8;
pub const N_PAIRS: usize = 10;
/// Tokens whose part of the effect of the head is shown; the others are taken together.
pub const N_SOURCES: usize = 7;
/// Lines that say what the parts of the effect come to.
const N_EFFECT_LINES: usize = 6;
/// Lines of text of one input; the rest is said.
const MOST_LINES: usize = 6;

/// Where everything stands.
#[derive(Clone, Debug, PartialEq)]
pub struct HeadLayout {
    pub line: Rect,
    /// Title of the texts.
    pub texts_title: Rect,
    pub texts: Vec<TextPlace>,
    /// The strongest pairs, with their title in the first row.
    pub pairs: Rect,
    /// Bars of activations, distances and weights, with their titles.
    pub activations: Rect,
    pub distances: Rect,
    pub weights: Rect,
    /// Tables of queries and of keys, with their titles.
    pub tokens: [Rect; 2],
    /// What the head writes by its weights, and what it does to the prediction, with their titles.
    pub written: Rect,
    pub effect: Rect,
    pub bottom: f32,
}

/// One input as running text.
#[derive(Clone, Debug, PartialEq)]
pub struct TextPlace {
    /// Its place among the sequences of the page; that of the input that is held against it is behind them.
    pub sequence: usize,
    pub heading: Rect,
    pub tokens: Vec<TokenPlace>,
    /// Tokens that have no room.
    pub n_left_out: usize,
}

/// One token.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct TokenPlace {
    pub is_key: bool,
    pub nth: usize,
    pub rect: Rect,
}

impl HeadLayout {
    /// Of an input that is held against the page, where there is one, and the inputs of an interval, from the top of an area
    /// on; `measure` is the width of a text.
    pub fn of(
        area: Rect,
        (page, tried): (&HeadPage, Option<&PageSequence>),
        interval: usize,
        measure: &mut dyn FnMut(&str) -> f32,
    ) -> Self {
        let line = area.with_max_y(area.top() + LINE_PT);
        let is_one_column = area.width() < TWO_COLUMNS_PT;
        let texts_width = if is_one_column { area.width() } else { TEXTS * area.width() - GAP_PT };
        let left = Rect::from_min_size(line.left_bottom(), vec2(texts_width, 0.0));
        let texts_title = left.with_max_y(left.top() + TITLE_PT);
        let mut top = texts_title.bottom();
        let mut texts = Vec::new();
        let kept = page.sequences.iter().enumerate().filter(|(_, of)| of.interval == interval);
        let tried = tried.map(|tried| (page.sequences.len(), tried));
        for (sequence, of) in tried.into_iter().chain(kept) {
            let heading = Rect::from_min_size(pos2(left.left(), top), vec2(left.width(), ROW_PT));
            let mut place = TextPlace { sequence, heading, tokens: Vec::new(), n_left_out: 0 };
            top = heading.bottom();
            let passages = [Some((false, &of.queries)), (!of.is_one).then_some((true, &of.keys))];
            for (is_key, passage) in passages.into_iter().flatten() {
                let (mut x, mut n_lines) = (left.left(), 1);
                for (nth, text) in passage.pieces().iter().enumerate() {
                    let width = measure(&shown(text)).min(left.width());
                    if x + width > left.right() && x > left.left() {
                        x = left.left();
                        n_lines += 1;
                    }
                    if n_lines > MOST_LINES {
                        place.n_left_out = passage.texts.len() - nth;
                        n_lines = MOST_LINES;
                        break;
                    }
                    let at = pos2(x, top + (n_lines - 1) as f32 * TEXT_PT);
                    let rect = Rect::from_min_size(at, vec2(width, TEXT_PT - GRID));
                    place.tokens.push(TokenPlace { is_key, nth, rect });
                    x += width;
                }
                top += n_lines as f32 * TEXT_PT;
            }
            top += 2.0 * GRID;
            texts.push(place);
        }
        let pairs_height = TITLE_PT + page.pairs.len().min(N_PAIRS) as f32 * ROW_PT;
        let pairs = Rect::from_min_size(pos2(left.left(), top + 2.0 * GRID), vec2(left.width(), pairs_height));
        let written_height = TITLE_PT + (N_TOKENS + 2) as f32 * ROW_PT;
        let written =
            Rect::from_min_size(pairs.left_bottom() + vec2(0.0, 2.0 * GRID), vec2(left.width(), written_height));
        let right = if is_one_column {
            Rect::from_min_max(written.left_bottom() + vec2(0.0, GAP_PT), written.right_bottom())
        } else {
            Rect::from_min_max(pos2(left.right() + GAP_PT, line.bottom()), area.right_bottom())
        };
        let mut y = right.top();
        let mut part = |height: f32| {
            let rect = Rect::from_min_size(pos2(right.left(), y), vec2(right.width(), height));
            y = rect.bottom() + 2.0 * GRID;
            rect
        };
        let [activations, distances, weights] = [part(CHART_PT), part(CHART_PT), part(CHART_PT)];
        let tables = part(TITLE_PT + (N_TOKENS + 1) as f32 * ROW_PT);
        let (queries, keys) = tables.split_left_right_at_fraction(0.5);
        let tokens = [queries.with_max_x(queries.right() - 2.0 * GRID), keys.with_min_x(keys.left() + 2.0 * GRID)];
        let effect = part(TITLE_PT + (N_SOURCES + N_EFFECT_LINES) as f32 * ROW_PT);
        let bottom = written.bottom().max(effect.bottom());
        Self { line, texts_title, texts, pairs, activations, distances, weights, tokens, written, effect, bottom }
    }

    /// The same somewhere else.
    #[must_use]
    pub fn moved(&self, by: Vec2) -> Self {
        let mut all = self.clone();
        let rects = [&mut all.line, &mut all.texts_title, &mut all.pairs, &mut all.activations, &mut all.distances];
        let [queries, keys] = &mut all.tokens;
        for rect in rects.into_iter().chain([&mut all.weights, queries, keys, &mut all.written, &mut all.effect]) {
            *rect = rect.translate(by);
        }
        for place in &mut all.texts {
            place.heading = place.heading.translate(by);
            place.tokens.iter_mut().for_each(|token| token.rect = token.rect.translate(by));
        }
        all.bottom += by.y;
        all
    }

    /// Everything.
    pub fn size(&self) -> Vec2 {
        vec2(self.line.width(), self.bottom - self.line.top())
    }

    /// The bars of a chart, without its title and its numbers.
    pub fn plot(chart: Rect) -> Rect {
        Rect::from_min_max(chart.min + vec2(0.0, TITLE_PT), chart.max - vec2(0.0, NUMBERS_PT))
    }

    /// The nth of `n` bars.
    pub fn bar(chart: Rect, nth: usize, n: usize) -> Rect {
        let plot = Self::plot(chart);
        let width = plot.width() / n.max(1) as f32;
        let left = plot.left() + nth as f32 * width;
        Rect::from_x_y_ranges(left..=left + width, plot.y_range())
    }

    /// A row of a part, below its title.
    pub fn row(part: Rect, nth: usize) -> Rect {
        let top = part.top() + TITLE_PT + nth as f32 * ROW_PT;
        Rect::from_x_y_ranges(part.x_range(), top..=top + ROW_PT)
    }
}

/// A token as it is written: what cannot be seen as signs.
pub fn shown(text: &str) -> String {
    if text.is_empty() { "∅".to_owned() } else { text.replace('\n', "⏎").replace('\t', "⇥") }
}
