//! Properties of a token's text.

use std::{collections::HashMap, ops::Range};

use crate::{analysis::PointCloud, capture::words, ids::Side};

/// The kinds of tokens, in the order in which they are told apart.
pub(super) const KINDS: [&str; 8] =
    ["special", "punctuation", "number", "capitalised", "word", "part of a word", "patch", "register"];

/// The text without the marks of a tokenizer for spaces and continued words.
fn bare(text: &str) -> &str {
    words::bare(text).trim_matches(|c: char| c.is_whitespace() || matches!(c, '␣' | '⎵' | '_'))
}

/// Letters.
pub(super) fn length(text: &str) -> f32 {
    bare(text).chars().count() as f32
}

/// How often each token of a side stands there.
pub(super) fn frequencies(cloud: &PointCloud, side: Side) -> Vec<f32> {
    let mut counts: HashMap<&str, f32> = HashMap::new();
    for token in cloud.tokens(side) {
        *counts.entry(token.text).or_default() += 1.0;
    }
    cloud.tokens(side).map(|token| counts[token.text]).collect()
}

/// Which of [`KINDS`] each token is, from its text and whether it is special.
pub(super) fn kinds<'a>(
    tokens: impl Iterator<Item = (&'a str, bool)>,
    words: &[Range<usize>],
    patches: bool,
) -> Vec<u8> {
    let of = |(text, special): (&str, bool)| match (patches, special) {
        (true, false) => 6,
        (true, true) if text.starts_with("[REG") => 7,
        _ => kind(text, special),
    };
    let mut kinds: Vec<u8> = tokens.map(of).collect();
    for word in words {
        for part in kinds[word.clone()].iter_mut().skip(1).filter(|kind| matches!(kind, 3 | 4)) {
            *part = 5;
        }
    }
    kinds
}

/// The same of a token alone.
fn kind(text: &str, special: bool) -> u8 {
    let bare = bare(text);
    if special {
        0
    } else if words::punctuation_alone(words::bare(text)) {
        1
    } else if bare.chars().any(char::is_numeric) {
        2
    } else if bare.chars().next().is_some_and(char::is_uppercase) {
        3
    } else {
        4
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::Token;

    fn token(text: &str, special: bool) -> Token {
        Token { text: text.to_owned(), special, ..Token::default() }
    }

    #[test]
    fn tokens_are_of_the_kinds_that_a_reader_would_name() {
        let tokens = [
            token("[CLS]", true),
            token("Paris", false),
            token("##ian", false),
            token("cafe", false),
            token("1889", false),
            token(",", false),
        ];
        let texts = || tokens.iter().map(|token| (token.text.as_str(), token.special));
        let kinds = kinds(texts(), &words::words(&tokens), false);
        let names: Vec<&str> = kinds.into_iter().map(|kind| KINDS[usize::from(kind)]).collect();
        assert_eq!(names, ["special", "capitalised", "part of a word", "word", "number", "punctuation"]);
        assert_eq!(texts().map(|(text, _)| length(text)).collect::<Vec<_>>(), [5.0, 5.0, 3.0, 4.0, 4.0, 1.0]);
    }

    #[test]
    fn patches_and_registers_are_kinds_of_their_own() {
        let tokens = [("[CLS]", true), ("[REG1]", true), ("r0 c0", false)];
        let names: Vec<&str> =
            kinds(tokens.into_iter(), &[], true).into_iter().map(|kind| KINDS[usize::from(kind)]).collect();
        assert_eq!(names, ["special", "register", "patch"]);
    }
}
