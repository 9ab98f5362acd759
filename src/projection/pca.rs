//! Principal component analysis: exact, from the covariance in double precision.

use rayon::prelude::*;

use super::{Points, ProjectionError, check_dims, dispatch::dispatch, eigen};

/// Rows whose covariance is summed at once; sums of these blocks are added in order, whatever the threads.
const BLOCK: usize = 512;

/// The directions in which points vary most.
#[derive(Clone, Debug, PartialEq)]
pub struct Pca {
    /// The mean of all points.
    mean: Vec<f64>,
    /// Unit vectors, one per dimension of the layout; zero where the points have no further direction.
    directions: Vec<Vec<f64>>,
    /// Fraction of the variance along each.
    explained: Vec<f64>,
}

impl Pca {
    /// The `dims` (2 or 3) directions of largest variance, each with its largest component positive.
    ///
    /// # Errors
    /// [`ProjectionError::Dims`].
    pub fn fit(points: Points<'_>, dims: usize) -> Result<Self, ProjectionError> {
        check_dims(dims)?;
        let d = points.width();
        let mean = points.mean();
        let deviation = |(&x, m): (&f32, &f64)| f64::from(x) - m;
        let largest = points
            .rows()
            .flat_map(|row| row.iter().zip(&mean).map(deviation))
            .fold(0.0f64, |size, x| size.max(x.abs()));
        // Squares of the rescaled values neither overflow nor vanish.
        let scale = if largest > 0.0 { largest.recip() } else { 1.0 };
        let pairs = if scale.is_finite() && d > 0 {
            eigen::symmetric(&covariance(points, &mean, scale), d).unwrap_or_default()
        } else {
            Vec::new()
        };
        let total: f64 = pairs.iter().map(|pair| pair.0.max(0.0)).sum();
        let explained = (0..dims)
            .map(|axis| pairs.get(axis).filter(|_| total > 0.0).map_or(0.0, |pair| pair.0.max(0.0) / total))
            .collect();
        let mut directions: Vec<Vec<f64>> = pairs.into_iter().take(dims).map(|pair| pair.1).collect();
        directions.resize(dims, vec![0.0; d]);
        Ok(Self { mean, directions, explained })
    }

    /// Fraction of the variance along each direction, the largest first; 0 where there is none.
    pub fn explained(&self) -> &[f64] {
        &self.explained
    }

    /// Where points lie along the directions: `[n, dims]`. Points of another width than was fitted are cut or
    /// taken as 0 beyond.
    pub fn layout(&self, points: Points<'_>) -> Vec<f32> {
        let dims = self.directions.len();
        let mut layout = vec![0.0f32; points.n() * dims];
        let along = |row: &[f32], direction: &[f64]| {
            let terms = row.iter().zip(&self.mean).zip(direction);
            let place = terms.map(|((&x, m), e)| (f64::from(x) - m) * e).sum::<f64>();
            place.clamp(f64::from(f32::MIN), f64::from(f32::MAX)) as f32
        };
        let width = points.width();
        let blocks = layout.par_chunks_mut(BLOCK * dims).zip(points.values().par_chunks((BLOCK * width).max(1)));
        blocks.for_each(|(block, rows)| {
            for (to, row) in block.chunks_exact_mut(dims).zip(rows.chunks_exact(width.max(1))) {
                for (y, direction) in to.iter_mut().zip(&self.directions) {
                    *y = along(row, direction);
                }
            }
        });
        layout
    }
}

/// Sum over points of the products of their deviations times `scale`: `[d, d]`.
fn covariance(points: Points<'_>, mean: &[f64], scale: f64) -> Vec<f64> {
    let d = points.width();
    let partial = |rows: &[f32]| {
        dispatch(|| {
            let mut sums = vec![0.0f64; d * d];
            let mut group = vec![0.0f64; GROUP * d];
            for rows in rows.chunks(GROUP * d) {
                group.fill(0.0);
                for (to, row) in group.chunks_exact_mut(d).zip(rows.chunks_exact(d)) {
                    to.iter_mut().zip(row).zip(mean).for_each(|((y, &x), m)| *y = (f64::from(x) - m) * scale);
                }
                add_products(&mut sums, &group, d);
            }
            sums
        })
    };
    // Few blocks at a time: each holds a matrix.
    let blocks: Vec<&[f32]> = points.values().chunks(BLOCK * d).collect();
    let mut total = vec![0.0; d * d];
    for some in blocks.chunks(16) {
        let sums: Vec<Vec<f64>> = some.par_iter().map(|rows| partial(rows)).collect();
        for sum in sums {
            total.iter_mut().zip(&sum).for_each(|(total, x)| *total += x);
        }
    }
    for i in 0..d {
        for j in 0..i {
            total[j * d + i] = total[i * d + j];
        }
    }
    total
}

/// Points whose products are added to one row of sums while it is at hand.
const GROUP: usize = 8;

/// Adds the products of [`GROUP`] points to the lower triangle of `sums`.
#[inline(always)]
#[expect(clippy::inline_always, reason = "compiled for an instruction set only where it is inlined")]
fn add_products(sums: &mut [f64], group: &[f64], d: usize) {
    let (rows, _) = group.split_at(GROUP * d);
    let row = |r: usize| &rows[r * d..(r + 1) * d];
    let [a, b, c, e, f, g, h, k] = std::array::from_fn(row);
    for i in 0..d {
        let [a_i, b_i, c_i, e_i, f_i, g_i, h_i, k_i] = [a[i], b[i], c[i], e[i], f[i], g[i], h[i], k[i]];
        let sums = &mut sums[i * d..=i * d + i];
        let n = sums.len();
        let (a, b, c, e) = (&a[..n], &b[..n], &c[..n], &e[..n]);
        let (f, g, h, k) = (&f[..n], &g[..n], &h[..n], &k[..n]);
        for j in 0..n {
            let first = a_i * a[j] + b_i * b[j] + c_i * c[j] + e_i * e[j];
            let second = f_i * f[j] + g_i * g[j] + h_i * h[j] + k_i * k[j];
            sums[j] += first + second;
        }
    }
}
