//! Weight by how far keys are from queries: its profile, its mass, and where the largest weight is.

use super::moments::{Statistic, standard_error};
use crate::analysis::detect::largest_offset;

/// Offsets up to this many tokens have a number of their own.
pub const MOST_OFFSET: usize = 64;
/// Offsets that have one, back and ahead.
const N_OFFSETS: usize = 2 * MOST_OFFSET + 1;
/// Bins of the mass by distance: 0, 1, 2–3, 4–7 and so on; the last one has no end.
pub const N_BINS: usize = 14;

/// Sums over inputs.
#[derive(Clone, Debug, PartialEq)]
pub struct OffsetSums {
    /// By offset: the sum of weights, and the pairs with this offset.
    profile: Vec<[f64; 2]>,
    /// By offset: queries whose largest weight is there, the sum of their squares over inputs, and of their product with
    /// the queries of an input.
    largest: Vec<[f64; 3]>,
    /// Inputs, queries, and the sum of the squares of queries.
    queries: [f64; 3],
    /// Mass by distance.
    bins: [f64; N_BINS],
}

impl Default for OffsetSums {
    fn default() -> Self {
        let (profile, largest) = (vec![[0.0; 2]; N_OFFSETS], vec![[0.0; 3]; N_OFFSETS]);
        Self { profile, largest, queries: [0.0; 3], bins: [0.0; N_BINS] }
    }
}

/// The largest weights of one input.
#[derive(Clone, Debug, Default)]
pub struct LargestOffsets {
    n: usize,
    at: Vec<(isize, f64)>,
}

impl LargestOffsets {
    /// One more query that has a choice.
    pub fn add(&mut self, query: usize, weights: &[f32]) {
        self.n += 1;
        let Some(offset) = largest_offset(query, weights).filter(|offset| *offset != 0) else { return };
        match self.at.iter_mut().find(|(known, _)| *known == offset) {
            Some((_, n)) => *n += 1.0,
            None => self.at.push((offset, 1.0)),
        }
    }
}

impl OffsetSums {
    /// Numbers of [`Self::to_numbers`].
    pub const N_NUMBERS: usize = 5 * N_OFFSETS + 3 + N_BINS;

    /// One more row.
    pub fn add(&mut self, query: usize, weights: &[f32], seen: &[usize]) {
        for key in seen {
            let weight = weights.get(*key).copied().map_or(0.0, f64::from);
            let distance = key.abs_diff(query);
            self.bins[(usize::BITS - distance.leading_zeros()).min(N_BINS as u32 - 1) as usize] += weight;
            if let Some([sum, n]) = place(*key as isize - query as isize).map(|at| &mut self.profile[at]) {
                *sum += weight;
                *n += 1.0;
            }
        }
    }

    /// The largest weights of one input; one with fewer than two queries that have a choice does not count.
    pub fn add_largest(&mut self, input: &LargestOffsets) {
        if input.n < 2 {
            return;
        }
        let n = input.n as f64;
        self.queries = [self.queries[0] + 1.0, self.queries[1] + n, self.queries[2] + n * n];
        for (offset, count) in &input.at {
            if let Some([sum, squares, product]) = place(*offset).map(|at| &mut self.largest[at]) {
                *sum += count;
                *squares += count * count;
                *product += count * n;
            }
        }
    }

    /// Mean weight by offset, key minus query, where there is a pair.
    pub fn profile(&self) -> impl Iterator<Item = (isize, f64)> {
        let offsets = -(MOST_OFFSET as isize)..=MOST_OFFSET as isize;
        offsets.zip(&self.profile).filter(|(_, [_, n])| *n > 0.0).map(|(offset, [sum, n])| (offset, sum / n))
    }

    /// The offset other than 0 with the highest mean weight, with that.
    pub fn best(&self) -> Option<(isize, f64)> {
        let others = self.profile().filter(|(offset, _)| *offset != 0);
        others.fold(
            None,
            |best: Option<(isize, f64)>, new| if best.is_some_and(|best| best.1 >= new.1) { best } else { Some(new) },
        )
    }

    /// Mass by distance: 0, 1, 2–3, 4–7 and so on.
    pub const fn bins(&self) -> &[f64; N_BINS] {
        &self.bins
    }

    /// The share of queries whose largest weight is at one and the same distance, at the distance that has most.
    pub fn positional(&self) -> Option<Statistic> {
        let [n_inputs, n_queries, squared] = self.queries;
        let best = self.largest.iter().copied().reduce(|best, new| if new[0] > best[0] { new } else { best })?;
        let [sum, squares, product] = best;
        let value = sum / n_queries;
        let error = standard_error(squares - 2.0 * value * product + value * value * squared, n_inputs, n_queries);
        (n_queries > 0.0).then_some(Statistic { value, error, n_rows: n_queries as u64, n_inputs: n_inputs as u64 })
    }

    /// The numbers that it consists of, one after the other.
    pub fn to_numbers(&self, into: &mut Vec<f64>) {
        into.extend(self.profile.iter().flatten());
        into.extend(self.largest.iter().flatten());
        into.extend(self.queries);
        into.extend(self.bins);
    }

    /// Of the numbers that it consists of; `None` where there are too few.
    pub fn from_numbers(numbers: &mut impl Iterator<Item = f64>) -> Option<Self> {
        let mut sums = Self::default();
        let all = sums.profile.iter_mut().flatten().chain(sums.largest.iter_mut().flatten());
        for number in all.chain(&mut sums.queries).chain(&mut sums.bins) {
            *number = numbers.next()?;
        }
        Some(sums)
    }
}

fn place(offset: isize) -> Option<usize> {
    usize::try_from(offset + MOST_OFFSET as isize).ok().filter(|place| *place < N_OFFSETS)
}
