//! What is remembered between runs. Versionless because every field has a default, unknown fields are ignored, and a
//! value that is not understood, such as a choice of a later version, loses itself alone.

use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use super::{LabOptions, lenient};

pub use crate::figure::views::image::{
    flows::{FlowFilter, FlowKind},
    weights::Role as PatchRole,
};
use crate::{
    analysis::{
        Space,
        edges::EdgeFilter,
        projection::{ColorBy, ProjectionOptions, SizeBy},
        reading::{ReadingOptions, long::Pool},
    },
    figure::views::distance::Shown,
    protocol::ModelSource,
    raster::ColorMap,
};

/// Everything remembered between runs.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct Settings {
    /// Light, dark, or as the system says.
    pub appearance: Appearance,
    /// Models opened before, newest first, at most [`Settings::MAX_RECENT`].
    pub recent_models: Vec<ModelSource>,
    /// Session files opened or saved before, newest first, at most [`Settings::MAX_RECENT`].
    pub recent_sessions: Vec<PathBuf>,
    /// Models of session files that the user found elsewhere, newest first, at most [`Settings::MAX_MOVED`].
    pub moved_models: Vec<MovedModel>,
    pub views: ViewOptions,
    pub writing: super::WritingOptions,
    pub figures: super::FigureOptions,
}

impl Settings {
    /// How many recent models and sessions are kept.
    pub const MAX_RECENT: usize = 8;
    /// How many models that have moved are kept.
    pub const MAX_MOVED: usize = 32;

    /// From what [`Self::write`] wrote, perhaps in another version: whatever is not understood keeps its
    /// default, and everything else is taken.
    pub fn read(text: &str) -> Self {
        lenient::read(&serde_json::from_str(text).unwrap_or_default())
    }

    /// As a text to remember. A model in a place whose name is no text is forgotten.
    pub fn write(&self) -> String {
        let mut written = self.clone();
        written.recent_models.retain(|model| serde_json::to_value(model).is_ok());
        written.recent_sessions.retain(|path| path.to_str().is_some());
        written.moved_models.retain(|moved| serde_json::to_value(moved).is_ok());
        serde_json::to_string(&written).unwrap_or_default()
    }

    pub(super) fn remember_model(&mut self, source: &ModelSource) {
        self.recent_models.retain(|known| known != source);
        self.recent_models.insert(0, source.clone());
        self.recent_models.truncate(Self::MAX_RECENT);
    }

    pub(super) fn remember_session(&mut self, path: &Path) {
        self.recent_sessions.retain(|known| known != path);
        self.recent_sessions.insert(0, path.to_owned());
        self.recent_sessions.truncate(Self::MAX_RECENT);
    }

    pub(super) fn remember_moved(&mut self, moved: MovedModel) {
        self.moved_models.retain(|known| (&known.from, &known.config) != (&moved.from, &moved.config));
        self.moved_models.insert(0, moved);
        self.moved_models.truncate(Self::MAX_MOVED);
    }
}

/// A model that a session file names, and where it is now.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct MovedModel {
    /// Where the file says it is.
    pub from: ModelSource,
    /// The checksum of its configuration.
    pub config: Option<String>,
    pub to: ModelSource,
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
    pub heads: HeadsOptions,
    pub heatmap: HeatmapOptions,
    pub image: ImageOptions,
    /// Scatter and matrix views.
    pub scatter: ScatterOptions,
    pub distance: Shown,
    /// Average view: the annotation whose values are told apart.
    pub average: Option<String>,
    pub lab: LabOptions,
}

/// Heads view.
#[derive(Clone, Debug, PartialEq, Default, Serialize, Deserialize)]
#[serde(default)]
pub struct HeadsOptions {
    pub filter: EdgeFilter,
}

/// Heatmap view.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
pub struct HeatmapOptions {
    pub color_map: ColorMap,
    /// Linear or logarithmic.
    pub scale: ColorScale,
    /// Whether cells that have room for it show their weight as a number.
    pub values: bool,
    /// What a pixel of a long text's picture stands for.
    pub pool: Pool,
    /// How weights are drawn by hand.
    #[serde(skip)]
    pub draw: DrawOptions,
}

/// Weights of a head that are drawn by hand.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct DrawOptions {
    pub on: bool,
    /// The weight that is drawn.
    pub weight: f32,
    /// Whether the rest of a row makes room, so that it sums to 1.
    pub whole: bool,
}

