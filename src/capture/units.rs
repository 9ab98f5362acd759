//! Units of a text that rows and columns can stand for: tokens, words, sentences, paragraphs.
//!
//! Sentences end where the rules of Unicode (UAX #29, as in the crate `unicode-segmentation`) end them; a line end is the
//! end of a sentence, too. A paragraph is what stands between line ends, and blank lines are none. A token belongs to the
//! unit in which its first letter stands. Special tokens are in no sentence: each stands by itself.

use std::ops::Range;

use serde::{Deserialize, Serialize};
use unicode_segmentation::UnicodeSegmentation as _;

use super::{Capture, TextPiece, Token, joined_text, running::pieces, running_text, words};
use crate::ids::Side;

/// What a row or a column of a pattern stands for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
pub enum Unit {
    #[default]
    #[serde(rename = "tokens")]
    Token,
    #[serde(rename = "words")]
    Word,
    #[serde(rename = "sentences")]
    Sentence,
    #[serde(rename = "paragraphs")]
    Paragraph,
}

vocabulary! {
    Unit: name,
    /// One of them.
    noun;
    Token("tokens", "token"),
    Word("words", "word"),
    Sentence("sentences", "sentence"),
    Paragraph("paragraphs", "paragraph"),
}

impl Unit {
    /// Whether its text is longer than a word.
    pub const fn is_of_words(self) -> bool {
        match self {
            Self::Token | Self::Word => false,
            Self::Sentence | Self::Paragraph => true,
        }
    }
}

/// How tokens are merged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(from = "Written")]
pub struct Merging {
    pub unit: Unit,
    /// The sentence or paragraph, from 0, whose words stand by themselves among the others.
    pub unfolded: Option<usize>,
}

/// The forms that files have it in: the first versions merged words alone.
#[derive(Deserialize)]
#[serde(untagged)]
enum Written {
    Words(bool),
    Of {
        #[serde(default)]
        unit: Unit,
        #[serde(default)]
        unfolded: Option<usize>,
    },
}

impl From<Written> for Merging {
    fn from(written: Written) -> Self {
        match written {
            Written::Words(words) => Self::words_if(words),
            Written::Of { unit, unfolded } => Self { unit, unfolded },
        }
    }
}

impl Merging {
    /// Nothing is merged.
    pub const NONE: Self = Self { unit: Unit::Token, unfolded: None };
    /// Pieces of words are.
    pub const WORDS: Self = Self { unit: Unit::Word, unfolded: None };

    /// Words, or nothing.
    pub const fn words_if(words: bool) -> Self {
        if words { Self::WORDS } else { Self::NONE }
    }

    /// At least words.
    #[must_use]
    pub fn or_words_if(self, words: bool) -> Self {
        if words && !self.is_merged() { Self::WORDS } else { self }
    }

    /// Whether anything is merged.
    pub fn is_merged(self) -> bool {
        self.unit != Unit::Token
    }
}

/// The tokens of a side, merged.
#[derive(Clone, Debug)]
pub struct Grouping<'a> {
    tokens: &'a [Token],
    unit: Unit,
    /// Positions of each group, in order and without gaps.
    pub groups: Vec<Range<usize>>,
    /// The running text, a piece for each token; empty where no text is longer than a word.
    pieces: Vec<TextPiece>,
    /// The positions whose words stand by themselves.
    unfolded: Range<usize>,
}

impl<'a> Grouping<'a> {
    /// Of the tokens of a side. Patches, sentences that are tokens, and some of all rows are never merged into sentences.
    pub fn of(capture: &'a Capture, side: Side, merging: Merging) -> Self {
        let tokens = capture.tokens(side);
        let has_text = match side {
            Side::Only | Side::Encoder | Side::Decoder | Side::Text => capture.picture_side() != Some(side),
            Side::Vision | Side::Chosen | Side::Sentences => false,
        };
        if merging.unit.is_of_words() && has_text {
            let pieces = running_text(capture, side, (0..tokens.len()).map(|at| at..at + 1));
            return Self::of_pieces(tokens, pieces, merging);
        }
        let groups = match merging.unit {
            Unit::Word => words::words(tokens),
            Unit::Token | Unit::Sentence | Unit::Paragraph => (0..tokens.len()).map(|at| at..at + 1).collect(),
        };
        let unit = merging.unit.min(Unit::Word);
        Self { tokens, unit, groups, pieces: Vec::new(), unfolded: 0..0 }
    }

