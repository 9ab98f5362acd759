//! Heads that are alike: cosines of their standardised numbers, with the numbers on which both stand out.

use super::{Metric, StackTable};
use crate::{ids::HeadId, text::decimal_text};

/// How far from the median a number is at most, in robust deviations: beyond that one number would decide alone.
const MOST: f64 = 4.0;
/// From how many robust deviations on a head stands out on a number.
pub(super) const STANDS_OUT: f64 = 1.0;
/// Median absolute deviations of a normal distribution in a standard deviation.
const NORMAL: f64 = 1.4826;
/// Numbers that are named as reasons.
const N_REASONS: usize = 3;

/// The standardised numbers of all heads of a table.
#[derive(Clone, Debug)]
pub struct Fingerprints {
    pub(super) heads: Vec<HeadId>,
    pub(super) metrics: Vec<Metric>,
    /// By head, then metric: the distance from the median of all heads in robust deviations, 0 where it is not defined.
    pub(super) of: Vec<Vec<f64>>,
}

/// A head that is like another one.
#[derive(Clone, Debug, PartialEq)]
pub struct Similar {
    pub head: HeadId,
    /// Cosine of the standardised numbers, from −1 to 1.
    pub cosine: f64,
    /// Numbers on which both stand out to the same side, with whether they are high there; those that matter most first.
    pub reasons: Vec<(Metric, bool)>,
}

impl Fingerprints {
    /// Of all heads: numbers in which most heads are equal have no deviation to be measured in, and are left out.
    pub fn of(table: &StackTable) -> Self {
        let (mut metrics, mut columns) = (Vec::new(), Vec::new());
        for column in &table.columns {
            let values: Vec<Option<f64>> =
                column.cells.iter().map(|cell| cell.map(|cell| cell.statistic.value)).collect();
            let Some(middle) = median(values.iter().flatten().copied().collect()) else { continue };
            let away = values.iter().flatten().map(|value| (value - middle).abs()).collect();
            let deviation = NORMAL * median(away).unwrap_or(0.0);
            if deviation <= f64::EPSILON * middle.abs().max(1.0) {
                continue;
            }
            let of = |value: &Option<f64>| value.map_or(0.0, |value| ((value - middle) / deviation).clamp(-MOST, MOST));
            metrics.push(column.metric);
            columns.push(values.iter().map(of).collect::<Vec<f64>>());
        }
        let of_head = |at: usize| columns.iter().map(|column| column[at]).collect();
        let of = (0..table.heads.len()).map(of_head).collect();
        Self { heads: table.heads.clone(), metrics, of }
    }

    /// The `n` heads that are most like one, the likest first; none of a head that is not there.
    pub fn similar_to(&self, head: HeadId, n: usize) -> Vec<Similar> {
        let Some(at) = self.heads.iter().position(|known| *known == head) else { return Vec::new() };
        let own = &self.of[at];
        let others = (0..self.heads.len()).filter(|other| *other != at);
        let mut cosines: Vec<(usize, f64)> =
            others.filter_map(|other| Some((other, cosine(own, &self.of[other])?))).collect();
        cosines.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
        let similar = |(other, cosine): (usize, f64)| {
            let reasons = self.reasons(own, &self.of[other]);
            Similar { head: self.heads[other], cosine, reasons }
        };
        cosines.into_iter().take(n).map(similar).collect()
    }

    fn reasons(&self, a: &[f64], b: &[f64]) -> Vec<(Metric, bool)> {
        let both = self.metrics.iter().zip(a.iter().zip(b));
        let mut shared: Vec<(f64, Metric, bool)> = both
            .filter(|(_, (a, b))| a.abs().min(b.abs()) >= STANDS_OUT && a.signum() == b.signum())
            .map(|(metric, (a, b))| (a * b, *metric, *a > 0.0))
            .collect();
        shared.sort_by(|a, b| b.0.total_cmp(&a.0));
        shared.into_iter().take(N_REASONS).map(|(_, metric, high)| (metric, high)).collect()
    }
}

