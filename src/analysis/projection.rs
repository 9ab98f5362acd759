//! The joint query–key space of a head, projected to the plane.
//!
//! After `AttentionViz` (Yeh et al., 2023): scaling queries by `1/c` and keys by `c`, and translating
//! the keys, leave softmax unchanged and let distance stand for attention.

use rayon::prelude::*;
use serde::{Deserialize, Serialize};

use super::{attention, eigen};
use crate::{
    capture::{Capture, Matrix},
    ids::{CaptureId, HeadId, StackKind},
};

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
    /// Mean over queries of the Pearson correlation of dot product and distance over all keys, as given.
    /// The closer to −1, the better distance stands for attention. NaN where no query has one (fewer than
    /// two keys, or all keys equal).
    pub correlation_before: f32,
    /// The same after scaling and translation.
    pub correlation_after: f32,
}

/// Projects every head of one stack.
///
/// `progress(done, total)` is called between groups of heads and answers whether to go on. `None` when it
/// said no, or when the capture has no q and k of this stack; layers without them are left out. The same
/// capture gives the same values whatever the number of threads.
pub fn project(
    capture: &Capture,
    stack: StackKind,
    options: ProjectionOptions,
    progress: &mut dyn FnMut(usize, usize) -> bool,
) -> Option<Projection> {
    let layers = &capture.stack(stack)?.layers;
    let ids: Vec<HeadId> = layers
        .iter()
        .enumerate()
        .filter_map(|(layer, data)| Some((layer, data.q.as_ref()?.shape()[0])))
        .flat_map(|(layer, n_heads)| (0..n_heads).map(move |head| HeadId { stack, layer, head }))
        .collect();
    let total = ids.len();
    let mut heads = Vec::with_capacity(total);
    // Small groups, so that a cancelled projection stops within a few heads.
    for group in ids.chunks(2 * rayon::current_num_threads().max(1)) {
        if !progress(heads.len().min(total), total) {
            return None;
        }
        let done: Vec<_> = group.par_iter().filter_map(|&head| project_head(capture, head, options)).collect();
        heads.extend(done);
    }
    if heads.is_empty() || !progress(total, total) {
        return None;
    }
    Some(Projection { capture: capture.id(), stack, options, heads })
}

/// Projects one head. `None` when the capture has no q and k for it.
pub fn project_head(capture: &Capture, head: HeadId, options: ProjectionOptions) -> Option<HeadProjection> {
    let (q, k) = (capture.q(head)?, capture.k(head)?);
    project_cloud(&q, &k, head, options)
}

/// Projects queries `[query, d_head]` and keys `[key, d_head]` of one head.
///
/// `None` when their widths differ, or when a value is not finite.
pub fn project_cloud(q: &Matrix, k: &Matrix, head: HeadId, options: ProjectionOptions) -> Option<HeadProjection> {
    let d = q.n_cols();
    let dots = attention::dots(q, k)?;
    let c = match options.scale {
        ScaleChoice::Auto => norm_ratio(q, k),
        ScaleChoice::None => 1.0,
        ScaleChoice::Fixed(c) => f64::from(c),
    };
    // A scale of zero, or one that is not a number, would throw every point away.
    let c = if c.is_finite() && c > 0.0 { c } else { 1.0 };
    let scaled_q: Vec<f64> = q.as_slice().iter().map(|&x| f64::from(x) / c).collect();
    let mut scaled_k: Vec<f64> = k.as_slice().iter().map(|&x| f64::from(x) * c).collect();
    let mut shift = vec![0.0; d];
    if options.translate_keys {
        let (mean_q, mean_k) = (mean(&scaled_q, d), mean(&scaled_k, d));
        shift = mean_q.iter().zip(&mean_k).map(|(q, k)| q - k).collect();
        for key in scaled_k.chunks_exact_mut(d.max(1)) {
            key.iter_mut().zip(&shift).for_each(|(x, t)| *x += t);
        }
    }
    let (points, explained) = plane(&scaled_q, &scaled_k, d)?;
    let (queries, keys) = points.split_at(q.n_rows());
    let raw_q: Vec<f64> = q.as_slice().iter().map(|&x| f64::from(x)).collect();
    let raw_k: Vec<f64> = k.as_slice().iter().map(|&x| f64::from(x)).collect();
    Some(HeadProjection {
        head,
        queries: queries.to_vec(),
        keys: keys.to_vec(),
        c: c as f32,
        explained,
        correlation_before: correlation(&raw_q, &raw_k, &dots, &vec![0.0; d]),
        correlation_after: correlation(&scaled_q, &scaled_k, &dots, &shift),
    })
}

/// `√(median‖q‖ / median‖k‖)`; not a number when there is nothing to measure.
fn norm_ratio(q: &Matrix, k: &Matrix) -> f64 {
    let median = |matrix: &Matrix| {
        let square = |x: &f32| f64::from(*x) * f64::from(*x);
        let mut norms: Vec<f64> = matrix.rows().map(|row| row.iter().map(square).sum::<f64>().sqrt()).collect();
        norms.sort_unstable_by(f64::total_cmp);
        match norms.len() {
            0 => f64::NAN,
            n if n % 2 == 1 => norms[n / 2],
            n => f64::midpoint(norms[n / 2 - 1], norms[n / 2]),
        }
    };
    (median(q) / median(k)).sqrt()
}

