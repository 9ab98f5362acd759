//! Options of the page of a head.

use serde::{Deserialize, Serialize};

use crate::{
    analysis::{head_folder::MOST_LAYOUTS, head_page::PageSize},
    options::{FieldValue, OptionField, Visit},
};

/// What is shown of a head.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct HeadPageOptions {
    /// Interval of activation whose inputs are shown: 1 is the weakest; a number above the strongest is the strongest.
    pub interval: usize,
    /// Which layout of the cloud of a folder is shown, from 1; a number above the last is the last.
    pub cloud_layout: usize,
}

impl Default for HeadPageOptions {
    fn default() -> Self {
        Self { interval: PageSize::default().n_intervals, cloud_layout: 1 }
    }
}

impl HeadPageOptions {
    /// Shows the options.
    pub fn visit(&mut self, visit: &mut Visit<'_>) {
        let meaning = "Of head: the interval of activation whose inputs are shown, from 1 (weakest) to 10 (strongest)";
        let range = 1..=PageSize::default().n_intervals;
        let value = FieldValue::Whole(&mut self.interval, range);
        visit(OptionField::new("interval", "Interval of activation", meaning, value).heading("Head"));
        let meaning = "Of head: which layout of the vectors of its strong pairs is shown, of a folder that has several: 1 is the \
                       first, principal components where there are some";
        let value = FieldValue::Whole(&mut self.cloud_layout, 1..=MOST_LAYOUTS);
        visit(OptionField::new("cloud-layout", "Layout of the cloud", meaning, value).heading("Head"));
    }
}
