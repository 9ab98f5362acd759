//! Options of the page of a head.

use serde::{Deserialize, Serialize};

use crate::{
    analysis::head_page::PageSize,
    options::{FieldValue, OptionField, Visit},
};

/// What is shown of a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HeadPageOptions {
    /// Interval of activation whose inputs are shown: 1 is the weakest; a number above the strongest is the strongest.
    pub interval: usize,
}

impl Default for HeadPageOptions {
    fn default() -> Self {
        Self { interval: PageSize::default().n_intervals }
    }
}

impl HeadPageOptions {
    /// Shows the options.
    pub fn visit(&mut self, visit: &mut Visit<'_>) {
        let meaning = "Of head: the interval of activation whose inputs are shown, from 1 (weakest) to 10 (strongest)";
        let range = 1..=PageSize::default().n_intervals;
        let value = FieldValue::Whole(&mut self.interval, range);
        visit(OptionField::new("interval", "Interval of activation", meaning, value).heading("Head"));
    }
}
