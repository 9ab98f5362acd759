//! The spaces of one input or of many, such as the joint query–key space of each head, by their principal components.
//!
//! After `AttentionViz` (Yeh et al., 2023); the mathematics is in [`crate::projection`].

use std::sync::Arc;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

mod color_by;
mod paused_layouts;
mod refine;

pub use color_by::{
    AnnotationKey, ColorBy, Groups, Meaning, Numbers, PointValues, SizeBy, Sizing, Tint, Tints, is_quick, looks, tints,
    values,
};
pub use refine::{Aside, Dims, LayoutCache, LayoutMethod, LayoutOptions, NoShelf, Refined, Refiner};

use crate::{
    analysis::{PointCloud, Space, joint::Joint},
    capture::Matrix,
    ids::{HeadId, StackKind},
    projection::{
        Pca,
        correlation::{Correlation, Correlations, InputSegment},
        space::Scale,
        to_the_end,
    },
};

/// Which space is projected, and how it is normalised before.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProjectionOptions {
    /// Which vectors are points. Scale and translation are of queries and keys alone.
    #[serde(default)]
    pub space: Space,
    /// The query–key scale `c`.
    pub scale: ScaleChoice,
    /// Whether the mean key is moved onto the mean query.
    pub translate_keys: bool,
    /// How the points of the space come into the plane.
    #[serde(default)]
    pub layout: LayoutOptions,
}

impl Default for ProjectionOptions {
    fn default() -> Self {
        Self {
            space: Space::default(),
            scale: ScaleChoice::Auto,
            translate_keys: true,
            layout: LayoutOptions::default(),
        }
    }
}

/// How the query–key scale `c` is chosen.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub enum ScaleChoice {
    /// `√(median‖q‖ / median‖k‖)`: equal norms.
    Auto,
    /// 1.
    None,
    Fixed(f32),
    /// Where dot product and distance over all pairs correlate most: see [`Scale::Search`].
    Search,
}

impl ScaleChoice {
    /// What it means for a transform. A scale of zero, or one that is not a number, would throw every point away,
    /// so it is none.
    pub fn scale(self) -> Scale {
        match self {
            Self::Auto => Scale::Auto,
            Self::Fixed(c) if c.is_finite() && c > 0.0 => Scale::Fixed(f64::from(c)),
            Self::Fixed(_) | Self::None => Scale::None,
            Self::Search => Scale::Search,
        }
    }
}

/// Every cell of one stack in a space: every head in its joint query–key space, or every layer of the residual stream.
#[derive(Clone, Debug)]
pub struct Projection {
    pub cloud: PointCloud,
    pub stack: StackKind,
    pub options: ProjectionOptions,
    /// One entry per cell, by layer then head.
    pub heads: Vec<Arc<HeadProjection>>,
}

impl Projection {
    /// Whether nothing is left to do for a head.
    pub fn is_finished(&self, head: HeadId) -> bool {
        let refined = || self.heads.iter().find(|plane| plane.head == head).and_then(|plane| plane.refined);
        !self.options.layout.is_refined() || refined().is_some_and(|it| it.iteration >= it.iterations)
    }

    /// Whether nothing is left to do.
    pub fn is_complete(&self) -> bool {
        self.heads.iter().all(|plane| self.is_finished(plane.head))
    }
}

/// The points of one cell in the plane, or in space: a head's queries and keys, or points of one kind.
#[derive(Clone, Debug)]
pub struct HeadProjection {
    /// Which head, or which cell: see [`Space::cell_of`].
    pub head: HeadId,
    /// One point per query, in the order of the cloud; the third coordinate is 0 in the plane. Of other spaces what
    /// stands where queries do; empty where nothing does.
    pub queries: Vec<[f32; 3]>,
    /// One point per key, or per value.
    pub keys: Vec<[f32; 3]>,
    /// The scale that was used; 1 where points are of one kind.
    pub c: f32,
    /// Fraction of variance along each of the principal axes; 0 for one that is not there.
    pub explained: [f32; 3],
    /// How far the layout is, where it is more than principal components.
    pub refined: Option<Refined>,
    /// Mean over queries of the Pearson correlation of dot product and distance over all keys, as given.
    /// The closer to −1, the better distance stands for attention. NaN where no query has one (fewer than
    /// two keys, or all keys equal), or where points are of one kind.
    pub correlation_before: f32,
    /// The same after scaling and translation.
    pub correlation_after: f32,
}

