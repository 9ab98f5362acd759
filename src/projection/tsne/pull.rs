//! Attractive forces between neighbours: `Σ p q (x − y)`.

#![expect(clippy::inline_always, reason = "compiled for an instruction set only where it is inlined")]

use pulp::{Simd, WithSimd};

use crate::projection::affinities::{Affinities, PADDING};

/// Points that are worked on together.
pub(super) const ROWS: usize = 128;

/// Computes the attraction of some points.
pub(super) struct Pull<'a, const D: usize> {
    pub affinities: &'a Affinities,
    pub points: &'a [[f32; D]],
    pub first: usize,
    pub forces: &'a mut [[f32; D]],
}

impl<const D: usize> WithSimd for Pull<'_, D> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        let Self { affinities, points, first, forces } = self;
        let (zero, one) = (simd.splat_f32s(0.0), simd.splat_f32s(1.0));
        for (i, force) in (first..).zip(forces) {
            let here: [S::f32s; D] = std::array::from_fn(|axis| simd.splat_f32s(points[i][axis]));
            let (columns, weights) = affinities.row(i);
            let mut sums = [zero; D];
            for (columns, weights) in columns.as_chunks::<PADDING>().0.iter().zip(weights.as_chunks::<PADDING>().0) {
                let mut others = [[0.0f32; PADDING]; D];
                for lane in 0..PADDING {
                    let other = points[columns[lane] as usize];
                    for axis in 0..D {
                        others[axis][lane] = other[axis];
                    }
                }
                for v in 0..PADDING.div_ceil(S::F32_LANES) {
                    let mut gaps = [zero; D];
                    let mut square = one;
                    for axis in 0..D {
                        let other = vector::<S>(simd, &others[axis], v);
                        gaps[axis] = simd.sub_f32s(here[axis], other);
                        square = simd.mul_add_e_f32s(gaps[axis], gaps[axis], square);
                    }
                    let factor = simd.div_f32s(vector::<S>(simd, weights, v), square);
                    for axis in 0..D {
                        sums[axis] = simd.mul_add_e_f32s(factor, gaps[axis], sums[axis]);
                    }
                }
            }
            *force = sums.map(|sum| simd.reduce_sum_f32s(sum));
        }
    }
}

/// The vector with the number `v` of some values; 0 beyond them.
#[inline(always)]
fn vector<S: Simd>(simd: S, values: &[f32; PADDING], v: usize) -> S::f32s {
    if S::F32_LANES > PADDING { simd.partial_load_f32s(values) } else { S::as_simd_f32s(values).0[v] }
}
