//! One head's queries and keys, and what takes them into their joint space.

use super::{Cloud, projection::ProjectionOptions};
use crate::{
    capture::Matrix,
    ids::HeadId,
    projection::{Points, ProjectionError, correlation::Segment, space::Transform},
};

/// Queries and keys of one head with their transform.
pub(super) struct Joint {
    q: Matrix,
    k: Matrix,
    pub transform: Transform,
}

impl Joint {
    /// `None` when there are none, when their widths differ, or when a value is not finite.
    pub fn of(cloud: &Cloud, head: HeadId, segments: &[Segment], options: ProjectionOptions) -> Option<Self> {
        let [q, k] = cloud.queries_and_keys(head)?;
        let [queries, keys] = [points(&q).ok()?, points(&k).ok()?];
        let scale = options.scale.scale();
        let transform = Transform::choose(queries, keys, segments, scale, options.translate_keys).ok()?;
        Some(Self { q, k, transform })
    }

    pub fn queries(&self) -> Result<Points<'_>, ProjectionError> {
        points(&self.q)
    }

    pub fn keys(&self) -> Result<Points<'_>, ProjectionError> {
        points(&self.k)
    }
}

fn points(matrix: &Matrix) -> Result<Points<'_>, ProjectionError> {
    Points::new(matrix.as_slice(), matrix.n_rows(), matrix.n_cols())
}
