//! Fidelity of distance in the joint space to the dot product, head by head: the argument that
//! `AttentionViz` (Yeh et al., 2023) rests on.

use rayon::prelude::*;

use super::{PointCloud, joint::Joint, projection::ProjectionOptions};
use crate::{
    ids::{HeadId, StackKind},
    projection::{
        correlation::{self, Correlations, InputSegment, Pair, ScaleProbe, ScaleStep},
        space::{Norms, norm_ratio},
        to_the_end,
    },
};

/// Scales at which the curve of correlations is drawn, in steps of a quarter of a power of two around the scale of
/// equal norms.
const CURVE_STEPS: i32 = 16;

/// How distance stands for the dot product in one head.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeadProxy {
    pub head: HeadId,
    pub c: f64,
    /// Correlations as queries and keys are, and after scaling and translation.
    pub correlations: Correlations,
    /// How long queries and keys are, before anything is done to them.
    pub norms: Norms,
}

/// The same with what is drawn of it.
#[derive(Clone, Debug, PartialEq)]
pub struct HeadPlot {
    /// Its numbers, ranks included.
    pub proxy: HeadProxy,
    /// Some pairs of query and key; rows are points of the cloud.
    pub pairs: Vec<Pair>,
    /// Correlations after scaling (and translation, where that is on) by the scale, upwards.
    pub curve: Vec<ScaleStep>,
    /// The scale where the pooled correlation is lowest.
    pub best: ScaleStep,
}

/// One head's numbers. Spearman's coefficients come with `with_ranks`; they are most of the work.
///
/// `None` when there are no queries and keys of it.
pub fn proxy(cloud: &PointCloud, head: HeadId, options: ProjectionOptions, with_ranks: bool) -> Option<HeadProxy> {
    of_segments(cloud, head, &cloud.segments(head.stack), options, with_ranks)
}

/// The numbers of every head of a stack, by layer, then head.
///
/// `progress(done, total)` is called between groups of heads and answers whether to go on; `None` when it said no.
pub fn proxies(
    cloud: &PointCloud,
    stack: StackKind,
    options: ProjectionOptions,
    with_ranks: bool,
    progress: &mut dyn FnMut(usize, usize) -> bool,
) -> Option<Vec<HeadProxy>> {
    let (heads, segments) = (cloud.heads(stack), cloud.segments(stack));
    let mut done = Vec::with_capacity(heads.len());
    for group in heads.chunks(2 * rayon::current_num_threads().max(1)) {
        if !progress(done.len(), heads.len()) {
            return None;
        }
        let of = |head: &HeadId| of_segments(cloud, *head, &segments, options, with_ranks);
        done.extend(group.par_iter().filter_map(of).collect::<Vec<_>>());
    }
    progress(heads.len(), heads.len()).then_some(done)
}

/// One head's numbers with at most `n_pairs` pairs and the curve over the scale.
///
/// `None` when there are no queries and keys of it.
pub fn plot(cloud: &PointCloud, head: HeadId, options: ProjectionOptions, n_pairs: usize) -> Option<HeadPlot> {
    let segments = cloud.segments(head.stack);
    let joint = Joint::of(cloud, head, &segments, options)?;
    let proxy = of_joint(&joint, head, &segments, true)?;
    let ([queries, keys], transform) = joint.queries_and_keys()?;
    let pairs = correlation::sample(queries, keys, &segments, transform, n_pairs).ok()?;
    let probe = ScaleProbe::new(queries, keys, &segments, options.translate_keys).ok()?;
    let centre = norm_ratio(queries, keys);
    let scale = |step: i32| centre * (f64::from(step) * 0.25).exp2();
    let curve = (-CURVE_STEPS..=CURVE_STEPS).map(|step| probe.at(scale(step))).collect();
    Some(HeadPlot { proxy, pairs, curve, best: probe.at(probe.best(centre)) })
}

fn of_segments(
    cloud: &PointCloud,
    head: HeadId,
    segments: &[InputSegment],
    options: ProjectionOptions,
    with_ranks: bool,
) -> Option<HeadProxy> {
    of_joint(&Joint::of(cloud, head, segments, options)?, head, segments, with_ranks)
}

fn of_joint(joint: &Joint, head: HeadId, segments: &[InputSegment], with_ranks: bool) -> Option<HeadProxy> {
    let ([queries, keys], transform) = joint.queries_and_keys()?;
    let correlations = Correlations::of(queries, keys, segments, transform, with_ranks, &to_the_end).ok()?;
    Some(HeadProxy { head, c: transform.c, correlations, norms: Norms::of(queries, keys) })
}

/// What distance cannot stand for in a head, because the scores have more than `q·k` in them.
pub fn caveat(cloud: &PointCloud, head: HeadId) -> Option<&'static str> {
    let layer = cloud.model()?.layer_of(head)?;
    if layer.global {
        return Some(
            "Tokens with global attention use separate keys that are not among these points; for their queries \
            distance means nothing.",
        );
    }
    layer.biased.then_some(
        "The scores of this head also have a position bias that q and k do not contain, so distance predicts less \
        of the attention.",
    )
}
