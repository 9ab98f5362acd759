//! Correlation of distance in the joint space with the dot product that attention is made of.
//!
//! The nearer to −1, the better. Products are computed for a few queries at a time and never kept.

#![expect(clippy::inline_always, reason = "compiled for an instruction set only where it is inlined")]

use std::{
    ops::Range,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
};

use pulp::{Simd, WithSimd};
use rayon::prelude::*;

mod pairs;
mod sample;
mod scale;

use self::pairs::{Distances, Dots, Pairs};
pub use self::{
    sample::{Pair, sample},
    scale::{ScaleProbe, ScaleStep},
};
use super::{
    Points, Progress, ProjectionError,
    dispatch::dispatch,
    moments::{Moments, ranks},
    products::ROWS,
    space::Transform,
};

/// Queries that meet keys: those of one input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InputSegment {
    pub queries: Range<usize>,
    pub keys: Range<usize>,
}

impl InputSegment {
    /// One input that is all there is.
    pub fn whole(n_queries: usize, n_keys: usize) -> Vec<Self> {
        vec![Self { queries: 0..n_queries, keys: 0..n_keys }]
    }
}

/// Pearson's and Spearman's correlation; none where dot products or distances are all equal.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Coefficients {
    pub pearson: Option<f64>,
    pub spearman: Option<f64>,
}

/// Correlation of dot product and Euclidean distance.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Correlation {
    /// Over all pairs of all inputs.
    pub pooled: Coefficients,
    /// Over the keys of one query, the mean of all queries that have it.
    pub per_query: Coefficients,
}

/// Correlations before and after a transform.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Correlations {
    /// Of queries and keys as they are.
    pub before: Correlation,
    /// In the joint space. The dot products are those before: translation changes them, but not attention.
    pub after: Correlation,
    pub n_pairs: usize,
    /// Pairs that were measured: all, or those of evenly spaced queries where there are more than about 67 million.
    pub n_measured: usize,
    /// Pairs that the pooled ranks come from: all, or evenly spaced queries where that would be more than about
    /// two million.
    pub n_ranked: usize,
}

/// Most pairs that are measured: more would take minutes and change no digit that is shown.
const MOST_MEASURED: usize = 1 << 26;

/// Most pairs whose pooled ranks are computed.
const MOST_RANKED: usize = 1 << 21;

/// Queries of one piece of work.
const BLOCK: usize = 5 * ROWS;

impl Correlations {
    /// Of one head. Rows outside of `segments` are left out; `progress` is asked after every few queries.
    ///
    /// Without `with_ranks` Spearman's coefficients are left out: sorting is most of the work.
    ///
    /// # Errors
    /// [`ProjectionError::Widths`], [`ProjectionError::Stopped`], or a segment beyond the rows.
    pub fn of(
        queries: Points<'_>,
        keys: Points<'_>,
        segments: &[InputSegment],
        transform: &Transform,
        with_ranks: bool,
        progress: Progress<'_>,
    ) -> Result<Self, ProjectionError> {
        let pairs = Pairs::new(queries, keys, segments)?;
        Self::of_pairs(&pairs, transform, (with_ranks, MOST_MEASURED), progress)
    }

    /// Of at most about so many pairs.
    fn of_pairs(
        pairs: &Pairs<'_>,
        transform: &Transform,
        (with_ranks, most): (bool, usize),
        progress: Progress<'_>,
    ) -> Result<Self, ProjectionError> {
        let identity = Transform::identity(transform.translation.len());
        let ways = [Distances::new(pairs, &identity), Distances::new(pairs, transform)];
        let sparse = pairs.stride(most);
        let pieces: Vec<_> = pairs.pieces().into_iter().step_by(sparse).collect();
        let n_measured = pieces.iter().map(|(segment, queries)| queries.len() * segment.keys.len()).sum::<usize>();
        let stride = with_ranks.then(|| n_measured.div_ceil(MOST_RANKED).max(1));
        let (done, stopped) = (AtomicUsize::new(0), AtomicBool::new(false));
        let answers: Vec<Piece> = pieces
            .par_iter()
            .enumerate()
            .map(|(nth, (segment, queries))| {
                if stopped.load(Ordering::Relaxed) {
                    return Piece::default();
                }
                let from = if sparse == 1 { queries.start } else { nth * BLOCK };
                let queries = queries.clone();
                let piece = dispatch(Work { pairs, segment, queries, from, ways: &ways, stride });
                if !progress(done.fetch_add(1, Ordering::Relaxed) + 1, pieces.len()) {
                    stopped.store(true, Ordering::Relaxed);
                }
                piece
            })
            .collect();
        if stopped.into_inner() {
            return Err(ProjectionError::Stopped);
        }
        let (mut order, mut ranked) = (Vec::new(), [Vec::new(), Vec::new()]);
        let mut pooled_ranks = |values: [&[f64]; 2]| {
            for (values, ranked) in values.iter().zip(&mut ranked) {
                ranks(values, &mut order, ranked);
            }
            Moments::of(&ranked[0], &ranked[1]).correlation()
        };
        let all = |values: &dyn Fn(&Piece) -> &[f64]| answers.iter().flat_map(values).copied().collect::<Vec<f64>>();
        let dots = all(&|piece| &piece.dots);
        let correlation = |way: usize| {
            let moments = answers.iter().fold(Moments::default(), |sum, piece| sum.join(piece.ways[way].pooled));
            let mean = |of: &dyn Fn(&Piece) -> (f64, usize)| {
                let (sum, n) = answers.iter().map(of).fold((0.0, 0), |(sum, n), (more, m)| (sum + more, n + m));
                (n > 0).then(|| sum / n as f64)
            };
            Correlation {
                pooled: Coefficients { pearson: moments.correlation(), spearman: None },
                per_query: Coefficients {
                    pearson: mean(&|piece| piece.ways[way].pearson),
                    spearman: mean(&|piece| piece.ways[way].spearman),
                },
            }
        };
        let (mut before, mut after) = (correlation(0), correlation(1));
        before.pooled.spearman = pooled_ranks([&dots, &all(&|piece| &piece.ways[0].distances)]);
        after.pooled.spearman = pooled_ranks([&dots, &all(&|piece| &piece.ways[1].distances)]);
        Ok(Self { before, after, n_pairs: pairs.n(), n_measured, n_ranked: dots.len() })
    }
}

