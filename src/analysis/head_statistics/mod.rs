//! Statistics of every head over many inputs, added up input by input: no pattern is kept.
//!
//! Every number is a sum over the rows of all inputs divided by the number of rows that qualify, in `f64`; inputs are
//! added in their order and heads side by side, so that the bytes do not depend on threads. What a kind of attention
//! does not have is [`Undefined`], never 0.

mod activation;
mod distances;
mod kinds;
mod metric;
mod moments;
mod offsets;
mod row;
mod spread;
mod stored;
mod table;
mod targets;

use std::collections::BTreeMap;

use rayon::prelude::*;

use crate::{
    analysis::{
        attention,
        detect::{Detector, Probe, Undefined},
    },
    capture::{Capture, RowMass},
    ids::{HeadId, StackKind},
    spec::ModelSpec,
};

pub use metric::{Metric, N_METRICS, Quantity};
pub use moments::{Moments, Statistic};
pub use offsets::{MOST_OFFSET, N_BINS, OffsetSums};
pub use table::{MetricColumn, RankedStatistic, StackTable};

use offsets::LargestOffsets;
use row::{Row, Scratch, Tallies};

/// Statistics of all heads of a model.
#[derive(Clone, Debug, PartialEq)]
pub struct HeadStatistics {
    stacks: Vec<StackStatistics>,
    /// Places in the list of the inputs that were added, in the order in which they were.
    inputs: Vec<u32>,
}

/// Statistics of the heads of one stack.
#[derive(Clone, Debug, PartialEq)]
pub struct StackStatistics {
    pub stack: StackKind,
    /// Heads of each layer.
    n_heads: Vec<usize>,
    /// By layer, then head.
    heads: Vec<HeadSums>,
    /// Inputs for which a metric is not defined, by its slot, with the reason.
    undefined: BTreeMap<(usize, Undefined), u64>,
    /// Queries of all inputs.
    n_queries: u64,
}

/// Sums of one head.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct HeadSums {
    moments: Vec<Moments>,
    offsets: OffsetSums,
    /// For each input that was added, NaN where it has none.
    activations: Vec<f32>,
}

/// What all heads of a stack share of one input.
struct InputFacts<'a> {
    capture: &'a Capture,
    probe: Probe<'a>,
    defined: [bool; N_METRICS],
    square: bool,
}

impl HeadStatistics {
    /// Of no input yet.
    pub fn new(model: &ModelSpec) -> Self {
        let stacks = model.stacks.iter().map(|stack| {
            let n_heads: Vec<usize> = stack.layers.iter().map(|layer| layer.n_heads).collect();
            let head = HeadSums { moments: vec![Moments::default(); N_METRICS], ..HeadSums::default() };
            let heads = vec![head; n_heads.iter().sum()];
            StackStatistics { stack: stack.kind, n_heads, heads, undefined: BTreeMap::new(), n_queries: 0 }
        });
        Self { stacks: stacks.collect(), inputs: Vec::new() }
    }

    /// Adds what was seen of an input, which has this place in the list.
    pub fn add(&mut self, source: usize, capture: &Capture) {
        self.inputs.push(source as u32);
        self.stacks.iter_mut().for_each(|stack| stack.add(capture));
    }

    /// Places in the list of the inputs that were added, in the order in which they were.
    pub fn inputs(&self) -> &[u32] {
        &self.inputs
    }

    /// Every stack.
    pub fn stacks(&self) -> &[StackStatistics] {
        &self.stacks
    }

    /// One stack.
    pub fn of_stack(&self, stack: StackKind) -> Option<&StackStatistics> {
        self.stacks.iter().find(|statistics| statistics.stack == stack)
    }
}

impl StackStatistics {
    /// All heads, in order of layer and head.
    pub fn ids(&self) -> Vec<HeadId> {
        let layers = self.n_heads.iter().enumerate();
        let stack = self.stack;
        layers.flat_map(|(layer, n)| (0..*n).map(move |head| HeadId { stack, layer, head })).collect()
    }

    /// Heads of each layer.
    pub fn n_heads(&self) -> &[usize] {
        &self.n_heads
    }

    /// Queries of all inputs.
    pub const fn n_queries(&self) -> u64 {
        self.n_queries
    }

    /// The sums of one head.
    pub fn head(&self, head: HeadId) -> Option<&HeadSums> {
        let n = self.n_heads.get(head.layer)?;
        let before: usize = self.n_heads[..head.layer].iter().sum();
        self.heads.get(before + head.head).filter(|_| head.stack == self.stack && head.head < *n)
    }

    /// For how many inputs a metric is not defined, by the reason.
    pub fn undefined(&self, metric: Metric) -> impl Iterator<Item = (Undefined, u64)> {
        let of = self.undefined.iter().filter(move |((slot, _), _)| *slot == metric.slot());
        of.map(|((_, reason), n)| (*reason, *n))
    }

