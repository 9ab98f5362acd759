//! Where the tokens of a text stand: lines broken at white space and between characters of scripts that have none.

use emath::{Rect, Vec2, pos2, vec2};

use super::{Passage, Passages, TextUnit};
use crate::{
    capture::words::unspaced,
    figure::measure::{GRID, text_size::LARGE},
};

/// From one line of text to the next.
pub const PITCH_PT: f32 = 7.0 * GRID;
/// The longest line: what is still read with ease.
pub const LINE_PT: f32 = 170.0 * GRID;
/// Height of the colour behind a token.
const TINT_PT: f32 = 6.0 * GRID;
/// Width of the outline, and the space before it.
pub const OUTLINE_PT: f32 = 30.0 * GRID;
pub const BESIDE_PT: f32 = 6.0 * GRID;
/// Height of a part in the outline.
const OUTLINE_ROW_PT: f32 = 4.5 * GRID;
/// The text alone has room in less.
const LEAST_WITH_OUTLINE_PT: f32 = 120.0 * GRID;
/// Above the text, for lines that lead from its first row.
const ABOVE_PT: f32 = 3.0 * GRID;
/// Above a passage where there are two.
const HEADING_PT: f32 = 6.0 * GRID;

/// Where a token stands.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Place {
    /// Whether it is of the passage of keys, where that is another.
    pub is_key: bool,
    pub piece: usize,
    /// From the corner of the text.
    pub rect: Rect,
}

/// A part of the text in the outline.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OutlineRow {
    pub is_key: bool,
    pub part: usize,
    pub rect: Rect,
}

/// Where everything stands.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct TextLayout {
    /// In reading order.
    pub places: Vec<Place>,
    /// Where the name of each passage stands, where there are two.
    pub headings: Vec<(bool, Rect)>,
    pub outline: Vec<OutlineRow>,
    pub size: Vec2,
}

impl TextLayout {
    /// Lays passages out in a width, with an outline of the parts that they are folded into; `measure` gives the width of
    /// a text.
    pub fn compute(passages: &Passages, unit: TextUnit, width: f32, measure: &mut dyn FnMut(&str) -> f32) -> Self {
        let sides: &[bool] = if passages.is_one() { &[false] } else { &[false, true] };
        // What asks for a whole document has no text of its own.
        let sides: Vec<bool> = sides.iter().copied().filter(|is_key| passages.side(*is_key).has_text()).collect();
        let n_parts: usize = sides.iter().map(|is_key| passages.side(*is_key).parts(unit).ranges.len()).sum();
        // One sentence alone says no more than its text.
        let tells_of_one = matches!(unit, TextUnit::Paragraph | TextUnit::Document);
        let has_outline = (n_parts > 1 || tells_of_one && n_parts > 0) && width >= LEAST_WITH_OUTLINE_PT;
        let room = if has_outline { width - OUTLINE_PT - BESIDE_PT } else { width };
        let line = room.min(LINE_PT);
        let mut layout = Self { size: vec2(line, ABOVE_PT), ..Self::default() };
        for is_key in sides {
            if !passages.is_one() {
                let top = layout.size.y;
                layout.headings.push((is_key, Rect::from_min_size(pos2(0.0, top), vec2(line, HEADING_PT))));
                layout.size.y += HEADING_PT;
            }
            let mut lines = TextLines::new(line, layout.size.y, is_key);
            lines.passage(passages.side(is_key), measure);
            layout.size.y = lines.bottom() + GRID;
            layout.places.extend(lines.places);
        }
        if has_outline {
            layout.add_outline(passages, unit, line + BESIDE_PT);
        }
        layout
    }

    /// A row for each part, at its first line or below the row before it.
    fn add_outline(&mut self, passages: &Passages, unit: TextUnit, left: f32) {
        let mut bottom = 0.0;
        let mut last = None;
        for place in &self.places {
            let part = passages.side(place.is_key).parts(unit).of[place.piece];
            let Some(part) = part.filter(|of| last != Some((place.is_key, *of))) else { continue };
            last = Some((place.is_key, part));
            let middle = place.rect.center().y;
            let top = (middle - OUTLINE_ROW_PT / 2.0).max(bottom);
            let rect = Rect::from_min_size(pos2(left, top), vec2(OUTLINE_PT, OUTLINE_ROW_PT));
            bottom = rect.bottom();
            self.outline.push(OutlineRow { is_key: place.is_key, part, rect });
        }
        self.size = vec2(left + OUTLINE_PT, self.size.y.max(bottom));
    }

    /// Where a token stands; `None` of one that is not in the text.
    pub fn place(&self, is_key: bool, piece: usize) -> Option<Rect> {
        let first = self.places.partition_point(|place| (place.is_key, place.piece) < (is_key, piece));
        self.places.get(first).filter(|place| (place.is_key, place.piece) == (is_key, piece)).map(|place| place.rect)
    }

    /// The places that a band of the text shows.
    pub fn visible(&self, [top, bottom]: [f32; 2]) -> std::ops::Range<usize> {
        let first = self.places.partition_point(|place| place.rect.bottom() < top);
        first..self.places.partition_point(|place| place.rect.top() <= bottom)
    }
}

/// Lines that are being filled.
struct TextLines {
    width: f32,
    is_key: bool,
    top: f32,
    x: f32,
    /// Pieces that no line end may part, with the offset of each from the first.
    held: Vec<(usize, f32, f32)>,
    held_width: f32,
    /// White space before them.
    space: f32,
    places: Vec<Place>,
    is_right_to_left: bool,
}

