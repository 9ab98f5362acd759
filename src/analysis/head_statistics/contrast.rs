//! Heads over some inputs held against the same heads over others, or against those of another model of equal layout.

use super::{HeadStatistics, Metric, StackStatistics};
use crate::{
    analysis::welch::{Contrast, Correction, Sample},
    ids::{HeadId, StackKind},
    spec::{ModelSpec, StackSpec},
    text::counted,
};

/// A corrected p-value below this is one of a head that differs.
pub const LEVEL: f64 = 0.05;

/// The heads of a stack, a column for each metric that both sides have.
#[derive(Clone, Debug, PartialEq)]
pub struct ContrastTable {
    pub stack: StackKind,
    /// In order of layer and head.
    pub heads: Vec<HeadId>,
    pub columns: Vec<ContrastColumn>,
    /// Inputs of both sides.
    pub n_inputs: [usize; 2],
}

/// One metric of all heads, on both sides.
#[derive(Clone, Debug, PartialEq)]
pub struct ContrastColumn {
    pub metric: Metric,
    /// By head; `None` where a side has no input with the number.
    pub cells: Vec<Option<ContrastCell>>,
}

/// A number of a head on both sides. Inputs count once, however long they are.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct ContrastCell {
    pub a: Sample,
    pub b: Sample,
    /// None where a side has a single input, or none of them varies.
    pub contrast: Option<Contrast>,
    /// Its p-value, corrected over the heads of the stack for this metric.
    pub corrected: Option<f64>,
}

/// Holds `b` against `a`, stack by stack: differences are those of `b` less `a`.
pub fn contrast(a: &HeadStatistics, b: &HeadStatistics, correction: Correction) -> Vec<ContrastTable> {
    let n_inputs = [a.inputs().len(), b.inputs().len()];
    let of = |stack: &StackStatistics| Some(of_stacks([stack, b.of_stack(stack.stack)?], n_inputs, correction));
    a.stacks().iter().filter_map(of).collect()
}

/// Holds a stack against the same of so many other inputs, or of another model.
pub(super) fn of_stacks(sides: [&StackStatistics; 2], n_inputs: [usize; 2], correction: Correction) -> ContrastTable {
    let heads = sides[0].ids();
    let column = |metric: Metric| ContrastColumn { metric, cells: cells(sides, &heads, metric, correction) };
    let mut columns: Vec<ContrastColumn> = Metric::ALL.into_iter().map(column).collect();
    columns.retain(|column| column.cells.iter().any(Option::is_some));
    ContrastTable { stack: sides[0].stack, heads, columns, n_inputs }
}

fn cells(
    [a, b]: [&StackStatistics; 2],
    heads: &[HeadId],
    metric: Metric,
    correction: Correction,
) -> Vec<Option<ContrastCell>> {
    let of = |head: &HeadId| {
        let (a, b) = (a.head(*head)?.by_input(metric)?, b.head(*head)?.by_input(metric)?);
        Some(ContrastCell { a, b, contrast: Contrast::of(a, b), corrected: None })
    };
    let mut cells: Vec<Option<ContrastCell>> = heads.iter().map(of).collect();
    let p: Vec<f64> = cells.iter().flatten().filter_map(|cell| Some(cell.contrast?.p)).collect();
    let corrected = correction.correct(&p);
    let tested = cells.iter_mut().flatten().filter(|cell| cell.contrast.is_some());
    tested.zip(corrected).for_each(|(cell, corrected)| cell.corrected = Some(corrected));
    cells
}

impl ContrastTable {
    /// The column of a metric; none where a side does not have it.
    pub fn column(&self, metric: Metric) -> Option<&ContrastColumn> {
        self.columns.iter().find(|column| column.metric == metric)
    }

    /// The numbers of a head on both sides.
    pub fn cell(&self, metric: Metric, head: HeadId) -> Option<ContrastCell> {
        let at = self.heads.binary_search(&head).ok()?;
        self.column(metric)?.cells[at]
    }

    /// Heads that differ in a metric, the largest effect first.
    pub fn differing(&self, metric: Metric) -> Vec<HeadId> {
        let Some(column) = self.column(metric) else { return Vec::new() };
        let differs = |at: &usize| column.cells[*at].is_some_and(|cell| cell.differs());
        column.order().into_iter().filter(differs).map(|at| self.heads[at]).collect()
    }
}

impl ContrastCell {
    /// The mean of the second side less that of the first.
    pub const fn difference(&self) -> f64 {
        self.b.mean - self.a.mean
    }

    /// Whether the corrected p-value is below [`LEVEL`].
    pub fn differs(&self) -> bool {
        self.corrected.is_some_and(|p| p < LEVEL)
    }
}

impl ContrastColumn {
    /// Places of the heads that were tested, the largest effect first, whichever way it goes.
    pub fn order(&self) -> Vec<usize> {
        let effect = |at: &usize| self.cells[*at].and_then(|cell| cell.contrast).map(|contrast| contrast.d.abs());
        let mut order: Vec<usize> = (0..self.cells.len()).filter(|at| effect(at).is_some()).collect();
        order.sort_by(|a, b| effect(b).unwrap_or(0.0).total_cmp(&effect(a).unwrap_or(0.0)).then(a.cmp(b)));
        order
    }
}

/// Why the heads of two models cannot be compared one by one, as a sentence; none where they have the same layout.
pub fn layouts_differ(a: &ModelSpec, b: &ModelSpec) -> Option<String> {
    let layout = |stack: &StackSpec| {
        let heads: Vec<usize> = stack.layers.iter().map(|layer| layer.n_heads).collect();
        (stack.kind, stack.causal, heads)
    };
    let layouts = [a, b].map(|model| model.stacks.iter().map(layout).collect::<Vec<_>>());
    if layouts[0] == layouts[1] {
        return None;
    }
    let words = |model: &ModelSpec| {
        let of = |stack: &StackSpec| {
            let way = if stack.causal { "causal" } else { "not causal" };
            let layers = counted(stack.layers.len(), "layer");
            format!("{} with {layers} of {}, {way}", stack.kind, counted(stack.max_heads(), "head"))
        };
        let stacks: Vec<String> = model.stacks.iter().map(of).collect();
        if stacks.is_empty() { "no attention".to_owned() } else { stacks.join(" and ") }
    };
    Some(format!(
        "the heads of the two models cannot be compared one by one: {} has {}, {} has {}. Name a model of the same layout, \
         such as the one that was fine-tuned from it",
        a.name,
        words(a),
        b.name,
        words(b)
    ))
}
