//! One head over many inputs: where it is most active, on which pairs, on which tokens, how far and how strongly.
//!
//! Two passes: the first adds up, with one number kept for each input, and the second keeps the patterns of the inputs
//! that were chosen by the first. Sums are in `f64`, inputs are added one after the other, so that nothing depends on
//! threads; equal numbers stand in the order of the list.

mod distances;
mod input;
mod intervals;
mod of_cloud;
mod pairs;
mod sequence;
mod tokens;
mod tried;

use crate::{
    analysis::{
        detect::{Detector, Undefined},
        explain::report::{LabQuestion, MethodSpec},
        head_statistics::WeightedPair,
    },
    capture::Matrix,
    ids::HeadId,
};

pub use distances::{DistanceMass, DistanceSums};
pub use input::PageInput;
pub use intervals::{Chosen, Interval, Intervals};
pub use of_cloud::page_of_cloud;
pub use pairs::{Snippet, StrongPair};
pub use sequence::{MOST_TOKENS, PageSequence, Passage, marks_spaces, piece_text};
pub use tokens::{TokenMass, TokenSums, TokenTable};
pub use tried::{Standing, TriedInput};

use pairs::StrongPairs;

/// The description of `attnscope analyze head`.
pub const METHOD: MethodSpec = MethodSpec {
    name: "head",
    title: "One head over many inputs",
    question: LabQuestion::Moves,
    about: "Show where one head is most active over a corpus: inputs by activation, pairs, tokens, distances",
    example: "--model demo:gpt --corpus demo:sentences --layer 1 --head 0",
    caveat: "Attention shows what a head reads, not what the model uses it for.",
    formula: "activation = largest weight off the first query, the first key, the diagonal and special keys",
    source: "after HeadVis, Anthropic 2026",
    values: &[],
    ..MethodSpec::EMPTY
};

/// Bars of the histograms of activations and of weights, from 0 to 1.
pub const N_BARS: usize = 20;

/// Key tokens for which is told what the head writes.
const N_READ: usize = 8;

/// How much of a head is kept.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PageSize {
    /// Intervals of activation with the same number of inputs.
    pub n_intervals: usize,
    /// Inputs that are kept of each interval.
    pub n_samples: usize,
    /// Strongest pairs.
    pub n_pairs: usize,
}

impl Default for PageSize {
    fn default() -> Self {
        Self { n_intervals: 10, n_samples: 5, n_pairs: 20 }
    }
}

/// What the first pass adds up.
#[derive(Clone, Debug)]
pub struct HeadTally {
    head: HeadId,
    size: PageSize,
    /// By the place of an input in the list, NaN where it has none.
    activations: Vec<f32>,
    pairs: StrongPairs,
    keys: TokenSums,
    queries: TokenSums,
    distances: DistanceSums,
    weights: [u64; N_BARS],
    n_inputs: usize,
    n_queries: u64,
    /// Why an input had no distances, and no tokens of a vocabulary.
    without: [Option<Undefined>; 2],
}

/// All that is known of a head over many inputs.
#[derive(Clone, Debug, PartialEq)]
pub struct HeadPage {
    pub head: HeadId,
    pub size: PageSize,
    /// By the place of an input in the list, NaN where it has none.
    pub activations: Vec<f32>,
    pub intervals: Intervals,
    /// Inputs of the strongest interval come first.
    pub sequences: Vec<PageSequence>,
    /// The strongest first; of equal ones the earlier.
    pub pairs: Vec<StrongPair>,
    /// Weight on keys by their token, against uniform attention over the visible keys.
    pub keys: Result<TokenTable, Undefined>,
    /// The largest weights of rows by the token of their query, against the number of queries.
    pub queries: Result<TokenTable, Undefined>,
    pub distances: Result<DistanceMass, Undefined>,
    /// Pairs of a query and a key that it sees, by weight: [`N_BARS`] bars from 0 to 1.
    pub weights: [u64; N_BARS],
    /// Inputs that were added, and their queries.
    pub n_inputs: usize,
    pub n_queries: u64,
}

impl HeadTally {
    /// Of no input yet.
    pub fn new(head: HeadId, size: PageSize) -> Self {
        Self {
            head,
            size,
            activations: Vec::new(),
            pairs: StrongPairs::new(size.n_pairs),
            keys: TokenSums::default(),
            queries: TokenSums::default(),
            distances: DistanceSums::default(),
            weights: [0; N_BARS],
            n_inputs: 0,
            n_queries: 0,
            without: [None; 2],
        }
    }

