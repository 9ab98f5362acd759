//! [`Explained`]: what a method of the laboratory answered, read in place of attention.

use std::{
    hash::{Hash, Hasher},
    sync::Arc,
};

use super::{Heads, Reading, Refusal, Source, aggregate};
use crate::{
    analysis::explain::report::{Axis, Leaf, MethodSpec, Report, Value},
    capture::{Capture, Matrix},
    ids::{HeadId, Side, StackKind},
    text::counted,
};

/// One value of a report, for all stacks, layers and heads that it was computed for.
///
/// Two are equal when they are the same one, so it is a key like everything else in a [`Reading`].
#[derive(Clone, Debug)]
pub struct Explained(Arc<About>);

#[derive(Debug)]
struct About {
    title: String,
    name: String,
    report: Arc<Report>,
    signed: bool,
}

impl PartialEq for Explained {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl Eq for Explained {}

impl Hash for Explained {
    fn hash<H: Hasher>(&self, state: &mut H) {
        Arc::as_ptr(&self.0).addr().hash(state);
    }
}

/// What there is one number for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Extent {
    Tokens,
    /// Each token, in each layer.
    TokensOfLayers,
    Pairs,
    /// Each pair of tokens, in each layer.
    PairsOfLayers,
    /// Each pair of tokens, in each head.
    PairsOfHeads,
}

impl Extent {
    /// Whether it has a number for each pair, so that there are rows to tell apart.
    pub const fn is_of_pairs(self) -> bool {
        !matches!(self, Self::Tokens | Self::TokensOfLayers)
    }

    /// Whether another layer has other numbers.
    pub const fn is_of_layers(self) -> bool {
        !matches!(self, Self::Tokens | Self::Pairs)
    }
}

/// The name of a value without that of the stack or side it is of: the same value of another one has the same.
pub fn family(name: &str) -> &str {
    let is_of_stack =
        |last: &str| Side::from_name(last).is_some() || StackKind::ALL.into_iter().any(|stack| stack.name() == last);
    match name.rsplit_once('.') {
        Some((first, last)) if is_of_stack(last) => first,
        _ => name,
    }
}

/// Whether a value can stand in place of attention.
pub const fn can_be_shown(value: &Value) -> bool {
    matches!(value, Value::Tokens { .. } | Value::Matrix { .. } | Value::Heads { .. })
}

impl Explained {
    /// The value `name` of a report (or the [`family`] of names) by a method that people know as `title`; `None` where
    /// there is no such value of tokens or pairs.
    pub fn new(report: Arc<Report>, title: &str, name: &str) -> Option<Self> {
        let name = family(name).to_owned();
        let numbers = |value: &Value| match value {
            Value::Tokens { values, .. } => Some(values.iter().any(|value| *value < 0.0)),
            Value::Matrix { values, .. } => Some(values.as_slice().iter().any(|value| *value < 0.0)),
            Value::Heads { values, .. } => Some(values.as_slice().iter().any(|value| *value < 0.0)),
            _ => None,
        };
        let of_family = report.leaves().into_iter().filter(|leaf| family(&leaf.name) == name);
        let signed = of_family.filter_map(|leaf| numbers(leaf.value)).reduce(|any, signed| any || signed)?;
        Some(Self(Arc::new(About { title: title.to_owned(), name, report, signed })))
    }

    /// What people know the method as, with the options that tell it apart.
    pub fn title(&self) -> &str {
        &self.0.title
    }

