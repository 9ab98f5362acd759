//! The joint query–key space of the heads of one input or of many, by its principal components.
//!
//! After `AttentionViz` (Yeh et al., 2023); the mathematics is in [`crate::projection`].

use std::sync::Arc;

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

mod aside;
mod refine;
mod tint;

pub use refine::{Aside, Dims, LayoutMethod, LayoutOptions, NoShelf, Refined, Refiner, Shelf};
pub use tint::{
    AnnotationKey, ColorBy, Groups, Meaning, Numbers, SizeBy, Sizing, Tint, Tints, Values, is_quick, looks, tints,
    values,
};

use crate::{
    analysis::Cloud,
    capture::Matrix,
    ids::{HeadId, StackKind},
    projection::{
        Pca, Points,
        correlation::{Correlation, Correlations, Segment},
        space::{Scale, Transform},
        to_the_end,
    },
};

/// How the joint space is normalised before projection.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProjectionOptions {
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
        Self { scale: ScaleChoice::Auto, translate_keys: true, layout: LayoutOptions::default() }
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

/// Every head of one stack in its joint query–key space.
#[derive(Clone, Debug)]
pub struct Projection {
    /// What was projected.
    pub cloud: Cloud,
    /// Which stack.
    pub stack: StackKind,
    /// How.
    pub options: ProjectionOptions,
    /// One entry per head, by layer then head.
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

/// One head's queries and keys in the plane, or in space.
#[derive(Clone, Debug)]
pub struct HeadProjection {
    /// Which head.
    pub head: HeadId,
    /// One point per query, in the order of the cloud; the third coordinate is 0 in the plane.
    pub queries: Vec<[f32; 3]>,
    /// One point per key.
    pub keys: Vec<[f32; 3]>,
    /// The scale that was used.
    pub c: f32,
    /// Fraction of variance along each of the principal axes; 0 for one that is not there.
    pub explained: [f32; 3],
    /// How far the layout is, where it is more than principal components.
    pub refined: Option<Refined>,
    /// Mean over queries of the Pearson correlation of dot product and distance over all keys, as given.
    /// The closer to −1, the better distance stands for attention. NaN where no query has one (fewer than
    /// two keys, or all keys equal).
    pub correlation_before: f32,
    /// The same after scaling and translation.
    pub correlation_after: f32,
}

/// Projects every head of one stack on its principal components, whatever layout was asked for: that is where a
/// [`Refiner`] goes on.
///
/// `progress(done, total)` is called between groups of heads and answers whether to go on. `None` when it
/// said no, or when there are no q and k of this stack; layers without them are left out. The same
/// cloud gives the same values whatever the number of threads.
pub fn project(
    cloud: &Cloud,
    stack: StackKind,
    options: ProjectionOptions,
    progress: &mut dyn FnMut(usize, usize) -> bool,
) -> Option<Projection> {
    let heads = project_heads(cloud, &cloud.heads(stack), options, progress)?;
    (!heads.is_empty()).then(|| Projection { cloud: cloud.clone(), stack, options, heads })
}

/// The same of some heads of one stack, in the order given.
pub fn project_heads(
    cloud: &Cloud,
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

/// Projects one head. `None` when there are no q and k of it.
pub fn project_head(cloud: &Cloud, head: HeadId, options: ProjectionOptions) -> Option<HeadProjection> {
    of_segments(cloud, head, &cloud.segments(head.stack), options)
}

fn of_segments(
    cloud: &Cloud,
    head: HeadId,
    segments: &[Segment],
    options: ProjectionOptions,
) -> Option<HeadProjection> {
    let [q, k] = cloud.queries_and_keys(head)?;
    project_points([&q, &k], segments, head, options)
}

/// Projects queries `[query, d_head]` and keys `[key, d_head]` of one head; `segments` says which meet which.
///
/// `None` when their widths differ, or when a value is not finite.
pub fn project_points(
    [q, k]: [&Matrix; 2],
    segments: &[Segment],
    head: HeadId,
    options: ProjectionOptions,
) -> Option<HeadProjection> {
    let (queries, keys) = (points(q)?, points(k)?);
    let transform = Transform::choose(queries, keys, segments, options.scale.scale(), options.translate_keys).ok()?;
    let joint = transform.apply(queries, keys).ok()?;
    let joint = Points::new(&joint, queries.n() + keys.n(), queries.width()).ok()?;
    let dims = options.layout.dims;
    let pca = Pca::fit(joint, dims.n()).ok()?;
    let layout = dims.points(&pca.layout(joint));
    let (layout_q, layout_k) = layout.split_at(queries.n());
    let correlations = Correlations::of(queries, keys, segments, &transform, false, &to_the_end).ok()?;
    let per_query = |correlation: Correlation| correlation.per_query.pearson.map_or(f32::NAN, |r| r as f32);
    Some(HeadProjection {
        head,
        queries: layout_q.to_vec(),
        keys: layout_k.to_vec(),
        c: transform.c as f32,
        explained: [0, 1, 2].map(|axis| pca.explained().get(axis).map_or(0.0, |part| *part as f32)),
        refined: None,
        correlation_before: per_query(correlations.before),
        correlation_after: per_query(correlations.after),
    })
}

fn points(matrix: &Matrix) -> Option<Points<'_>> {
    Points::new(matrix.as_slice(), matrix.n_rows(), matrix.n_cols()).ok()
}
