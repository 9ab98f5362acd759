//! How well distance in the joint space stands for the dot product that attention is made of.
//!
//! The nearer to −1, the better. Products are computed for a few queries at a time and never kept.

#![expect(clippy::inline_always, reason = "compiled for an instruction set only where it is inlined")]

use std::{
    ops::Range,
    sync::atomic::{AtomicBool, AtomicUsize, Ordering},
};

use pulp::{Simd, WithSimd};
use rayon::prelude::*;

use super::{
    Points, Progress, ProjectionError,
    dispatch::dispatch,
    moments::{Moments, ranks},
    products::{Pack, Panels, ROWS, interleave, products},
    space::{Transform, check_widths},
};

/// Queries that meet keys: those of one input.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Rows of the queries.
    pub queries: Range<usize>,
    /// Rows of the keys.
    pub keys: Range<usize>,
}

impl Segment {
    /// One input that is all there is.
    pub fn whole(n_queries: usize, n_keys: usize) -> Vec<Self> {
        vec![Self { queries: 0..n_queries, keys: 0..n_keys }]
    }
}

/// Pearson's and Spearman's correlation; none where dot products or distances are all equal.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Coefficients {
    /// Of the values.
    pub pearson: Option<f64>,
    /// Of their ranks.
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
    /// Pairs of query and key.
    pub n_pairs: usize,
    /// Pairs that the pooled ranks come from: all, or evenly spaced queries where that would be more than about
    /// two million.
    pub n_ranked: usize,
}

/// Most pairs whose pooled ranks are computed.
const MOST_RANKED: usize = 1 << 21;

/// Most pairs from which a scale is searched.
const MOST_SEARCHED: usize = 1 << 18;

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
        segments: &[Segment],
        transform: &Transform,
        with_ranks: bool,
        progress: Progress<'_>,
    ) -> Result<Self, ProjectionError> {
        let pairs = Pairs::new(queries, keys, segments)?;
        let ways = [Distances::new(&pairs, &Transform::identity(queries.width())), Distances::new(&pairs, transform)];
        let stride = with_ranks.then(|| pairs.stride(MOST_RANKED));
        let pieces = pairs.pieces();
        let (done, stopped) = (AtomicUsize::new(0), AtomicBool::new(false));
        let answers: Vec<Piece> = pieces
            .par_iter()
            .map(|(segment, queries)| {
                if stopped.load(Ordering::Relaxed) {
                    return Piece::default();
                }
                let piece = dispatch(Work { pairs: &pairs, segment, queries: queries.clone(), ways: &ways, stride });
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
        Ok(Self { before, after, n_pairs: pairs.n(), n_ranked: dots.len() })
    }
}

/// The scale above 0 where the pooled Pearson correlation is lowest, searched on a grid around `near` and refined
/// by golden section; from evenly spaced queries where there are many pairs.
pub(super) fn best_scale(queries: Points<'_>, keys: Points<'_>, segments: &[Segment], near: f64) -> f64 {
    /// Halves of powers of two on both sides of the norm ratio.
    const STEPS: i32 = 10;
    let Ok(pairs) = Pairs::new(queries, keys, segments) else { return near };
    let stride = pairs.stride(MOST_SEARCHED);
    let (mut dots, mut norms) = (Vec::new(), Vec::new());
    for segment in segments {
        for i in segment.queries.clone().filter(|i| i % stride == 0) {
            let rows = dispatch(Dots { pairs: &pairs, queries: i..i + 1, keys: segment.keys.clone() });
            dots.extend_from_slice(&rows);
            norms.extend(segment.keys.clone().map(|j| (pairs.query_squares[i], pairs.key_squares[j])));
        }
    }
    let mut distances = vec![0.0; dots.len()];
    let mut pooled = |step: f64| {
        let square = (near * step.exp2()).powi(2);
        for ((distance, dot), (q, k)) in distances.iter_mut().zip(&dots).zip(&norms) {
            *distance = (q / square + k * square - 2.0 * dot).max(0.0).sqrt();
        }
        Moments::of(&dots, &distances).correlation().unwrap_or(f64::INFINITY)
    };
    let mut best = (0.0, f64::INFINITY);
    for step in -STEPS..=STEPS {
        let step = f64::from(step) * 0.5;
        let value = pooled(step);
        if value < best.1 {
            best = (step, value);
        }
    }
    // The minimum lies between the neighbours on the grid.
    let golden = (5.0f64.sqrt() - 1.0) / 2.0;
    let (mut low, mut high) = (best.0 - 0.5, best.0 + 0.5);
    for _ in 0..40 {
        let (left, right) = (high - golden * (high - low), low + golden * (high - low));
        if pooled(left) < pooled(right) {
            high = right;
        } else {
            low = left;
        }
    }
    if best.1.is_finite() { near * f64::midpoint(low, high).exp2() } else { near }
}

/// Queries and keys that meet.
struct Pairs<'a> {
    queries: Points<'a>,
    keys: Points<'a>,
    segments: &'a [Segment],
    query_squares: Vec<f64>,
    key_squares: Vec<f64>,
    panels: Panels,
}

impl<'a> Pairs<'a> {
    fn new(queries: Points<'a>, keys: Points<'a>, segments: &'a [Segment]) -> Result<Self, ProjectionError> {
        check_widths(queries, keys)?;
        for segment in segments {
            for (rows, n) in [(&segment.queries, queries.n()), (&segment.keys, keys.n())] {
                if rows.start > rows.end || rows.end > n {
                    let value = format!("{}..{}", rows.start, rows.end);
                    return Err(ProjectionError::option("segment", value, "within the rows of queries and keys"));
                }
            }
        }
        let squares = |points: Points<'_>| points.rows().map(|row| inner(row, row)).collect();
        let panels = dispatch(Pack { values: keys.values(), n: keys.n(), width: keys.width() });
        Ok(Self { queries, keys, segments, query_squares: squares(queries), key_squares: squares(keys), panels })
    }

