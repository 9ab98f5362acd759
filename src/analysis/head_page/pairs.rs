//! The strongest pairs of a head over all inputs, with the text around them.

use super::{
    PageInput,
    sequence::{marks_spaces, piece_text},
};
use crate::{analysis::detect::KnownToken, analysis::head_statistics::WeightedPair};

/// Tokens on each side of a token that is shown with its surroundings.
const AROUND: usize = 6;

/// A token with the text around it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Snippet {
    pub position: usize,
    pub before: String,
    pub token: String,
    pub after: String,
}

/// A pair of a query and a key of one input.
#[derive(Clone, Debug, PartialEq)]
pub struct StrongPair {
    /// The place of the input in the list.
    pub input: usize,
    pub weight: f32,
    pub query: Snippet,
    pub key: Snippet,
}

/// The strongest pairs so far, the strongest first.
#[derive(Clone, Debug)]
pub struct StrongPairs {
    n: usize,
    of: Vec<StrongPair>,
}

impl StrongPairs {
    /// At most `n`.
    pub const fn new(n: usize) -> Self {
        Self { n, of: Vec::new() }
    }

    /// One more pair: those of an input come in the order of queries and keys, and of equal ones the first in the list stays.
    pub fn offer(&mut self, input: usize, pair: WeightedPair, tokens: &PageInput<'_>) {
        let at = self
            .of
            .partition_point(|known| known.weight > pair.weight || known.weight == pair.weight && known.input <= input);
        if at >= self.n {
            return;
        }
        self.of.truncate(self.n.saturating_sub(1));
        let [query, key] = [(&tokens.queries, pair.query), (&tokens.keys, pair.key)].map(|(of, at)| around(of, at));
        self.of.insert(at, StrongPair { input, weight: pair.weight, query, key });
    }

    /// The strongest first.
    pub fn into_sorted(self) -> Vec<StrongPair> {
        self.of
    }
}

fn around(tokens: &[KnownToken<'_>], position: usize) -> Snippet {
    let marks = marks_spaces(tokens.iter().map(|(text, ..)| *text));
    let text = |tokens: &[KnownToken<'_>]| tokens.iter().map(|(text, ..)| piece_text(text, marks)).collect::<String>();
    let position = position.min(tokens.len());
    let after = (position + 1).min(tokens.len());
    Snippet {
        position,
        before: text(&tokens[position.saturating_sub(AROUND)..position]),
        token: text(&tokens[position..after]),
        after: text(&tokens[after..(after + AROUND).min(tokens.len())]),
    }
}
