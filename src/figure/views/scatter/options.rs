//! Options of points, of one head and of all.

use std::sync::Arc;

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use crate::{
    analysis::{
        PointCloud, Space,
        projection::{self, ColorBy, ProjectionOptions, SizeBy, Tints},
    },
    figure::spec::{FigureError, plain},
    ids::{HeadId, StackKind},
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

    /// Lets colours and sizes that nothing is known of in a cell give way: the window does not show them either.
    pub fn keep_told(&mut self, cloud: &PointCloud, space: Space, cell: HeadId) {
        if self.color.missing(cloud, space, cell).is_some() {
            self.color = ColorBy::default();
        }
        if self.size.missing(cloud, space, cell).is_some() {
            self.size = SizeBy::default();
        }
    }

    /// The tints of each head; the same ones where heads make no difference.
    pub fn tints(&self, cloud: &PointCloud, space: Space, heads: &[HeadId]) -> Vec<Arc<Tints>> {
        let of = |head: HeadId| Arc::new(projection::looks(cloud, space, head, self.color, self.size));
        match heads.first() {
            Some(&first) if !self.color.depends_on_head() && self.size == SizeBy::Same => vec![of(first); heads.len()],
            _ => heads.iter().map(|&head| of(head)).collect(),
        }
    }

    /// Refuses colours and sizes that tell nothing about the points of a stack.
    ///
    /// # Errors
    /// Says what is missing, and what to choose.
    pub fn check_told(&self, cloud: &PointCloud, stack: StackKind) -> Result<(), FigureError> {
        let space = self.projection.space;
        let Some(&cell) = cloud.cells(stack, space).first() else { return Ok(()) };
        let colors = self.color.missing(cloud, space, cell).map(|reason| ("--color-by", "type", reason));
        let sizes = || self.size.missing(cloud, space, cell).map(|reason| ("--size-by", "same", reason));
        match colors.or_else(sizes) {
            None => Ok(()),
            Some((flag, none, reason)) => {
                Err(FigureError::Failed(format!("{flag} does not apply here: {reason}; choose {none}")))
            }
        }
    }

    /// Names in metadata before they were those of settings.
    pub fn said(&self) -> Vec<(&'static str, Value)> {
        let ProjectionOptions { space, scale, translate_keys, layout } = &self.projection;
        vec![
            ("space", json!(space.name())),
            ("scale", plain(scale)),
            ("translate_keys", json!(translate_keys)),
            ("layout", plain(layout)),
            ("color_by", plain(&self.color)),
            ("size_by", plain(&self.size)),
        ]
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
