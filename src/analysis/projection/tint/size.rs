//! What the size of a point means.

use serde::{Deserialize, Serialize};

use super::{ColorBy, Numbers, Values, values};
use crate::{analysis::Cloud, ids::HeadId};

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

impl SizeBy {
    /// Every choice, with its name on the command line and on screen.
    pub const ALL: [(Self, &str, &str); 4] = [
        (Self::Same, "same", "All alike"),
        (Self::Norm, "norm", "Norm"),
        (Self::ValueNorm, "value-norm", "Norm of the value"),
        (Self::Received, "received", "Attention received"),
    ];

    /// The choice of this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(_, known, _)| *known == name).map(|(by, ..)| by)
    }

    /// The colour that tells the same.
    const fn as_color(self) -> Option<ColorBy> {
        match self {
            Self::Same => None,
            Self::Norm => Some(ColorBy::Norm),
            Self::ValueNorm => Some(ColorBy::ValueNorm),
            Self::Received => Some(ColorBy::Received),
        }
    }
}

/// Steps of size, one per query and per key: 0 is the smallest, 5 the largest. `None` where all are
/// alike, or where there is nothing to tell; what has no number is of the middle size.
pub fn sizes(cloud: &Cloud, head: HeadId, by: SizeBy) -> Option<[Vec<u8>; 2]> {
    let Values::Numbers(Numbers { of, .. }) = values(cloud, head, by.as_color()?) else { return None };
    let finite = || of.iter().flatten().copied().filter(|value| value.is_finite());
    let (low, high) = (finite().fold(f32::INFINITY, f32::min), finite().fold(f32::NEG_INFINITY, f32::max));
    let span = if high > low { high - low } else { 1.0 };
    let last = f32::from(N_SIZES - 1);
    let step = |value: &f32| {
        let part = if value.is_finite() { (value - low) / span } else { 0.5 };
        (part * last).round() as u8
    };
    Some(of.each_ref().map(|side| side.iter().map(step).collect()))
}

/// How much larger a point of a size is than one of points that are all alike.
pub fn size_factor(step: u8) -> f32 {
    let part = f32::from(step.min(N_SIZES - 1)) / f32::from(N_SIZES - 1);
    EXTREMES[0] + part * (EXTREMES[1] - EXTREMES[0])
}