impl Similar {
    /// Such as `L1H2 0.93: induction high, entropy low`.
    pub fn text(&self) -> String {
        let reasons = reasons_text(&self.reasons);
        let reasons = if reasons.is_empty() { "no number stands out in both".to_owned() } else { reasons };
        format!("{} {}: {reasons}", self.head, decimal_text(self.cosine))
    }
}

/// Such as `induction high; entropy low`.
pub(super) fn reasons_text(reasons: &[(Metric, bool)]) -> String {
    let of = |(metric, high): &(Metric, bool)| {
        format!("{} {}", metric.title().to_lowercase(), if *high { "high" } else { "low" })
    };
    reasons.iter().map(of).collect::<Vec<_>>().join("; ")
}

/// The cosine of two rows; none where one of them is 0.
pub(super) fn cosine(a: &[f64], b: &[f64]) -> Option<f64> {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let norms = (dot(a, a) * dot(b, b)).sqrt();
    (norms > 0.0).then(|| dot(a, b) / norms)
}

/// The middle value, or the mean of the two in the middle; none of no value.
fn median(mut values: Vec<f64>) -> Option<f64> {
    values.sort_by(f64::total_cmp);
    let n = values.len();
    let upper = *values.get(n / 2)?;
    Some(if n % 2 == 1 { upper } else { f64::midpoint(upper, values[n / 2 - 1]) })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{
        analysis::{
            detect::Detector,
            head_statistics::{MetricColumn, Quantity, RankedStatistic, Statistic},
        },
        ids::StackKind,
    };

    /// Heads of one layer with these numbers.
    fn table(columns: &[(Metric, &[f64])]) -> StackTable {
        let cell = |value: &f64| {
            let statistic = Statistic { value: *value, error: None, n_rows: 1, n_inputs: 1 };
            Some(RankedStatistic { statistic, rank: 1, n_ranked: 1 })
        };
        let column = |(metric, values): &(Metric, &[f64])| MetricColumn {
            metric: *metric,
            cells: values.iter().map(cell).collect(),
            left_out: Vec::new(),
        };
        StackTable {
            stack: StackKind::SelfAttention,
            heads: (0..columns[0].1.len()).map(|head| HeadId::single(0, head)).collect(),
            columns: columns.iter().map(column).collect(),
            undefined: Vec::new(),
            n_inputs: 1,
            n_queries: 1,
        }
    }

    #[test]
    fn heads_are_alike_by_the_numbers_on_which_both_stand_out() {
        let (induction, entropy) = (Metric::Kind(Detector::Induction), Metric::Of(Quantity::Entropy));
        let found = Fingerprints::of(&table(&[
            // Medians 0.2 and 2; median absolute deviations 0.1 and 1.
            (induction, &[0.9, 0.8, 0.1, 0.2, 0.0, 0.2, 0.1]),
            (entropy, &[0.5, 1.0, 3.0, 2.0, 4.0, 2.0, 3.0]),
            // Most heads are equal in it.
            (Metric::Of(Quantity::Largest), &[1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 0.2]),
        ]));
        assert_eq!(found.metrics, [induction, entropy]);
        let similar = found.similar_to(HeadId::single(0, 0), 6);
        assert_eq!(similar[0].head, HeadId::single(0, 1));
        // Both are cut at four deviations of induction; entropy is 1.5 and 1 below the median in units of 1.4826.
        let (x, y) = (-1.5 / 1.4826, -1.0 / 1.4826);
        let expected = (16.0 + x * y) / ((16.0f64 + x * x).sqrt() * (16.0f64 + y * y).sqrt());
        assert!((similar[0].cosine - expected).abs() < 1e-12, "{}", similar[0].cosine);
        assert_eq!(similar[0].reasons, [(induction, true)]);
        assert!(similar[0].text().ends_with("induction high"));
        // Heads in the middle have no direction, and the opposite comes last.
        assert_eq!(similar.len(), 4);
        assert!(similar.last().unwrap().cosine < 0.0 && similar.last().unwrap().reasons.is_empty());
        assert!(found.similar_to(HeadId::single(3, 0), 2).is_empty());
    }
}
