//! Which keys a query may see.

use std::ops::Range;

/// Which keys a query may see. Queries end where keys end: query `i` of `n_query` stands at key
/// `i + n_key − n_query`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Mask {
    /// Only itself and earlier keys.
    pub causal: bool,
    /// Only keys less than this many positions away; `None` without a sliding window.
    pub window: Option<usize>,
}

impl Mask {
    /// Every key is seen.
    pub const NONE: Self = Self { causal: false, window: None };

    /// Pairs of a query and a key that it may see, in a text of `n` tokens.
    pub fn n_visible(self, n: usize) -> f64 {
        let reach = self.window.unwrap_or(n).min(n) as f64;
        let n = n as f64;
        if self.causal {
            reach * (reach + 1.0) / 2.0 + (n - reach) * reach
        } else {
            (n * (2.0 * reach - 1.0) - reach * (reach - 1.0)).max(0.0)
        }
    }

    /// Keys that query `query` of `n_query` may see, of `n_key`.
    pub fn visible(self, query: usize, n_query: usize, n_key: usize) -> Range<usize> {
        // One past the query's own position; queries before the first key have none.
        let after = (query + 1 + n_key).saturating_sub(n_query);
        let reach = self.window.unwrap_or(usize::MAX);
        let end = if self.causal { after } else { after.saturating_add(reach).saturating_sub(1) };
        let start = after.saturating_sub(reach).min(n_key);
        start..end.clamp(start, n_key)
    }
}

/// What the queries of a head may see in one input.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Visibility<'a> {
    /// What they see by their position.
    pub mask: Mask,
    /// Positions, in order, of tokens that see all and that all see.
    pub global: &'a [usize],
}

impl<'a> Visibility<'a> {
    /// Keys next to each other that a query may see: all of them, or what the mask shows.
    pub fn near(self, query: usize, n_query: usize, n_key: usize) -> Range<usize> {
        if self.global.binary_search(&query).is_ok() { 0..n_key } else { self.mask.visible(query, n_query, n_key) }
    }

    /// All keys that a query may see, in order.
    pub fn keys(self, query: usize, n_query: usize, n_key: usize) -> impl Iterator<Item = usize> + use<'a> {
        let near = self.near(query, n_query, n_key);
        let (start, end) = (near.start, near.end);
        let before = self.global.iter().copied().take_while(move |key| *key < start);
        let after = self.global.iter().copied().filter(move |key| *key >= end && *key < n_key);
        before.chain(near).chain(after)
    }

    /// Whether a query may see a key.
    pub fn sees(self, query: usize, key: usize, n_query: usize, n_key: usize) -> bool {
        self.near(query, n_query, n_key).contains(&key) || self.global.binary_search(&key).is_ok()
    }
}
