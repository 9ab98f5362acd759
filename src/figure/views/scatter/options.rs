//! Options of points, of one head and of all.

use serde::{Deserialize, Serialize};

use crate::analysis::{
    Space,
    projection::{ColorBy, ProjectionOptions, SizeBy},
};

/// Options of both views of points.
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
