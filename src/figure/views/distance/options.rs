//! Options of distance beside the dot product.

use serde::{Deserialize, Serialize};

use crate::{analysis::proxy::HeadProxy, projection::correlation::Correlation};

/// Which correlation of dot product and distance a mosaic shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct Shown {
    /// Before scaling and translation, or after.
    pub before: bool,
    /// The mean over queries, or over all pairs.
    pub per_query: bool,
    /// Spearman's, or Pearson's.
    pub ranks: bool,
}

impl Shown {
    /// A head's number.
    pub fn of(self, proxy: &HeadProxy) -> Option<f32> {
        let correlations = &proxy.correlations;
        let of: &Correlation = if self.before { &correlations.before } else { &correlations.after };
        let coefficients = if self.per_query { of.per_query } else { of.pooled };
        Some(if self.ranks { coefficients.spearman? } else { coefficients.pearson? } as f32)
    }

    /// What it is, in words.
    pub fn label(self) -> String {
        let whose = if self.ranks { "rank correlation" } else { "correlation" };
        let over = if self.per_query { "mean over queries" } else { "all pairs" };
        format!("{} {whose}, {over}", if self.before { "As given:" } else { "Scaled:" })
    }
}
