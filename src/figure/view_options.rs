//! Options of every view as one value: settings, session files and figures hold it.

use serde::{Deserialize, Serialize};

use super::{
    ViewKind,
    views::{
        atlas::AtlasOptions,
        average::AverageOptions,
        cost::CostOptions,
        debate::DebateChoices,
        dictionary::FeatureChoices,
        distance::ShownCorrelation,
        experts::ExpertsOptions,
        grid::GridOptions,
        headpage::HeadPageOptions,
        heads::{HeadsOptions, layout::Placing},
        heatmap::{ColorScale, HeatmapOptions},
        image::ImageOptions,
        lab::LabOptions,
        paths::PathsOptions,
        positions::PositionsOptions,
        probe::ProbeChoices,
        scatter::ScatterOptions,
        simplex::SimplexOptions,
        states::StatesOptions,
        text::TextOptions,
        why::WhyOptions,
        writing::StepsOptions,
    },
};
use crate::{
    analysis::{
        PointCloud, Space,
        chain::Against,
        explain::{Target, edges::PartsBy, report::LabQuestion},
        paths::PathMeasure,
        projection::ProjectionOptions,
        reading::{ReadingOptions, long::Pool},
    },
    ids::HeadId,
    options::{FieldValue, OptionField, Visit},
    raster::ColorMap,
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
    pub writing: StepsOptions,
    /// Scatter and matrix views.
    pub scatter: ScatterOptions,
    pub distance: ShownCorrelation,
    pub atlas: AtlasOptions,
    pub headpage: HeadPageOptions,
    pub average: AverageOptions,
    pub debate: DebateChoices,
    pub probe: ProbeChoices,
    pub dictionary: FeatureChoices,
    pub lab: LabOptions,
    pub paths: PathsOptions,
    pub why: WhyOptions,
    pub simplex: SimplexOptions,
    pub positions: PositionsOptions,
    pub cost: CostOptions,
    pub text: TextOptions,
    pub states: StatesOptions,
    pub experts: ExpertsOptions,
    /// The output that is explained. It belongs to an input and is not remembered with the rest.
    #[serde(skip)]
    pub target: Target,
}

impl ViewOptions {
    /// How points are laid out, in every view of them.
    pub const fn projection(&self) -> ProjectionOptions {
        self.scatter.projection
    }

    /// The same, to be changed.
    pub const fn projection_mut(&mut self) -> &mut ProjectionOptions {
        &mut self.scatter.projection
    }

    /// Whether views of all inputs show the corpus, where there is one, or the input alone.
    pub const fn corpus(&self) -> bool {
        self.scatter.corpus
    }

    /// The same, to be changed.
    pub const fn corpus_mut(&mut self) -> &mut bool {
        &mut self.scatter.corpus
    }

    /// Colours of weights, in all views but those that lie on a picture.
    pub const fn color_map(&self) -> ColorMap {
        self.heatmap.color_map
    }

    /// The same, to be changed.
    pub const fn color_map_mut(&mut self) -> &mut ColorMap {
        &mut self.heatmap.color_map
    }

    /// Which inputs of a corpus are tested, and how.
    pub const fn tests(&self) -> &DebateChoices {
        &self.debate
    }

    /// What is probed, and how.
    pub const fn probed(&self) -> &ProbeChoices {
        &self.probe
    }

    /// Which dictionary's features are listed, and how.
    pub const fn listed(&self) -> &FeatureChoices {
        &self.dictionary
    }

    /// Lists features of the dictionary in a folder from now on.
    pub fn read_features_of(&mut self, folder: String) {
        self.dictionary = FeatureChoices { sae: Some(folder), feature: None, ..self.dictionary.clone() };
    }

    /// Shows another feature of the dictionary.
    pub const fn show_feature(&mut self, feature: Option<usize>) {
        self.dictionary.feature = feature;
    }

    /// The feature of a dictionary that is shown, where one was chosen.
    pub const fn shown_feature(&self) -> Option<usize> {
        self.dictionary.feature
    }

    /// Where queries and keys of lines stand, to be changed.
    pub const fn placing_mut(&mut self) -> &mut Placing {
        &mut self.heads.placing
    }

    /// What edges between layers stand for.
    pub const fn path_measure(&self) -> PathMeasure {
        self.paths.measure
    }

    /// How many weights become one pixel, in views of heatmaps.
    pub const fn pool(&self) -> Pool {
        self.heatmap.pool
    }

    /// Whether colours of weights are logarithmic, in views that can do both.
    pub const fn is_log(&self) -> bool {
        self.heatmap.is_log()
    }

    /// The same, to be changed.
    pub const fn color_scale_mut(&mut self) -> &mut ColorScale {
        &mut self.heatmap.scale
    }

    /// The question that methods answer.
    pub const fn question(&self) -> LabQuestion {
        self.lab.question
    }

    /// The same, to be changed.
    pub const fn question_mut(&mut self) -> &mut LabQuestion {
        &mut self.lab.question
    }

    /// With what a score is compared, and by what it is taken apart beside its steps, where a view does that.
    pub fn parts_in(&self, view: ViewKind) -> Option<(Against, PartsBy)> {
        let WhyOptions { against, parts, .. } = self.why;
        (view.facts().takes_scores_apart && parts != PartsBy::Dimension).then_some((against, parts))
    }

    /// Lets go of what is about one input alone.
    pub fn leave_input(&mut self) {
        self.target = Target::default();
        self.lab.leave_input();
    }

    /// Lets what cannot be told about a cell of these points give way.
    pub fn keep_told(&mut self, cloud: &PointCloud, space: Space, cell: HeadId) {
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
