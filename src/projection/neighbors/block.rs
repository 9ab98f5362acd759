//! A block of points against all: products in registers, of which only what is near enough is written down.

#![expect(clippy::inline_always, reason = "compiled for an instruction set only where it is inlined")]

use std::ops::Range;

use pulp::{Simd, WithSimd};

use super::nearest::{self, Nearest, SHOWN};
use crate::projection::{
    dispatch::dispatch,
    lanes,
    points::Prepared,
    products::{Pack, Panels, ROWS, VECTORS, interleave, products},
};

/// All points, ready to be searched.
pub(super) struct All {
    panels: Panels,
    /// Squared norms, infinite where there is no point.
    squares: Vec<f32>,
}

impl All {
    pub fn of(points: &Prepared) -> Self {
        let Prepared { values, n, width, .. } = points;
        let panels = dispatch(Pack { values, n: *n, width: *width });
        let mut squares = vec![f32::INFINITY; panels.n_panels() * panels.wide()];
        for (i, square) in squares.iter_mut().enumerate().take(*n) {
            *square = values[i * width..(i + 1) * width].iter().map(|x| x * x).sum();
        }
        Self { panels, squares }
    }
}

/// Finds the neighbours of `rows`.
pub(super) struct RowSearch<'a> {
    pub points: &'a Prepared,
    pub all: &'a All,
    pub rows: Range<usize>,
    pub k: usize,
    pub buffers: &'a mut Vec<Nearest>,
    /// `[rows, k]`, to be filled.
    pub indices: &'a mut [u32],
    /// `[rows, k]`, squares, to be filled.
    pub distances: &'a mut [f32],
}

impl WithSimd for RowSearch<'_> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { points, all, rows, k, buffers, indices, distances } = self;
        let (wide, width) = (all.panels.wide(), points.width);
        buffers.resize_with(rows.len().next_multiple_of(ROWS), Nearest::default);
        for (r, buffer) in buffers.iter_mut().enumerate() {
            // One more than is wanted, for the point itself.
            buffer.restart(if r < rows.len() { k + 1 } else { 0 });
        }
        let mut six = Vec::new();
        interleave(&points.values[rows.start * width..rows.end * width], rows.len(), width, &mut six);
        for panel in 0..all.panels.n_panels() {
            let squares = S::as_simd_f32s(&all.squares[panel * wide..(panel + 1) * wide]).0;
            for (group, buffers) in buffers.chunks_exact_mut(ROWS).enumerate() {
                let dots = products(simd, &six[group * width..(group + 1) * width], all.panels.panel(panel));
                for r in 0..ROWS {
                    offer(simd, dots[r], squares, &mut buffers[r], panel * wide);
                }
            }
        }
        let outputs = indices.chunks_exact_mut(k).zip(distances.chunks_exact_mut(k));
        let mut exact: Vec<u64> = Vec::with_capacity(k + 1);
        for ((row, buffer), (indices, distances)) in rows.zip(buffers).zip(outputs) {
            // The formula above cancels for near points: what is reported is computed from differences.
            exact.clear();
            // A loop: what a closure holds is not compiled for the instruction set.
            let x = &points.values[row * width..(row + 1) * width];
            for &kept in buffer.finish() {
                let j = kept as u32;
                if j as usize == row {
                    continue;
                }
                let y = &points.values[j as usize * width..(j as usize + 1) * width];
                exact.push(nearest::key(lanes::square_distance(simd, x, y), j));
            }
            exact.sort_unstable();
            for ((key, index), distance) in exact.iter().zip(indices).zip(distances) {
                (*index, *distance) = (*key as u32, nearest::value(*key));
            }
        }
    }
}

/// Gives what is below the threshold to `buffer`: `‖y‖² − 2 x·y`, which orders like the distance from `x`.
#[inline(always)]
fn offer<S: Simd>(simd: S, dots: [S::f32s; VECTORS], squares: &[S::f32s], buffer: &mut Nearest, start: usize) {
    let threshold = simd.splat_f32s(buffer.threshold());
    let mut values = dots;
    let mut below = simd.less_than_f32s(threshold, threshold);
    for v in 0..VECTORS {
        values[v] = simd.mul_add_e_f32s(dots[v], simd.splat_f32s(-2.0), squares[v]);
        below = simd.or_m32s(below, simd.less_than_f32s(values[v], threshold));
    }
    if simd.first_true_m32s(below) < S::F32_LANES {
        let values: &[f32] = bytemuck::cast_slice(&values);
        let mut start = start;
        for some in values.chunks(SHOWN) {
            buffer.show(some, start);
            start += SHOWN;
        }
    }
}
