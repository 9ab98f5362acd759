//! Options of what makes scores weights.

use serde::{Deserialize, Serialize};

use crate::{
    analysis::simplex::Rule,
    options::{Visit, choose, real},
};

/// Options of the view.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct SimplexOptions {
    /// α of α-entmax.
    pub alpha: f64,
    /// The rule whose Jacobian is drawn.
    pub jacobian: Rule,
}

impl Default for SimplexOptions {
    fn default() -> Self {
        Self { alpha: 1.5, jacobian: Rule::Softmax }
    }
}

impl SimplexOptions {
    /// Shows the options.
    pub fn visit(&mut self, visit: &mut Visit<'_>) {
        let meaning = "Of normalisers: α of α-entmax; 1 is softmax, 2 is sparsemax";
        visit(real("alpha", "α", meaning, &mut self.alpha, 1.0..=2.0));
        let meaning =
            "Of normalisers: whose Jacobian is drawn: softmax, sparsemax, entmax, fusedmax, argmax, top or sigmoid";
        choose(visit, ("jacobian", "Jacobian of", meaning), &mut self.jacobian, &Rule::CHOICES);
    }

    /// The name of a rule, with its α.
    pub fn title(self, rule: Rule) -> String {
        match rule {
            Rule::Entmax => format!("{}-entmax", (100.0 * self.alpha).round() / 100.0),
            Rule::Softmax | Rule::Sparsemax | Rule::Fusedmax | Rule::Argmax | Rule::Top | Rule::Sigmoid => {
                rule.title().to_owned()
            }
        }
    }
}
