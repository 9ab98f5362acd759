//! Quality of a layout: what it preserves, and how its points group.

#![expect(clippy::needless_range_loop, reason = "several arrays are walked together")]
#![expect(clippy::inline_always, reason = "compiled for an instruction set only where it is inlined")]

use std::{
    ops::Range,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
};

use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use super::{Affinities, Metric, Neighbors, Points, Progress, ProjectionError, dispatch::dispatch, points::Prepared};

/// Points whose distances to all others are looked at together.
const BLOCK: usize = 64;

/// Kullback–Leibler divergence, in nats, of a layout's similarities `q = 1 / (1 + ‖x − y‖²) / Σ` from affinities
/// that sum to 1 (0 for a single point).
///
/// Exact: all pairs are visited. `layout` is `[n, dims]`.
///
/// # Errors
/// When the layout has not as many points as the affinities.
pub fn divergence(affinities: &Affinities, layout: Points<'_>) -> Result<f64, ProjectionError> {
    let (n, dims, layout) = (affinities.n(), layout.width(), layout.values());
    check_equal(n, layout.len() / dims.max(1))?;
    let columns: Vec<Vec<f32>> =
        (0..dims).map(|axis| layout.iter().skip(axis).step_by(dims).copied().collect()).collect();
    let similarity = |rows| dispatch(Similarity { layout, columns: &columns, rows });
    let total: f64 = by_blocks(n, similarity).iter().sum();
    let loss = |rows: Range<usize>| {
        let mut sum = 0.0;
        for i in rows {
            let (others, weights) = affinities.row(i);
            for (&j, &p) in others.iter().zip(weights) {
                if p > 0.0 {
                    let gap =
                        |axis: usize| f64::from(layout[i * dims + axis]) - f64::from(layout[j as usize * dims + axis]);
                    let square: f64 = (0..dims).map(|axis| gap(axis).powi(2)).sum();
                    sum += f64::from(p) * (f64::from(p) * (1.0 + square) * total).ln();
                }
            }
        }
        sum
    };
    Ok(by_blocks(n, loss).iter().sum())
}

/// How many of the `k` nearest neighbours are also among the `k` nearest in the layout: 0 … 1; 1 for a single
/// point.
///
/// # Errors
/// When the numbers of points differ, or [`ProjectionError::Stopped`].
pub fn recall(
    points: Points<'_>,
    layout: Points<'_>,
    k: usize,
    progress: Progress<'_>,
) -> Result<f64, ProjectionError> {
    check_equal(points.n(), layout.n())?;
    let high = Neighbors::find(points, k, Metric::Euclidean, progress)?;
    let low = Neighbors::find(layout, k, Metric::Euclidean, progress)?;
    let kept = |rows: Range<usize>| {
        rows.map(|i| low.of(i).0.iter().filter(|j| high.of(i).0.contains(j)).count()).sum::<usize>()
    };
    let kept: usize = by_blocks(points.n(), kept).iter().sum();
    let all = points.n() * high.k();
    Ok(if all == 0 { 1.0 } else { kept as f64 / all as f64 })
}

/// Trustworthiness (Venna and Kaski, 2001): 1 less the mean excess of the ranks that a layout's `k` nearest
/// neighbours have among all points. Of equal distances the rank is the lowest. `k` is lowered to what the
/// definition allows, below half of the points; 1 where that leaves none.
///
/// # Errors
/// When the numbers of points differ, or [`ProjectionError::Stopped`].
pub fn trustworthiness(
    points: Points<'_>,
    layout: Points<'_>,
    k: usize,
    progress: Progress<'_>,
) -> Result<f64, ProjectionError> {
    check_equal(points.n(), layout.n())?;
    let n = points.n();
    let k = k.min(n.saturating_sub(1) / 2);
    if k == 0 {
        return Ok(1.0);
    }
    let low = Neighbors::find(layout, k, Metric::Euclidean, progress)?;
    let high = Prepared::new(points, Metric::Euclidean);
    let (done, stopped) = (AtomicUsize::new(0), AtomicBool::new(false));
    let excess = by_blocks(n, |rows| {
        if stopped.load(Ordering::Relaxed) {
            return 0;
        }
        let size = rows.len();
        let excess = dispatch(Excess { points: &high, low: &low, rows });
        if !progress(done.fetch_add(size, Ordering::Relaxed) + size, n) {
            stopped.store(true, Ordering::Relaxed);
        }
        excess
    });
    if stopped.into_inner() {
        return Err(ProjectionError::Stopped);
    }
    let (n, k, excess) = (n as f64, k as f64, excess.iter().sum::<u64>() as f64);
    Ok(1.0 - 2.0 / (n * k * (2.0 * n - 3.0 * k - 1.0)) * excess)
}

/// How much points of a kind are together in a layout.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Gathering {
    /// The fraction of a point's nearest neighbours that are of its kind, the mean of all points that count
    /// (the neighbourhood hit of Paulovich et al., 2008).
    pub hit: f64,
    /// What it would be were kinds dealt at random.
    pub chance: f64,
}

impl Gathering {
    /// 0 at chance, 1 where all neighbours are of a point's kind, below 0 where kinds avoid themselves.
    pub fn score(self) -> f64 {
        if self.chance < 1.0 { (self.hit - self.chance) / (1.0 - self.chance) } else { 0.0 }
    }

