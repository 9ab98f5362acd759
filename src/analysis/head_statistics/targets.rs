//! Weight on some keys, held against what chance would put there.

use super::{
    metric::Quantity,
    row::{SeenRow, Tallies},
};
use crate::analysis::detect::on_rarest;

/// Adds whether the largest weight is on the rarest token, and weights on some keys beside what uniform or shuffled rows have
/// there.
pub fn add(row: &SeenRow<'_>, tallies: &mut Tallies<'_>) {
    let n_seen = row.seen.len() as f64;
    if tallies.has(Quantity::DelimiterRatio) {
        let keys = row.facts.tokens().punctuation();
        let n = keys.iter().filter(|key| row.seen.binary_search(key).is_ok()).count();
        if n > 0 {
            let mass = keys.iter().map(|key| row.weight(*key)).sum();
            tallies.add_ratio(Quantity::DelimiterRatio, mass, n as f64 / n_seen);
        }
    }
    if let Some((is_rarest, chance)) = row
        .counts
        .filter(|_| !row.facts.tokens().is_special_query(row.query))
        .and_then(|of| on_rarest(row.weights, row.seen, of))
    {
        let share = f64::from(u8::from(is_rarest));
        tallies.add(Quantity::Rare, share);
        tallies.add(Quantity::RareGain, share - chance);
    }
    if tallies.has(Quantity::InductionGain) {
        let (mut mass, mut n) = (0.0, 0usize);
        for key in row.facts.tokens().followers(row.query) {
            mass += row.weight(key);
            n += 1;
        }
        if n > 0 {
            let all: f64 = row.seen.iter().map(|key| row.weight(*key)).sum();
            tallies.add(Quantity::InductionGain, mass - n as f64 * all / n_seen);
        }
    }
    for quantity in Quantity::ALL {
        let detector = quantity.over_chance().filter(|_| tallies.has(quantity));
        let Some(targets) = detector.and_then(|detector| row.facts.targets(detector, row.query)) else {
            continue;
        };
        let mass: f64 = targets.iter().map(|key| row.weight(*key)).sum();
        let n = targets.iter().filter(|key| row.seen.binary_search(key).is_ok()).count();
        let all: f64 = row.seen.iter().map(|key| row.weight(*key)).sum();
        tallies.add(quantity, mass - n as f64 * all / n_seen);
    }
}
