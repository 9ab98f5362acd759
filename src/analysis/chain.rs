//! One weight from beginning to end: what a head computes for one query, step by step, from its query vector to what the
//! residual stream gets.
//!
//! ```text
//! q_i ⊙ k_j → q_i·k_j → scale, cap, bias, mask → normaliser → α_ij v_j → Σ_j → heads joined → W_O → residual stream
//! ```
//!
//! A scorer with a hidden layer begins with `W q_i`, `U k_j`, their sum, its activation and `v` times that.
//!
//! Every step is computed from the one before and held against the value that was recorded there.

use std::borrow::Cow;

use serde::{Deserialize, Serialize};

use super::attention::{self, ScoreStep};
use crate::{
    capture::{Bend, Capture, Matrix, Normalizer, Site},
    ids::HeadId,
};

/// The steps from one query to its weights and on, with one key looked at closely.
#[derive(Clone, Debug, PartialEq)]
pub struct Chain {
    pub head: HeadId,
    pub query: usize,
    pub key: usize,
    pub against: Against,
    /// The key that the one looked at is compared with, where that is one.
    pub compared: Option<usize>,
    pub steps: Vec<Step>,
    /// `[key]`: the row of the pattern.
    pub weights: Vec<f32>,
    /// The part of the row that went to a learned sink.
    pub sink: f32,
}

/// The key vector's counterpart: what is equal in both drops out of the difference.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Against {
    #[default]
    Nothing,
    /// The mean of all keys that the query sees: as softmax counts a score.
    Mean,
    /// The strongest other key: the difference of the scores is the logarithm of the quotient of the two weights.
    Next,
}

vocabulary! {
    Against: name, title;
    Nothing("none", "Nothing"),
    Mean("mean", "The mean of all keys"),
    Next("next", "The strongest other key"),
}

/// One step with its values.
#[derive(Clone, Debug, PartialEq)]
pub struct Step {
    pub kind: StepKind,
    pub over: Over,
    pub values: Vec<f32>,
    /// How far the recorded values are from those that follow from the step before, in units of the largest, at least 1;
    /// `None` where there is nothing to compare.
    pub deviation: Option<f32>,
}

/// What a step does.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum StepKind {
    /// `q_i`.
    Query,
    /// `k_j`, less what it is compared with.
    Key,
    /// `q_i ⊙ k_j`.
    Products,
    /// `q_i · k_j` for each key.
    Dots,
    /// `W q_i`, what the query brings to the hidden layer of a scorer.
    HiddenQuery,
    /// `U k_j + b`, what the key brings to it.
    HiddenKey,
    /// `W q_i + U k_j + b`.
    HiddenSum,
    /// The activation of that.
    Bent(Bend),
    /// The energy times that: it adds up to the score.
    Weighted,
    /// The same, added up for each key.
    Energies,
    Score(ScoreStep),
    /// Scores that are no product of a query and a key, as recorded.
    Scores,
    Weights(Normalizer),
    /// `α_ij v_j`.
    Weighed,
    /// `z_i = Σ_j α_ij v_j`.
    Mixed,
    /// `z_i` of all heads of the layer.
    Joined,
    /// `z_i W_O + b_O`.
    Output,
    /// What the stream was, with that added.
    Added,
    /// The stream between attention and MLP, where it is not that sum alone.
    Stream,
}

/// What the values of a step are of: steps over the same share their columns.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Over {
    /// Dimensions of queries and keys.
    Vector,
    /// Dimensions of the hidden layer of a scorer.
    Hidden,
    Keys,
    /// Dimensions of values.
    Value,
    /// Dimensions of the values of all heads.
    Heads,
    /// Dimensions of the residual stream.
    Stream,
}

/// What the columns that are not shown hold.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HiddenColumns {
    pub n: usize,
    /// What they add up to.
    pub sum: f64,
    /// The largest size among them.
    pub largest: f32,
    /// Whether none of them is a number.
    pub is_masked: bool,
}

impl Chain {
    /// The chain of a query of a head; `None` where its pattern is not known, or where there is no such query or key.
    pub fn of(capture: &Capture, head: HeadId, query: usize, key: usize, against: Against) -> Option<Self> {
        let weights = attention::pattern_rows(capture, head, query..query + 1)?.row(0)?.to_vec();
        let sink = capture.sink(head).map_or(0.0, |sink| sink[query]);
        let mut chain = Self { head, query, key, against, compared: None, steps: Vec::new(), weights, sink };
        if key >= chain.weights.len() {
            return None;
        }
        chain.score(capture);
        chain.mix(capture);
        chain.leave(capture);
        Some(chain)
    }

