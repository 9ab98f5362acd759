//! Options of the steps behind a weight.

use serde::{Deserialize, Serialize};

use crate::{
    analysis::{chain::Against, explain::edges::PartsBy},
    options::{Visit, choose, whole},
};

/// Steps of the longest chain, and more.
const MOST_STEPS: usize = 20;

/// Options of the view.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct WhyOptions {
    pub against: Against,
    /// By what the score is taken apart beside the steps.
    pub parts: PartsBy,
    /// How many steps are walked; 0 for all.
    pub steps: usize,
}

impl WhyOptions {
    /// Shows the options.
    pub fn visit(&mut self, visit: &mut Visit<'_>) {
        let meaning = "Of why: key vector that the key's is compared with: none, mean (of all keys) or next (the strongest other)";
        choose(visit, ("compared", "Compared with", meaning), &mut self.against, &Against::CHOICES);
        let meaning = "Of why: by what the score is taken apart beside the steps: dimension (as the steps do), direction \
            (singular directions of the head), source (pairs of what was added to the streams of query and key), position \
            (apart from content) or back (what the heads of the layer before brought from each token)";
        choose(visit, ("parts", "Parts by", meaning), &mut self.parts, &PartsBy::CHOICES);
        let meaning = "Of why: steps that are walked from the query on; 0 for all";
        visit(whole("walked", "Steps", meaning, &mut self.steps, 0..=MOST_STEPS));
    }

    /// How many of `n` steps are walked.
    pub const fn walked(self, n: usize) -> usize {
        if self.steps == 0 || self.steps > n { n } else { self.steps }
    }

    /// The same after a step forward or back: from all of them to the first and back to all.
    #[must_use]
    pub const fn stepped(self, n: usize, forward: bool) -> Self {
        let steps = match (self.walked(n), forward) {
            (at, true) if at == n => 1,
            (at, true) => at + 1,
            (1, false) => n,
            (at, false) => at - 1,
        };
        Self { steps: if steps == n { 0 } else { steps }, ..self }
    }
}
