//! [`RowMass`]: where the attention of a row went.

/// Where the attention of one row went; of a row that stands for several queries the mean.
///
/// The row's values sum to `total − left_out + spread − outside − unmatched`.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct RowMass {
    /// Sum of the row before anything was left out, with what went to no key: 1 for one head and for a mean of heads.
    pub total: f64,
    /// What the keys that are left out got.
    pub left_out: f64,
    /// Part of `left_out` that renormalising spread over the other keys: all of it, unless nothing was left
    /// to scale up.
    pub spread: f64,
    /// What the sentence that is not looked at got, after renormalising.
    pub outside: f64,
    /// What went to keys without a counterpart, of a difference.
    pub unmatched: f64,
}

impl RowMass {
    /// The sums of two.
    #[must_use]
    pub fn plus(self, other: Self) -> Self {
        Self {
            total: self.total + other.total,
            left_out: self.left_out + other.left_out,
            spread: self.spread + other.spread,
            outside: self.outside + other.outside,
            unmatched: self.unmatched + other.unmatched,
        }
    }

    /// What the row's values sum to.
    pub fn shown(&self) -> f64 {
        self.total - self.left_out + self.spread - self.outside - self.unmatched
    }

    /// What is shown nowhere.
    pub fn hidden(&self) -> f64 {
        self.total - self.shown()
    }
}
