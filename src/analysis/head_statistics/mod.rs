//! Statistics of every head over many inputs, added up input by input: no pattern is kept.
//!
//! Every number is a sum over the rows of all inputs divided by the number of rows that qualify, in `f64`; inputs are
//! added in their order and heads side by side, so that the bytes do not depend on threads. What a kind of attention
//! does not have is [`Undefined`], never 0.

mod activation;
mod contrast;
mod distances;
mod families;
mod kinds;
mod metric;
mod moments;
mod of_cloud;
mod offsets;
mod order;
mod row;
mod similar;
mod spread;
mod stored;
mod table;
mod targets;
mod thresholds;

use std::{cell::OnceCell, collections::BTreeMap};

use rayon::prelude::*;

use crate::{
    analysis::{
        attention,
        detect::{Detector, KeyCounts, Probe, StackFacts, TokenCounts, Undefined, known_token},
        stats::Choices,
        welch::Sample,
    },
    capture::{Capture, Matrix, RowMass},
    ids::{HeadId, StackKind},
    spec::{ModelSpec, StackSpec},
};

pub use activation::{WeightedPair, telling_pairs};
pub use contrast::{ContrastCell, ContrastColumn, ContrastTable, LEVEL, contrast, layouts_differ};
pub use families::{Families, Family};
pub use metric::{FORMER_NAMES, Metric, N_METRICS, Quantity};
pub use moments::{Moments, Statistic, Tally};
pub use of_cloud::{ContrastedTables, contrast_of_clouds, table_of_cloud};
pub use offsets::{MOST_OFFSET, N_BINS, OffsetSums};
pub use order::{HeadOrder, order};
pub use similar::{Fingerprints, Similar};
pub use table::{MetricColumn, RankedStatistic, StackTable};
pub use thresholds::Thresholds;

use offsets::LargestOffsets;
use row::{Scratch, SeenRow, Tallies};
use spread::wants_scores;

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

/// What one head did with an input.
struct HeadRows<'a> {
    /// `[query, key]`.
    pattern: &'a Matrix,
    choices: Choices<'a>,
    sinks: Option<&'a [f32]>,
    /// The scores `[query, key]` behind it, where they are known; asked for where weights do not tell them.
    scores: Box<dyn Fn() -> Option<Matrix> + 'a>,
}

/// What all heads of a stack share of one input.
struct InputFacts {
    of: StackFacts,
    /// How often the token of each key is in the corpus, where that was counted.
    counts: Option<KeyCounts>,
    /// Whether each metric is defined, by its slot, or else why not.
    checks: [Result<(), Undefined>; N_METRICS],
    defined: [bool; N_METRICS],
}

impl HeadStatistics {
    /// Of no input yet.
    pub fn new(model: &ModelSpec) -> Self {
        Self { stacks: model.stacks.iter().map(StackStatistics::new).collect(), inputs: Vec::new() }
    }

    /// Adds what was seen of an input, which has this place in the list; `counts` are of all of them, where they are known.
    pub fn add(&mut self, source: usize, capture: &Capture, counts: Option<&TokenCounts>) {
        self.inputs.push(source as u32);
        self.stacks.iter_mut().for_each(|stack| stack.add(capture, counts));
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

/// What a row needs of what all heads share: tokens, metrics that are defined by their slots, counts of the keys.
type DefinedFor<'a> = (&'a StackFacts, &'a [bool; N_METRICS], Option<&'a [Option<u32>]>);

impl InputFacts {
    /// What rows need of it.
    fn parts(&self) -> DefinedFor<'_> {
        (&self.of, &self.defined, self.counts.as_deref())
    }

    /// Of an input with these rows.
    fn new(of: StackFacts, rows: RowFacts, counts: Option<KeyCounts>) -> Self {
        let rows = RowFacts { counted: counts.is_some(), ..rows };
        let checks = Metric::ALL.map(|metric| check(metric, &of, rows));
        Self { of, counts, checks, defined: checks.map(|check| check.is_ok()) }
    }
}