fn mean(points: &[f64], d: usize) -> Vec<f64> {
    let mut mean = vec![0.0; d];
    for point in points.chunks_exact(d.max(1)) {
        mean.iter_mut().zip(point).for_each(|(sum, x)| *sum += x);
    }
    let n = (points.len() / d.max(1)).max(1) as f64;
    for sum in &mut mean {
        *sum /= n;
    }
    mean
}

/// The stacked cloud on its two directions of largest variance, and the fraction of variance along each.
fn plane(q: &[f64], k: &[f64], d: usize) -> Option<(Vec<[f32; 2]>, [f32; 2])> {
    let mut cloud = [q, k].concat();
    let center = mean(&cloud, d);
    for point in cloud.chunks_exact_mut(d.max(1)) {
        point.iter_mut().zip(&center).for_each(|(x, m)| *x -= m);
    }
    let mut covariance = vec![0.0; d * d];
    for point in cloud.chunks_exact(d.max(1)) {
        for (i, &x) in point.iter().enumerate() {
            covariance[i * d..=i * d + i].iter_mut().zip(point).for_each(|(sum, y)| *sum += x * y);
        }
    }
    for i in 0..d {
        for j in 0..i {
            covariance[j * d + i] = covariance[i * d + j];
        }
    }
    let pairs = eigen::symmetric(&covariance, d)?;
    let total: f64 = pairs.iter().map(|pair| pair.0.max(0.0)).sum();
    let fraction =
        |axis: usize| pairs.get(axis).filter(|_| total > 0.0).map_or(0.0, |pair| (pair.0.max(0.0) / total) as f32);
    let along = |point: &[f64], axis: usize| {
        pairs
            .get(axis)
            .map_or(0.0, |(_, direction)| point.iter().zip(direction).map(|(x, y)| x * y).sum::<f64>() as f32)
    };
    let points = cloud.chunks_exact(d).map(|point| [along(point, 0), along(point, 1)]).collect();
    Some((points, [fraction(0), fraction(1)]))
}

/// Pearson correlation of dot product and Euclidean distance over the keys of one query, averaged over the
/// queries that have one. `dots` are the products before scaling; `k` was moved by `shift`.
fn correlation(q: &[f64], k: &[f64], dots: &[f32], shift: &[f64]) -> f32 {
    let d = shift.len().max(1);
    let inner = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(x, y)| x * y).sum::<f64>();
    let key_squares: Vec<f64> = k.chunks_exact(d).map(|key| inner(key, key)).collect();
    let (mut sum, mut n) = (0.0, 0usize);
    for (query, row) in q.chunks_exact(d).zip(dots.chunks_exact(key_squares.len().max(1))) {
        // ‖q − k‖² from what is known: scaling keeps q·k, and moving the keys adds q·t.
        let constant = inner(query, query) - 2.0 * inner(query, shift);
        if let Some(r) = pearson_of_distance(row, &key_squares, constant) {
            sum += r;
            n += 1;
        }
    }
    (sum / n as f64) as f32
}

/// Pearson correlation of `dots` with `√(squares + constant − 2 · dots)`.
fn pearson_of_distance(dots: &[f32], squares: &[f64], constant: f64) -> Option<f64> {
    /// Independent sums, so that the loop vectorises.
    const LANES: usize = 4;
    let distance = |dot: f64, square: f64| (square + constant - 2.0 * dot).max(0.0).sqrt();
    // Moving both by their first value keeps the one-pass formula from cancelling.
    let (first_dot, &first_square) = (f64::from(*dots.first()?), squares.first()?);
    let first_distance = distance(first_dot, first_square);
    let mut sums = [[0.0f64; LANES]; 5];
    let mut add = |lane: usize, dot: f32, square: f64| {
        let dot = f64::from(dot);
        let (x, y) = (dot - first_dot, distance(dot, square) - first_distance);
        for (sum, term) in sums.iter_mut().zip([x, y, x * x, y * y, x * y]) {
            sum[lane] += term;
        }
    };
    let (dot_chunks, dot_rest) = dots.as_chunks::<LANES>();
    let (square_chunks, square_rest) = squares.as_chunks::<LANES>();
    for (dots, squares) in dot_chunks.iter().zip(square_chunks) {
        for lane in 0..LANES {
            add(lane, dots[lane], squares[lane]);
        }
    }
    for (&dot, &square) in dot_rest.iter().zip(square_rest) {
        add(0, dot, square);
    }
    let [x, y, xx, yy, xy] = sums.map(|lanes| lanes.iter().sum::<f64>());
    let n = dots.len() as f64;
    let (variance_x, variance_y) = (xx - x * x / n, yy - y * y / n);
    // What is left of equal values is rounding, not variance.
    if variance_x <= 1e-12 * xx || variance_y <= 1e-12 * yy || dots.len() < 2 {
        return None;
    }
    Some((xy - x * y / n) / (variance_x * variance_y).sqrt())
}
