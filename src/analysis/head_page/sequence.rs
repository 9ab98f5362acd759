//! Inputs that are kept with their pattern, cut around their strongest pair where they are long.

use std::ops::Range;

use super::{Chosen, PageInput, strongest};
use crate::{
    analysis::{detect::KnownToken, head_statistics::WeightedPair},
    capture::{Matrix, words},
};

/// Tokens of each side that are kept of a sequence.
pub const MOST_TOKENS: usize = 256;

/// Neighbouring tokens of one side.
#[derive(Clone, Debug, PartialEq)]
pub struct Passage {
    /// The position of the first one in the input.
    pub start: usize,
    pub texts: Vec<String>,
    /// Which are special tokens.
    pub special: Vec<bool>,
    /// Tokens of the input on this side.
    pub n_tokens: usize,
}

/// An input that was kept.
#[derive(Clone, Debug, PartialEq)]
pub struct PageSequence {
    /// Its place in the list.
    pub input: usize,
    /// The number of its interval; 1 is the weakest.
    pub interval: usize,
    /// The strongest pair that counts for the activation, as positions in the input.
    pub strongest: Option<WeightedPair>,
    pub queries: Passage,
    /// Those of the queries again where both are the same sequence.
    pub keys: Passage,
    /// `[query, key]` of the two passages; where they are cut rows sum to less.
    pub pattern: Matrix,
    /// Whether queries and keys are the same sequence.
    pub is_one: bool,
}

impl PageSequence {
    /// Keeps what is shown of an input; none where its pattern has no rows.
    pub fn keep(chosen: Chosen, input: &PageInput<'_>, pattern: &Matrix) -> Option<Self> {
        let strongest = strongest(pattern, input);
        let is_one = !input.facts.stack().is_between();
        let [query, key] = strongest.map_or([0, 0], |pair| [pair.query, pair.key]);
        let n = (pattern.n_rows(), pattern.n_cols());
        let (rows, cols) = if is_one {
            let (low, high) = (query.min(key), query.max(key));
            // Where a pair is too far apart for both, its query is in sight.
            let middle = if high - low < MOST_TOKENS { usize::midpoint(low, high) } else { query };
            (window(middle, n.0), window(middle, n.1))
        } else {
            (window(query, n.0), window(key, n.1))
        };
        let weights: Vec<f32> =
            rows.clone().filter_map(|row| pattern.row(row)).flat_map(|row| row[cols.clone()].iter().copied()).collect();
        Some(Self {
            input: chosen.input,
            interval: chosen.interval,
            strongest,
            queries: Passage::of(&input.queries, rows.clone()),
            keys: Passage::of(&input.keys, cols.clone()),
            pattern: Matrix::new(weights, [rows.len(), cols.len()]).ok()?,
            is_one,
        })
    }

    /// Whether tokens were left out.
    pub const fn is_cut(&self) -> bool {
        self.queries.texts.len() < self.queries.n_tokens || self.keys.texts.len() < self.keys.n_tokens
    }

    /// What each key receives at most, the first query left out: `[key]`; the first key has none.
    pub fn largest_received(&self) -> Vec<f32> {
        let mut largest = vec![0.0f32; self.keys.texts.len()];
        for (row, weights) in self.pattern.rows().enumerate().filter(|(row, _)| self.queries.start + row > 0) {
            for (col, (largest, weight)) in largest.iter_mut().zip(weights).enumerate() {
                if self.keys.start + col > 0 && !self.is_diagonal(row, col) {
                    *largest = largest.max(*weight);
                }
            }
        }
        largest
    }

    /// What each query gives at most, the first key left out: `[query]`; the first query has none.
    pub fn largest_given(&self) -> Vec<f32> {
        let given = |(row, weights): (usize, &[f32])| {
            if self.queries.start + row == 0 {
                return 0.0;
            }
            let others = weights.iter().enumerate().filter(|(col, _)| self.keys.start + col > 0);
            others.filter(|(col, _)| !self.is_diagonal(row, *col)).map(|(_, weight)| *weight).fold(0.0, f32::max)
        };
        self.pattern.rows().enumerate().map(given).collect()
    }

    const fn is_diagonal(&self, row: usize, col: usize) -> bool {
        self.is_one && self.queries.start + row == self.keys.start + col
    }
}

/// Whether tokens say themselves where a space is.
pub fn marks_spaces<'t>(mut texts: impl Iterator<Item = &'t str>) -> bool {
    texts.any(|text| text.starts_with(['␣', ' ']))
}

/// A token as a piece of running text: with a space before it where its tokenizer marks the pieces that continue a word
/// instead of spaces.
pub fn piece_text(text: &str, marks_spaces: bool) -> String {
    let bare = words::bare(text);
    let continues = !text.starts_with('␣') && bare.len() < text.len();
    let is_joined = words::punctuation_alone(bare) || bare.chars().next().is_some_and(words::unspaced);
    if marks_spaces {
        text.to_owned()
    } else if continues || is_joined {
        bare.to_owned()
    } else {
        format!(" {text}")
    }
}

impl Passage {
    /// Its tokens as pieces of running text.
    pub fn pieces(&self) -> Vec<String> {
        let marks = marks_spaces(self.texts.iter().map(String::as_str));
        self.texts.iter().map(|text| piece_text(text, marks)).collect()
    }

    fn of(tokens: &[KnownToken<'_>], range: Range<usize>) -> Self {
        let within = tokens.get(range.clone()).unwrap_or_default();
        Self {
            start: range.start,
            texts: within.iter().map(|(text, ..)| (*text).to_owned()).collect(),
            special: within.iter().map(|(_, _, special)| *special).collect(),
            n_tokens: tokens.len(),
        }
    }
}

/// At most [`MOST_TOKENS`] positions around one.
fn window(middle: usize, n: usize) -> Range<usize> {
    let start = middle.saturating_sub(MOST_TOKENS / 2).min(n.saturating_sub(MOST_TOKENS));
    start..(start + MOST_TOKENS).min(n)
}
