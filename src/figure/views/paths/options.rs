//! Options of the paths through all layers.

use serde::{Deserialize, Serialize};

use crate::{
    analysis::paths::{PathHeads, PathMeasure},
    options::{FieldValue, OptionField, Visit, choose, whole},
};

/// Edges that are drawn at most.
const MOST_EDGES: usize = 2000;

/// Options of the view.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct PathsOptions {
    pub measure: PathMeasure,
    pub of_heads: PathHeads,
    /// How many edges are drawn, the strongest of all layers.
    pub n_edges: usize,
    /// The assumed share of the residual stream.
    pub residual: f32,
}

impl Default for PathsOptions {
    fn default() -> Self {
        Self { measure: PathMeasure::Raw, of_heads: PathHeads::Mean, n_edges: 200, residual: 0.5 }
    }
}

impl PathsOptions {
    /// Shows the options.
    pub fn visit(&mut self, visit: &mut Visit<'_>) {
        let meaning = "Of paths: raw (weights as they are), rollout (what of an output passes over an edge) or flow (maximum \
                       flow of a pair); the last two are not attention";
        choose(visit, ("path-measure", "Edges show", meaning), &mut self.measure, &PathMeasure::CHOICES);
        let meaning = "Of paths: how the heads of a layer become one: mean, max or selected (the selected head alone in its \
                       layer, the mean in all others)";
        choose(visit, ("path-heads", "Heads", meaning), &mut self.of_heads, &PathHeads::CHOICES);
        let meaning = "Of paths: how many edges are drawn, the strongest of all layers";
        visit(whole("path-edges", "Edges", meaning, &mut self.n_edges, 1..=MOST_EDGES));
        let meaning = "Of paths: assumed share of a layer's output that bypasses attention, in rollout and flow";
        let value = FieldValue::Share(&mut self.residual, 0.0..=1.0);
        let obstacle = (self.measure == PathMeasure::Raw).then(|| "Raw weights have no residual stream.".to_owned());
        visit(OptionField::new("path-residual", "Residual stream", meaning, value).unless(obstacle));
    }
}