    /// Adds the pattern `[query, key]` of the input that has this place in the list.
    pub fn add(&mut self, source: usize, input: &PageInput<'_>, pattern: &Matrix) {
        let facts = &input.facts;
        let mut activation: Option<f32> = None;
        for pair in input.telling_pairs(pattern) {
            activation = Some(activation.map_or(pair.weight, |most| most.max(pair.weight)));
            self.pairs.offer(source, pair, input);
        }
        if self.activations.len() <= source {
            self.activations.resize(source + 1, f32::NAN);
        }
        self.activations[source] = activation.unwrap_or(f32::NAN);
        self.n_inputs += 1;
        self.n_queries += pattern.n_rows() as u64;
        let in_order = facts.check(Detector::Previous);
        let has_types = input.check_tokens();
        self.without[0] = in_order.err().or(self.without[0]);
        self.without[1] = has_types.err().or(self.without[1]);
        let shape = (pattern.n_rows(), pattern.n_cols());
        let (mut mass, mut chance) = (vec![0.0; shape.1], vec![0.0; shape.1]);
        let mut largest = vec![0.0; shape.0];
        for (query, row) in pattern.rows().enumerate() {
            let seen: Vec<usize> = input.visibility.keys(query, shape.0, shape.1).collect();
            for key in &seen {
                let weight = row[*key];
                mass[*key] += f64::from(weight);
                chance[*key] += 1.0 / seen.len() as f64;
                self.weights[bar_of(weight)] += 1;
            }
            if facts.tokens().has_choice(query) {
                let most = seen.iter().map(|key| row[*key]).max_by(f32::total_cmp);
                largest[query] = most.map_or(0.0, f64::from);
            }
            if in_order.is_ok() {
                self.distances.add(query, row, &seen);
            }
        }
        if has_types.is_ok() {
            for (token, (mass, chance)) in input.keys.iter().zip(mass.into_iter().zip(chance)) {
                self.keys.add(token, mass, chance);
            }
            for (query, token) in input.queries.iter().enumerate() {
                if facts.tokens().has_choice(query) {
                    self.queries.add(token, largest[query], 1.0);
                }
            }
        }
    }

    /// The inputs that the second pass keeps: the strongest of the strongest interval, and of each other one inputs at
    /// even steps of its ranks.
    pub fn chosen(&self) -> Vec<Chosen> {
        Intervals::of(&self.activations, self.size.n_intervals).chosen(self.size.n_samples)
    }

    /// With the sequences that the second pass kept, in the order of [`Self::chosen`].
    pub fn finish(self, sequences: Vec<PageSequence>) -> HeadPage {
        let Self { head, size, activations, pairs, keys, queries, distances, weights, n_inputs, n_queries, without } =
            self;
        let tables = [keys, queries].map(|sums| sums.table().ok_or(without[1].unwrap_or(Undefined::TooShort)));
        let [keys, queries] = tables;
        HeadPage {
            head,
            size,
            intervals: Intervals::of(&activations, size.n_intervals),
            activations,
            sequences,
            pairs: pairs.into_sorted(),
            keys,
            queries,
            distances: distances.mass().ok_or(without[0].unwrap_or(Undefined::TooShort)),
            weights,
            n_inputs,
            n_queries,
        }
    }
}

impl HeadPage {
    /// Inputs by activation, for an interval alone or for all: [`N_BARS`] bars from 0 to 1.
    pub fn activation_bars(&self, interval: Option<usize>) -> [u64; N_BARS] {
        let mut bars = [0; N_BARS];
        let of_all = self.intervals.ranked();
        for (input, _) in of_all.filter(|(_, of)| interval.is_none_or(|interval| interval == *of)) {
            bars[bar_of(self.activations[input])] += 1;
        }
        bars
    }

    /// The tokens of the vocabulary that the head attends to most, special ones left out.
    pub fn read_most(&self) -> Vec<u32> {
        let keys = self.keys.iter().flat_map(|table| &table.tokens).filter(|token| !token.special);
        keys.filter_map(|token| token.id).take(N_READ).collect()
    }

    /// The kept sequences of an interval.
    pub fn of_interval(&self, interval: usize) -> impl Iterator<Item = &PageSequence> {
        self.sequences.iter().filter(move |sequence| sequence.interval == interval)
    }
}

/// The bar of a number between 0 and 1; what lies outside counts for the last one on its side.
fn bar_of(value: f32) -> usize {
    ((f64::from(value) * N_BARS as f64) as usize).min(N_BARS - 1)
}

/// The strongest telling pair of a pattern; of equal ones the first.
fn strongest(pattern: &Matrix, input: &PageInput<'_>) -> Option<WeightedPair> {
    let pairs = input.telling_pairs(pattern);
    pairs.fold(None, |most: Option<WeightedPair>, pair| match most {
        Some(most) if most.weight >= pair.weight => Some(most),
        _ => Some(pair),
    })
}
