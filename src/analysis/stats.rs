//! Numbers that sum a head up: how peaked it is, how far it looks, and at what.

use crate::{
    analysis::attention,
    capture::{AppliedEdit, Capture, Edit, Matrix, RowMass},
    ids::{HeadId, StackKind},
    spec::{Mask, Visibility},
};

/// One head's pattern in numbers; all are means over queries unless said otherwise.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeadStats {
    /// Entropy in nats; a learned sink is one more choice.
    pub entropy: f32,
    /// Entropy as a fraction of what the row could have at most (the logarithm of its [`Choices`], with a sink one
    /// more), `0..=1`. Rows with a single visible key are left out: they have no choice.
    pub entropy_fraction: f32,
    /// Mean distance in tokens between query and key; `None` for cross-attention.
    pub distance: Option<f32>,
    /// Mass on the first key.
    pub on_first: f32,
    /// Mass on the key before the query; 0 for the first query. `None` for cross-attention.
    pub on_previous: Option<f32>,
    /// Mass on the query's own position; `None` for cross-attention.
    pub on_self: Option<f32>,
    pub on_special: f32,
    /// The largest weight of any row (not a mean).
    pub max_weight: f32,
    /// What the rows hold; entropies mean nothing of incomplete ones, and of those that are no distribution.
    pub rows: RowMass,
    /// Mean distance between a patch and the patches it attends to, in pixels as the model sees them; `None`
    /// where tokens are no patches.
    pub patch_distance: Option<f32>,
}

/// How many keys each query of a head had to choose from: what masks, sliding windows and changes of the run leave.
#[derive(Clone, Debug)]
pub struct Choices<'a> {
    visibility: Visibility<'a>,
    n_query: usize,
    head: HeadId,
    /// Changes that take keys from queries.
    hiding: Vec<&'a Edit>,
}

impl<'a> Choices<'a> {
    /// Of `n_query` queries behind a mask.
    pub fn behind(mask: Mask, n_query: usize) -> Self {
        Self { visibility: Visibility { mask, global: &[] }, n_query, head: HeadId::default(), hiding: Vec::new() }
    }

    /// Of a head of a run.
    pub fn of(capture: &'a Capture, head: HeadId) -> Self {
        let known = capture.computation().edits.iter().filter_map(AppliedEdit::known);
        Self {
            visibility: capture.visibility_of(head).unwrap_or_default(),
            n_query: capture.query_tokens(head.stack).len(),
            head,
            hiding: known.filter(|edit| edit.hides(head).is_some()).collect(),
        }
    }

    /// Puts the keys that one query, whose row has these weights, had to choose from into `keys`, upwards. A pattern that was
    /// set may have weights where nothing was to be seen; where it has more than there were keys to see, those are the keys.
    pub fn keys(&self, query: usize, row: &[f32], keys: &mut Vec<usize>) {
        keys.clear();
        keys.extend(self.visibility.keys(query, self.n_query, row.len()));
        if !self.hiding.is_empty() {
            let hiding: Vec<_> = self.hiding.iter().filter_map(|edit| edit.hides(self.head)).collect();
            keys.retain(|key| !hiding.iter().any(|hides| hides(query, *key)));
        }
        let with_weight = || row.iter().enumerate().filter(|(_, weight)| **weight > 0.0).map(|(key, _)| key);
        if with_weight().count() > keys.len() {
            keys.clear();
            keys.extend(with_weight());
        }
    }
}

/// Sums up one pattern `[query, key]`.
///
/// `sink[query]` is what went to a learned sink. `special[key]` says which keys are special tokens; missing entries mean no. `square` says that queries
/// and keys are the same sequence, which distances need.
pub fn head_stats(
    pattern: &Matrix,
    sink: Option<&[f32]>,
    special: &[bool],
    choices: Choices<'_>,
    square: bool,
) -> HeadStats {
    let mut sums = StatSums::new(sink, special, choices);
    sums.add(0, pattern);
    sums.stats(square)
}

/// The logarithm of a weight; minus infinity of 0.
pub fn logarithm(weight: f32) -> f64 {
    if weight > 0.0 { f64::from(weight).ln() } else { f64::NEG_INFINITY }
}

/// The entropy of a row in nats, from its weights and their logarithms; a learned sink is one more choice.
pub fn entropy(row: &[f32], logs: &[f64], sink: Option<f64>) -> f64 {
    let part = |(weight, log): (&f32, &f64)| if *weight > 0.0 { f64::from(*weight) * log } else { 0.0 };
    let sink = sink.filter(|weight| *weight > 0.0).map_or(0.0, |weight| weight * weight.ln());
    -(row.iter().zip(logs).map(part).sum::<f64>() + sink)
}

