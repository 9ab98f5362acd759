//! Options of how positions enter attention.

use serde::{Deserialize, Serialize};

use crate::options::{Visit, whole};

/// Positions that are drawn at most.
const MOST: usize = 512;

/// Options of the view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct PositionsOptions {
    /// How many positions are drawn, from the first on.
    pub n: usize,
}

impl Default for PositionsOptions {
    fn default() -> Self {
        Self { n: 64 }
    }
}

impl PositionsOptions {
    /// Shows the options.
    pub fn visit(&mut self, visit: &mut Visit<'_>) {
        let meaning = "Of positions: how many are drawn, from the first on";
        visit(whole("first-positions", "Positions", meaning, &mut self.n, 2..=MOST));
    }
}
