//! The joint query–key space of a head, projected to the plane.
//!
//! After AttentionViz (Yeh et al., 2023): scaling queries by `1/c` and keys by `c`, and translating
//! the keys, leave softmax unchanged and let distance stand for attention.

use serde::{Deserialize, Serialize};

use crate::ids::{CaptureId, HeadId, StackKind};

/// How the joint space is normalised before projection.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProjectionOptions {
    /// The query–key scale `c`.
    pub scale: ScaleChoice,
    /// Whether the mean key is moved onto the mean query.
    pub translate_keys: bool,
}

impl Default for ProjectionOptions {
    fn default() -> Self {
        Self { scale: ScaleChoice::Auto, translate_keys: true }
    }
}

/// How the query–key scale `c` is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum ScaleChoice {
    /// `√(median‖q‖ / median‖k‖)`: equal norms.
    Auto,
    /// 1.
    None,
    /// A given value.
    Fixed(f32),
}

/// Every head of one stack in its joint query–key plane.
#[derive(Clone, Debug)]
pub struct Projection {
    /// What was projected.
    pub capture: CaptureId,
    /// Which stack.
    pub stack: StackKind,
    /// How.
    pub options: ProjectionOptions,
    /// One entry per head, by layer then head.
    pub heads: Vec<HeadProjection>,
}

/// One head's queries and keys in the plane.
#[derive(Clone, Debug)]
pub struct HeadProjection {
    /// Which head.
    pub head: HeadId,
    /// One point per query, in token order.
    pub queries: Vec<[f32; 2]>,
    /// One point per key, in token order.
    pub keys: Vec<[f32; 2]>,
    /// The scale that was used.
    pub c: f32,
    /// Fraction of variance along each axis.
    pub explained: [f32; 2],
    /// Mean per-query Pearson correlation of dot product and distance, as given.
    pub correlation_before: f32,
    /// The same after scaling and translation.
    pub correlation_after: f32,
}
