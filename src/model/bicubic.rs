//! Bicubic resampling of position embeddings, as `torch.nn.functional.interpolate` does it with
//! `mode="bicubic", align_corners=False`: cubic convolution with a = −0.75, borders repeated, no
//! anti-aliasing. Pure arithmetic.

/// Resamples a grid of `d`-dimensional rows, `[from.0 · from.1, d]` to `[to.0 · to.1, d]`.
pub(super) fn resize_rows(values: &[f32], from: (usize, usize), to: (usize, usize), d: usize) -> Vec<f32> {
    let mut out = vec![0.0; to.0 * to.1 * d];
    let cols: Vec<_> = (0..to.1).map(|col| taps(col, from.1, to.1)).collect();
    for row in 0..to.0 {
        let row_taps = taps(row, from.0, to.0);
        for (col, col_taps) in cols.iter().enumerate() {
            let start = (row * to.1 + col) * d;
            let out = &mut out[start..start + d];
            for (y, weight_y) in row_taps {
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

/// The four source indices and weights of one target index.
fn taps(target: usize, n_from: usize, n_to: usize) -> [(usize, f32); 4] {
    let scale = n_from as f32 / n_to as f32;
    let source = scale * (target as f32 + 0.5) - 0.5;
    let first = source.floor();
    let t = source - first;
    let weights = [outer(t + 1.0), inner(t), inner(1.0 - t), outer(2.0 - t)];
    let mut taps = [(0, 0.0); 4];
    for (idx, (tap, weight)) in taps.iter_mut().zip(weights).enumerate() {
        let index = (first as isize - 1 + idx as isize).clamp(0, n_from as isize - 1);
        *tap = (index as usize, weight);
    }
    taps
}

const A: f32 = -0.75;

/// The kernel at a distance of at most one.
fn inner(x: f32) -> f32 {
    ((A + 2.0) * x - (A + 3.0)) * x * x + 1.0
}

/// The kernel at a distance between one and two.
fn outer(x: f32) -> f32 {
    ((A * x - 5.0 * A) * x + 8.0 * A) * x - 4.0 * A
}

#[cfg(test)]
mod tests {
    use super::resize_rows;

    #[test]
    fn same_size_is_the_identity() {
        let values: Vec<f32> = (0..12).map(|i| (i * i) as f32).collect();
        assert_eq!(resize_rows(&values, (2, 3), (2, 3), 2), values);
    }

    /// From `torch.nn.functional.interpolate(torch.tensor([[[[0., 1., 4.]]]]), size=(1, 5), mode="bicubic")`.
    #[test]
    fn one_dimension_matches_torch() {
        let resized = resize_rows(&[0.0, 1.0, 4.0], (1, 3), (1, 5), 1);
        let expected = [-0.096, 0.172, 1.0, 2.908, 4.288];
        for (value, expected) in resized.iter().zip(expected) {
            assert!((value - expected).abs() < 1e-6 * expected.abs().max(1.0), "{resized:?}");
        }
    }
}