/// Projects every cell of one stack on its principal components, whatever layout was asked for: that is where a
/// [`Refiner`] goes on.
///
/// `progress(done, total)` is called between groups of heads and answers whether to go on. `None` when it
/// said no, or when there are no such points of this stack; layers without them are left out. The same
/// cloud gives the same values whatever the number of threads.
pub fn project(
    cloud: &PointCloud,
    stack: StackKind,
    options: ProjectionOptions,
    progress: &mut dyn FnMut(usize, usize) -> bool,
) -> Option<Projection> {
    let heads = project_heads(cloud, &cloud.cells(stack, options.space), options, progress)?;
    (!heads.is_empty()).then(|| Projection { cloud: cloud.clone(), stack, options, heads })
}

/// The same of some cells of one stack, in the order given.
pub fn project_heads(
    cloud: &PointCloud,
    ids: &[HeadId],
    options: ProjectionOptions,
    progress: &mut dyn FnMut(usize, usize) -> bool,
) -> Option<Vec<Arc<HeadProjection>>> {
    let segments = cloud.segments(ids.first()?.stack);
    let mut heads = Vec::with_capacity(ids.len());
    // Small groups, so that a cancelled projection stops within a few heads.
    for group in ids.chunks(2 * rayon::current_num_threads().max(1)) {
        if !progress(heads.len(), ids.len()) {
            return None;
        }
        let done: Vec<_> = group.par_iter().filter_map(|&head| of_segments(cloud, head, &segments, options)).collect();
        heads.extend(done.into_iter().map(Arc::new));
    }
    progress(ids.len(), ids.len()).then_some(heads)
}

/// Projects one cell. `None` when there are no points of it.
pub fn project_head(cloud: &PointCloud, head: HeadId, options: ProjectionOptions) -> Option<HeadProjection> {
    of_segments(cloud, head, &cloud.segments(head.stack), options)
}

fn of_segments(
    cloud: &PointCloud,
    head: HeadId,
    segments: &[InputSegment],
    options: ProjectionOptions,
) -> Option<HeadProjection> {
    of_joint(&Joint::of(cloud, head, segments, options)?, segments, head, options)
}

/// Projects queries `[query, d_head]` and keys `[key, d_head]` of one head; `segments` says which meet which.
///
/// `None` when their widths differ, or when a value is not finite.
pub fn project_points(
    [q, k]: [&Matrix; 2],
    segments: &[InputSegment],
    head: HeadId,
    options: ProjectionOptions,
) -> Option<HeadProjection> {
    let both = [q.clone(), k.clone()];
    let joint = Joint::both(both, segments, options.scale.scale(), options.translate_keys).ok()?;
    of_joint(&joint, segments, head, options)
}

fn of_joint(
    joint: &Joint,
    segments: &[InputSegment],
    head: HeadId,
    options: ProjectionOptions,
) -> Option<HeadProjection> {
    let together = joint.together().ok()?;
    let points = together.points().ok()?;
    let dims = options.layout.dims;
    let pca = Pca::fit(points, dims.n()).ok()?;
    let layout = dims.points(&pca.layout(points));
    let (queries, keys) = layout.split_at(together.n_queries);
    let per_query = |correlation: Correlation| correlation.per_query.pearson.map_or(f32::NAN, |r| r as f32);
    let (c, [correlation_before, correlation_after]) = match joint.queries_and_keys() {
        Some(([q, k], transform)) => {
            let found = Correlations::of(q, k, segments, transform, false, &to_the_end).ok()?;
            (transform.c as f32, [found.before, found.after].map(per_query))
        }
        None => (1.0, [f32::NAN; 2]),
    };
    Some(HeadProjection {
        head,
        queries: queries.to_vec(),
        keys: keys.to_vec(),
        c,
        explained: [0, 1, 2].map(|axis| pca.explained().get(axis).map_or(0.0, |part| *part as f32)),
        refined: None,
        correlation_before,
        correlation_after,
    })
}