/// What the rows of some heads hold.
#[derive(Clone, Copy)]
#[expect(clippy::struct_excessive_bools, reason = "each is a fact of its own")]
struct RowFacts {
    /// Whether they, with a learned sink, sum to one.
    sum_to_one: bool,
    /// Whether each weight stands by itself in some of them.
    free: bool,
    /// Whether there is a learned sink.
    sink: bool,
    /// Whether it is known how often the tokens of the keys are in the corpus.
    counted: bool,
}

impl RowFacts {
    /// Of rows that are softmaxes without a sink.
    const WHOLE: Self = Self { sum_to_one: true, free: false, sink: false, counted: false };

    /// Of these heads of a run.
    fn of(capture: &Capture, heads: &[HeadId]) -> Self {
        let masses = || heads.iter().map(|head| capture.row_mass(*head));
        Self {
            sum_to_one: masses().all(|mass| matches!(mass, RowMass::Full | RowMass::Sink)),
            free: masses().any(|mass| mass == RowMass::Free),
            sink: heads.iter().any(|head| capture.sink(*head).is_some()),
            counted: false,
        }
    }
}

/// Whether an input has what a metric looks at.
fn check(metric: Metric, of: &StackFacts, rows: RowFacts) -> Result<(), Undefined> {
    let quantity = match metric {
        Metric::Kind(detector) => return of.check(detector),
        Metric::Of(quantity) => quantity,
    };
    let there = |is_there: bool, reason: Undefined| if is_there { Ok(()) } else { Err(reason) };
    let shares = || there(!rows.free, Undefined::NoShares);
    match quantity {
        Quantity::Entropy
        | Quantity::EntropyFraction
        | Quantity::ScoreSpread
        | Quantity::ScoreMargin
        | Quantity::ScoreZ => there(rows.sum_to_one, Undefined::NoShares),
        Quantity::Activation | Quantity::Largest => Ok(()),
        Quantity::Sink => there(rows.sink, Undefined::NoSink),
        Quantity::RelativeDistance => there(of.stack().is_between(), Undefined::OneSequence).and_then(|()| shares()),
        Quantity::SignedDistance => {
            of.check(Detector::Previous)?;
            of.check(Detector::Next)?;
            shares()
        }
        Quantity::TokenDistance | Quantity::DistanceVariance => {
            of.check(Detector::Previous)?;
            shares()
        }
        Quantity::DistanceOffFirst | Quantity::Local => of.check(Detector::Previous),
        Quantity::DelimiterRatio => of.check(Detector::Punctuation),
        Quantity::InductionGain => of.check(Detector::Induction),
        Quantity::LastGain
        | Quantity::CopiedGain
        | Quantity::CopiedNextGain
        | Quantity::TranslatedGain
        | Quantity::TranslatedNextGain
        | Quantity::NeighboursGain
        | Quantity::RowGain
        | Quantity::ColumnGain
        | Quantity::CommonGain
        | Quantity::RegistersGain => quantity.over_chance().map_or(Ok(()), |detector| of.check(detector)),
        Quantity::Rare | Quantity::RareGain => {
            there(!of.is_of_patches(), Undefined::NoVocabulary)?;
            of.check(Detector::Confidence)?;
            there(rows.counted, Undefined::NotCounted)
        }
    }
}

impl StackStatistics {
    /// Of no input yet.
    fn new(spec: &StackSpec) -> Self {
        let n_heads: Vec<usize> = spec.layers.iter().map(|layer| layer.n_heads).collect();
        let heads = vec![HeadSums::new(); n_heads.iter().sum()];
        Self { stack: spec.kind, n_heads, heads, undefined: BTreeMap::new(), n_queries: 0 }
    }

    /// Puts the sums of a head where those of no input are.
    fn set(&mut self, head: HeadId, sums: HeadSums) {
        let before: usize = self.n_heads[..head.layer].iter().sum();
        self.heads[before + head.head] = sums;
    }

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

