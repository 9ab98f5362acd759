//! Choice of the value that sizes points.

use serde::{Deserialize, Serialize};

use super::{ColorBy, PointValues};
use crate::{
    analysis::{PointCloud, Space},
    ids::HeadId,
};

/// Sizes that points can have.
pub const N_SIZES: u8 = 6;
/// The smallest and the largest, against points that are all alike.
const EXTREMES: [f32; 2] = [0.5, 2.0];

/// What the size of a point means.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, Serialize, Deserialize)]
pub enum SizeBy {
    /// Nothing: all are alike.
    #[default]
    Same,
    /// Length of the query or key vector in this head.
    Norm,
    /// Length of the value vector in this head.
    ValueNorm,
    /// What a key receives from all queries of this head.
    Received,
}

vocabulary! {
    SizeBy: name, title;
    Same("same", "All the same"),
    Norm("norm", "Norm"),
    ValueNorm("value-norm", "Norm of the value"),
    Received("received", "Attention received"),
}

impl SizeBy {
    /// Why there is nothing to tell about the points of a cell of a space, in words; `None` when there can be something. It is
    /// known without computing anything.
    pub fn missing(self, cloud: &PointCloud, space: Space, head: HeadId) -> Option<String> {
        self.as_color()?.missing(cloud, space, head)
    }

    /// The colour that tells the same.
    pub const fn as_color(self) -> Option<ColorBy> {
        match self {
            Self::Same => None,
            Self::Norm => Some(ColorBy::Norm),
            Self::ValueNorm => Some(ColorBy::ValueNorm),
            Self::Received => Some(ColorBy::Received),
        }
    }
}

/// How large points are.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum Sizing {
    /// All alike.
    #[default]
    Same,
    /// By what is known about each.
    Steps {
        /// One step per query and per key: 0 is the smallest, 5 the largest. What has no number is of the middle size.
        of: [Vec<u8>; 2],
        /// What the smallest and the largest stand for.
        ends: [String; 2],
        name: &'static str,
    },
    /// All alike, because there is nothing to tell; why.
    Missing(String),
}

impl Sizing {
    /// What sizes mean, as a sentence of a caption; empty where all points are alike.
    pub fn caption(&self) -> String {
        match self {
            Self::Steps { ends: [low, high], name, .. } => {
                format!("Sizes show the {}, from {low} to {high}", name.to_lowercase())
            }
            Self::Same | Self::Missing(_) => String::new(),
        }
    }

    /// Of what is known about the points of one head.
    pub(super) fn of(by: SizeBy, values: &PointValues) -> Self {
        let numbers = match values {
            PointValues::Numbers(numbers) => numbers,
            PointValues::Missing(reason) => return Self::Missing(reason.clone()),
            PointValues::Type | PointValues::Groups(_) => return Self::Same,
        };
        let [low, high] = numbers.range();
        let span = if high > low { high - low } else { 1.0 };
        let last = f32::from(N_SIZES - 1);
        let step = |value: &f32| {
            let part = if value.is_finite() { (value - low) / span } else { 0.5 };
            (part * last).round() as u8
        };
        let of = numbers.of.each_ref().map(|side| side.iter().map(step).collect());
        Self::Steps { of, ends: [low, high].map(|end| numbers.text(end)), name: by.title() }
    }
}

/// How much larger a point of a size is than one of points that are all alike.
pub fn size_factor(step: u8) -> f32 {
    let part = f32::from(step.min(N_SIZES - 1)) / f32::from(N_SIZES - 1);
    EXTREMES[0] + part * (EXTREMES[1] - EXTREMES[0])
}