    /// From the query to its weights.
    fn score(&mut self, capture: &Capture) {
        let (head, query) = (self.head, self.query);
        let stored = capture.layer(head).and_then(|layer| layer.scores()?.head(head.head));
        let stored = stored.and_then(|scores| scores.row(query).map(<[f32]>::to_vec));
        let mut scores = stored.clone();
        if let Some(row) = attention::row_by_steps(capture, head, query) {
            let last = row.scores().to_vec();
            let products = if self.hidden(capture).is_some() { StepKind::Energies } else { StepKind::Dots };
            self.vectors(capture, &last);
            self.add(products, Over::Keys, row.products);
            for (step, row) in row.steps {
                self.add(StepKind::Score(step), Over::Keys, row);
            }
            if let Some(step) = self.steps.last_mut() {
                step.deviation = stored.map(|stored| deviation(&last, &stored));
            }
            scores = scores.or(Some(last));
        } else if let Some(scores) = &scores {
            self.add(StepKind::Scores, Over::Keys, scores.clone());
        }
        let expected = scores.and_then(|scores| {
            let row = Matrix::new(scores.clone(), [1, scores.len()]).ok()?;
            Some(attention::pattern_rows_from(capture, head, &row, query)?.row(0)?.to_vec())
        });
        let normalizer = capture.computation().normalizer_of(head);
        self.add(StepKind::Weights(normalizer), Over::Keys, self.weights.clone());
        if let Some(step) = self.steps.last_mut() {
            step.deviation = expected.map(|expected| deviation(&expected, &self.weights));
        }
    }

    /// The hidden layer of a scorer that has one.
    fn hidden(&mut self, capture: &Capture) -> Option<()> {
        let scorer = capture.layer(self.head)?.scorer.as_ref()?;
        let narrow = |values: Vec<f64>| values.into_iter().map(|value| value as f32).collect::<Vec<f32>>();
        let key = scorer.key(self.key)?.to_vec();
        let (sum, parts) = (scorer.sum(self.query, self.key)?, scorer.parts(self.query, self.key)?);
        if let Some(query) = scorer.query(self.query) {
            self.add(StepKind::HiddenQuery, Over::Hidden, query.to_vec());
            self.add(StepKind::HiddenKey, Over::Hidden, key);
            self.add(StepKind::HiddenSum, Over::Hidden, narrow(sum.clone()));
        } else {
            self.add(StepKind::HiddenKey, Over::Hidden, key);
        }
        let bent = sum.into_iter().map(|sum| scorer.bend.of(sum)).collect();
        self.add(StepKind::Bent(scorer.bend), Over::Hidden, narrow(bent));
        self.add(StepKind::Weighted, Over::Hidden, narrow(parts));
        Some(())
    }

    /// The query, the key and their product.
    fn vectors(&mut self, capture: &Capture, scores: &[f32]) -> Option<()> {
        let is_global = capture.global_tokens(self.head).binary_search(&self.query).is_ok();
        let keys = if is_global { capture.k_global(self.head)? } else { capture.k(self.head)? };
        let q = capture.q(self.head)?.row(self.query)?.to_vec();
        let mut k = keys.row(self.key)?.to_vec();
        let seen = (0..scores.len()).filter(|key| scores[*key].is_finite());
        let others: Vec<usize> = match self.against {
            Against::Nothing => Vec::new(),
            Against::Mean => seen.collect(),
            Against::Next => {
                self.compared = self.strongest(seen.filter(|key| *key != self.key));
                self.compared.into_iter().collect()
            }
        };
        let share = 1.0 / others.len().max(1) as f32;
        for other in others {
            k.iter_mut().zip(keys.row(other)?).for_each(|(k, other)| *k -= share * other);
        }
        let products = q.iter().zip(&k).map(|(q, k)| q * k).collect();
        self.add(StepKind::Query, Over::Vector, q);
        self.add(StepKind::Key, Over::Vector, k);
        self.add(StepKind::Products, Over::Vector, products);
        Some(())
    }

