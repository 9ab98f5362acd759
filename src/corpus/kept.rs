//! Sites that a corpus keeps besides queries and keys.

/// What is kept of every token besides queries and keys, because it was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub struct Kept {
    /// Values, of each key/value head.
    pub values: bool,
    /// The residual stream, before each layer and behind the last one.
    pub residual: bool,
}

impl Kept {
    /// What either keeps.
    #[must_use]
    pub const fn or(self, other: Self) -> Self {
        Self { values: self.values || other.values, residual: self.residual || other.residual }
    }
}