    /// Which method.
    pub fn method(&self) -> &'static MethodSpec {
        self.0.report.method
    }

    /// Which of its values, by the names of the contract.
    pub fn name(&self) -> &str {
        &self.0.name
    }

    /// The whole answer.
    pub fn report(&self) -> &Report {
        &self.0.report
    }

    /// Whether some of its numbers are below 0, in any layer or head.
    pub fn is_signed(&self) -> bool {
        self.0.signed
    }

    /// What it is called beside numbers: `Rollout, scores`.
    pub fn label(&self) -> String {
        let value = self.0.name.replace(['_', '.'], " ");
        if value == "self" { self.0.title.clone() } else { format!("{}, {value}", self.0.title) }
    }

    /// What it explains: `“mat”`, `“mat” and not “rug”`; `None` where the method is about no output.
    pub fn outcome(&self) -> Option<String> {
        let parameter = |name: &str| {
            let found = self.0.report.parameters.iter().find(|(known, _)| known == name);
            found.and_then(|(_, value)| value.get("label")?.as_str()).map(|label| format!("“{label}”"))
        };
        let class = parameter("class")?;
        Some(match parameter("against") {
            Some(against) => format!("{class} and not {against}"),
            None => class,
        })
    }

    /// What is shown, in words: `Rollout, scores, why “mat”`.
    pub fn what(&self) -> String {
        match self.outcome() {
            Some(outcome) => format!("{}, why {outcome}", self.label()),
            None => self.label(),
        }
    }

    /// The same of some heads: of the head where it has numbers of heads, of the layer where it has those.
    pub fn what_of(&self, stack: StackKind, heads: &[HeadId]) -> String {
        let what = self.what();
        match (self.extent(stack), heads) {
            (Some(Extent::PairsOfHeads), [only]) => format!("{what}, of {only}"),
            (Some(Extent::PairsOfHeads), [_, ..]) => format!("{what}, of {}", counted(heads.len(), "head")),
            (Some(Extent::PairsOfLayers | Extent::TokensOfLayers), [first, ..]) => {
                format!("{what}, of layer {}", first.layer)
            }
            _ => what,
        }
    }

    /// What its numbers are of in a stack; `None` where it says nothing about its tokens.
    pub fn extent(&self, stack: StackKind) -> Option<Extent> {
        let leaf = self.leaf(stack, None)?;
        Some(match (leaf.value, leaf.layer) {
            (Value::Tokens { .. }, None) => Extent::Tokens,
            (Value::Tokens { .. }, Some(_)) => Extent::TokensOfLayers,
            (Value::Matrix { .. }, None) => Extent::Pairs,
            (Value::Matrix { .. }, Some(_)) => Extent::PairsOfLayers,
            _ => Extent::PairsOfHeads,
        })
    }

    /// The first part of the value that is about the tokens of a stack, of a layer where one is given.
    fn leaf(&self, stack: StackKind, layer: Option<usize>) -> Option<Leaf<'_>> {
        let (query, key) = (stack.query_side(), stack.key_side());
        let named = |leaf: &Leaf<'_>| leaf.name.rsplit_once('.').is_some_and(|(_, last)| last == stack.name());
        let fits = |leaf: &Leaf<'_>| {
            let of_layer = layer.is_none() || leaf.layer.is_none() || leaf.layer == layer;
            of_layer
                && family(&leaf.name) == self.0.name
                && match leaf.value {
                    Value::Tokens { axis, .. } => axis.side == key,
                    Value::Matrix { rows, cols, .. } | Value::Heads { rows, cols, .. } => {
                        rows.side == query && cols.side == key
                    }
                    _ => false,
                }
        };
        let mut found: Vec<Leaf<'_>> = self.0.report.leaves().into_iter().filter(fits).collect();
        // Of two stacks with the same tokens the one that is meant.
        let place = found.iter().position(named).unwrap_or(0);
        (place < found.len()).then(|| found.swap_remove(place))
    }

    /// The same reading of these numbers. They are of one run and of no other, so nothing is subtracted, and where
    /// heads have none of their own, there is nothing to take together.
    #[must_use]
    pub fn in_place_of(&self, reading: Reading) -> Reading {
        let stack = reading.heads.stack();
        let heads = match reading.heads {
            Heads::Many(many) if self.extent(stack) != Some(Extent::PairsOfHeads) => {
                let layer = match many.layers {
                    super::Which::These(layers) => layers.first().copied().unwrap_or(0),
                    super::Which::All => 0,
                };
                Heads::One(HeadId { stack, layer, head: 0 })
            }
            heads => heads,
        };
        Reading { source: Source::Explained(self.clone()), heads, minus: None, ..reading }
    }

    /// The numbers, `[query, key]`: rows and columns without an answer are NaN. With the heads they are of.
    ///
    /// # Errors
    /// When they are of other tokens than the stack's, or of another run.
    pub(super) fn gather(&self, capture: &Capture, heads: &Heads) -> Result<(Matrix, Vec<HeadId>), Refusal> {
        let stack = heads.stack();
        let extent = self.extent(stack).ok_or_else(|| Refusal::SaysNothing { what: self.label(), stack })?;
        match (heads, extent) {
            (Heads::Many(many), Extent::PairsOfHeads) => {
                let ids = aggregate::members(capture, many)?;
                match ids.as_slice() {
                    [] => Err(Refusal::NoHeads(stack)),
                    [only] => Ok((self.of_head(capture, *only)?, ids)),
                    _ => Ok((aggregate::together(&ids, many.how, |id| self.of_head(capture, id))?, ids)),
                }
            }
            (Heads::One(head), extent) => {
                let ids = match extent {
                    Extent::PairsOfHeads => vec![*head],
                    // Of all heads of the layer as one.
                    Extent::PairsOfLayers | Extent::TokensOfLayers => {
                        let n_heads = capture.model().layer_of(*head).map_or(0, |layer| layer.n_heads);
                        (0..n_heads).map(|idx| HeadId { head: idx, ..*head }).collect()
                    }
                    Extent::Tokens | Extent::Pairs => Vec::new(),
                };
                Ok((self.of_head(capture, *head)?, ids))
            }
            (Heads::Many(many), _) => {
                let head = HeadId { stack: many.stack, layer: 0, head: 0 };
                Ok((self.of_head(capture, head)?, Vec::new()))
            }
        }
    }

    fn of_head(&self, capture: &Capture, head: HeadId) -> Result<Matrix, Refusal> {
        let stack = head.stack;
        let (n_query, n_key) = (capture.query_tokens(stack).len(), capture.key_tokens(stack).len());
        let silent = || Refusal::SaysNothing { what: self.label(), stack };
        let leaf = self.leaf(stack, Some(head.layer)).ok_or_else(silent)?;
        let other_run = || Refusal::OfAnotherRun(self.label());
        let placed = |values: &Matrix, rows: &Axis, cols: &Axis| {
            let at = |axis: &Axis, n: usize, total: usize| -> Option<Vec<usize>> {
                let places: Vec<usize> = (0..n).map(|nth| axis.position(nth)).collect();
                (places.iter().all(|place| *place < total) && (axis.only.is_some() || n == total)).then_some(places)
            };
            let (rows, cols) = (at(rows, values.n_rows(), n_query)?, at(cols, values.n_cols(), n_key)?);
            let mut all = vec![f32::NAN; n_query * n_key];
            for (row, from) in rows.iter().zip(values.rows()) {
                for (col, value) in cols.iter().zip(from) {
                    all[row * n_key + col] = *value;
                }
            }
            Matrix::new(all, [n_query, n_key]).ok()
        };
        match leaf.value {
            // Every query has the same row: the one output that is explained.
            Value::Tokens { axis, values } => {
                let row = Matrix::new(values.clone(), [1, values.len()]).map_err(|_| other_run())?;
                let every = Axis::only(stack.query_side(), vec![0]);
                let placed = placed(&row, &every, axis).ok_or_else(other_run)?;
                let row = placed.row(0).unwrap_or_default();
                Matrix::new(row.repeat(n_query), [n_query, n_key]).map_err(|_| other_run())
            }
            Value::Matrix { rows, cols, values } => placed(values, rows, cols).ok_or_else(other_run),
            Value::Heads { rows, cols, values } => {
                let values = values.head(head.head).ok_or(Refusal::NotRecorded(head))?;
                placed(&values, rows, cols).ok_or_else(other_run)
            }
            _ => Err(silent()),
        }
    }

    /// What a row is called that stands for all queries.
    pub(super) fn row_text(&self, n_query: usize) -> String {
        self.outcome().unwrap_or_else(|| counted(n_query, "token"))
    }
}
