//! Options of the steps of a text.

use serde::{Deserialize, Serialize};

use crate::options::{Visit, whole};

/// The most other tokens that are recorded of a step.
const MOST: usize = 7;

/// Options of the view.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct StepsOptions {
    /// How many other tokens stand below one that was written.
    pub rivals: u8,
}

impl Default for StepsOptions {
    fn default() -> Self {
        Self { rivals: 4 }
    }
}

impl StepsOptions {
    /// Shows the options.
    pub fn visit(&mut self, visit: &mut Visit<'_>) {
        let meaning = "Of writing: how many other tokens stand below each that was written, the most probable ones";
        let mut rivals = usize::from(self.rivals);
        visit(whole("rivals", "Rivals", meaning, &mut rivals, 0..=MOST));
        self.rivals = rivals.min(MOST) as u8;
    }
}
