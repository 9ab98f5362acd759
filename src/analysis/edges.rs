//! Which of a pattern's entries to draw as lines.

use serde::{Deserialize, Serialize};

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