    fn of_pieces(tokens: &'a [Token], pieces: Vec<TextPiece>, merging: Merging) -> Self {
        let of = parts(&pieces, merging.unit);
        let mut groups: Vec<Range<usize>> = Vec::new();
        let mut unfolded = 0..0;
        let words = merging.unfolded.map(|_| words::words(tokens)).unwrap_or_default();
        let mut words = words.into_iter().map(|word| word.start).peekable();
        for (at, part) in of.iter().enumerate() {
            while words.next_if(|start| *start < at).is_some() {}
            let before = at.checked_sub(1).map(|before| of[before]);
            let goes_on = part.is_some() && before == Some(*part);
            let is_unfolded = part.is_some() && *part == merging.unfolded;
            if is_unfolded {
                unfolded = if unfolded.is_empty() { at..at + 1 } else { unfolded.start..at + 1 };
            }
            let is_inside = goes_on && (!is_unfolded || words.peek() != Some(&at));
            match groups.last_mut() {
                Some(last) if is_inside => last.end = at + 1,
                _ => groups.push(at..at + 1),
            }
        }
        Self { tokens, unit: merging.unit, groups, pieces, unfolded }
    }

    /// What a person reads for some positions next to each other.
    pub fn text(&self, positions: Range<usize>) -> String {
        match self.unit {
            Unit::Token => words::token_text(self.tokens, positions.start),
            Unit::Word => words::word_text(self.tokens, positions),
            Unit::Sentence | Unit::Paragraph => {
                let alone = self.tokens.get(positions.start).is_some_and(|token| token.special);
                if alone || self.unfolded.contains(&positions.start) {
                    return words::word_text(self.tokens, positions);
                }
                let joined = joined_text(self.pieces.get(positions.clone()).unwrap_or_default());
                let text = joined.split_whitespace().collect::<Vec<_>>().join(" ");
                if text.is_empty() { words::token_text(self.tokens, positions.start) } else { text }
            }
        }
    }
}

/// The sentence or paragraph of a token, from 0; `None` of special tokens and patches.
pub fn part_at(capture: &Capture, side: Side, unit: Unit, position: usize) -> Option<usize> {
    let pieces = running_text(capture, side, (0..capture.tokens(side).len()).map(|at| at..at + 1));
    parts(&pieces, unit).get(position).copied().flatten().filter(|_| unit.is_of_words())
}

/// The unit of each piece, from 0; none of special tokens.
pub fn parts(pieces: &[TextPiece], unit: Unit) -> Vec<Option<usize>> {
    match unit {
        Unit::Token | Unit::Word => (0..pieces.len()).map(Some).collect(),
        Unit::Sentence => sentences(pieces),
        Unit::Paragraph => paragraphs(pieces),
    }
}

/// The sentence of each token, from 0, by what people read for the tokens alone and whether they are special.
pub fn label_sentences(labels: &[(&str, bool)]) -> Vec<Option<usize>> {
    let token =
        |(text, special): &(&str, bool)| Token { text: (*text).to_owned(), special: *special, ..Token::default() };
    let tokens: Vec<Token> = labels.iter().map(token).collect();
    sentences(&pieces(&tokens, [None, None], (0..tokens.len()).map(|at| at..at + 1)))
}

