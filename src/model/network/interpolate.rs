//! Resampling of grids of learned vectors, as `torch.nn.functional.interpolate` does it with
//! `align_corners=False`. Pure arithmetic.

/// How a grid is resampled.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Interpolation {
    /// Two taps each way (`mode="bilinear"`).
    Bilinear,
    /// As many taps as the new grid's steps are wide (`mode="bilinear"`, `antialias=True`).
    BilinearAntialiased,
    /// Four taps each way, also when the grid shrinks (`mode="bicubic"`).
    Bicubic,
    /// The same with as many taps as the new grid's steps are wide (`antialias=True`).
    BicubicAntialiased,
}

/// Resamples a grid of `d`-dimensional rows, `[from.0 · from.1, d]` to `[to.0 · to.1, d]`.
pub(super) fn resize_rows(
    values: &[f32],
    from: (usize, usize),
    to: (usize, usize),
    d: usize,
    filter: Interpolation,
) -> Vec<f32> {
    let mut out = vec![0.0; to.0 * to.1 * d];
    let cols: Vec<_> = (0..to.1).map(|col| filter.taps(col, from.1, to.1)).collect();
    for row in 0..to.0 {
        let row_taps = filter.taps(row, from.0, to.0);
        for (col, col_taps) in cols.iter().enumerate() {
            let start = (row * to.1 + col) * d;
            let out = &mut out[start..start + d];
            for (y, weight_y) in &row_taps {
                for (x, weight_x) in col_taps {
                    let start = (y * from.1 + x) * d;
                    let weight = weight_y * weight_x;
                    for (out, value) in out.iter_mut().zip(&values[start..start + d]) {
                        *out += weight * value;
                    }
                }
            }
        }
    }
    out
}

impl Interpolation {
    /// Source indices and weights of one target index.
    fn taps(self, target: usize, n_from: usize, n_to: usize) -> Vec<(usize, f32)> {
        let scale = n_from as f32 / n_to as f32;
        match self {
            Self::Bilinear => {
                // The reference clamps here, and only in this mode.
                let source = (scale * (target as f32 + 0.5) - 0.5).max(0.0);
                let (first, last) = (source as usize, n_from - 1);
                let weight = source - first as f32;
                vec![(first.min(last), 1.0 - weight), ((first + 1).min(last), weight)]
            }
            Self::BilinearAntialiased => {
                let centre = (target as f32 + 0.5) * scale - 0.5;
                let stretch = scale.max(1.0);
                let weight = |at: usize| (1.0 - (at as f32 - centre).abs() / stretch).max(0.0);
                let sum: f32 = (0..n_from).map(weight).sum();
                (0..n_from).map(|at| (at, weight(at) / sum)).filter(|(_, weight)| *weight > 0.0).collect()
            }
            Self::Bicubic => {
                let source = scale * (target as f32 + 0.5) - 0.5;
                let first = source.floor();
                let taps = (-1..=2).map(|offset| {
                    let at = first + offset as f32;
                    ((at as isize).clamp(0, n_from as isize - 1) as usize, kernel(A, at - source))
                });
                taps.collect()
            }
            Self::BicubicAntialiased => {
                let stretch = scale.max(1.0);
                let centre = scale * (target as f32 + 0.5);
                let first = (centre - 2.0 * stretch + 0.5).max(0.0) as usize;
                let end = ((centre + 2.0 * stretch + 0.5).max(0.0) as usize).min(n_from);
                let weight = |at: usize| kernel(A_ANTIALIASED, (at as f32 - centre + 0.5) / stretch);
                let sum: f32 = (first..end).map(weight).sum();
                (first..end).map(|at| (at, weight(at) / sum)).collect()
            }
        }
    }
}

const A: f32 = -0.75;
/// With anti-aliasing the reference changes the parameter too.
const A_ANTIALIASED: f32 = -0.5;

/// The cubic convolution kernel with parameter `a`.
fn kernel(a: f32, x: f32) -> f32 {
    let x = x.abs();
    if x <= 1.0 {
        ((a + 2.0) * x - (a + 3.0)) * x * x + 1.0
    } else if x < 2.0 {
        ((a * x - 5.0 * a) * x + 8.0 * a) * x - 4.0 * a
    } else {
        0.0
    }
}

#[cfg(test)]
mod tests {
    use super::{Interpolation, resize_rows};

    #[test]
    fn same_size_is_the_identity() {
        let values: Vec<f32> = (0..12).map(|i| (i * i) as f32).collect();
        assert_eq!(resize_rows(&values, (2, 3), (2, 3), 2, Interpolation::Bicubic), values);
    }

    /// From `torch.nn.functional.interpolate(torch.tensor([[[[...]]]]), size=(1, ...), mode=..., antialias=...)`.
    #[test]
    fn one_dimension_matches_torch() {
        let check = |values: &[f32], filter, expected: &[f32]| {
            let resized = resize_rows(values, (1, values.len()), (1, expected.len()), 1, filter);
            for (value, expected) in resized.iter().zip(expected) {
                assert!((value - expected).abs() < 1e-4, "{filter:?}: {resized:?}");
            }
        };
        check(&[0.0, 1.0, 4.0], Interpolation::Bicubic, &[-0.096, 0.172, 1.0, 2.908, 4.288]);
        check(&[0.0, 1.0, 4.0], Interpolation::Bilinear, &[0.0, 0.4, 1.0, 2.8, 4.0]);
        check(&[0.0, 1.0, 4.0], Interpolation::Bilinear, &[0.25, 3.25]);
        check(&[0.0, 1.0, 4.0, 9.0, 16.0], Interpolation::BilinearAntialiased, &[0.4286, 4.4444, 13.0]);
        check(&[0.0, 1.0, 4.0], Interpolation::BilinearAntialiased, &[0.0, 0.4, 1.0, 2.8, 4.0]);
        check(&[0.0, 1.0, 4.0, 9.0, 16.0], Interpolation::BicubicAntialiased, &[0.1692, 4.1953, 13.3385]);
    }
}