/// What some queries contribute.
#[derive(Clone, Default)]
struct Piece {
    /// Dot products whose pooled ranks are wanted.
    dots: Vec<f64>,
    ways: [DistanceCorrelation; 2],
}

/// The same for one way to measure distance.
#[derive(Clone, Default)]
struct DistanceCorrelation {
    pooled: Moments,
    pearson: (f64, usize),
    spearman: (f64, usize),
    distances: Vec<f64>,
}

/// Correlations of some queries of a segment.
struct Work<'a> {
    pairs: &'a Pairs<'a>,
    segment: &'a InputSegment,
    queries: Range<usize>,
    /// The number of the first of them among all that are measured.
    from: usize,
    ways: &'a [Distances; 2],
    /// Every so many queries give their ranks to the pool; without it there are no ranks.
    stride: Option<usize>,
}

impl WithSimd for Work<'_> {
    type Output = Piece;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Piece {
        let Self { pairs, segment, queries, from, ways, stride } = self;
        let n_keys = segment.keys.len();
        let mut piece = Piece::default();
        if n_keys == 0 {
            return piece;
        }
        let all_dots = Dots { pairs, queries: queries.clone(), keys: segment.keys.clone() }.with_simd(simd);
        let mut distances = vec![0.0f64; n_keys];
        let (mut order, mut dot_ranks, mut distance_ranks) = (Vec::new(), Vec::new(), Vec::new());
        for (nth, (i, dots)) in queries.zip(all_dots.chunks_exact(n_keys)).enumerate() {
            let pooled = stride.is_some_and(|stride| (from + nth).is_multiple_of(stride));
            if pooled {
                piece.dots.extend_from_slice(dots);
            }
            if stride.is_some() {
                ranks(dots, &mut order, &mut dot_ranks);
            }
            for (way, sums) in ways.iter().zip(&mut piece.ways) {
                let terms = dots.iter().zip(&way.of_key[segment.keys.clone()]);
                for (distance, (dot, key)) in distances.iter_mut().zip(terms) {
                    *distance = (way.of_query[i] + key - 2.0 * dot).max(0.0).sqrt();
                }
                let moments = Moments::of(dots, &distances);
                sums.pooled = sums.pooled.join(moments);
                count(&mut sums.pearson, moments.correlation());
                if stride.is_some() {
                    ranks(&distances, &mut order, &mut distance_ranks);
                    count(&mut sums.spearman, Moments::of(&dot_ranks, &distance_ranks).correlation());
                }
                if pooled {
                    sums.distances.extend_from_slice(&distances);
                }
            }
        }
        piece
    }
}

/// Adds to a sum and a number what there is.
fn count((sum, n): &mut (f64, usize), correlation: Option<f64>) {
    if let Some(correlation) = correlation {
        *sum += correlation;
        *n += 1;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::projection::to_the_end;

    #[test]
    fn of_very_many_pairs_evenly_spaced_queries_are_measured_and_counted() {
        let (n, width) = (900, 3);
        let mut state = 1u32;
        let mut random = || {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 8) as f32 / (1 << 23) as f32 - 1.0
        };
        let [queries, keys] = [(); 2].map(|()| (0..n * width).map(|_| random()).collect::<Vec<f32>>());
        let [queries, keys] = [&queries, &keys].map(|values| Points::new(values, n, width).unwrap());
        let segments = InputSegment::whole(n, n);
        let pairs = Pairs::new(queries, keys, &segments).unwrap();
        let of = |most| Correlations::of_pairs(&pairs, &Transform::identity(width), (true, most), &to_the_end).unwrap();
        let (all, some) = (of(n * n), of(n * n / 7 + 1));
        assert_eq!((all.n_measured, all.n_ranked), (n * n, n * n));
        // Every seventh block of thirty queries.
        assert_eq!((some.n_pairs, some.n_measured), (n * n, 5 * BLOCK * n));
        let pearson = |found: &Correlations| found.before.pooled.pearson.unwrap();
        assert!((pearson(&all) - pearson(&some)).abs() < 0.05, "{} {}", pearson(&all), pearson(&some));
    }
}
