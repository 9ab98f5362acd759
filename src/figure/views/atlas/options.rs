//! Options of the atlas.

use serde::{Deserialize, Serialize};

use crate::{
    analysis::{
        detect::Detector,
        head_statistics::{Metric, N_METRICS, Quantity},
    },
    options::{OptionField, Visit, choose_with},
};

/// Which numbers are shown.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct AtlasOptions {
    /// Of the points, along.
    pub across: Metric,
    /// Of the points, up.
    pub up: Metric,
    /// Of the colours of the cells; the table begins with the highest.
    pub color: Metric,
}

impl Default for AtlasOptions {
    fn default() -> Self {
        Self {
            across: Metric::Of(Quantity::EntropyFraction),
            up: Metric::Of(Quantity::Activation),
            color: Metric::Kind(Detector::Confidence),
        }
    }
}

/// All metrics with their names.
const CHOICES: [(Metric, &str, &str); N_METRICS] = {
    let mut choices = [(Metric::ALL[0], "", ""); N_METRICS];
    let mut at = 0;
    while at < N_METRICS {
        let metric = Metric::ALL[at];
        choices[at] = (metric, metric.name(), metric.title());
        at += 1;
    }
    choices
};

impl AtlasOptions {
    /// Shows the options.
    pub fn visit(&mut self, visit: &mut Visit<'_>) {
        let meaning = "Number of a head along the points";
        choose_with(visit, ("across", "Across", meaning), &mut self.across, &CHOICES, |field| {
            of_view(field).heading("Atlas")
        });
        let meaning = "Number of a head up the points";
        choose_with(visit, ("up", "Up", meaning), &mut self.up, &CHOICES, of_view);
        let meaning = "Number of a head that colours the cells and orders the table";
        choose_with(visit, ("color_by_number", "Cells and order", meaning), &mut self.color, &CHOICES, of_view);
    }
}

fn of_view(field: OptionField<'_>) -> OptionField<'_> {
    field.placeholder("NUMBER").strict()
}