    /// Of all points, each of the kind that `labels` says.
    ///
    /// # Errors
    /// When there are not as many labels as points, or [`ProjectionError::Stopped`].
    pub fn of_labels(
        layout: Points<'_>,
        labels: &[u32],
        k: usize,
        progress: Progress<'_>,
    ) -> Result<Self, ProjectionError> {
        check_equal(layout.n(), labels.len())?;
        let near = Neighbors::find(layout, k, Metric::Euclidean, progress)?;
        let mut sorted = labels.to_vec();
        sorted.sort_unstable();
        let pairs: f64 = sorted.chunk_by(|a, b| a == b).map(|kind| kind.len() as f64 * (kind.len() - 1) as f64).sum();
        let n = labels.len() as f64;
        let all: Vec<usize> = (0..labels.len()).collect();
        let chance = if n > 1.0 { pairs / (n * (n - 1.0)) } else { 1.0 };
        Ok(Self { hit: mean_hit(&near, &all, |i, j| labels[i] == labels[j]), chance })
    }

    /// Of the marked points, such as the hits of a search, against the others.
    ///
    /// # Errors
    /// As [`Self::of_labels`].
    pub fn of_marked(
        layout: Points<'_>,
        marked: &[bool],
        k: usize,
        progress: Progress<'_>,
    ) -> Result<Self, ProjectionError> {
        check_equal(layout.n(), marked.len())?;
        let near = Neighbors::find(layout, k, Metric::Euclidean, progress)?;
        let chosen: Vec<usize> = marked.iter().enumerate().filter(|(_, marked)| **marked).map(|(i, _)| i).collect();
        let (m, n) = (chosen.len() as f64, marked.len() as f64);
        let chance = if n > 1.0 && m > 0.0 { (m - 1.0) / (n - 1.0) } else { 1.0 };
        Ok(Self { hit: mean_hit(&near, &chosen, |_, j| marked[j]), chance })
    }
}

fn mean_hit(near: &Neighbors, points: &[usize], alike: impl Fn(usize, usize) -> bool) -> f64 {
    let hits: usize = points.iter().map(|&i| near.of(i).0.iter().filter(|j| alike(i, **j as usize)).count()).sum();
    let all = points.len() * near.k();
    if all == 0 { 0.0 } else { hits as f64 / all as f64 }
}

fn check_equal(points: usize, others: usize) -> Result<(), ProjectionError> {
    if points == others {
        return Ok(());
    }
    Err(ProjectionError::option("layout or labels", others, "as many as there are points"))
}

/// Results of all blocks of points, in order.
fn by_blocks<T: Send>(n: usize, work: impl Fn(Range<usize>) -> T + Sync) -> Vec<T> {
    (0..n.div_ceil(BLOCK)).into_par_iter().map(|at| work(at * BLOCK..(at * BLOCK + BLOCK).min(n))).collect()
}

/// `Σ 1 / (1 + ‖x − y‖²)` over pairs of some points with all others.
struct Similarity<'a> {
    layout: &'a [f32],
    columns: &'a [Vec<f32>],
    rows: Range<usize>,
}

impl WithSimd for Similarity<'_> {
    type Output = f64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> f64 {
        /// Terms that are summed in single precision.
        const PIECE: usize = 1024;
        let Self { layout, columns, rows } = self;
        let dims = columns.len();
        let n = columns.first().map_or(0, Vec::len);
        let one = simd.splat_f32s(1.0);
        let mut total = 0.0;
        for i in rows {
            for start in (0..n).step_by(PIECE) {
                let end = (start + PIECE).min(n);
                let vectors = (end - start) / S::F32_LANES;
                let mut sum = simd.splat_f32s(0.0);
                for v in 0..vectors {
                    let mut square = one;
                    for axis in 0..dims {
                        let others = S::as_simd_f32s(&columns[axis][start..end]).0;
                        let gap = simd.sub_f32s(simd.splat_f32s(layout[i * dims + axis]), others[v]);
                        square = simd.mul_add_e_f32s(gap, gap, square);
                    }
                    sum = simd.add_f32s(sum, simd.div_f32s(one, square));
                }
                total += f64::from(simd.reduce_sum_f32s(sum));
                for j in start + vectors * S::F32_LANES..end {
                    let mut square = 1.0f32;
                    for axis in 0..dims {
                        let gap = layout[i * dims + axis] - columns[axis][j];
                        square += gap * gap;
                    }
                    total += f64::from(1.0 / square);
                }
            }
            // The point itself.
            total -= 1.0;
        }
        total
    }
}

/// By how much the ranks of the layout's neighbours are too high, for some points.
struct Excess<'a> {
    points: &'a Prepared,
    low: &'a Neighbors,
    rows: Range<usize>,
}

impl WithSimd for Excess<'_> {
    type Output = u64;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> u64 {
        let Self { points, low, rows } = self;
        let Prepared { values, n, width, .. } = points;
        let mut squares = vec![0.0f32; *n];
        let mut excess = 0;
        for i in rows {
            let here = &values[i * width..(i + 1) * width];
            for (j, square) in squares.iter_mut().enumerate() {
                *square = super::lanes::square_distance(simd, here, &values[j * width..(j + 1) * width]);
            }
            // Itself is nobody's competitor.
            squares[i] = f32::INFINITY;
            for &j in low.of(i).0 {
                let distance = squares[j as usize];
                let mut nearer = 0u32;
                for &square in &squares {
                    nearer += u32::from(square < distance);
                }
                excess += u64::from((nearer + 1).saturating_sub(low.k() as u32));
            }
        }
        excess
    }
}
