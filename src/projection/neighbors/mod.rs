//! Exact nearest neighbours: every distance is computed, a block of points against all, none is stored.

mod block;
pub(super) mod nearest;

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

use rayon::prelude::*;

use self::block::{All, RowSearch};
use super::{Metric, Points, Progress, ProjectionError, dispatch::dispatch, points::Prepared, products};

/// Points whose neighbours are searched together; between such blocks the search can be stopped.
const BLOCK: usize = 8 * products::ROWS;

/// The nearest neighbours of every point, the point itself left out.
#[derive(Clone, Debug, PartialEq)]
pub struct Neighbors {
    n: usize,
    k: usize,
    indices: Vec<u32>,
    distances: Vec<f32>,
}

impl Neighbors {
    /// The `k` nearest of every point, or all others where there are fewer; exact up to single precision.
    ///
    /// Equal distances are decided by the index. Memory is `8 n (k + width)` bytes and a little; time `n² width`.
    /// `progress` is asked after each block of points.
    ///
    /// # Errors
    /// [`ProjectionError::Stopped`] when `progress` said so.
    pub fn find(points: Points<'_>, k: usize, metric: Metric, progress: Progress<'_>) -> Result<Self, ProjectionError> {
        let (mut found, unit) = Self::in_units(points, k, metric, progress)?;
        let restored = |distance: f32| (f64::from(distance) * unit).min(f64::from(f32::MAX)) as f32;
        found.distances.iter_mut().for_each(|distance| *distance = restored(*distance));
        Ok(found)
    }

    /// The same with distances of ordinary size, and the unit that they are in.
    pub(super) fn in_units(
        points: Points<'_>,
        k: usize,
        metric: Metric,
        progress: Progress<'_>,
    ) -> Result<(Self, f64), ProjectionError> {
        let prepared = Prepared::new(points, metric);
        let mut found = Self::squared(&prepared, k, progress)?;
        prepared.to_metric(&mut found.distances);
        Ok((found, prepared.unit))
    }

    /// The same with squared Euclidean distances of points that are fit for single precision.
    fn squared(points: &Prepared, k: usize, progress: Progress<'_>) -> Result<Self, ProjectionError> {
        let (n, k) = (points.n, k.min(points.n - 1));
        let mut found = Self { n, k, indices: vec![0; n * k], distances: vec![0.0; n * k] };
        if k == 0 {
            return Ok(found);
        }
        let all = All::of(points);
        let (done, stopped) = (AtomicUsize::new(0), AtomicBool::new(false));
        let blocks = found.indices.par_chunks_mut(BLOCK * k).zip(found.distances.par_chunks_mut(BLOCK * k));
        blocks.enumerate().for_each_init(Vec::new, |buffers, (at, (indices, distances))| {
            if stopped.load(Ordering::Relaxed) {
                return;
            }
            let rows = at * BLOCK..(at * BLOCK + BLOCK).min(n);
            let size = rows.len();
            dispatch(RowSearch { points, all: &all, rows, k, buffers, indices, distances });
            if !progress(done.fetch_add(size, Ordering::Relaxed) + size, n) {
                stopped.store(true, Ordering::Relaxed);
            }
        });
        if stopped.into_inner() { Err(ProjectionError::Stopped) } else { Ok(found) }
    }

    /// Points.
    pub const fn n(&self) -> usize {
        self.n
    }

    /// Neighbours of each.
    pub const fn k(&self) -> usize {
        self.k
    }

    /// The neighbours of one point, the nearest first, and how far they are.
    pub fn of(&self, point: usize) -> (&[u32], &[f32]) {
        let row = point * self.k..(point + 1) * self.k;
        (&self.indices[row.clone()], &self.distances[row])
    }

    /// All neighbours, `[n, k]`.
    pub fn indices(&self) -> &[u32] {
        &self.indices
    }

    /// All distances, `[n, k]`.
    pub fn distances(&self) -> &[f32] {
        &self.distances
    }
}
