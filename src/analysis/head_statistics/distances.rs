//! How far a row looks.

use super::{
    metric::{NEAR, Quantity},
    row::{SeenRow, Tallies},
};

/// Adds distances in tokens, or between the places in two sequences.
pub fn add(row: &SeenRow<'_>, tallies: &mut Tallies<'_>) {
    let query = row.query;
    if tallies.has(Quantity::RelativeDistance) {
        let place = |at: usize, n: usize| at as f64 / n.max(1) as f64;
        let own = place(query, row.n_queries);
        let n_keys = row.weights.len();
        let far = row.seen.iter().map(|key| row.weight(*key) * (own - place(*key, n_keys)).abs()).sum();
        tallies.add(Quantity::RelativeDistance, far);
    }
    if !tallies.has(Quantity::TokenDistance) {
        return;
    }
    let (mut far, mut squared, mut signed) = (0.0, 0.0, 0.0);
    let (mut off_first, mut mass_off_first) = (0.0, 0.0);
    for (key, weight) in row.weights.iter().enumerate() {
        let (weight, offset) = (f64::from(*weight), key as f64 - query as f64);
        far += weight * offset.abs();
        squared += weight * offset * offset;
        signed += weight * offset;
        if key > 0 {
            off_first += weight * offset.abs();
            mass_off_first += weight;
        }
    }
    tallies.add(Quantity::TokenDistance, far);
    // The square of the mean is taken off in the end.
    tallies.add(Quantity::DistanceVariance, squared);
    tallies.add(Quantity::SignedDistance, signed);
    if mass_off_first > 0.0 {
        tallies.add_ratio(Quantity::DistanceOffFirst, off_first, mass_off_first);
    }
    let near = query.saturating_sub(NEAR)..(query + NEAR + 1).min(row.weights.len());
    if row.seen.iter().any(|key| near.contains(key) && *key != query) {
        let local = near.filter(|key| *key != query).map(|key| row.weight(key)).sum();
        tallies.add(Quantity::Local, local);
    }
}
