//! Tokens that are looked for in a cloud.

use std::collections::HashMap;

use serde::{Deserialize, Serialize};

pub use super::rank_heads::{RankedHead, rank};
use super::{PointCloud, Space};
use crate::{
    capture::{Token, words},
    ids::{Side, StackKind},
};

/// How a search is meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SearchKind {
    /// Tokens that have the text in them.
    #[default]
    Text,
    /// Words that are the text, or one of several; all pieces of a word are hits.
    Word,
    /// Words in which a regular expression is found; all pieces of a word are hits.
    Regex,
    /// Tokens with one of these numbers in the vocabulary.
    Id,
}

vocabulary! {
    SearchKind: name,
    /// On screen.
    title,
    /// What it looks for.
    hint;
    Text("text", "Part of a token", "Tokens that contain this text"),
    Word("word", "Whole word", "This word, or several with commas between them; all their pieces"),
    Regex("regex", "Regular expression", "Words that match the expression; all their pieces"),
    Id("id", "Token id", "Numbers in the model's vocabulary, with commas between them"),
}

/// What is looked for.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub struct SearchQuery {
    pub text: String,
    pub kind: SearchKind,
    /// Whether upper and lower case differ.
    pub case: bool,
}

/// Why nothing can be looked for.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SearchError {
    /// Nothing was typed.
    #[error("type a text to search for")]
    Empty,
    /// A regular expression that is none.
    #[error("this is not a regular expression: {0}")]
    Regex(String),
    /// A token id that is no number.
    #[error("“{0}” is not a token id: give whole numbers separated by commas")]
    Id(String),
}

/// Points of a cloud that were found, in order.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Hits {
    pub queries: Vec<u32>,
    /// Keys: the same tokens, unless keys are of another sequence.
    pub keys: Vec<u32>,
    pub n_inputs: usize,
}

impl Hits {
    /// These points of a stack.
    pub fn of(cloud: &PointCloud, stack: StackKind, queries: Vec<u32>, keys: Vec<u32>) -> Self {
        let inputs = |side: Side, points: &[u32]| -> Vec<usize> {
            points.iter().filter_map(|point| cloud.token(side, *point as usize)).map(|token| token.input).collect()
        };
        let mut inputs = [inputs(stack.query_side(), &queries), inputs(stack.key_side(), &keys)].concat();
        inputs.sort_unstable();
        inputs.dedup();
        Self { queries, keys, n_inputs: inputs.len() }
    }

    /// Whether nothing was found.
    pub const fn is_empty(&self) -> bool {
        self.queries.is_empty() && self.keys.is_empty()
    }

    /// Points that are both or one of both: tokens where queries and keys are of one sequence.
    pub fn n_tokens(&self) -> usize {
        if self.queries == self.keys { self.queries.len() } else { self.queries.len() + self.keys.len() }
    }
}

/// A search that is ready to look at tokens.
enum Matcher {
    Text(String, bool),
    Words(Vec<String>, bool),
    Regex(Box<regex::Regex>),
    Ids(Vec<u32>),
}

impl SearchQuery {
    fn matcher(&self) -> Result<Matcher, SearchError> {
        let text = if self.kind == SearchKind::Regex { &self.text } else { self.text.trim() };
        if text.is_empty() {
            return Err(SearchError::Empty);
        }
        let parts = || text.split([',', ' ']).map(str::trim).filter(|part| !part.is_empty());
        match self.kind {
            SearchKind::Text => Ok(Matcher::Text(folded(text, self.case), self.case)),
            SearchKind::Word if parts().next().is_none() => Ok(Matcher::Words(vec![text.to_owned()], self.case)),
            SearchKind::Word => Ok(Matcher::Words(parts().map(|word| folded(word, self.case)).collect(), self.case)),
            SearchKind::Regex => regex::RegexBuilder::new(text)
                .case_insensitive(!self.case)
                .build()
                .map(|regex| Matcher::Regex(Box::new(regex)))
                .map_err(|error| SearchError::Regex(reason(&error))),
            SearchKind::Id => {
                let ids = parts().map(|id| id.parse().map_err(|_| SearchError::Id(id.to_owned())));
                Ok(Matcher::Ids(ids.collect::<Result<_, _>>()?))
            }
        }
    }

    /// The points of a stack that are meant, of those kinds that a space has. Where queries and keys are the same
    /// tokens both are given in every space, so that a point that is found once is found everywhere.
    ///
    /// # Errors
    /// When there is nothing to look for, or it is not of its kind.
    pub fn find(&self, cloud: &PointCloud, stack: StackKind, space: Space) -> Result<Hits, SearchError> {
        let matcher = self.matcher()?;
        let points = |side: Option<Side>| side.map_or_else(Vec::new, |side| matcher.points(cloud, side));
        let [queries, keys] = if stack.query_side() == stack.key_side() {
            let tokens = points(Some(stack.query_side()));
            [tokens.clone(), tokens]
        } else {
            space.sides(stack).map(points)
        };
        Ok(Hits::of(cloud, stack, queries, keys))
    }
}

impl Matcher {
    fn points(&self, cloud: &PointCloud, side: Side) -> Vec<u32> {
        match self {
            Self::Ids(ids) => {
                let tokens = cloud.tokens(side).enumerate();
                let found = tokens.filter(|(_, token)| token.id.is_some_and(|id| ids.contains(&id)));
                found.map(|(point, _)| point as u32).collect()
            }
            Self::Text(part, case) => {
                let mut known: HashMap<&str, bool> = HashMap::new();
                let mut has = |text| {
                    *known.entry(text).or_insert_with(|| folded(words::bare(text), *case).contains(part.as_str()))
                };
                cloud
                    .tokens(side)
                    .enumerate()
                    .filter(|(_, token)| has(token.text))
                    .map(|(point, _)| point as u32)
                    .collect()
            }
            Self::Words(wanted, case) => {
                let meant = |word: &str| wanted.contains(&folded(word, *case));
                points_of_words(cloud, side, &meant)
            }
            Self::Regex(regex) => points_of_words(cloud, side, &|word| regex.is_match(word)),
        }
    }
}

/// All pieces of the words that are meant.
fn points_of_words(cloud: &PointCloud, side: Side, meant: &dyn Fn(&str) -> bool) -> Vec<u32> {
    let mut known: HashMap<String, bool> = HashMap::new();
    let mut points = Vec::new();
    for word in cloud.words(side) {
        let pieces = word.clone().filter_map(|point| cloud.token(side, point));
        let pieces: Vec<Token> = pieces
            .map(|token| Token { text: token.text.to_owned(), special: token.special, ..Token::default() })
            .collect();
        let text = match pieces.as_slice() {
            [only] if !words::bare(&only.text).is_empty() => words::bare(&only.text).to_owned(),
            _ => words::word_text(&pieces, 0..pieces.len()),
        };
        if *known.entry(text).or_insert_with_key(|text| meant(text)) {
            points.extend(word.map(|point| point as u32));
        }
    }
    points
}

fn folded(text: &str, case: bool) -> String {
    if case { text.to_owned() } else { text.to_lowercase() }
}

/// What is wrong with an expression, in one line; where is seen in the expression itself.
fn reason(error: &regex::Error) -> String {
    let text = error.to_string();
    let line = text.lines().rev().map(str::trim).find(|line| !line.is_empty()).unwrap_or_default();
    line.strip_prefix("error: ").unwrap_or(line).to_owned()
}