fn sentences(pieces: &[TextPiece]) -> Vec<Option<usize>> {
    let mut text = String::new();
    let mut starts = Vec::with_capacity(pieces.len());
    for piece in pieces {
        if !piece.special {
            text.push_str(&piece.before);
        }
        starts.push(text.len());
        if !piece.special {
            text.push_str(&piece.text);
        }
    }
    let ends: Vec<usize> = text.split_sentence_bound_indices().map(|(at, part)| at + part.len()).collect();
    // White space alone is no sentence: it goes with what stands before it, and those that hold a piece are counted.
    let mut known: Vec<usize> = Vec::new();
    let sentence = |(piece, start): (&TextPiece, &usize)| {
        if piece.special {
            return None;
        }
        let end = ends.partition_point(|end| end <= start);
        let is_blank = piece.text.trim().is_empty() && !known.is_empty();
        if known.last() != Some(&end) && !is_blank {
            known.push(end);
        }
        Some(known.len() - 1)
    };
    pieces.iter().zip(&starts).map(sentence).collect()
}

fn paragraphs(pieces: &[TextPiece]) -> Vec<Option<usize>> {
    let (mut n, mut has_words, mut has_ended) = (0, false, false);
    let paragraph = |piece: &TextPiece| {
        if piece.special {
            return None;
        }
        let is_blank = piece.text.trim().is_empty();
        has_ended |= piece.before.contains('\n');
        if has_ended && has_words && !is_blank {
            (n, has_words) = (n + 1, false);
        }
        if !is_blank {
            (has_words, has_ended) = (true, false);
        }
        has_ended |= piece.text.contains('\n');
        Some(n)
    };
    pieces.iter().map(paragraph).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A token for each word, with the space or line end before it; `[…]` are special.
    fn grouping(labels: &[&str], merging: Merging) -> (Vec<Range<usize>>, Vec<String>) {
        let token =
            |label: &&str| Token { text: (*label).to_owned(), special: label.starts_with('['), ..Token::default() };
        let tokens: Vec<Token> = labels.iter().map(token).collect();
        let piece = |token: &Token| TextPiece {
            before: if token.text.starts_with('␣') { " ".to_owned() } else { String::new() },
            text: words::bare(&token.text).replace('⏎', "\n"),
            special: token.special,
        };
        let pieces = tokens.iter().map(piece).collect();
        let grouping = Grouping::of_pieces(&tokens, pieces, merging);
        let texts = grouping.groups.iter().map(|group| grouping.text(group.clone())).collect();
        (grouping.groups, texts)
    }

    const LABELS: [&str; 15] =
        ["[BOS]", "It", "␣rain", "s", ".", "␣We", "␣stay", "␣in", "!", "⏎", "⏎", "Why", "␣not", "?", "[EOS]"];

    #[test]
    fn tokens_of_a_sentence_are_one_group_and_special_tokens_none() {
        let of = |unit| grouping(&LABELS, Merging { unit, unfolded: None });
        let (groups, texts) = of(Unit::Sentence);
        assert_eq!(groups, [0..1, 1..5, 5..11, 11..14, 14..15], "a blank line goes with what stands before it");
        assert_eq!(texts, ["[BOS]", "It rains.", "We stay in!", "Why not?", "[EOS]"]);
        let (groups, texts) = of(Unit::Paragraph);
        assert_eq!(groups, [0..1, 1..11, 11..14, 14..15]);
        assert_eq!(texts[1], "It rains. We stay in!");
    }

    #[test]
    fn words_of_the_unfolded_sentence_stand_by_themselves() {
        let (groups, texts) = grouping(&LABELS, Merging { unit: Unit::Sentence, unfolded: Some(0) });
        assert_eq!(groups, [0..1, 1..2, 2..4, 4..5, 5..11, 11..14, 14..15]);
        assert_eq!(texts[..5], ["[BOS]", "It", "rains", ".", "We stay in!"]);
        let folded = grouping(&LABELS, Merging { unit: Unit::Sentence, unfolded: None });
        let beyond = grouping(&LABELS, Merging { unit: Unit::Sentence, unfolded: Some(9) });
        assert_eq!(beyond, folded, "there is no such sentence");
    }

    #[test]
    fn files_of_the_first_versions_merge_words() {
        let read = |json: &str| serde_json::from_str::<Merging>(json).unwrap();
        assert_eq!((read("true"), read("false")), (Merging::WORDS, Merging::NONE));
        let merging = Merging { unit: Unit::Sentence, unfolded: Some(3) };
        assert_eq!(read(&serde_json::to_string(&merging).unwrap()), merging);
    }
}
