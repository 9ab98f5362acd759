//! One row of a pattern, with what metrics share worked out once, and what they add up.

use super::{
    metric::{Metric, N_METRICS, Quantity},
    moments::Tally,
};
use crate::analysis::{
    detect::StackFacts,
    stats::{Choices, logarithm},
};

/// A row of a pattern.
pub struct SeenRow<'a> {
    pub query: usize,
    /// Number of queries.
    pub n_queries: usize,
    /// The pattern, `[key]`.
    pub weights: &'a [f32],
    /// Logarithms of the weights, `[key]`; minus infinity of 0.
    pub logs: &'a [f64],
    /// Keys that the query sees.
    pub seen: &'a [usize],
    /// The scores `[key]`, where the weights do not tell them and they are known.
    pub scores: Option<&'a [f32]>,
    /// What went to a learned sink, where there is one.
    pub sink: Option<f64>,
    pub facts: &'a StackFacts,
    /// How often the token of each key is in the corpus, `[key]`, where that was counted.
    pub counts: Option<&'a [Option<u32>]>,
}

impl SeenRow<'_> {
    /// The weight on a key.
    pub fn weight(&self, key: usize) -> f64 {
        self.weights.get(key).copied().map_or(0.0, f64::from)
    }
}

/// What rows are made in, so that it is allocated once.
#[derive(Default)]
pub struct Scratch {
    pub logs: Vec<f64>,
    pub seen: Vec<usize>,
}

impl Scratch {
    /// Takes in a row and the keys that its query sees.
    pub fn fill(&mut self, query: usize, weights: &[f32], choices: &Choices<'_>) {
        choices.keys(query, weights, &mut self.seen);
        self.logs.clear();
        self.logs.extend(weights.iter().map(|weight| logarithm(*weight)));
    }
}

/// What the rows of one input add to every metric that is defined.
pub struct Tallies<'a> {
    defined: &'a [bool; N_METRICS],
    of: [Tally; N_METRICS],
}

impl<'a> Tallies<'a> {
    /// Of no row yet.
    pub fn new(defined: &'a [bool; N_METRICS]) -> Self {
        Self { defined, of: [Tally::default(); N_METRICS] }
    }

    /// Whether a metric is defined for this input.
    pub const fn is_defined(&self, metric: Metric) -> bool {
        self.defined[metric.slot()]
    }

    /// Whether a quantity is defined for this input.
    pub const fn has(&self, quantity: Quantity) -> bool {
        self.is_defined(Metric::Of(quantity))
    }

    /// One more row.
    pub fn add(&mut self, quantity: Quantity, value: f64) {
        self.add_ratio(quantity, value, 1.0);
    }

    /// One more row of a ratio of sums.
    pub fn add_ratio(&mut self, quantity: Quantity, value: f64, weight: f64) {
        let metric = Metric::Of(quantity);
        if self.is_defined(metric) {
            self.of[metric.slot()].add_ratio(value, weight);
        }
    }

    /// One more row of a kind, where it qualifies.
    pub fn add_kind(&mut self, metric: Metric, value: Option<f64>) {
        if let Some(value) = value.filter(|_| self.is_defined(metric)) {
            self.of[metric.slot()].add(value);
        }
    }

    /// All of them, by slot.
    pub const fn of(&self) -> &[Tally; N_METRICS] {
        &self.of
    }
}