/// [`head_stats`] of a pattern that is seen part by part.
#[derive(Clone, Debug)]
pub struct StatSums<'a> {
    sink: Option<&'a [f32]>,
    special: &'a [bool],
    choices: Choices<'a>,
    sums: Sums,
    n_rows: usize,
    /// Logarithms of the row at hand.
    logs: Vec<f64>,
    /// Keys that its query sees.
    seen: Vec<usize>,
}

impl<'a> StatSums<'a> {
    /// Of no row yet.
    pub fn new(sink: Option<&'a [f32]>, special: &'a [bool], choices: Choices<'a>) -> Self {
        Self { sink, special, choices, sums: Sums::default(), n_rows: 0, logs: Vec::new(), seen: Vec::new() }
    }

    /// Adds the rows of `part`, which begins with the query `first`.
    pub fn add(&mut self, first: usize, part: &Matrix) {
        let sums = &mut self.sums;
        self.n_rows += part.n_rows();
        for (query, row) in (first..).zip(part.rows()) {
            let mut distance = 0.0f32;
            for (key, &weight) in row.iter().enumerate() {
                if weight > 0.0 {
                    distance += weight * key.abs_diff(query) as f32;
                    sums.max_weight = sums.max_weight.max(weight);
                }
            }
            let to_sink = self.sink.map(|sink| sink.get(query).copied().map_or(0.0, f64::from));
            self.logs.clear();
            self.logs.extend(row.iter().map(|weight| logarithm(*weight)));
            let entropy = entropy(row, &self.logs, to_sink);
            sums.entropy += entropy;
            sums.distance += f64::from(distance);
            self.choices.keys(query, row, &mut self.seen);
            let n_choices = self.seen.len() + usize::from(to_sink.is_some());
            if n_choices > 1 {
                sums.fraction += entropy / (n_choices as f64).ln();
                sums.n_fraction += 1;
            }
            let at = |key: usize| f64::from(row.get(key).copied().unwrap_or(0.0));
            sums.first += at(0);
            sums.own += at(query);
            sums.previous += query.checked_sub(1).map_or(0.0, at);
            sums.special += row.iter().zip(self.special).filter(|(_, s)| **s).map(|(&w, _)| f64::from(w)).sum::<f64>();
        }
    }

    /// The numbers of all rows so far.
    pub fn stats(&self, square: bool) -> HeadStats {
        let sums = &self.sums;
        let mean = |sum: f64| (sum / self.n_rows.max(1) as f64) as f32;
        HeadStats {
            entropy: mean(sums.entropy),
            entropy_fraction: (sums.fraction / sums.n_fraction.max(1) as f64) as f32,
            distance: square.then(|| mean(sums.distance)),
            on_first: mean(sums.first),
            on_previous: square.then(|| mean(sums.previous)),
            on_self: square.then(|| mean(sums.own)),
            on_special: mean(sums.special),
            max_weight: sums.max_weight,
            rows: RowMass::Full,
            patch_distance: None,
        }
    }
}

/// Sums up one head; `None` where there is no pattern.
pub fn of_head(capture: &Capture, head: HeadId) -> Option<HeadStats> {
    let pattern = attention::pattern(capture, head)?;
    let special: Vec<bool> = capture.key_tokens(head.stack).iter().map(|token| token.special).collect();
    let square = head.stack.query_side() == head.stack.key_side();
    let (rows, sink, choices) = (capture.row_mass(head), capture.sink(head), Choices::of(capture, head));
    Some(HeadStats { rows, ..head_stats(&pattern, sink, &special, choices, square) })
}

/// Sums up every head of one stack, by layer then head; `None` where there is no pattern.
pub fn stack_stats(capture: &Capture, stack: StackKind) -> Vec<Vec<Option<HeadStats>>> {
    let layers = capture.model().stack(stack).map_or(&[][..], |spec| &spec.layers).iter().enumerate();
    let of_layer = |(layer, shape): (usize, &crate::spec::LayerSpec)| {
        (0..shape.n_heads).map(|head| of_head(capture, HeadId { stack, layer, head })).collect()
    };
    layers.map(of_layer).collect()
}

#[derive(Clone, Debug, Default)]
struct Sums {
    entropy: f64,
    fraction: f64,
    n_fraction: usize,
    distance: f64,
    first: f64,
    own: f64,
    previous: f64,
    special: f64,
    max_weight: f32,
}
