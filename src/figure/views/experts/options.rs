//! Options of the experts that tokens go to.

use serde::{Deserialize, Serialize};

use crate::options::{Visit, choose};

/// Numbers of a token and an expert.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum RouterValues {
    /// Weights of the experts that were chosen.
    #[default]
    Weights,
    /// Scores of all experts, before some are chosen.
    Scores,
}

vocabulary! {
    RouterValues: name, title;
    Weights("weights", "Weights"),
    Scores("scores", "Scores"),
}

/// Options of the view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct ExpertsOptions {
    pub values: RouterValues,
}

impl ExpertsOptions {
    /// Shows the options.
    pub fn visit(&mut self, visit: &mut Visit<'_>) {
        let meaning = "Of experts: colours are weights of the chosen ones, or scores of all (logits of the router)";
        choose(visit, ("router-values", "Cells show", meaning), &mut self.values, &RouterValues::CHOICES);
    }
}
