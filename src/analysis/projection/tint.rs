//! What the colours of points tell: of queries and keys alike, so that places in the plane can be read.

use std::{collections::HashMap, ops::Range};

use serde::{Deserialize, Serialize};

use crate::{
    analysis::{Cloud, CloudToken},
    capture::{Matrix, words},
    ids::{HeadId, Side},
};

/// Steps of a scale of colours.
const STEPS: usize = 32;
/// Tokens after which colours by position repeat.
const MODULUS: usize = 5;

/// What the colour of a point means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum ColorBy {
    /// Query or key.
    #[default]
    Type,
    /// Position in the sequence, from first to last.
    Position,
    /// Position modulo five: neighbours differ, rhythms show.
    PositionModulo,
    /// What kind of token it is.
    Kind,
    /// Characters of the token.
    Length,
    /// How often the token occurs in the input.
    Frequency,
    /// Length of the query or key vector in this head.
    Norm,
}

impl ColorBy {
    /// Every choice, with its name on the command line, its name on screen, and what it tells.
    pub const ALL: [(Self, &str, &str, &str); 7] = [
        (Self::Type, "type", "Query or key", "Queries green, keys pink"),
        (Self::Position, "position", "Position", "From the first token to the last"),
        (Self::PositionModulo, "modulo", "Position modulo 5", "Neighbours differ, and rhythms show"),
        (Self::Kind, "kind", "Kind of token", "Special, punctuation, number, capitalised, word, part of a word"),
        (Self::Length, "length", "Length of token", "In characters"),
        (Self::Frequency, "frequency", "Frequency", "How often the token occurs in the input"),
        (Self::Norm, "norm", "Norm", "How long the query or key vector is in this head"),
    ];

    /// The choice of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(_, known, ..)| *known == name).map(|(by, ..)| by)
    }

    /// Whether the same token has other colours in other heads.
    pub const fn depends_on_head(self) -> bool {
        matches!(self, Self::Norm)
    }
}

/// The colour of one point.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum Tint {
    /// That of queries, or that of keys.
    Type,
    /// A step of a scale.
    Step(u8),
    /// One of a few that differ.
    Group(u8),
}

impl Tint {
    fn at(fraction: f32) -> Self {
        Self::Step((fraction.clamp(0.0, 1.0) * (STEPS - 1) as f32).round() as u8)
    }

    /// Where a step lies on its scale, `0..=1`.
    pub fn fraction(step: u8) -> f32 {
        f32::from(step) / (STEPS - 1) as f32
    }
}

/// What tints mean.
#[derive(Clone, Debug, PartialEq)]
pub enum Meaning {
    /// Query or key.
    Type,
    /// What the ends of the scale are.
    Scale([String; 2]),
    /// What the groups are; only those that occur have a name.
    Groups(Vec<(u8, String)>),
}

/// One tint per query and per key, and what they mean.
#[derive(Clone, Debug, PartialEq)]
pub struct Tints {
    /// By position.
    pub queries: Vec<Tint>,
    /// By position.
    pub keys: Vec<Tint>,
    /// What they mean.
    pub meaning: Meaning,
}

/// The kinds of tokens, in the order in which they are told apart.
const KINDS: [&str; 7] = ["special", "punctuation", "number", "capitalised", "word", "part of a word", "patch"];

/// The tints of one head's queries and keys.
pub fn tints(cloud: &Cloud, head: HeadId, by: ColorBy) -> Tints {
    let sides = [head.stack.query_side(), head.stack.key_side()];
    let both =
        |tint: &dyn Fn(CloudToken<'_>) -> Tint| sides.map(|side| cloud.tokens(side).map(tint).collect::<Vec<_>>());
    // Patches have neither letters nor a vocabulary.
    let of_words = |number: &dyn Fn(Side) -> Vec<f32>| {
        sides.map(|side| if cloud.has_patches(side) { vec![f32::NAN; cloud.n(side)] } else { number(side) })
    };
    let scale = |ends: [&str; 2]| Meaning::Scale(ends.map(ToOwned::to_owned));
    let ([queries, keys], meaning) = match by {
        ColorBy::Type => (both(&|_| Tint::Type), Meaning::Type),
        ColorBy::Position => {
            let tint = |token: CloudToken<'_>| {
                Tint::at(token.position as f32 / token.n_positions.saturating_sub(1).max(1) as f32)
            };
            (both(&tint), scale(["first", "last"]))
        }
        ColorBy::PositionModulo => {
            let longest = sides.into_iter().flat_map(|side| cloud.tokens(side)).map(|token| token.n_positions).max();
            let names = (0..MODULUS.min(longest.unwrap_or(0)) as u8).map(|at| (at, at.to_string()));
            (both(&|token| Tint::Group((token.position % MODULUS) as u8)), Meaning::Groups(names.collect()))
        }
        ColorBy::Kind => {
            let tints = sides.map(|side| {
                let tokens = cloud.tokens(side).map(|token| (token.text, token.special));
                let kinds = kinds(tokens, &cloud.words(side), cloud.has_patches(side));
                kinds.into_iter().map(Tint::Group).collect::<Vec<_>>()
            });
            let occurs = |group: u8| tints.iter().flatten().any(|tint| *tint == Tint::Group(group));
            let names = (0u8..).zip(KINDS).filter(|(group, _)| occurs(*group));
            let names = names.map(|(group, name)| (group, name.to_owned())).collect();
            (tints, Meaning::Groups(names))
        }
        ColorBy::Length => {
            let lengths = |side| cloud.tokens(side).map(|token| length(token.text)).collect();
            numbers(of_words(&lengths), "letters")
        }
        ColorBy::Frequency => numbers(of_words(&|side| frequencies(cloud, side)), "times"),
        ColorBy::Norm => {
            let norms = |matrix: &Matrix| matrix.rows().map(norm).collect();
            let norms = cloud.queries_and_keys(head).map(|both| both.each_ref().map(norms));
            numbers(norms.unwrap_or_default(), "")
        }
    };
    Tints { queries, keys, meaning }
}

