//! Which of a pattern's entries to draw as lines.

use std::cmp::Ordering;

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
    /// By query, then key.
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
    let mut row_entries: Vec<(f32, u32)> = Vec::with_capacity(pattern.n_cols());
    for (query, row) in pattern.rows().enumerate() {
        row_entries.clear();
        row_entries.extend((0u32..).zip(row).filter(|(_, weight)| **weight > 0.0).map(|(key, &weight)| (weight, key)));
        set.n_total += row_entries.len();
        let row_mass: f64 = row_entries.iter().map(|&(weight, _)| f64::from(weight)).sum();
        set.mass_total += row_mass;
        let n_kept = match filter {
            EdgeFilter::TopP(p) => arrange_top_p(&mut row_entries, row_mass * f64::from(p.clamp(0.0, 1.0))),
            EdgeFilter::TopK(k) => {
                if k > 0 && k < row_entries.len() {
                    row_entries.select_nth_unstable_by(k - 1, stronger_first);
                }
                k.min(row_entries.len())
            }
            EdgeFilter::Threshold(least) => {
                row_entries.retain(|&(weight, _)| weight >= least);
                row_entries.len()
            }
        };
        let kept = &mut row_entries[..n_kept];
        kept.sort_unstable_by_key(|&(_, key)| key);
        set.edges.extend(kept.iter().map(|&(weight, key)| Edge { query: query as u32, key, weight }));
    }
    cap(&mut set, max_edges);
    set.mass_shown = set.edges.iter().map(|edge| f64::from(edge.weight)).sum();
    set
}

/// Moves the fewest strongest entries that reach `wanted` mass to the front and returns their number.
///
/// Quickselect on the mass: each step halves what is undecided, so a diffuse row costs no full sort.
fn arrange_top_p(entries: &mut [(f32, u32)], wanted: f64) -> usize {
    // Sums in another order differ by rounding; without the slack p = 1 might miss its target.
    let wanted = wanted * (1.0 - 1e-9);
    if wanted <= 0.0 {
        return 0;
    }
    let (mut start, mut end) = (0, entries.len());
    let mut mass_before = 0.0f64;
    // Invariant: the answer lies in `start..=end`, and everything before `start` is stronger.
    while end - start > 1 {
        let middle = start + (end - start) / 2;
        entries[start..end].select_nth_unstable_by(middle - start - 1, stronger_first);
        let mass: f64 = entries[start..middle].iter().map(|&(weight, _)| f64::from(weight)).sum();
        if mass_before + mass >= wanted {
            end = middle;
        } else {
            mass_before += mass;
            start = middle;
        }
    }
    end
}

fn stronger_first(a: &(f32, u32), b: &(f32, u32)) -> Ordering {
    b.0.total_cmp(&a.0).then(a.1.cmp(&b.1))
}

fn cap(set: &mut EdgeSet, max_edges: usize) {
    let n_kept = set.edges.len();
    if n_kept <= max_edges {
        return;
    }
    set.n_capped = n_kept - max_edges;
    if max_edges > 0 {
        set.edges.select_nth_unstable_by(max_edges - 1, |a, b| {
            b.weight.total_cmp(&a.weight).then((a.query, a.key).cmp(&(b.query, b.key)))
        });
    }
    set.edges.truncate(max_edges);
    set.edges.sort_unstable_by_key(|edge| (edge.query, edge.key));
}
