//! The text itself, each token on the colour of its weight: passages of queries and keys, and what is tinted of them.

mod draw;
pub mod layout;
mod options;
mod spec;

use std::{ops::Range, sync::Arc};

pub use options::{Direction, TextOptions, TextUnit};
pub use spec::SPEC;

use self::layout::TextLayout;
use super::{Pinned, joined, subject_text};
use crate::{
    analysis::{
        attention,
        reading::{Axis, ReadPattern},
    },
    capture::{Capture, TextPiece, Unit, parts, running_text},
    figure::{Captions, palette::Palette},
    ids::{HeadId, Side, StackKind},
    raster::{ColorMap, ColorRange},
    style::{Rgba, contrast},
    text::{capitalised, weight_text},
};

/// Parts that a text is folded into.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Parts {
    /// The part of each piece; none of tokens that the tokenizer or the model added, which are not in the text.
    pub of: Vec<Option<usize>>,
    /// The pieces of each part, from the first to behind the last.
    pub ranges: Vec<Range<usize>>,
}

impl Parts {
    fn new(of: Vec<Option<usize>>) -> Self {
        let mut ranges: Vec<Range<usize>> = Vec::new();
        for (at, of) in of.iter().enumerate() {
            match of.map(|of| ranges.get_mut(of)) {
                Some(Some(part)) => part.end = at + 1,
                Some(None) => ranges.push(at..at + 1),
                None => {}
            }
        }
        Self { of, ranges }
    }

    /// The sum of some numbers over each part.
    pub fn sums(&self, values: &[f32]) -> Vec<f32> {
        let mut sums = vec![0.0_f64; self.ranges.len()];
        for (of, value) in self.of.iter().zip(values) {
            if let Some(of) = of {
                sums[*of] += f64::from(*value);
            }
        }
        sums.into_iter().map(|sum| sum as f32).collect()
    }
}

/// The running text of the rows or the columns of a pattern.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Passage {
    /// One for each row or column that stands for tokens.
    pub pieces: Vec<TextPiece>,
    pub sentences: Parts,
    /// What stands between line ends; the texts of a pair are paragraphs of their own.
    pub paragraphs: Parts,
    /// All of it as one part.
    pub document: Parts,
}

impl Passage {
    fn of(capture: &Capture, side: Side, axis: &Axis) -> Self {
        let groups = axis.groups[..axis.n_of_tokens()].iter().map(|group| group.positions.clone());
        Self::new(running_text(capture, side, groups))
    }

    fn new(pieces: Vec<TextPiece>) -> Self {
        let document = pieces.iter().map(|piece| (!piece.special).then_some(0)).collect();
        Self {
            sentences: Parts::new(parts(&pieces, Unit::Sentence)),
            paragraphs: Parts::new(parts(&pieces, Unit::Paragraph)),
            document: Parts::new(document),
            pieces,
        }
    }

    /// What it is folded into where the colours are those of `unit`; tokens stand by sentences.
    pub const fn parts(&self, unit: TextUnit) -> &Parts {
        match unit {
            TextUnit::Token | TextUnit::Sentence | TextUnit::Mass => &self.sentences,
            TextUnit::Paragraph => &self.paragraphs,
            TextUnit::Document => &self.document,
        }
    }

    /// Whether anything of it can be read.
    fn has_text(&self) -> bool {
        self.pieces.iter().any(|piece| !piece.special && !piece.text.is_empty())
    }
}

/// The texts of a pattern.
#[derive(Clone, Debug, PartialEq)]
pub struct Passages {
    pub queries: Passage,
    /// The text of the keys, where it is another.
    pub keys: Option<Passage>,
    /// Names of both.
    pub names: [String; 2],
}

impl Passages {
    /// The texts of a stack, by the rows and columns that its patterns have.
    pub fn of(capture: &Capture, stack: StackKind, [rows, cols]: [&Axis; 2]) -> Self {
        let (query, key) = (stack.query_side(), stack.key_side());
        let queries = Passage::of(capture, query, rows);
        let keys = Passage::of(capture, key, cols);
        let keys = (query != key || keys != queries).then_some(keys);
        let [names, ..] = super::labels::axis_names([rows, cols], false, query != key);
        Self { queries, keys, names }
    }

    /// The passage of the keys, or that of the queries.
    pub fn side(&self, is_key: bool) -> &Passage {
        if is_key { self.keys.as_ref().unwrap_or(&self.queries) } else { &self.queries }
    }

    /// Whether queries and keys are the same text.
    pub const fn is_one(&self) -> bool {
        self.keys.is_none()
    }
}

/// The numbers on the tokens of one side.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tint {
    /// Whether they stand on keys.
    pub on_keys: bool,
    /// By piece.
    pub values: Vec<f32>,
    /// Whether each is a weight in a sentence times that of the sentence.
    pub is_mass: bool,
}