    fn add(&mut self, capture: &Capture) {
        let probe = Probe::new(capture, self.stack);
        let square = !self.stack.is_between();
        let checks = Metric::ALL.map(|metric| self.check(metric, &probe, capture));
        let defined = checks.map(|check| check.is_ok());
        let facts = InputFacts { capture, probe, defined, square };
        let ids = self.ids();
        let added = self.heads.par_iter_mut().zip(ids).map(|(sums, id)| sums.add(&facts, id));
        let reached = added.reduce(|| 0, |a, b| a | b);
        self.n_queries += capture.query_tokens(self.stack).len() as u64;
        for (metric, check) in Metric::ALL.into_iter().zip(checks) {
            let reason = match check {
                Err(reason) => reason,
                Ok(()) if reached >> metric.slot() & 1 == 0 => metric.nothing(),
                Ok(()) => continue,
            };
            *self.undefined.entry((metric.slot(), reason)).or_default() += 1;
        }
    }

    /// Whether an input has what a metric looks at.
    fn check(&self, metric: Metric, probe: &Probe<'_>, capture: &Capture) -> Result<(), Undefined> {
        let quantity = match metric {
            Metric::Kind(detector) => return probe.check(detector),
            Metric::Of(quantity) => quantity,
        };
        let there = |is_there: bool, reason: Undefined| if is_there { Ok(()) } else { Err(reason) };
        let ids = self.ids();
        let sums_to_one = || ids.iter().all(|id| matches!(capture.row_mass(*id), RowMass::Full | RowMass::Sink));
        match quantity {
            Quantity::Entropy
            | Quantity::EntropyFraction
            | Quantity::ScoreSpread
            | Quantity::ScoreMargin
            | Quantity::ScoreZ => there(sums_to_one(), Undefined::NoShares),
            Quantity::Activation => Ok(()),
            Quantity::Sink => there(ids.iter().any(|id| capture.sink(*id).is_some()), Undefined::NoSink),
            Quantity::RelativeDistance => there(self.stack.is_between(), Undefined::OneSequence),
            Quantity::SignedDistance => {
                probe.check(Detector::Previous)?;
                probe.check(Detector::Next)
            }
            Quantity::TokenDistance | Quantity::DistanceVariance | Quantity::DistanceOffFirst | Quantity::Local => {
                probe.check(Detector::Previous)
            }
            Quantity::DelimiterRatio => probe.check(Detector::Punctuation),
            Quantity::InductionGain => probe.check(Detector::Induction),
        }
    }
}

impl HeadSums {
    /// Activations, one for each input that was added: NaN where it has none.
    pub fn activations(&self) -> &[f32] {
        &self.activations
    }

    /// Weight by offset.
    pub const fn offsets(&self) -> &OffsetSums {
        &self.offsets
    }

    /// A metric; none where it is not defined for any input.
    pub fn statistic(&self, metric: Metric) -> Option<Statistic> {
        let of = |metric: Metric| self.moments.get(metric.slot())?.statistic();
        match metric {
            Metric::Kind(Detector::Positional) => self.offsets.positional(),
            Metric::Of(Quantity::DistanceVariance) => {
                let (squared, mean) = (of(metric)?, of(Metric::Of(Quantity::TokenDistance))?);
                Some(Statistic { value: squared.value - mean.value * mean.value, error: None, ..squared })
            }
            _ => of(metric),
        }
    }

    /// Adds an input; which slots it has something for, as bits.
    fn add(&mut self, facts: &InputFacts<'_>, id: HeadId) -> u64 {
        let InputFacts { capture, probe, defined, square } = facts;
        let Some(pattern) = attention::pattern(capture, id) else {
            self.activations.push(f32::NAN);
            return 0;
        };
        let visibility = capture.visibility_of(id).unwrap_or_default();
        let sinks = capture.sink(id);
        let (n_queries, n_keys) = (pattern.n_rows(), pattern.n_cols());
        let in_order = defined[Metric::Kind(Detector::Positional).slot()];
        let mut tallies = Tallies::new(defined);
        let mut largest = LargestOffsets::default();
        let mut scratch = Scratch::default();
        for (query, weights) in pattern.rows().enumerate() {
            scratch.fill(weights, visibility.keys(query, n_queries, n_keys));
            let sink = sinks.map(|sinks| sinks.get(query).copied().map_or(0.0, f64::from));
            let (logs, seen, tokens) = (&scratch.logs, &scratch.seen, probe.tokens());
            let row = Row { query, n_queries, weights, logs, seen, sink, tokens };
            kinds::add(&row, &mut tallies);
            spread::add(&row, &mut tallies);
            distances::add(&row, &mut tallies);
            targets::add(&row, &mut tallies);
            if in_order {
                self.offsets.add(query, weights, seen);
                if tokens.has_choice(query) {
                    largest.add(query, weights);
                }
            }
        }
        kinds::add_patches(probe, &pattern, &mut tallies);
        let activation = activation::activation(&pattern, probe.tokens(), *square);
        if let Some(activation) = activation {
            tallies.add(Quantity::Activation, f64::from(activation));
        }
        self.activations.push(activation.unwrap_or(f32::NAN));
        self.offsets.add_largest(&largest);
        let mut reached = 0;
        for (slot, (moments, tally)) in self.moments.iter_mut().zip(tallies.of()).enumerate() {
            moments.add(*tally);
            reached |= u64::from(tally.n_rows > 0) << slot;
        }
        let has_largest = in_order && n_queries > 1;
        reached | u64::from(has_largest) << Metric::Kind(Detector::Positional).slot()
    }
}
