//! Heads in the order of a number, on one input.

use super::{HeadRows, HeadSums, Metric, RowFacts, check};
use crate::{
    analysis::{
        attention,
        detect::{Probe, StackFacts, Undefined},
    },
    capture::Capture,
    ids::{HeadId, StackKind},
};

/// Heads with a number, the highest first, ties in order of layer and head.
#[derive(Clone, Debug, PartialEq)]
pub struct HeadOrder {
    pub score: Metric,
    /// Why no head has one, where that is so.
    pub heads: Result<Vec<(HeadId, f32)>, Undefined>,
}

impl HeadOrder {
    /// Heads with their numbers; none where the number is not defined.
    pub fn ranked(&self) -> &[(HeadId, f32)] {
        self.heads.as_deref().unwrap_or_default()
    }
}

/// Orders the heads of a stack by a number, on this input. `go_on` is asked between heads; `None` when it says no.
pub fn order(capture: &Capture, stack: StackKind, score: Metric, go_on: &mut dyn FnMut() -> bool) -> Option<HeadOrder> {
    let facts = Probe::new(capture, stack).into_facts();
    let layers = capture.model().stack(stack).map_or(&[][..], |spec| &spec.layers);
    let (mut ranked, mut why) = (Vec::new(), Undefined::NotRecorded);
    for (layer, shape) in layers.iter().enumerate() {
        for head in (0..shape.n_heads).map(|head| HeadId { stack, layer, head }) {
            if !go_on() {
                return None;
            }
            match number(score, capture, &facts, head) {
                Ok(number) => ranked.push((head, number)),
                Err(Undefined::NotRecorded) => {}
                Err(reason) => why = reason,
            }
        }
    }
    ranked.sort_by(|a, b| b.1.total_cmp(&a.1).then(a.0.cmp(&b.0)));
    Some(HeadOrder { score, heads: if ranked.is_empty() { Err(why) } else { Ok(ranked) } })
}

/// The number of one head, as the model computed its pattern.
fn number(metric: Metric, capture: &Capture, facts: &StackFacts, head: HeadId) -> Result<f32, Undefined> {
    if capture.model().is_effective(head) {
        return Err(Undefined::NoDistribution);
    }
    let pattern = attention::pattern(capture, head).ok_or(Undefined::NotRecorded)?;
    if let Metric::Kind(detector) = metric {
        return facts.score_of(detector, &pattern);
    }
    let rows = RowFacts::of(capture, &[head]);
    check(metric, facts, rows)?;
    let defined = Metric::ALL.map(|metric| check(metric, facts, rows).is_ok());
    let mut sums = HeadSums::new();
    sums.add((facts, &defined, None), &HeadRows::of(capture, head, &pattern));
    let statistic = sums.statistic(metric).ok_or(metric.nothing())?;
    Ok(statistic.value as f32)
}
