//! Choice of the entries of a pattern that are drawn as lines.

use serde::{Deserialize, Serialize};

use crate::capture::Matrix;

/// How many of each row's entries are drawn.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum EdgeFilter {
    /// The strongest entries that together cover this fraction of each row.
    TopP(f32),
    /// This many strongest entries of each row.
    TopK(usize),
    /// Every entry at least this large.
    Threshold(f32),
}

impl Default for EdgeFilter {
    fn default() -> Self {
        Self::TopP(0.9)
    }
}

/// One entry of a pattern.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Edge {
    /// Query position (row).
    pub query: u32,
    /// Key position (column).
    pub key: u32,
    /// Weight, greater than 0.
    pub weight: f32,
}

/// The entries that a filter keeps.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct EdgeSet {
    pub edges: Vec<Edge>,
    /// Entries of the pattern that are greater than 0.
    pub n_total: usize,
    /// Entries that the filter kept but the cap left out, the weakest ones.
    pub n_capped: usize,
    /// Sum of the weights in `edges`.
    pub mass_shown: f64,
    /// Sum of all weights; the number of queries where every row sums to 1.
    pub mass_total: f64,
}

impl EdgeSet {
    /// Part of all attention that `edges` show, in `0..=1`; 1 when there is none.
    pub fn fraction_shown(&self) -> f64 {
        if self.mass_total > 0.0 { self.mass_shown / self.mass_total } else { 1.0 }
    }

    /// How many edges are drawn where there is room for `most`, and the sum of their weights.
    pub fn strongest(&self, most: usize) -> (usize, f64) {
        if self.edges.len() <= most {
            return (self.edges.len(), self.mass_shown);
        }
        let mut weights: Vec<f32> = self.edges.iter().map(|edge| edge.weight).collect();
        weights.select_nth_unstable_by(most, |a, b| b.total_cmp(a));
        (most, weights[..most].iter().map(|weight| f64::from(*weight)).sum())
    }
}

/// The most edges that [`select`] keeps: more lines than this are a solid block on any screen.
pub const MAX_EDGES: usize = 20_000;

/// The entries of `pattern` that `filter` keeps, at most [`MAX_EDGES`].
pub fn select(pattern: &Matrix, filter: EdgeFilter) -> EdgeSet {
    select_at_most(pattern, filter, MAX_EDGES)
}

/// The entries of `pattern` that `filter` keeps, at most `max_edges` (the strongest).
///
/// Among equal weights the lower query, then the lower key, comes first. NaN and negative weights count
/// as 0, and entries of 0 are never kept.
pub fn select_at_most(pattern: &Matrix, filter: EdgeFilter, max_edges: usize) -> EdgeSet {
    let mut set = EdgeSet::default();
    let mut ranks: Vec<u64> = Vec::with_capacity(pattern.n_cols());
    for (query, row) in pattern.rows().enumerate() {
        ranks.clear();
        ranks.extend((0u32..).zip(row).filter(|(_, weight)| **weight > 0.0).map(|(key, &weight)| rank(weight, key)));
        set.n_total += ranks.len();
        let row_mass = mass(&ranks);
        set.mass_total += row_mass;
        let weakest = match filter {
            EdgeFilter::TopP(p) => weakest_of_top_p(&mut ranks, row_mass * f64::from(p.clamp(0.0, 1.0))),
            EdgeFilter::TopK(k) => weakest_of_top_k(&mut ranks, k),
            // Not above any entry of exactly this weight, so those count.
            EdgeFilter::Threshold(least) => Some(u64::from(least.max(0.0).to_bits()) << 32),
        };
        let Some(weakest) = weakest else { continue };
        // One pass over the row in key order is cheaper than sorting what was selected.
        set.edges.extend((0u32..).zip(row).filter(|(_, weight)| **weight > 0.0).filter_map(|(key, &weight)| {
            (rank(weight, key) >= weakest).then_some(Edge { query: query as u32, key, weight })
        }));
    }
    cap(&mut set, max_edges);
    set.mass_shown = set.edges.iter().map(|edge| f64::from(edge.weight)).sum();
    set
}

/// A number that is larger for a stronger entry and, among equals, for a lower index: comparing integers
/// is several times faster than comparing a weight, then an index. `weight` must be greater than 0, where
/// the bits of a float are in its order.
fn rank(weight: f32, idx: u32) -> u64 {
    u64::from(weight.to_bits()) << 32 | u64::from(!idx)
}

fn mass(ranks: &[u64]) -> f64 {
    ranks.iter().map(|rank| f64::from(f32::from_bits((rank >> 32) as u32))).sum()
}

fn weakest_of_top_k(ranks: &mut [u64], k: usize) -> Option<u64> {
    match k.min(ranks.len()) {
        0 => None,
        k if k == ranks.len() => Some(0),
        k => Some(*ranks.select_nth_unstable_by(k - 1, |a, b| b.cmp(a)).1),
    }
}

/// The rank of the last of the fewest strongest entries that reach `wanted` mass.
///
/// Quickselect on the mass: each step halves what is undecided, so a diffuse row costs no full sort.
fn weakest_of_top_p(ranks: &mut [u64], wanted: f64) -> Option<u64> {
    // Sums in another order differ by rounding; without the slack p = 1 might miss its target.
    let wanted = wanted * (1.0 - 1e-9);
    if wanted <= 0.0 {
        return None;
    }
    let (mut start, mut end) = (0, ranks.len());
    let mut mass_before = 0.0f64;
    // Invariant: the wanted one lies in `start..end`, and everything before `start` is stronger.
    while end - start > 1 {
        let middle = start + (end - start) / 2;
        ranks[start..end].select_nth_unstable_by(middle - start - 1, |a, b| b.cmp(a));
        let half = mass(&ranks[start..middle]);
        if mass_before + half >= wanted {
            end = middle;
        } else {
            mass_before += half;
            start = middle;
        }
    }
    ranks.get(start).copied()
}

/// Leaves the strongest `max_edges`, in their order.
fn cap(set: &mut EdgeSet, max_edges: usize) {
    let n_kept = set.edges.len();
    if n_kept <= max_edges {
        return;
    }
    set.n_capped = n_kept - max_edges;
    let mut ranks: Vec<u64> = (0u32..).zip(&set.edges).map(|(idx, edge)| rank(edge.weight, idx)).collect();
    let Some(weakest) = weakest_of_top_k(&mut ranks, max_edges) else {
        set.edges.clear();
        return;
    };
    let mut idx = 0u32;
    set.edges.retain(|edge| {
        let keep = rank(edge.weight, idx) >= weakest;
        idx += 1;
        keep
    });
}