    fn n(&self) -> usize {
        self.segments.iter().map(|segment| segment.queries.len() * segment.keys.len()).sum()
    }

    /// Every so many queries give at most about `most` pairs.
    fn stride(&self, most: usize) -> usize {
        self.n().div_ceil(most).max(1)
    }

    /// Some queries of each segment.
    fn pieces(&self) -> Vec<(&'a Segment, Range<usize>)> {
        let blocks = |segment: &'a Segment| {
            let Range { start, end } = segment.queries;
            (start..end).step_by(BLOCK).map(move |first| (segment, first..(first + BLOCK).min(end)))
        };
        self.segments.iter().flat_map(blocks).collect()
    }
}

/// Dot products of some queries with some keys: `[queries, keys]`.
struct Dots<'a> {
    pairs: &'a Pairs<'a>,
    queries: Range<usize>,
    keys: Range<usize>,
}

impl WithSimd for Dots<'_> {
    type Output = Vec<f64>;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Vec<f64> {
        let Self { pairs, queries, keys } = self;
        let (width, wide) = (pairs.queries.width(), pairs.panels.wide());
        let mut six = Vec::new();
        let rows = &pairs.queries.values()[queries.start * width..queries.end * width];
        interleave(rows, queries.len(), width, &mut six);
        let mut dots = vec![0.0; queries.len() * keys.len()];
        for panel in keys.start / wide..keys.end.div_ceil(wide) {
            let first = panel * wide;
            // Those of the panel's keys that are asked for.
            let (from, to) = (keys.start.max(first), keys.end.min(first + wide));
            for group in 0..queries.len().div_ceil(ROWS) {
                let sums = products(simd, &six[group * width..(group + 1) * width], pairs.panels.panel(panel));
                for r in group * ROWS..(group * ROWS + ROWS).min(queries.len()) {
                    let sums: &[f32] = bytemuck::cast_slice(&sums[r % ROWS]);
                    let row = &mut dots[r * keys.len()..(r + 1) * keys.len()];
                    let row = &mut row[from - keys.start..to - keys.start];
                    for (dot, &sum) in row.iter_mut().zip(&sums[from - first..to - first]) {
                        *dot = f64::from(sum);
                    }
                }
            }
        }
        dots
    }
}

/// What makes a distance of a dot product: `‖q/c − ck − t‖² = A_q + B_k − 2 q·k`.
struct Distances {
    /// `‖q‖²/c² − 2 q·t/c`.
    of_query: Vec<f64>,
    /// `‖ck + t‖²`.
    of_key: Vec<f64>,
}

impl Distances {
    fn new(pairs: &Pairs<'_>, transform: &Transform) -> Self {
        let Transform { c, translation } = transform;
        let along = |row: &[f32]| row.iter().zip(translation).map(|(&x, t)| f64::from(x) * t).sum::<f64>();
        let of_query = pairs.queries.rows().zip(&pairs.query_squares);
        let moved = |row: &[f32]| row.iter().zip(translation).map(|(&x, t)| (f64::from(x) * c + t).powi(2)).sum();
        Self {
            of_query: of_query.map(|(row, square)| square / (c * c) - 2.0 * along(row) / c).collect(),
            of_key: pairs.keys.rows().map(moved).collect(),
        }
    }
}

/// What some queries contribute.
#[derive(Clone, Default)]
struct Piece {
    /// Dot products whose pooled ranks are wanted.
    dots: Vec<f64>,
    ways: [Way; 2],
}

/// The same for one way to measure distance.
#[derive(Clone, Default)]
struct Way {
    pooled: Moments,
    /// Sum and number.
    pearson: (f64, usize),
    spearman: (f64, usize),
    distances: Vec<f64>,
}

/// Correlations of some queries of a segment.
struct Work<'a> {
    pairs: &'a Pairs<'a>,
    segment: &'a Segment,
    queries: Range<usize>,
    ways: &'a [Distances; 2],
    /// Every so many queries give their ranks to the pool; without it there are no ranks.
    stride: Option<usize>,
}

impl WithSimd for Work<'_> {
    type Output = Piece;

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) -> Piece {
        let Self { pairs, segment, queries, ways, stride } = self;
        let n_keys = segment.keys.len();
        let mut piece = Piece::default();
        if n_keys == 0 {
            return piece;
        }
        let all_dots = Dots { pairs, queries: queries.clone(), keys: segment.keys.clone() }.with_simd(simd);
        let mut distances = vec![0.0f64; n_keys];
        let (mut order, mut dot_ranks, mut distance_ranks) = (Vec::new(), Vec::new(), Vec::new());
        for (i, dots) in queries.zip(all_dots.chunks_exact(n_keys)) {
            let pooled = stride.is_some_and(|stride| i % stride == 0);
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

fn inner(x: &[f32], y: &[f32]) -> f64 {
    let ((x, x_rest), (y, y_rest)) = (x.as_chunks::<4>(), y.as_chunks::<4>());
    let mut sums = [0.0f64; 4];
    for (x, y) in x.iter().zip(y) {
        for lane in 0..4 {
            sums[lane] += f64::from(x[lane]) * f64::from(y[lane]);
        }
    }
    let rest = x_rest.iter().zip(y_rest).map(|(&x, &y)| f64::from(x) * f64::from(y)).sum::<f64>();
    (sums[0] + sums[1]) + (sums[2] + sums[3]) + rest
}
