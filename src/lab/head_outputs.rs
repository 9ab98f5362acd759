//! Outputs of heads into the residual stream.

use super::LabError;
use crate::{
    capture::{Matrix, PerHead},
    model::Projection,
};

/// How far two ways to the same sum may differ, as a part of its largest value.
const SAME: f64 = 1e-3;

/// The rows of an output map that belong to each head, `[heads, d_head, d_model]`.
pub(super) fn by_head(output: &Projection, n_heads: usize) -> Result<PerHead, LabError> {
    let [n_rows, width] = output.weight.shape();
    let d_head = n_rows / n_heads.max(1);
    PerHead::new(output.weight.as_slice(), [n_heads, d_head, width])
        .map_err(|_| LabError::unsuited("the output map does not belong to these heads"))
}

/// What attention adds at one position by its heads, `[heads][d_model]`: `z · W_O`, without the map's bias.
pub(super) fn head_parts(z: &PerHead, output: &PerHead, position: usize) -> Vec<Vec<f64>> {
    let [n_heads, d_head, width] = output.shape();
    let part = |head: usize| {
        let mut sum = vec![0.0; width];
        let (z, map) = (z.head(head), output.head(head));
        let z = z.as_ref().and_then(|z| z.row(position)).unwrap_or(&[]);
        for (value, row) in z.iter().zip(map.iter().flat_map(Matrix::rows)).take(d_head) {
            sum.iter_mut().zip(row).for_each(|(sum, weight)| *sum += f64::from(*value) * f64::from(*weight));
        }
        sum
    };
    (0..n_heads).map(part).collect()
}

/// Whether parts add up to a whole, but for rounding.
pub(super) fn add_up<'a>(parts: impl Iterator<Item = &'a [f64]>, whole: &[f32]) -> bool {
    let mut sum = vec![0.0; whole.len()];
    let mut largest = whole.iter().fold(0.0f64, |most, value| most.max(f64::from(value.abs())));
    for part in parts {
        for (sum, value) in sum.iter_mut().zip(part) {
            *sum += value;
            largest = largest.max(value.abs());
        }
    }
    sum.iter().zip(whole).all(|(sum, value)| (sum - f64::from(*value)).abs() <= SAME * largest)
}