impl Tint {
    /// What a query gives to each key, what a key gets from each query, or without either what keys get on average from
    /// the queries that are shown. With `masses`, one for each row, a row counts as much as it says.
    pub fn of(read: &ReadPattern, (row, col): (Option<usize>, Option<usize>), masses: Option<&[f32]>) -> Self {
        let is_mass = masses.is_some();
        let mass = |row: usize| masses.map_or(1.0, |masses| masses.get(row).copied().unwrap_or(0.0));
        let n_keys = read.cols.n_of_tokens();
        match (row, col) {
            (None, Some(col)) if !read.has_one_row() => {
                let values = (0..read.rows.len()).map(|row| mass(row) * read.value(row, col).unwrap_or(0.0)).collect();
                Self { on_keys: false, values, is_mass }
            }
            (Some(row), _) if !read.has_one_row() => {
                let values = read.row(row).map_or_else(|| vec![0.0; n_keys], |values| values[..n_keys].to_vec());
                Self { on_keys: true, values: values.into_iter().map(|value| mass(row) * value).collect(), is_mass }
            }
            _ => {
                let shown = |row: &usize| read.rows.groups[*row].left_out.is_none();
                let rows = read.here.clone().filter(shown).filter_map(|row| Some((row, read.row(row)?)));
                let rows: Vec<(usize, &[f32])> = rows.collect();
                let n = if is_mass { 1.0 } else { rows.len().max(1) as f64 };
                let mut sums = vec![0.0_f64; n_keys];
                for (row, values) in rows {
                    for (sum, value) in sums.iter_mut().zip(values) {
                        *sum += f64::from(mass(row)) * f64::from(*value);
                    }
                }
                Self { on_keys: true, values: sums.into_iter().map(|sum| (sum / n) as f32).collect(), is_mass }
            }
        }
    }
}

/// The weight of each row of the words of sentences: that of its sentence in the document, on average over the heads of
/// the last layer that attends to sentences. `None` of other attention, and of what is no attention.
pub fn sentence_weights(capture: &Capture, read: &ReadPattern) -> Option<Vec<f32>> {
    if read.stack != StackKind::Words || read.signed || read.explained().is_some() {
        return None;
    }
    let stack = StackKind::Sentences;
    let layers = &capture.model().stack(stack)?.layers;
    let n_heads = layers.last()?.n_heads;
    let of_head = |head| attention::pattern(capture, HeadId { stack, layer: layers.len() - 1, head });
    let patterns = (0..n_heads).map(of_head).collect::<Option<Vec<_>>>()?;
    let weight = |at: usize| -> f32 {
        let of = patterns.iter().filter_map(|pattern| pattern.row(0)?.get(at));
        of.sum::<f32>() / n_heads.max(1) as f32
    };
    Some(read.rows.groups.iter().map(|group| group.positions.clone().map(weight).sum()).collect())
}

/// A text with its weights.
#[derive(Clone, Debug)]
pub struct TextScene {
    pub read: Arc<ReadPattern>,
    pub passages: Arc<Passages>,
    pub subject: String,
    pub options: TextOptions,
    pub color_map: ColorMap,
    /// The tokens that are held or under the pointer.
    pub pinned: Pinned,
    /// The number of each token for them.
    pub tint: Arc<Tint>,
    /// The value of the last colour, where several figures share a scale.
    pub high: Option<f32>,
}

impl TextScene {
    /// The number that the colour of each piece stands for: its own, or the sum of its part of the text.
    fn shown(&self) -> Vec<f32> {
        let tint = &self.tint;
        let passage = self.passages.side(tint.on_keys);
        let parts = passage.parts(self.options.unit);
        match self.options.unit {
            TextUnit::Token | TextUnit::Mass => tint.values.clone(),
            TextUnit::Sentence | TextUnit::Paragraph | TextUnit::Document => {
                let sums = parts.sums(&tint.values);
                parts.of.iter().map(|of| of.map_or(0.0, |of| sums[of])).collect()
            }
        }
    }

    /// What the colours stand for: up to the largest number on a token of the text.
    pub fn range(&self) -> ColorRange {
        let passage = self.passages.side(self.tint.on_keys);
        let shown = self.shown();
        let of_text = shown.iter().zip(&passage.document.of).filter(|(_, of)| of.is_some());
        let largest = of_text.map(|(value, _)| value.abs()).fold(0.0, f32::max);
        ColorRange::up_to(self.high.unwrap_or(largest), self.read.signed, false)
    }

    /// What weights of tokens that are not in the text add up to.
    fn outside(&self) -> f32 {
        let tint = &self.tint;
        let passage = self.passages.side(tint.on_keys);
        tint.values.iter().zip(&passage.document.of).filter(|(_, of)| of.is_none()).map(|(value, _)| value).sum()
    }

    /// The strongest keys of the query that is held: those to which arcs lead.
    fn strongest(&self) -> Vec<(usize, f32)> {
        let (row, _) = self.pinned.in_pattern(&self.read);
        let Some(row) = row.filter(|_| self.tint.on_keys) else { return Vec::new() };
        let keys = self.passages.side(true);
        let is_other = |key: &usize| keys.document.of[*key].is_some() && !(self.passages.is_one() && *key == row);
        let ranked = self.read.ranked_cols(row).into_iter().filter(|(key, _)| *key < keys.pieces.len());
        ranked.filter(|(key, _)| is_other(key)).take(self.options.arcs).collect()
    }

