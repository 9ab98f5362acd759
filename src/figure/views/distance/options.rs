//! Options of distance beside the dot product.

use serde::{Deserialize, Serialize};

use crate::{
    analysis::distance_fidelity::HeadProxy,
    options::{OptionField, Visit, choose_with},
    projection::correlation::Correlation,
};

/// Which correlation of dot product and distance a mosaic shows.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(default)]
pub struct ShownCorrelation {
    /// Before scaling and translation, or after.
    pub before: bool,
    /// The mean over queries, or over all pairs.
    pub per_query: bool,
    /// Spearman's, or Pearson's.
    pub ranks: bool,
}

impl ShownCorrelation {
    /// A head's number.
    pub fn of(self, proxy: &HeadProxy) -> Option<f32> {
        let correlations = &proxy.correlations;
        let of: &Correlation = if self.before { &correlations.before } else { &correlations.after };
        let coefficients = if self.per_query { of.per_query } else { of.pooled };
        Some(if self.ranks { coefficients.spearman? } else { coefficients.pearson? } as f32)
    }

    /// Shows the options.
    pub fn visit(&mut self, visit: &mut Visit<'_>) {
        let meaning = "Correlation of vectors after scaling and translation (scaled) or as given (given)";
        let choices = [(false, "scaled", "After scaling"), (true, "given", "As given")];
        choose_with(visit, ("vectors", "Vectors", meaning), &mut self.before, &choices, |field| {
            of_view(field).heading("Correlation map")
        });
        let meaning = "Correlation over all pairs (all) or its mean over queries (query)";
        let choices = [(false, "all", "All pairs"), (true, "query", "Mean over queries")];
        choose_with(visit, ("pairs", "Pairs", meaning), &mut self.per_query, &choices, of_view);
        let meaning = "Correlation of values (pearson) or of ranks (spearman)";
        let choices = [(false, "pearson", "Values (Pearson)"), (true, "spearman", "Ranks (Spearman)")];
        choose_with(visit, ("correlation", "Kind", meaning), &mut self.ranks, &choices, of_view);
    }

    /// What it is, in words.
    pub fn label(self) -> String {
        let whose = if self.ranks { "rank correlation" } else { "correlation" };
        let over = if self.per_query { "mean over queries" } else { "all pairs" };
        format!("{} {whose}, {over}", if self.before { "As given:" } else { "Scaled:" })
    }
}

fn of_view(field: OptionField<'_>) -> OptionField<'_> {
    field.placeholder("WHICH").strict()
}