impl Default for DrawOptions {
    fn default() -> Self {
        Self { on: false, weight: 1.0, whole: true }
    }
}

impl Default for HeatmapOptions {
    fn default() -> Self {
        Self {
            color_map: ColorMap::default(),
            scale: ColorScale::default(),
            values: true,
            pool: Pool::default(),
            draw: DrawOptions::default(),
        }
    }
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
    pub color_map: ColorMap,
    /// Opacity of the overlay, `0..=1`.
    pub opacity: f32,
    /// How patch weights become pixels.
    pub smoothing: Smoothing,
    /// Outline of the patches that hold this fraction of the mass; `None` for no outline.
    pub contour: Option<f32>,
    /// Whether the picked patch asks (query) or answers (key).
    pub role: PatchRole,
    /// Arrows from patch to patch instead of the overlay.
    pub flows: Option<FlowKind>,
    /// The smallest weight that gets an arrow when the strongest of each patch is drawn.
    pub strongest_from: f32,
    /// The smallest weight that gets an arrow when all are.
    pub all_from: f32,
}

impl Default for ImageOptions {
    fn default() -> Self {
        Self {
            color_map: ColorMap::Magma,
            opacity: 0.65,
            smoothing: Smoothing::Auto,
            contour: None,
            role: PatchRole::Query,
            flows: None,
            strongest_from: FlowKind::Strongest.usual_least(),
            all_from: FlowKind::All.usual_least(),
        }
    }
}

impl ImageOptions {
    /// The arrows that are drawn instead of the overlay.
    pub fn flow_filter(&self) -> Option<FlowFilter> {
        let filter = |kind| FlowFilter {
            kind,
            least: match kind {
                FlowKind::Strongest => self.strongest_from,
                FlowKind::All => self.all_from,
            },
        };
        self.flows.map(filter)
    }
}

/// How patch weights become pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default, Serialize, Deserialize)]
pub enum Smoothing {
    /// Interpolated where there are so many patches that one is hardly seen, one colour per patch elsewhere.
    #[default]
    Auto,
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

/// Scatter and matrix views.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default)]
#[expect(clippy::struct_excessive_bools, reason = "each is a choice of its own")]
pub struct ScatterOptions {
    /// Normalisation of the joint space.
    pub projection: ProjectionOptions,
    pub color: ColorBy,
    pub size: SizeBy,
    /// Whether the corpus is shown, where there is one, or the input alone.
    pub corpus: bool,
    /// Counts of points instead of marks.
    pub density: bool,
    /// Whether points have the texts of their tokens beside them where there is room.
    pub labels: bool,
    /// Whether clusters have names.
    pub clusters: bool,
    /// Whether every query of the shown input has lines to its strongest keys.
    pub lines: bool,
    pub order: HeadOrder,
}

impl Default for ScatterOptions {
    fn default() -> Self {
        Self {
            projection: ProjectionOptions::default(),
            color: ColorBy::default(),
            size: SizeBy::default(),
            corpus: true,
            density: false,
            labels: true,
            clusters: false,
            lines: false,
            order: HeadOrder::default(),
        }
    }
}

impl ScatterOptions {
    /// Lays another space out. Colours and sizes that say nothing there give way to some that do.
    pub fn choose_space(&mut self, space: Space) {
        self.projection.space = space;
        let says_nothing = match self.color {
            ColorBy::Type | ColorBy::ValueNorm => !space.is_joint(),
            ColorBy::Received => !space.is_per_head(),
            ColorBy::Kind | ColorBy::Length | ColorBy::Frequency => space == Space::Positions,
            _ => false,
        };
        if says_nothing {
            self.color = ColorBy::Position;
        }
        let is_alike = match self.size {
            SizeBy::Same | SizeBy::Norm => false,
            SizeBy::ValueNorm => !space.is_joint(),
            SizeBy::Received => !space.is_per_head(),
        };
        if is_alike {
            self.size = SizeBy::Same;
        }
    }
}

/// In which order heads stand on their common canvas.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum HeadOrder {
    /// Layers down, heads across.
    #[default]
    Layer,
    /// Those first where distance stands best for the dot product.
    Correlation,
    /// Those first whose axes show most of the variance.
    Explained,
    /// Those first whose queries and keys differ most in length.
    Scale,
    /// Those first in which the hits of a search lie closest together.
    Hits,
}
