//! Known kinds of heads: their detectors, row by row, and those of whole patterns, input by input.

use super::{
    metric::{Metric, Quantity},
    row::{SeenRow, Tallies},
};
use crate::{
    analysis::detect::{Detector, StackFacts},
    capture::Matrix,
};

/// Adds what detectors say of a row.
pub fn add(row: &SeenRow<'_>, tallies: &mut Tallies<'_>) {
    for detector in Detector::ALL.into_iter().filter(|detector| !detector.is_of_whole()) {
        let metric = Metric::Kind(detector);
        if tallies.is_defined(metric) {
            tallies.add_kind(metric, row.facts.of_row(detector, row.query, row.weights));
        }
    }
}

/// Adds what detectors say of a whole pattern, which counts as one; that of one distance is of all inputs together.
pub fn add_whole(facts: &StackFacts, pattern: &Matrix, tallies: &mut Tallies<'_>) {
    for detector in Detector::ALL.into_iter().filter(|it| it.is_of_whole() && *it != Detector::Positional) {
        let metric = Metric::Kind(detector);
        if tallies.is_defined(metric) {
            tallies.add_kind(metric, facts.of_whole(detector, pattern));
        }
    }
    if tallies.has(Quantity::CommonGain)
        && let Some((weight, share)) = facts.common(pattern)
    {
        tallies.add(Quantity::CommonGain, f64::from(weight - share));
    }
}
