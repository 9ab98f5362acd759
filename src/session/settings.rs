//! What is remembered between runs. The only serialised type of the session; versionless because
//! every field has a default and unknown fields are ignored.

use serde::{Deserialize, Serialize};

use crate::{
    analysis::{edges::EdgeFilter, projection::ProjectionOptions, reading::ReadingOptions},
    worker::ModelSource,
};

/// Everything remembered between runs.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// Light, dark, or as the system says.
    pub appearance: Appearance,
    /// Models opened before, newest first, at most [`Settings::MAX_RECENT`].
    pub recent_models: Vec<ModelSource>,
    /// Options of the views.
    pub views: ViewOptions,
    /// How the model writes.
    pub writing: super::WritingOptions,
    /// How figures are saved.
    pub figures: super::FigureOptions,
}

impl Settings {
    /// How many recent models are kept.
    pub const MAX_RECENT: usize = 8;

    pub(super) fn remember_model(&mut self, source: &ModelSource) {
        self.recent_models.retain(|known| known != source);
        self.recent_models.insert(0, source.clone());
        self.recent_models.truncate(Self::MAX_RECENT);
    }
}

/// Light or dark.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default, Serialize, Deserialize)]
pub enum Appearance {
    /// As the system says.
    #[default]
    System,
    /// Dark text on a light ground.
    Light,
    /// Light text on a dark ground.
    Dark,
}

/// Options of every view; each view reads its own and the shared ones.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ViewOptions {
    /// How patterns are read, in every view.
    pub reading: ReadingOptions,
    /// Whether the colours of heatmaps and pictures mean the same in every pane that wants this.
    pub shared_scale: bool,
    /// Heads view.
    pub heads: HeadsOptions,
    /// Heatmap view.
    pub heatmap: HeatmapOptions,
    /// Image view.
    pub image: ImageOptions,
    /// Scatter and matrix views.
    pub scatter: ScatterOptions,
}

/// Heads view.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct HeadsOptions {
    /// Which lines are drawn.
    pub filter: EdgeFilter,
}

/// Heatmap view.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HeatmapOptions {
    /// Colours.
    pub color_map: ColorMapChoice,
    /// Linear or logarithmic.
    pub scale: ColorScale,
    /// Whether cells that have room for it show their weight as a number.
    pub values: bool,
}

impl Default for HeatmapOptions {
    fn default() -> Self {
        Self { color_map: ColorMapChoice::default(), scale: ColorScale::default(), values: true }
    }
}

/// Named sequential colour map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum ColorMapChoice {
    /// Viridis.
    #[default]
    Viridis,
    /// Magma.
    Magma,
    /// Cividis: the same to colour-blind eyes.
    Cividis,
    /// Greys, for print.
    Greys,
}

/// How weights map to colour.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum ColorScale {
    /// Proportional.
    #[default]
    Linear,
    /// Logarithmic, which shows small weights.
    Log,
}

/// Image view.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct ImageOptions {
    /// Colours of the overlay.
    pub color_map: ColorMapChoice,
    /// Opacity of the overlay, `0..=1`.
    pub opacity: f32,
    /// How patch weights become pixels.
    pub smoothing: Smoothing,
    /// Outline of the patches that hold this fraction of the mass; `None` for no outline.
    pub contour: Option<f32>,
    /// Whether the picked patch asks (query) or answers (key).
    pub role: PatchRole,
}

impl Default for ImageOptions {
    fn default() -> Self {
        Self {
            color_map: ColorMapChoice::Magma,
            opacity: 0.65,
            smoothing: Smoothing::Auto,
            contour: None,
            role: PatchRole::Query,
        }
    }
}

/// How patch weights become pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum Smoothing {
    /// Interpolated where there are so many patches that one is hardly seen, one colour per patch elsewhere.
    #[default]
    Auto,
    /// One colour per patch.
    Nearest,
    /// Interpolated between patch centres.
    Smooth,
}

impl Smoothing {
    /// From this many patches along the shorter side [`Self::Auto`] interpolates.
    const MANY_PATCHES: usize = 24;

    /// Whether a `grid` of (rows, columns) patches is interpolated.
    pub const fn is_smooth(self, grid: (usize, usize)) -> bool {
        match self {
            Self::Auto => grid.0 >= Self::MANY_PATCHES && grid.1 >= Self::MANY_PATCHES,
            Self::Nearest => false,
            Self::Smooth => true,
        }
    }
}

/// What a picked patch stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum PatchRole {
    /// The overlay shows what it attends to.
    #[default]
    Query,
    /// The overlay shows what attends to it.
    Key,
}

/// Scatter and matrix views.
#[derive(Clone, Copy, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct ScatterOptions {
    /// Normalisation of the joint space.
    pub projection: ProjectionOptions,
    /// What colour means.
    pub color: PointColor,
}

/// What the colour of a point means.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum PointColor {
    /// Queries green, keys pink.
    #[default]
    Type,
    /// Position in the sequence, from first to last.
    Position,
}
