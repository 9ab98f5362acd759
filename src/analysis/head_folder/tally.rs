//! What a folder has of heads beside their statistics: weight by token, and weight by distance as its files have it.

use std::collections::HashMap;

use rayon::prelude::*;

use super::{Histogram, KeptWeights, SparseRows, TokenWeight, rounded};
use crate::{
    analysis::{attention, head_statistics::OffsetSums},
    capture::{Capture, Matrix},
    ids::{HeadId, StackKind},
};

/// Tokens that a table of a file keeps.
const N_TOKENS: usize = 50;
/// Bars of the histogram of weights, from 0 to 1.
const N_WEIGHTS: usize = 20;

/// Stored weight by token, of every head of a stack over inputs that are added one after the other.
#[derive(Clone, Debug)]
pub struct FolderTally {
    stack: StackKind,
    heads: Vec<HeadId>,
    kept: KeptWeights,
    /// Places of tokens by their text, and the texts by place.
    places: HashMap<String, usize>,
    texts: Vec<String>,
    /// By head: weight of each token as a query, and as a key.
    sums: Vec<[Vec<f64>; 2]>,
    /// By head: weights above 0, by their size.
    weights: Vec<[u64; N_WEIGHTS]>,
}

impl FolderTally {
    /// Of no input yet.
    pub fn new(stack: StackKind, heads: Vec<HeadId>, kept: KeptWeights) -> Self {
        let sums = vec![[Vec::new(), Vec::new()]; heads.len()];
        let weights = vec![[0; N_WEIGHTS]; heads.len()];
        Self { stack, heads, kept, places: HashMap::new(), texts: Vec::new(), sums, weights }
    }

    /// Adds what was seen of an input.
    pub fn add(&mut self, capture: &Capture) {
        let tokens = capture.query_tokens(self.stack);
        let texts: Vec<String> = tokens.iter().map(|token| plain_text(&token.text)).collect();
        self.add_patterns(&texts, &|head| attention::pattern(capture, head));
    }

    /// Adds the patterns `[query, key]` of an input with these tokens; a head without one has nothing of it.
    pub fn add_patterns(&mut self, texts: &[String], pattern: &(dyn Fn(HeadId) -> Option<Matrix> + Sync)) {
        let places: Vec<usize> = texts.iter().map(|text| self.place(text)).collect();
        let (n, kept) = (self.texts.len(), self.kept);
        let of_heads = self.heads.par_iter().zip(&mut self.sums).zip(&mut self.weights);
        of_heads.for_each(|((head, sums), weights)| {
            for sums in sums.iter_mut() {
                sums.resize(n, 0.0);
            }
            let Some(pattern) = pattern(*head) else { return };
            for weight in pattern.as_slice().iter().filter(|weight| **weight > 0.0) {
                weights[((weight * N_WEIGHTS as f32) as usize).min(N_WEIGHTS - 1)] += 1;
            }
            for (query, key, weight) in SparseRows::of(&pattern, kept).pairs() {
                for (sums, token) in sums.iter_mut().zip([query, key]) {
                    if let Some(place) = places.get(token) {
                        sums[*place] += f64::from(weight);
                    }
                }
            }
        });
    }

    /// Weights of a head above 0, by their size.
    pub fn weights(&self, head: HeadId) -> Histogram {
        let at = self.heads.iter().position(|known| *known == head);
        let bars = at.map_or([0; N_WEIGHTS], |at| self.weights[at]);
        unit_histogram(&bars.map(|n| n as f64))
    }

    fn place(&mut self, text: &str) -> usize {
        if let Some(place) = self.places.get(text) {
            return *place;
        }
        let place = self.texts.len();
        self.places.insert(text.to_owned(), place);
        self.texts.push(text.to_owned());
        place
    }

    /// The tokens with most stored weight of a head, as queries and as keys: of equal ones that which came first.
    pub fn top_tokens(&self, head: HeadId) -> [Vec<TokenWeight>; 2] {
        let at = self.heads.iter().position(|known| *known == head);
        [0, 1].map(|side| {
            let sums = at.map_or(&[][..], |at| &self.sums[at][side]);
            let mut order: Vec<usize> = (0..sums.len()).filter(|place| sums[*place] > 0.0).collect();
            order.sort_by(|a, b| sums[*b].total_cmp(&sums[*a]).then(a.cmp(b)));
            order.truncate(N_TOKENS);
            let token = |place: usize| TokenWeight { token: self.texts[place].clone(), weight: rounded(sums[place]) };
            order.into_iter().map(token).collect()
        })
    }
}

/// Bars of equal width from 0 to 1.
pub fn unit_histogram(bars: &[f64]) -> Histogram {
    let n = bars.len();
    Histogram { bin_edges: (0..=n).map(|edge| edge as f64 / n as f64).collect(), bin_values: bars.to_vec() }
}

/// Weight by distance between edges 0, 1, 2, 4, 8 and so on, without the empty ones behind the last; `longest` is the
/// length of the longest input, where the last one ends.
pub fn distance_histogram(sums: &OffsetSums, longest: usize) -> Histogram {
    let bins = sums.bins().map(rounded);
    let n = bins.iter().rposition(|mass| *mass > 0.0).map_or(0, |last| last + 1);
    let edge = |at: usize| if at == 0 { 0.0 } else { (1u64 << (at - 1)) as f64 };
    let mut edges: Vec<f64> = if n == 0 { Vec::new() } else { (0..=n).map(edge).collect() };
    if n == bins.len()
        && let Some(last) = edges.last_mut()
    {
        *last = last.max(longest as f64);
    }
    Histogram { bin_edges: edges, bin_values: bins[..n].to_vec() }
}

/// A token as its vocabulary decodes it: with spaces and ends of lines in place of their signs.
pub fn plain_text(text: &str) -> String {
    text.replace('␣', " ").replace('⏎', "\n")
}
