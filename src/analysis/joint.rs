//! The points of one cell of a space, and what takes queries and keys into their joint space.

use std::borrow::Cow;

use super::{PointCloud, projection::ProjectionOptions};
use crate::{
    capture::Matrix,
    ids::HeadId,
    projection::{
        Points, ProjectionError,
        correlation::InputSegment,
        space::{Scale, Transform},
    },
};

/// The points of a cell: of one kind as they are, or queries and keys with their transform.
pub(super) enum Joint {
    Both([Matrix; 2], Transform),
    /// Of one kind, and whether they stand where keys do.
    One(Matrix, bool),
}

/// Points that are laid out together: queries, then keys.
pub(super) struct Together<'a> {
    /// `[n, width]`.
    pub values: Cow<'a, [f32]>,
    pub n: usize,
    pub width: usize,
    /// How many of them are queries, or stand where queries do.
    pub n_queries: usize,
}

impl Together<'_> {
    pub fn points(&self) -> Result<Points<'_>, ProjectionError> {
        Points::new(&self.values, self.n, self.width)
    }
}

impl Joint {
    /// `None` when there are none, when their widths differ, or when a value is not finite.
    pub fn of(cloud: &PointCloud, cell: HeadId, segments: &[InputSegment], options: ProjectionOptions) -> Option<Self> {
        match cloud.points_of(options.space, cell) {
            [Some(q), Some(k)] => Self::both([q, k], segments, options.scale.scale(), options.translate_keys).ok(),
            [Some(only), None] => points(&only).is_ok().then_some(Self::One(only, false)),
            [None, Some(only)] => points(&only).is_ok().then_some(Self::One(only, true)),
            [None, None] => None,
        }
    }

    /// Queries and keys; `segments` says which meet which.
    pub fn both(
        [q, k]: [Matrix; 2],
        segments: &[InputSegment],
        scale: Scale,
        translate_keys: bool,
    ) -> Result<Self, ProjectionError> {
        let transform = Transform::choose(points(&q)?, points(&k)?, segments, scale, translate_keys)?;
        Ok(Self::Both([q, k], transform))
    }

    /// Queries and keys as they were given, with their transform; `None` where points are of one kind.
    pub fn queries_and_keys(&self) -> Option<([Points<'_>; 2], &Transform)> {
        match self {
            Self::Both([q, k], transform) => Some(([points(q).ok()?, points(k).ok()?], transform)),
            Self::One(..) => None,
        }
    }

    /// All points in the space in which they are laid out.
    pub fn together(&self) -> Result<Together<'_>, ProjectionError> {
        match self {
            Self::Both([q, k], transform) => {
                let values = Cow::Owned(transform.apply(points(q)?, points(k)?)?);
                Ok(Together { values, n: q.n_rows() + k.n_rows(), width: q.n_cols(), n_queries: q.n_rows() })
            }
            Self::One(only, is_key) => {
                let (n, width) = (only.n_rows(), only.n_cols());
                let n_queries = if *is_key { 0 } else { n };
                Ok(Together { values: Cow::Borrowed(only.as_slice()), n, width, n_queries })
            }
        }
    }
}

fn points(matrix: &Matrix) -> Result<Points<'_>, ProjectionError> {
    Points::new(matrix.as_slice(), matrix.n_rows(), matrix.n_cols())
}
