//! Result of every method: named values that know which tokens they are about.
//!
//! Files, tables and overlays are made from these alone, so that a method is written once.

mod document;
mod method;
mod question;
mod rows;

use std::borrow::Cow;

use crate::{
    capture::{Matrix, PerHead},
    ids::Side,
    outputs::OutputKind,
};

pub use document::{Document, model_json, spec_json, tokens_json};
pub use method::{Form, MethodPicture, MethodSpec, Scores, Sorted, ValueSpec};
pub use question::LabQuestion;
pub use rows::{ROW_NAMES, ReportRow};

/// The answer of one method.
#[derive(Clone, Debug, PartialEq)]
pub struct Report {
    pub method: &'static MethodSpec,
    /// Every option with the value it had, defaults included.
    pub parameters: Vec<(Cow<'static, str>, serde_json::Value)>,
    /// What came out, by the names of the contract, in the order in which it is shown.
    pub values: Vec<(Cow<'static, str>, Value)>,
    /// What a person should know about this very run: what was left out, what fell back to something else.
    pub notes: Vec<String>,
}

impl Report {
    /// An empty report.
    pub const fn new(method: &'static MethodSpec) -> Self {
        Self { method, parameters: Vec::new(), values: Vec::new(), notes: Vec::new() }
    }

    /// What the explained numbers are, where they are not one of several outcomes.
    pub fn outputs(&self) -> Option<OutputKind> {
        let (_, value) = self.parameters.iter().find(|(known, _)| known == "outputs")?;
        serde_json::from_value(value.clone()).ok()
    }

    /// What the explained number is called.
    pub fn raw(&self) -> &'static str {
        self.outputs().map_or("logit", OutputKind::raw)
    }

    /// Whether a score is explained.
    pub fn is_of_score(&self) -> bool {
        self.outputs() == Some(OutputKind::Scores)
    }

    /// With one more parameter.
    #[must_use]
    pub fn with_parameter(mut self, name: impl Into<Cow<'static, str>>, value: impl Into<serde_json::Value>) -> Self {
        self.parameters.push((name.into(), value.into()));
        self
    }

    /// With one more value.
    #[must_use]
    pub fn with_value(mut self, name: impl Into<Cow<'static, str>>, value: impl Into<Value>) -> Self {
        self.values.push((name.into(), value.into()));
        self
    }

    /// With one more note.
    #[must_use]
    pub fn with_note(mut self, note: impl Into<String>) -> Self {
        self.notes.push(note.into());
        self
    }

    /// The value of this name. Values within groups and layers are among the [`leaves`](Self::leaves).
    pub fn value(&self, name: &str) -> Option<&Value> {
        self.values.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    /// Every value that is not made of others, in order: what can be drawn, listed or laid over a view.
    pub fn leaves(&self) -> Vec<Leaf<'_>> {
        let mut leaves = Vec::new();
        for (name, value) in &self.values {
            value.add_leaves(name.to_string(), None, &mut leaves);
        }
        leaves
    }
}

/// A value of a report that is not made of others.
#[derive(Clone, Debug, PartialEq)]
pub struct Leaf<'a> {
    /// Its name, behind those of the groups around it: `relevance.cross`.
    pub name: String,
    /// The layer that it is of; none where it is of all, or of none.
    pub layer: Option<usize>,
    pub value: &'a Value,
}

/// Which tokens an axis runs over.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Axis {
    pub side: Side,
    /// Their positions where they are not all; none means every token in order.
    pub only: Option<Vec<usize>>,
}

impl Axis {
    /// Every token of a side.
    pub const fn all(side: Side) -> Self {
        Self { side, only: None }
    }

    /// Some tokens of a side, by position.
    pub const fn only(side: Side, positions: Vec<usize>) -> Self {
        Self { side, only: Some(positions) }
    }

    /// The position in the sequence of entry `nth` of this axis.
    pub fn position(&self, nth: usize) -> usize {
        self.only.as_ref().and_then(|positions| positions.get(nth).copied()).unwrap_or(nth)
    }
}

impl From<Side> for Axis {
    fn from(side: Side) -> Self {
        Self::all(side)
    }
}

