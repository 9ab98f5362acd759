//! Statistics as a table: a column for each metric, with ranks.

use super::{HeadStatistics, Metric, StackStatistics, Statistic, Thresholds};
use crate::{
    analysis::detect::Undefined,
    ids::{HeadId, StackKind},
    text::{decimal_text, ordinal_text, weight_text},
};

/// Statistics of the heads of a stack, a column for each metric.
#[derive(Clone, Debug, PartialEq)]
pub struct StackTable {
    pub stack: StackKind,
    /// In order of layer and head.
    pub heads: Vec<HeadId>,
    /// Those that are defined for some input, in the order of [`Metric::ALL`].
    pub columns: Vec<MetricColumn>,
    /// Those that are not defined for any input, with the reason.
    pub undefined: Vec<(Metric, Undefined)>,
    /// Inputs, and their queries.
    pub n_inputs: usize,
    pub n_queries: u64,
}

/// One metric of all heads.
#[derive(Clone, Debug, PartialEq)]
pub struct MetricColumn {
    pub metric: Metric,
    /// By head; `None` where it is not defined.
    pub cells: Vec<Option<RankedStatistic>>,
    /// Inputs for which it is not defined, by the reason.
    pub left_out: Vec<(Undefined, u64)>,
}

/// A number of a head, with its rank.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct RankedStatistic {
    pub statistic: Statistic,
    /// Heads with a higher number, plus one: 1 is the highest.
    pub rank: usize,
    /// Heads that have a number.
    pub n_ranked: usize,
}

impl RankedStatistic {
    /// Such as `0.41 ± 0.012`.
    pub fn text(&self) -> String {
        let error = self.statistic.error.map(|error| format!(" ± {}", weight_text(error))).unwrap_or_default();
        format!("{}{error}", decimal_text(self.statistic.value))
    }

    /// Such as `3rd of 144`.
    pub fn rank_text(&self) -> String {
        format!("{} of {}", ordinal_text(self.rank), self.n_ranked)
    }
}

impl HeadStatistics {
    /// The table of every stack.
    pub fn tables(&self) -> Vec<StackTable> {
        self.stacks.iter().map(|stack| stack.table(self.inputs.len())).collect()
    }
}

impl StackStatistics {
    /// The table of so many inputs.
    pub(super) fn table(&self, n_inputs: usize) -> StackTable {
        let column = |metric: Metric| MetricColumn {
            metric,
            cells: ranked(self.heads.iter().map(|head| head.statistic(metric)).collect()),
            left_out: self.undefined(metric).collect(),
        };
        let (columns, none): (Vec<_>, Vec<_>) =
            Metric::ALL.into_iter().map(column).partition(|column| column.cells.iter().any(Option::is_some));
        let reason = |column: MetricColumn| {
            let most = column.left_out.iter().max_by_key(|(_, n)| *n);
            (column.metric, most.map_or(Undefined::NotRecorded, |(reason, _)| *reason))
        };
        StackTable {
            stack: self.stack,
            heads: self.ids(),
            columns,
            undefined: none.into_iter().map(reason).collect(),
            n_inputs,
            n_queries: self.n_queries(),
        }
    }
}

impl StackTable {
    /// The column of a metric; none where it is not defined.
    pub fn column(&self, metric: Metric) -> Option<&MetricColumn> {
        self.columns.iter().find(|column| column.metric == metric)
    }

    /// The number of a head.
    pub fn cell(&self, metric: Metric, head: HeadId) -> Option<RankedStatistic> {
        let at = self.heads.binary_search(&head).ok()?;
        self.column(metric)?.cells[at]
    }

    /// What a head is called, the highest number in terms of the threshold first.
    pub fn kinds_of(&self, head: HeadId, thresholds: &Thresholds) -> Vec<(Metric, RankedStatistic)> {
        let of = |metric: Metric| {
            let from = f64::from(thresholds.of(metric)?);
            let cell = self.cell(metric, head)?;
            (cell.statistic.value >= from).then_some((cell.statistic.value / from.max(1e-6), metric, cell))
        };
        let mut kinds: Vec<_> = Metric::kinds().filter_map(of).collect();
        kinds.sort_by(|a, b| b.0.total_cmp(&a.0));
        kinds.into_iter().map(|(_, metric, cell)| (metric, cell)).collect()
    }
}

impl MetricColumn {
    /// Places of the heads that have a number, the highest first; equal ones in their order.
    pub fn order(&self) -> Vec<usize> {
        let mut order: Vec<usize> = (0..self.cells.len()).filter(|at| self.cells[*at].is_some()).collect();
        order.sort_by_key(|at| self.cells[*at].map_or(usize::MAX, |cell| cell.rank));
        order
    }
}

fn ranked(of: Vec<Option<Statistic>>) -> Vec<Option<RankedStatistic>> {
    let mut sorted: Vec<f64> = of.iter().flatten().map(|statistic| statistic.value).collect();
    sorted.sort_by(|a, b| b.total_cmp(a));
    let n_ranked = sorted.len();
    let cell = |statistic: Statistic| {
        let rank = sorted.partition_point(|other| *other > statistic.value) + 1;
        RankedStatistic { statistic, rank, n_ranked }
    };
    of.into_iter().map(|statistic| statistic.map(cell)).collect()
}