impl TextLines {
    const fn new(width: f32, top: f32, is_key: bool) -> Self {
        Self {
            width,
            is_key,
            top,
            x: 0.0,
            held: Vec::new(),
            held_width: 0.0,
            space: 0.0,
            places: Vec::new(),
            is_right_to_left: false,
        }
    }

    fn passage(&mut self, passage: &Passage, measure: &mut dyn FnMut(&str) -> f32) {
        let text: String =
            passage.pieces.iter().filter(|piece| !piece.special).map(|piece| piece.text.as_str()).collect();
        self.is_right_to_left = unicode_bidi::get_base_direction(&*text) == unicode_bidi::Direction::Rtl;
        let space = measure(" ");
        let mut before = None;
        for (at, piece) in passage.pieces.iter().enumerate().filter(|(_, piece)| !piece.special) {
            let n_breaks = piece.before.matches('\n').count();
            let first = piece.text.chars().next();
            let may_break = !piece.before.is_empty()
                || before.is_some_and(|c: char| unspaced(c) || c == '\n')
                || first.is_some_and(unspaced);
            if may_break {
                self.flush();
                self.space += space * piece.before.chars().filter(|c| *c != '\n').count().min(2) as f32;
            }
            for _ in 0..n_breaks {
                self.break_line();
            }
            let shown = shown_text(&piece.text);
            let width = measure(&shown);
            self.held.push((at, self.held_width, width));
            self.held_width += width;
            before = piece.text.chars().next_back();
            if piece.text.contains('\n') {
                self.flush();
                self.break_line();
            }
        }
        self.flush();
    }

    /// Puts what is held on the line, or on the next one.
    fn flush(&mut self) {
        if self.held.is_empty() {
            return;
        }
        let space = std::mem::take(&mut self.space);
        if self.x > 0.0 && self.x + space + self.held_width > self.width {
            self.break_line();
        } else if self.x > 0.0 {
            self.x += space;
        }
        for (piece, _, width) in std::mem::take(&mut self.held) {
            // What is longer than a line goes on over the next one.
            if self.x > 0.0 && self.x + width > self.width {
                self.break_line();
            }
            let left = if self.is_right_to_left { self.width - self.x - width } else { self.x };
            let top = self.top + (PITCH_PT - TINT_PT) / 2.0;
            let rect = Rect::from_min_size(pos2(left, top), vec2(width, TINT_PT));
            self.places.push(Place { is_key: self.is_key, piece, rect });
            self.x += width;
        }
        self.held_width = 0.0;
    }

    const fn break_line(&mut self) {
        self.x = 0.0;
        self.space = 0.0;
        self.top += PITCH_PT;
    }

    const fn bottom(&self) -> f32 {
        self.top + PITCH_PT
    }
}

/// A token as it is drawn: line ends and tabs by their signs, the rest on one line.
pub fn shown_text(text: &str) -> std::borrow::Cow<'_, str> {
    if text.contains(['\n', '\t']) { text.replace('\n', "⏎").replace('\t', "⇥").into() } else { text.into() }
}

/// Size of the text.
pub const TEXT_PT: f32 = LARGE;

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::TextPiece;

    fn passages(pieces: &[(&str, &str)]) -> Passages {
        let piece = |&(before, text): &(&str, &str)| TextPiece {
            before: before.to_owned(),
            text: text.to_owned(),
            special: false,
        };
        let queries = Passage::new(pieces.iter().map(piece).collect());
        Passages { queries, keys: None, names: Default::default() }
    }

    /// Ten points a character.
    fn laid(pieces: &[(&str, &str)], width: f32) -> Vec<(f32, f32)> {
        let layout = TextLayout::compute(&passages(pieces), TextUnit::Token, width, &mut |text| {
            10.0 * text.chars().count() as f32
        });
        layout
            .places
            .iter()
            .map(|place| (place.rect.left(), ((place.rect.top() - ABOVE_PT) / PITCH_PT).floor()))
            .collect()
    }

    #[test]
    fn lines_break_between_words_and_not_within() {
        let pieces = [("", "un"), ("", "do"), (" ", "it"), (" ", "be"), ("", "fore")];
        assert_eq!(laid(&pieces, 80.0), [(0.0, 0.0), (20.0, 0.0), (50.0, 0.0), (0.0, 1.0), (20.0, 1.0)]);
        // A word that is longer than a line goes on over the next one.
        assert_eq!(laid(&pieces, 30.0)[..2], [(0.0, 0.0), (0.0, 1.0)]);
    }

    #[test]
    fn paragraphs_and_scripts_without_spaces_break_where_they_do() {
        assert_eq!(
            laid(&[("", "a"), ("\n\n", "b"), ("", "\n"), ("", "c")], 100.0),
            [(0.0, 0.0), (0.0, 2.0), (10.0, 2.0), (0.0, 3.0)]
        );
        assert_eq!(laid(&[("", "日本"), ("", "語"), ("", "文")], 30.0), [(0.0, 0.0), (20.0, 0.0), (0.0, 1.0)]);
        // Hebrew begins at the right.
        assert_eq!(laid(&[("", "שלום"), (" ", "לך")], 100.0), [(60.0, 0.0), (30.0, 0.0)]);
    }
}
