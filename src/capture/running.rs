//! Tokens as running text: each with the space before it.

use std::ops::Range;

use super::{
    Capture, Token,
    words::{self, bare},
};
use crate::ids::Side;

/// A token, or several that were merged, in running text.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextPiece {
    /// White space between it and the piece before.
    pub before: String,
    pub text: String,
    /// Added by the tokenizer or the model rather than by the input.
    pub special: bool,
}

/// Pieces as one text.
pub fn joined_text(pieces: &[TextPiece]) -> String {
    pieces.iter().flat_map(|piece| [piece.before.as_str(), &piece.text]).collect()
}

/// The tokens of a side as running text, a piece for each of `groups` of positions: the input's own characters where
/// tokens say which they cover, else their labels without the marks of the vocabulary.
pub fn running_text(capture: &Capture, side: Side, groups: impl IntoIterator<Item = Range<usize>>) -> Vec<TextPiece> {
    let input = capture.input();
    let texts = match side {
        Side::Decoder => [input.target.as_deref(), None],
        // Between some tokens of a text there is the rest of it.
        Side::Vision | Side::Chosen => [None, None],
        Side::Only | Side::Encoder | Side::Text | Side::Sentences => [input.text.as_deref(), input.text_b.as_deref()],
    };
    pieces(capture.tokens(side), texts, groups)
}

/// The same of tokens and the texts of their sentences.
pub(super) fn pieces(
    tokens: &[Token],
    texts: [Option<&str>; 2],
    groups: impl IntoIterator<Item = Range<usize>>,
) -> Vec<TextPiece> {
    let mut starts = vec![false; tokens.len()];
    for word in words::words(tokens) {
        starts[word.start] = true;
    }
    let marks_spaces = tokens.iter().any(|token| !token.special && token.text.starts_with(['␣', ' ']));
    // Where the last piece ended, in the text of each sentence.
    let mut ends = [0, 0];
    let mut before_it: Option<usize> = None;
    let mut piece = |group: Range<usize>| {
        let members = tokens.get(group.clone()).unwrap_or_default();
        let Some((first, last)) = members.first().zip(members.last()) else { return TextPiece::default() };
        let sentence = usize::from(first.segment.min(1));
        let own = || {
            let covered = ends[sentence].max(first.span.start)..last.span.end;
            if first.span.is_empty() {
                return None;
            }
            // A part of a character that has been written adds nothing to it.
            let covered = covered.start..covered.end.max(covered.start);
            let text = texts[sentence]?.get(covered.clone())?;
            let before = texts[sentence]?.get(ends[sentence]..covered.start)?;
            // The sentences of a pair are paragraphs.
            let before = match before_it {
                None => "",
                Some(other) if other != sentence => "\n",
                Some(_) => before,
            };
            // Byte-level tokens begin with the space before them.
            let word = text.trim_start_matches([' ', '\t', '\u{a0}']);
            let space = if word.is_empty() { "" } else { &text[..text.len() - word.len()] };
            Some((before.to_owned() + space, text[space.len()..].to_owned(), covered.end))
        };
        let found = if first.special { None } else { own() };
        let (before, text) = if let Some((before, text, end)) = found {
            ends[sentence] = end;
            (before, text)
        } else {
            let marked = first.text.starts_with(['␣', ' ']);
            let parted = starts[group.start] && !marks_spaces && !words::is_punctuation(first);
            let before = if before_it.is_some() && (marked || parted) { " " } else { "" };
            let text: String = match members {
                [only] if only.special => only.text.clone(),
                _ => members.iter().map(|token| bare(&token.text)).collect(),
            };
            (before.to_owned(), text.replace('⏎', "\n").replace('⇥', "\t"))
        };
        if !first.special {
            before_it = Some(sentence);
        }
        TextPiece { before, text, special: first.special }
    };
    groups.into_iter().map(&mut piece).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn token(text: &str, span: Range<usize>) -> Token {
        Token { text: text.to_owned(), id: Some(7), span, special: text.starts_with('['), ..Token::default() }
    }

    fn joined(tokens: &[Token], text: Option<&str>) -> String {
        let pieces = pieces(tokens, [text, None], (0..tokens.len()).map(|at| at..at + 1));
        joined_text(&pieces)
    }

    #[test]
    fn places_give_the_input_back_letter_by_letter() {
        let text = "The  Unbelievable cat,\nsaid “no”.";
        let labels = ["the", "un", "##believable", "cat", ",", "said", "\"", "no"];
        let spans = [0..3, 5..7, 7..17, 18..21, 21..22, 23..27, 28..31, 31..33];
        let tokens: Vec<Token> = labels.iter().zip(spans).map(|(label, span)| token(label, span)).collect();
        assert_eq!(joined(&tokens, Some(text)), "The  Unbelievable cat,\nsaid “no");
        let merged = pieces(&tokens, [Some(text), None], [0..1, 1..3, 3..4]);
        assert_eq!(merged[1], TextPiece { before: "  ".to_owned(), text: "Unbelievable".to_owned(), special: false });
    }

    #[test]
    fn a_space_that_is_part_of_a_token_stands_before_it() {
        let tokens = [token("The", 0..3), token("␣cat", 3..7), token("␣", 7..8), token("␣␣", 8..10)];
        let pieces = pieces(&tokens, [Some("The cat   "), None], (0..4).map(|at| at..at + 1));
        let parts = pieces.iter().map(|piece| (piece.before.as_str(), piece.text.as_str()));
        assert_eq!(parts.collect::<Vec<_>>(), [("", "The"), (" ", "cat"), ("", " "), ("", "  ")]);
    }

    #[test]
    fn labels_stand_in_where_there_is_no_place() {
        let written = |labels: &[&str]| labels.iter().map(|label| token(label, 0..0)).collect::<Vec<_>>();
        assert_eq!(joined(&written(&["Once", "␣upon", "␣a", "⏎", "time", "."]), None), "Once upon a\ntime.");
        assert_eq!(joined(&written(&["un", "##do", "it", "."]), None), "undo it.");
        // A span that does not fit the text that is known is no place in it.
        assert_eq!(joined(&[token("cat", 90..93), token("dog", 94..97)], Some("short")), "cat dog");
    }

    #[test]
    fn parts_of_one_character_are_written_once() {
        let tokens = [token("a", 0..1), token("🙂¹", 1..5), token("🙂²", 1..5), token("b", 5..6)];
        let pieces = pieces(&tokens, [Some("a🙂b"), None], (0..4).map(|at| at..at + 1));
        assert_eq!(pieces.iter().map(|piece| piece.text.as_str()).collect::<Vec<_>>(), ["a", "🙂", "", "b"]);
    }
}
