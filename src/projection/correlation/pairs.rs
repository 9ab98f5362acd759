//! Queries and keys that meet: their products a few at a time, and the distances that come of them.

#![expect(clippy::inline_always, reason = "compiled for an instruction set only where it is inlined")]

use std::ops::Range;

use pulp::{Simd, WithSimd};

use super::{BLOCK, InputSegment};
use crate::projection::{
    Points, ProjectionError,
    dispatch::dispatch,
    products::{Pack, Panels, ROWS, interleave, products},
    space::{Transform, check_widths},
};

/// Queries and keys that meet.
pub(super) struct Pairs<'a> {
    queries: Points<'a>,
    keys: Points<'a>,
    segments: &'a [InputSegment],
    /// `‖q‖²`.
    pub query_squares: Vec<f64>,
    /// `‖k‖²`.
    pub key_squares: Vec<f64>,
    panels: Panels,
}

impl<'a> Pairs<'a> {
    pub fn new(queries: Points<'a>, keys: Points<'a>, segments: &'a [InputSegment]) -> Result<Self, ProjectionError> {
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

    /// How many pairs.
    pub fn n(&self) -> usize {
        self.segments.iter().map(|segment| segment.queries.len() * segment.keys.len()).sum()
    }

    /// Every so many queries give at most about `most` pairs.
    pub fn stride(&self, most: usize) -> usize {
        self.n().div_ceil(most).max(1)
    }

    /// Some queries of each segment.
    pub fn pieces(&self) -> Vec<(&'a InputSegment, Range<usize>)> {
        let blocks = |segment: &'a InputSegment| {
            let Range { start, end } = segment.queries;
            (start..end).step_by(BLOCK).map(move |first| (segment, first..(first + BLOCK).min(end)))
        };
        self.segments.iter().flat_map(blocks).collect()
    }
}

/// Dot products of some queries with some keys: `[queries, keys]`.
pub(super) struct Dots<'a> {
    pub pairs: &'a Pairs<'a>,
    pub queries: Range<usize>,
    pub keys: Range<usize>,
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
pub(super) struct Distances {
    /// `‖q‖²/c² − 2 q·t/c`.
    pub of_query: Vec<f64>,
    /// `‖ck + t‖²`.
    pub of_key: Vec<f64>,
}

impl Distances {
    pub fn new(pairs: &Pairs<'_>, transform: &Transform) -> Self {
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

/// In double precision.
pub(super) fn inner(x: &[f32], y: &[f32]) -> f64 {
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