    fn add(&mut self, capture: &Capture, counts: Option<&TokenCounts>) {
        let ids = self.ids();
        let rows = RowFacts::of(capture, &ids);
        let facts = Probe::over(capture, self.stack, counts).into_facts();
        let keys = || capture.key_tokens(self.stack).iter().map(known_token);
        let counts = counts.map(|counts| counts.of(self.stack.key_side(), keys()));
        let facts = InputFacts::new(facts, rows, counts);
        let add = |(sums, id): (&mut HeadSums, HeadId)| {
            let Some(pattern) = attention::pattern(capture, id) else {
                sums.activations.push(f32::NAN);
                return 0;
            };
            sums.add(facts.parts(), &HeadRows::of(capture, id, &pattern))
        };
        let reached = self.heads.par_iter_mut().zip(ids).map(add).reduce(|| 0, |a, b| a | b);
        self.note(&facts, reached, capture.query_tokens(self.stack).len());
    }

    /// Counts an input, and the metrics that it has nothing for: those whose bit is not set.
    fn note(&mut self, facts: &InputFacts, reached: u64, n_queries: usize) {
        self.n_queries += n_queries as u64;
        for (metric, check) in Metric::ALL.into_iter().zip(facts.checks) {
            let reason = match check {
                Err(reason) => reason,
                Ok(()) if reached >> metric.slot() & 1 == 0 => metric.nothing(),
                Ok(()) => continue,
            };
            *self.undefined.entry((metric.slot(), reason)).or_default() += 1;
        }
    }
}

impl<'a> HeadRows<'a> {
    /// Of a run.
    fn of(capture: &'a Capture, head: HeadId, pattern: &'a Matrix) -> Self {
        let scores = Box::new(move || attention::scores(capture, head));
        Self { pattern, choices: Choices::of(capture, head), sinks: capture.sink(head), scores }
    }
}

impl HeadSums {
    /// Of no input yet.
    fn new() -> Self {
        Self { moments: vec![Moments::default(); N_METRICS], ..Self::default() }
    }

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

    /// The means of inputs as a sample; none of numbers that a single input has no mean of.
    pub fn by_input(&self, metric: Metric) -> Option<Sample> {
        match metric {
            Metric::Kind(Detector::Positional) | Metric::Of(Quantity::DistanceVariance) => None,
            _ => self.moments.get(metric.slot())?.by_input(),
        }
    }

    /// Adds the pattern of an input to the metrics that are defined; which slots it has something for, as bits.
    fn add(&mut self, (of, defined, counts): DefinedFor<'_>, head: &HeadRows<'_>) -> u64 {
        let HeadRows { pattern, choices, sinks, scores } = head;
        let tokens = of.tokens();
        let n_queries = pattern.n_rows();
        let exact = OnceCell::new();
        let in_order = defined[Metric::Kind(Detector::Positional).slot()];
        let mut tallies = Tallies::new(defined);
        let mut largest = LargestOffsets::default();
        let mut scratch = Scratch::default();
        for (query, weights) in pattern.rows().enumerate() {
            scratch.fill(query, weights, choices);
            let sink = sinks.map(|sinks| sinks.get(query).copied().map_or(0.0, f64::from));
            let (logs, seen) = (&scratch.logs, &scratch.seen);
            let scores = if defined[Metric::Of(Quantity::ScoreSpread).slot()] && wants_scores(weights, seen) {
                exact.get_or_init(scores).as_ref().and_then(|scores| scores.row(query))
            } else {
                None
            };
            let row = SeenRow { query, n_queries, weights, logs, seen, scores, sink, facts: of, counts };
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
        kinds::add_whole(of, pattern, &mut tallies);
        let activation = activation::activation(pattern, tokens, !of.stack().is_between());
        let most = pattern.as_slice().iter().copied().max_by(f32::total_cmp);
        if let Some(most) = most {
            tallies.add(Quantity::Largest, f64::from(most));
        }
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
