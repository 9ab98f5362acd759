//! Known kinds of heads: their detectors, row by row, and those of patches and sentences, input by input.

use super::{
    metric::Metric,
    row::{SeenRow, Tallies},
};
use crate::{
    analysis::detect::{Detector, StackFacts},
    capture::Matrix,
};

/// Adds what detectors say of a row.
pub fn add(row: &SeenRow<'_>, tallies: &mut Tallies<'_>) {
    for detector in Detector::ALL {
        let metric = Metric::Kind(detector);
        if tallies.is_defined(metric) {
            tallies.add_kind(metric, row.tokens.of_row(detector, row.query, row.weights));
        }
    }
}

/// Adds what detectors of patches and sentences say of a whole pattern, which counts as one.
pub fn add_whole(facts: &StackFacts, pattern: &Matrix, tallies: &mut Tallies<'_>) {
    let receiver = Metric::Kind(Detector::Receiver);
    if tallies.is_defined(receiver) {
        tallies.add_kind(receiver, facts.tokens().sentences().kurtosis(pattern));
    }
    for detector in [Detector::Distance, Detector::Hue, Detector::Brightness] {
        let metric = Metric::Kind(detector);
        if tallies.is_defined(metric) {
            tallies.add_kind(metric, facts.of_patches(detector, pattern).map(f64::from));
        }
    }
}
