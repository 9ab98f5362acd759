//! Options of what attention costs.

use serde::{Deserialize, Serialize};

use crate::{
    analysis::approximations::Approximation,
    options::{Visit, choose, whole},
};

/// The most places, ranks or features that are offered.
const MOST: usize = 1024;

/// Options of the view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct CostOptions {
    /// Keys at most so many places away.
    pub window: usize,
    pub rank: usize,
    pub buckets: usize,
    pub features: usize,
    /// The approximation that is drawn beside the pattern.
    pub drawn: Approximation,
}

impl Default for CostOptions {
    fn default() -> Self {
        Self { window: 128, rank: 8, buckets: 8, features: 64, drawn: Approximation::Rank }
    }
}

impl CostOptions {
    /// Shows the options.
    pub fn visit(&mut self, visit: &mut Visit<'_>) {
        let meaning = "Of cost: how many places away a query may see keys in a window";
        visit(whole("cost-window", "Window", meaning, &mut self.window, 1..=MOST).settles());
        let meaning = "Of cost: rank of a pattern that is approximated";
        visit(whole("cost-rank", "Rank", meaning, &mut self.rank, 1..=MOST).settles());
        let meaning = "Of cost: buckets of a round of hashing; of an odd number one less";
        visit(whole("hash-buckets", "Buckets", meaning, &mut self.buckets, 2..=MOST).settles());
        let meaning = "Of cost: how many random features stand for the softmax";
        visit(whole("random-features", "Features", meaning, &mut self.features, 1..=MOST).settles());
        let meaning = "Of cost: the approximation that is drawn beside the pattern: lowrank, lsh or features";
        choose(visit, ("approximation", "Beside the pattern", meaning), &mut self.drawn, &Approximation::CHOICES);
    }
}
