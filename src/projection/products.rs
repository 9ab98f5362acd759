//! Dot products of a few points with all others, in registers.

#![expect(clippy::inline_always, reason = "compiled for an instruction set only where it is inlined")]

use pulp::{Simd, WithSimd};

/// Points whose products are summed in registers at the same time, each in [`VECTORS`] vectors.
pub(super) const ROWS: usize = 6;

/// Vectors of columns in a panel: with [`ROWS`] they fill the sixteen registers of AVX2.
pub(super) const VECTORS: usize = 2;

/// Points by column: panels of as many points as fit [`VECTORS`] vectors.
pub(super) struct Panels {
    /// `[panel, coordinate, point in the panel]`, zero where there is no point.
    values: Vec<f32>,
    n: usize,
    width: usize,
    wide: usize,
}

impl Panels {
    /// Points in a panel.
    pub const fn wide(&self) -> usize {
        self.wide
    }

    /// How many panels there are.
    pub const fn n_panels(&self) -> usize {
        self.n.div_ceil(self.wide)
    }

    /// One panel.
    pub fn panel(&self, panel: usize) -> &[f32] {
        &self.values[panel * self.width * self.wide..(panel + 1) * self.width * self.wide]
    }
}

/// Makes the panels of points `[n, width]`.
pub(super) struct Pack<'a> {
    pub values: &'a [f32],
    pub n: usize,
    pub width: usize,
}

impl WithSimd for Pack<'_> {
    type Output = Panels;

    #[inline(always)]
    fn with_simd<S: Simd>(self, _simd: S) -> Panels {
        let Self { values: points, n, width } = self;
        let wide = VECTORS * S::F32_LANES;
        let mut values = vec![0.0; n.div_ceil(wide) * width * wide];
        for i in 0..n {
            let panel = &mut values[i / wide * width * wide..];
            for (t, &x) in points[i * width..(i + 1) * width].iter().enumerate() {
                panel[t * wide + i % wide] = x;
            }
        }
        Panels { values, n, width, wide }
    }
}

/// Rows `[n, width]` in groups of six, one coordinate of each after the other; zero where there are no more.
pub(super) fn interleave(rows: &[f32], n: usize, width: usize, to: &mut Vec<[f32; ROWS]>) {
    to.clear();
    to.resize(n.div_ceil(ROWS) * width, [0.0; ROWS]);
    for r in 0..n {
        for (t, &x) in rows[r * width..(r + 1) * width].iter().enumerate() {
            to[r / ROWS * width + t][r % ROWS] = x;
        }
    }
}

/// Products of six interleaved points with all points of a panel.
#[inline(always)]
pub(super) fn products<S: Simd>(simd: S, rows: &[[f32; ROWS]], panel: &[f32]) -> [[S::f32s; VECTORS]; ROWS] {
    let mut sums = [[simd.splat_f32s(0.0); VECTORS]; ROWS];
    let (columns, _) = S::as_simd_f32s(panel).0.as_chunks::<VECTORS>();
    for (row, columns) in rows.iter().zip(columns) {
        for r in 0..ROWS {
            let x = simd.splat_f32s(row[r]);
            for v in 0..VECTORS {
                sums[r][v] = simd.mul_add_e_f32s(x, columns[v], sums[r][v]);
            }
        }
    }
    sums
}