/// Numbers of queries and keys on one scale, with its ends in words.
fn numbers(values: [Vec<f32>; 2], unit: &str) -> ([Vec<Tint>; 2], Meaning) {
    let finite = || values.iter().flatten().copied().filter(|value| value.is_finite());
    let (low, high) = (finite().fold(f32::INFINITY, f32::min), finite().fold(f32::NEG_INFINITY, f32::max));
    if low > high {
        return (values.map(|side| vec![Tint::Type; side.len()]), Meaning::Type);
    }
    let span = if high > low { high - low } else { 1.0 };
    let text = |value: f32| {
        let number = if value.fract() == 0.0 { format!("{value}") } else { format!("{value:.2}") };
        if unit.is_empty() || !value.is_finite() { number } else { format!("{number} {unit}") }
    };
    let tint = |value: f32| if value.is_finite() { Tint::at((value - low) / span) } else { Tint::Type };
    let tints = values.map(|side| side.into_iter().map(tint).collect());
    (tints, Meaning::Scale([low, high].map(text)))
}

fn norm(row: &[f32]) -> f32 {
    row.iter().map(|x| x * x).sum::<f32>().sqrt()
}

/// The text without the marks of a tokenizer for spaces and continued words.
fn bare(text: &str) -> &str {
    let text = text.trim_start_matches("##");
    text.trim_matches(|c: char| c.is_whitespace() || matches!(c, 'Ġ' | '▁' | '␣' | '⎵' | '_'))
}

fn length(text: &str) -> f32 {
    bare(text).chars().count() as f32
}

fn frequencies(cloud: &Cloud, side: Side) -> Vec<f32> {
    let mut counts: HashMap<&str, f32> = HashMap::new();
    for token in cloud.tokens(side) {
        *counts.entry(token.text).or_default() += 1.0;
    }
    cloud.tokens(side).map(|token| counts[token.text]).collect()
}

/// Which of [`KINDS`] each token is, from its text and whether it is special.
fn kinds<'a>(tokens: impl Iterator<Item = (&'a str, bool)>, words: &[Range<usize>], patches: bool) -> Vec<u8> {
    let of = |(text, special): (&str, bool)| if patches && !special { 6 } else { kind(text, special) };
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
    fn numbers_share_one_scale_and_equal_ones_one_colour() {
        let ([queries, keys], meaning) = numbers([vec![1.0, 3.0], vec![2.0, f32::NAN]], "times");
        assert_eq!((queries[0], queries[1]), (Tint::at(0.0), Tint::at(1.0)));
        assert_eq!((keys[0], keys[1]), (Tint::at(0.5), Tint::Type), "what is not a number has no place on the scale");
        assert_eq!(meaning, Meaning::Scale(["1 times".to_owned(), "3 times".to_owned()]));
        assert_eq!(numbers([vec![f32::NAN], Vec::new()], "letters").1, Meaning::Type, "no scale without a number");
        let ([equal, none], _) = numbers([vec![2.0; 3], Vec::new()], "");
        assert!(equal.iter().all(|tint| *tint == Tint::at(0.0)) && none.is_empty());
    }

    #[test]
    fn every_choice_is_found_by_its_name() {
        assert!(ColorBy::ALL.iter().all(|(by, name, ..)| ColorBy::from_name(name) == Some(*by)));
        assert_eq!(ColorBy::from_name("rainbow"), None);
    }
}