    /// What the key is compared with, as score decomposition calls it: `none`, `mean` or a position.
    pub fn than(&self) -> Cow<'static, str> {
        match self.compared {
            Some(other) => Cow::Owned(other.to_string()),
            None if self.against == Against::Mean => Cow::Borrowed(Against::Mean.name()),
            None => Cow::Borrowed(Against::Nothing.name()),
        }
    }

    /// The key of the largest weight among some, the first of equals.
    fn strongest(&self, keys: impl Iterator<Item = usize>) -> Option<usize> {
        keys.max_by(|a, b| self.weights[*a].total_cmp(&self.weights[*b]).then(b.cmp(a)))
    }

    /// From the weights to what the head hands on.
    fn mix(&mut self, capture: &Capture) -> Option<()> {
        let layer = capture.layer(self.head)?;
        let is_global = capture.global_tokens(self.head).binary_search(&self.query).is_ok();
        let values = if is_global { capture.v_global(self.head)? } else { capture.v(self.head)? };
        let weight = self.weights[self.key];
        self.add(StepKind::Weighed, Over::Value, values.row(self.key)?.iter().map(|value| weight * value).collect());
        let mut sum = vec![0.0f64; values.n_cols()];
        for (weight, row) in self.weights.iter().zip(values.rows()) {
            sum.iter_mut().zip(row).for_each(|(sum, value)| *sum += f64::from(*weight) * f64::from(*value));
        }
        let sum: Vec<f32> = sum.into_iter().map(|sum| sum as f32).collect();
        let z = layer.z().and_then(|z| z.head(self.head.head)?.row(self.query).map(<[f32]>::to_vec));
        self.add(StepKind::Mixed, Over::Value, z.clone().unwrap_or_else(|| sum.clone()));
        if let Some(step) = self.steps.last_mut() {
            step.deviation = z.map(|z| deviation(&sum, &z));
        }
        Some(())
    }

    /// From the head to the residual stream.
    fn leave(&mut self, capture: &Capture) -> Option<()> {
        let layer = capture.layer(self.head)?;
        if let Some(z) = layer.z().filter(|z| z.shape()[0] > 1) {
            let heads = (0..z.shape()[0]).filter_map(|head| Some(z.head(head)?.row(self.query)?.to_vec()));
            self.add(StepKind::Joined, Over::Heads, heads.collect::<Vec<_>>().concat());
        }
        let added = layer.rows(Site::AttnOut)?.row(self.query)?;
        self.add(StepKind::Output, Over::Stream, added.to_vec());
        // A guest is recorded apart from the stream that it adds to.
        if self.head.stack.is_guest() {
            return None;
        }
        let mid = layer.rows(Site::ResidMid)?.row(self.query)?;
        let beside = self.head.stack.beside().and_then(|stack| capture.layer(HeadId { stack, ..self.head }));
        let beside = beside.and_then(|layer| layer.rows(Site::AttnOut)?.row(self.query));
        let mut sum = layer.resid_pre()?.row(self.query)?.to_vec();
        for added in beside.into_iter().chain([added]) {
            sum.iter_mut().zip(added).for_each(|(sum, added)| *sum += added);
        }
        let deviation = deviation(&sum, mid);
        let is_sum = deviation <= SUM;
        self.add(if is_sum { StepKind::Added } else { StepKind::Stream }, Over::Stream, mid.to_vec());
        self.steps.last_mut()?.deviation = is_sum.then_some(deviation);
        Some(())
    }

    fn add(&mut self, kind: StepKind, over: Over, values: Vec<f32>) {
        self.steps.push(Step { kind, over, values, deviation: None });
    }

    /// The numbers of the query and the key whose product a value is, where it is one.
    pub fn factors(&self, step: &Step, column: usize) -> Option<[f32; 2]> {
        let of = |kind: StepKind| self.steps.iter().find(|step| step.kind == kind)?.values.get(column).copied();
        (step.kind == StepKind::Products).then(|| Some([of(StepKind::Query)?, of(StepKind::Key)?]))?
    }

    /// The columns that count most, in their order, at most so many: of keys the one that is looked at is among them.
    pub fn columns(&self, over: Over, most: usize) -> Vec<usize> {
        let of = |kinds: &[StepKind]| self.steps.iter().find(|step| kinds.contains(&step.kind));
        let ranked_by = match over {
            Over::Vector => of(&[StepKind::Products]),
            Over::Hidden => of(&[StepKind::Weighted]),
            Over::Keys => None,
            Over::Value => of(&[StepKind::Mixed]),
            Over::Heads => of(&[StepKind::Joined]),
            Over::Stream => of(&[StepKind::Output]),
        };
        let values = ranked_by.map_or(&self.weights, |step| &step.values);
        let mut order: Vec<usize> = (0..values.len()).collect();
        let is_looked_at = |column: usize| over == Over::Keys && column == self.key;
        let size = |column: usize| if is_looked_at(column) { f32::INFINITY } else { values[column].abs() };
        order.sort_by(|a, b| size(*b).total_cmp(&size(*a)).then(a.cmp(b)));
        order.truncate(most);
        order.sort_unstable();
        order
    }

    /// The query and the key that are looked at where not both are held: the strongest weight of a query on another token
    /// that is neither special nor the first, else the strongest of all.
    pub fn pair(capture: &Capture, head: HeadId, [query, key]: [Option<usize>; 2]) -> Option<(usize, usize)> {
        if let (Some(query), Some(key)) = (query, key) {
            return Some((query, key));
        }
        let end = query.map_or(capture.query_tokens(head.stack).len(), |query| query + 1);
        // Of a long text the last queries alone: nobody waits for all pairs.
        let most = MOST_PAIRS / capture.key_tokens(head.stack).len().max(1);
        let first = query.unwrap_or_else(|| end.saturating_sub(most.max(1)));
        let pattern = attention::pattern_rows(capture, head, first..end)?;
        let (queries, keys) = (capture.query_tokens(head.stack), capture.key_tokens(head.stack));
        let one_side = head.stack.query_side() == head.stack.key_side();
        let is_word = |query: usize, key: usize| {
            let special = queries.get(query).is_some_and(|token| token.special)
                || keys.get(key).is_some_and(|token| token.special);
            !special && !(one_side && (key == query || key == 0))
        };
        let cells = (first..).zip(pattern.rows()).flat_map(|(query, row)| {
            row.iter().enumerate().map(move |(key, weight)| (*weight > 0.0 && is_word(query, key), *weight, query, key))
        });
        let meant = cells.filter(|(_, _, _, at)| key.is_none_or(|key| key == *at));
        let best = meant.max_by(|a, b| a.0.cmp(&b.0).then(a.1.total_cmp(&b.1)).then((b.2, b.3).cmp(&(a.2, a.3))))?;
        Some((best.2, best.3))
    }
}

