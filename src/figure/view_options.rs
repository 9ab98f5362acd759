//! Options of every view as one value: settings, session files and figures hold it.

use serde::{Deserialize, Serialize};

use super::views::{
    average::AverageOptions, distance::Shown, grid::GridOptions, heads::HeadsOptions, heatmap::HeatmapOptions,
    image::ImageOptions, lab::LabOptions, scatter::ScatterOptions,
};
use crate::{
    analysis::{Cloud, Space, reading::ReadingOptions},
    ids::HeadId,
    options::{FieldValue, OptionField, Visit},
};

/// Options of every view; each view reads its own and the shared ones.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ViewOptions {
    /// How patterns are read, in every view.
    pub reading: ReadingOptions,
    /// Whether the colours of heatmaps and pictures mean the same in every pane that wants this.
    pub shared_scale: bool,
    pub heads: HeadsOptions,
    pub heatmap: HeatmapOptions,
    pub grid: GridOptions,
    pub image: ImageOptions,
    /// Scatter and matrix views.
    pub scatter: ScatterOptions,
    pub distance: Shown,
    pub average: AverageOptions,
    pub lab: LabOptions,
}

impl ViewOptions {
    /// Lets what cannot be told about a cell of these points give way.
    pub fn keep_told(&mut self, cloud: &Cloud, space: Space, cell: HeadId) {
        self.scatter.keep_told(cloud, space, cell);
        self.average.keep_told(cloud);
    }

    /// Shows what views of colours share.
    pub fn visit_scale(&mut self, visit: &mut Visit<'_>) {
        let meaning = "One colour means one weight in all panes where this is on, and on a whole sheet";
        let value = FieldValue::Flag(&mut self.shared_scale);
        visit(OptionField::new("shared_scale", "Same scale in every pane", meaning, value));
    }
}