    /// Lays the text out; `measure` gives the width of a text.
    pub fn layout(&self, width: f32, measure: &mut dyn FnMut(&str) -> f32) -> TextLayout {
        TextLayout::compute(&self.passages, self.options.unit, width, measure)
    }

    /// Below the text: whose weights they are, the largest, and how much is on tokens that are not in the text.
    pub fn captions(&self) -> Captions {
        let name = |axis: &Axis, at: usize| axis.named(at);
        let what = match self.pinned.in_pattern(&self.read) {
            _ if self.read.has_one_row() => "the explained output".to_owned(),
            (Some(row), _) => format!("given by {}", name(&self.read.rows, row)),
            (None, Some(col)) => format!("received by {}", name(&self.read.cols, col)),
            (None, None) if self.tint.is_mass => "received, word weight × sentence weight, 1 over all words".to_owned(),
            (None, None) => "received, mean of all queries".to_owned(),
        };
        let is_held = self.pinned.in_pattern(&self.read) != (None, None);
        let what = match (self.options.unit, self.tint.is_mass) {
            (TextUnit::Mass, true) if is_held => format!("{what}, times the weight of the sentence"),
            (TextUnit::Mass, false) => format!("{what}; word × sentence is of the stack of words alone"),
            _ => what,
        };
        let unit = self.options.unit.noun();
        let range = self.range();
        let largest = format!("largest on a {unit} {}", weight_text(range.high()));
        let outside = self.outside();
        let has_outside = self.passages.side(self.tint.on_keys).document.of.contains(&None);
        let outside = if has_outside {
            format!("{} on special tokens, which are not in the text", weight_text(outside))
        } else {
            String::new()
        };
        let hidden = capitalised(&self.read.hidden_text().unwrap_or_default());
        let first = format!("{}: {what}; {largest}", capitalised(&self.subject));
        let short = joined([first.as_str(), &outside, &hidden]);
        let of = subject_text(&self.read, &self.subject);
        let full = joined([
            format!("{of}: {what}; {largest}").as_str(),
            "Each token lies on the colour of its weight",
            &outside,
            &hidden,
        ]);
        Captions { short, full }
    }

    /// The colour of a number, and that of a text on it.
    fn colors(&self, palette: Palette) -> impl Fn(f32) -> [Rgba; 2] + use<> {
        let colors = super::color_map(&self.read, self.color_map).on(palette.ground);
        let range = self.range();
        move |value| {
            let ground = colors.color(range.fraction(value));
            let on = |ink| contrast(ink, ground);
            let ink = if on(palette.text) >= on(palette.canvas) { palette.text } else { palette.canvas };
            [ground, ink]
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn piece(before: &str, text: &str) -> TextPiece {
        TextPiece { before: before.to_owned(), text: text.to_owned(), special: text.starts_with('[') }
    }

    #[test]
    fn sentences_end_where_unicode_ends_them_and_special_tokens_are_in_none() {
        let pieces = [("", "[CLS]"), ("", "It"), (" ", "rains"), ("", "."), (" ", "Stay"), ("\n", "Go"), ("", "[SEP]")];
        let passage = Passage::new(pieces.map(|(before, text)| piece(before, text)).to_vec());
        let Passage { sentences, paragraphs, document, .. } = &passage;
        assert_eq!(sentences.of, [None, Some(0), Some(0), Some(0), Some(1), Some(2), None]);
        assert_eq!(sentences.ranges, [1..4, 4..5, 5..6]);
        let values = [0.5, 0.1, 0.1, 0.05, 0.2, 0.05, 0.0];
        assert_eq!(sentences.sums(&values), [0.25, 0.2, 0.05]);
        // The line end parts paragraphs, the first of which has two sentences.
        assert_eq!(paragraphs.ranges, [1..5, 5..6]);
        for (found, expected) in paragraphs.sums(&values).iter().zip([0.45, 0.05]) {
            assert!((found - expected).abs() < 1e-6, "{found} {expected}");
        }
        assert_eq!((&document.ranges[0], document.sums(&values)), (&(1..6), vec![0.5]));
    }

    #[test]
    fn line_ends_that_are_tokens_end_paragraphs_and_blank_lines_are_none() {
        let pieces = [
            ("", "\n"),
            ("", "One"),
            ("", "\n"),
            ("", "\n"),
            ("", "two"),
            (" ", "three\n"),
            ("", "four"),
            ("\n", "\n"),
        ];
        let passage = Passage::new(pieces.map(|(before, text)| piece(before, text)).to_vec());
        assert_eq!(passage.paragraphs.of, [0, 0, 0, 0, 1, 1, 2, 2].map(Some));
        assert_eq!(passage.paragraphs.ranges, [0..4, 4..6, 6..8]);
    }
}