/// Pairs among which a strongest one is looked for.
const MOST_PAIRS: usize = 1 << 19;
/// A stream this near to the sum of what entered and what attention added is that sum.
const SUM: f32 = 1e-4;

impl Step {
    /// What the columns that are not among these hold; `None` where all are.
    pub fn rest(&self, columns: &[usize]) -> Option<HiddenColumns> {
        let hidden: Vec<f32> = (0..self.values.len())
            .filter(|column| !columns.contains(column))
            .map(|column| self.values[column])
            .collect();
        let finite = hidden.iter().filter(|value| value.is_finite());
        let is_masked = finite.clone().next().is_none();
        let (sum, largest) =
            finite.fold((0.0, 0.0f32), |(sum, largest), it| (sum + f64::from(*it), it.abs().max(largest)));
        (!hidden.is_empty()).then_some(HiddenColumns { n: hidden.len(), sum, largest, is_masked })
    }

    /// Whether the values are attention weights.
    pub const fn is_weights(&self) -> bool {
        matches!(self.kind, StepKind::Weights(_))
    }

    /// What all values add up to.
    pub fn sum(&self) -> f64 {
        self.values.iter().map(|value| f64::from(*value)).sum()
    }

    /// The length of the vector.
    pub fn norm(&self) -> f64 {
        self.values.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt()
    }
}

/// The largest difference, in units of the largest size, at least 1; equal infinities do not differ.
fn deviation(expected: &[f32], found: &[f32]) -> f32 {
    let largest = found.iter().filter(|value| value.is_finite()).fold(1.0f32, |most, value| most.max(value.abs()));
    let pairs = expected.iter().zip(found).filter(|(a, b)| a != b);
    pairs
        .map(|(a, b)| (a - b).abs() / largest)
        .fold(0.0, |most, next| if next > most || next.is_nan() { next } else { most })
}