/// One named result. Numbers that could not be computed are NaN and become `null` in files.
#[derive(Clone, Debug, PartialEq)]
pub enum Value {
    /// One number for each pair of tokens.
    Matrix {
        /// Tokens of the rows (queries, outputs).
        rows: Axis,
        /// Tokens of the columns (keys, inputs).
        cols: Axis,
        /// `[rows, cols]`.
        values: Matrix,
    },
    /// A matrix for each head of one layer.
    Heads {
        rows: Axis,
        cols: Axis,
        /// `[heads, rows, cols]`.
        values: PerHead,
    },
    /// One number for each token.
    Tokens {
        axis: Axis,
        /// As many as the axis has tokens.
        values: Vec<f32>,
    },
    /// One number for each position and layer.
    Grid {
        axis: Axis,
        /// The first layer of the columns.
        first_layer: usize,
        /// `[positions, layers]`.
        values: Matrix,
    },
    /// Named columns of one length.
    Table(Vec<TableColumn>),
    /// Numbers without tokens: one per head, per permutation, …
    List(Vec<f64>),
    Number(f64),
    Count(u64),
    /// Yes or no.
    Flag(bool),
    Text(String),
    /// One value for each layer, in order.
    Layers(Vec<Self>),
    /// Several values under names of their own: per stack, per order, …
    Group(Vec<(Cow<'static, str>, Self)>),
    /// Something that this input has no answer to, and why.
    Missing(String),
}

impl Value {
    /// A number for each token of a side.
    pub fn tokens(axis: impl Into<Axis>, values: Vec<f32>) -> Self {
        Self::Tokens { axis: axis.into(), values }
    }

    /// A number for each pair of tokens.
    pub fn matrix(rows: impl Into<Axis>, cols: impl Into<Axis>, values: Matrix) -> Self {
        Self::Matrix { rows: rows.into(), cols: cols.into(), values }
    }

    /// A matrix for each head of one layer.
    pub fn heads(rows: impl Into<Axis>, cols: impl Into<Axis>, values: PerHead) -> Self {
        Self::Heads { rows: rows.into(), cols: cols.into(), values }
    }

    fn add_leaves<'a>(&'a self, name: String, layer: Option<usize>, out: &mut Vec<Leaf<'a>>) {
        match self {
            Self::Layers(layers) => {
                for (layer, value) in layers.iter().enumerate() {
                    value.add_leaves(name.clone(), Some(layer), out);
                }
            }
            Self::Group(values) => {
                for (inner, value) in values {
                    value.add_leaves(format!("{name}.{inner}"), layer, out);
                }
            }
            value => out.push(Leaf { name, layer, value }),
        }
    }

    /// A number for each position and layer, `[positions, layers]`.
    pub fn grid(axis: impl Into<Axis>, values: Matrix) -> Self {
        Self::Grid { axis: axis.into(), first_layer: 0, values }
    }
}

impl From<f64> for Value {
    fn from(value: f64) -> Self {
        Self::Number(value)
    }
}

impl From<usize> for Value {
    fn from(value: usize) -> Self {
        Self::Count(value as u64)
    }
}

impl From<bool> for Value {
    fn from(value: bool) -> Self {
        Self::Flag(value)
    }
}

impl From<String> for Value {
    fn from(value: String) -> Self {
        Self::Text(value)
    }
}

impl From<Vec<f64>> for Value {
    fn from(value: Vec<f64>) -> Self {
        Self::List(value)
    }
}

/// One column of a table.
#[derive(Clone, Debug, PartialEq)]
pub struct TableColumn {
    pub name: Cow<'static, str>,
    pub cells: ColumnValues,
}

impl TableColumn {
    /// A column.
    pub fn new(name: impl Into<Cow<'static, str>>, cells: ColumnValues) -> Self {
        Self { name: name.into(), cells }
    }
}

/// The values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum ColumnValues {
    /// Layers, heads, positions, ids.
    Index(Vec<usize>),
    Number(Vec<f64>),
    Text(Vec<String>),
    /// Several words each: the most probable tokens, …
    Texts(Vec<Vec<String>>),
    Numbers(Vec<Vec<f64>>),
}

impl ColumnValues {
    /// Number of rows.
    pub const fn len(&self) -> usize {
        match self {
            Self::Index(cells) => cells.len(),
            Self::Number(cells) => cells.len(),
            Self::Text(cells) => cells.len(),
            Self::Texts(cells) => cells.len(),
            Self::Numbers(cells) => cells.len(),
        }
    }

    /// Whether there is no row.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }
}
