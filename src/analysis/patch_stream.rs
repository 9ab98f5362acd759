//! Patches of a picture in the residual stream: their norms, and their principal components.

use crate::{
    capture::{Capture, ImageInfo, Matrix, Site},
    ids::StackKind,
    projection::{Pca, Points},
};

/// So many times the median norm of the patches and more is an outlier.
pub const OUTLIER: f64 = 4.0;

/// The stream of the picture that a layer reads, with its name.
pub fn rows(capture: &Capture, stack: StackKind, layer: usize) -> Option<(&Matrix, String)> {
    let side = capture.picture_side()?;
    if stack.query_side() == side {
        let rows = capture.stack(stack.host())?.rows(Site::ResidPre, layer)?;
        return Some((rows, format!("the residual stream before layer {layer}")));
    }
    let other = capture.model().last_stack(side);
    if stack.is_cross_modal() {
        // What stands between two streams reads the other as it enters the same layer.
        let rows = capture.stack(other)?.rows(Site::ResidPre, layer)?;
        return Some((rows, format!("the residual stream before layer {layer} of the {other} stack")));
    }
    // What stands between two sequences reads the end of the other.
    let rows = capture.stack(side.stack())?.resid_final()?;
    Some((rows, format!("the residual stream behind the {} stack", side.stack())))
}

/// Norms of the tokens of a picture.
#[derive(Clone, Debug, PartialEq)]
pub struct PatchNorms {
    /// By token of the picture.
    pub norms: Vec<f32>,
    /// The median of the patches.
    pub median: f32,
    /// Positions of the patches from [`OUTLIER`] times the median on.
    pub outliers: Vec<usize>,
}

impl PatchNorms {
    /// Of the stream `[token, d_model]` of a picture.
    pub fn of(rows: &Matrix, image: &ImageInfo) -> Self {
        let norm = |row: &[f32]| row.iter().map(|value| f64::from(*value).powi(2)).sum::<f64>().sqrt();
        let norms: Vec<f64> = rows.rows().map(norm).collect();
        let patches = norms.get(image.n_prefix..).unwrap_or_default();
        let mut sorted = patches.to_vec();
        sorted.sort_by(f64::total_cmp);
        let middle = |at: usize| sorted.get(at).copied().unwrap_or(0.0);
        let median = f64::midpoint(middle(sorted.len().saturating_sub(1) / 2), middle(sorted.len() / 2));
        let is_outlier = |norm: f64| median > 0.0 && norm >= OUTLIER * median;
        let outliers = patches.iter().enumerate().filter(|(_, norm)| is_outlier(**norm));
        Self {
            outliers: outliers.map(|(patch, _)| image.n_prefix + patch).collect(),
            median: median as f32,
            norms: norms.into_iter().map(|norm| norm as f32).collect(),
        }
    }
}

/// Where the patches of a picture lie along the three directions in which they vary most.
#[derive(Clone, Debug, PartialEq)]
pub struct PatchComponents {
    /// By patch, row by row.
    pub places: Vec<[f32; 3]>,
    /// Part of the variance along each direction.
    pub shares: [f64; 3],
}

impl PatchComponents {
    /// Of the stream that a layer reads; `None` where it was not recorded, or has values that are not finite.
    pub fn of_layer(capture: &Capture, stack: StackKind, layer: usize) -> Option<Self> {
        Self::of(rows(capture, stack, layer)?.0, capture.image()?)
    }

    /// Of the stream `[token, d_model]` of a picture, its patches alone; `None` where it has values that are not finite.
    pub fn of(rows: &Matrix, image: &ImageInfo) -> Option<Self> {
        let width = rows.n_cols();
        let patches = rows.as_slice().get(image.n_prefix * width..)?;
        let points = Points::new(patches, patches.len() / width.max(1), width).ok()?;
        let pca = Pca::fit(points, 3).ok()?;
        let places = pca.layout(points).chunks_exact(3).map(|place| [place[0], place[1], place[2]]).collect();
        let [first, second, third] = *pca.explained() else { return None };
        Some(Self { places, shares: [first, second, third] })
    }

    /// Red, green and blue of each patch: every component from its least to its largest place.
    pub fn colors(&self) -> Vec<[u8; 3]> {
        let ends = |axis: usize| {
            let places = self.places.iter().map(|place| place[axis]);
            places.fold((f32::INFINITY, f32::NEG_INFINITY), |(low, high), place| (low.min(place), high.max(place)))
        };
        let ends = [0, 1, 2].map(ends);
        let channel = |place: &[f32; 3], axis: usize| {
            let (low, high) = ends[axis];
            let span = high - low;
            // Without a further direction a channel is empty.
            if span > 0.0 { (255.0 * (place[axis] - low) / span).round() as u8 } else { 0 }
        };
        self.places.iter().map(|place| [0, 1, 2].map(|axis| channel(place, axis))).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::CropRect;

    fn image(grid: (usize, usize)) -> ImageInfo {
        let crop = CropRect { x: 0.0, y: 0.0, width: 1.0, height: 1.0 };
        ImageInfo { grid, regions: None, n_prefix: 1, patch_px: (1, 1), crop, source: None }
    }

    #[test]
    fn outliers_are_patches_of_four_median_norms() {
        let rows = [[30.0, 40.0], [3.0, 4.0], [0.0, 5.0], [12.0, 16.0], [5.0, 0.0]];
        let norms = PatchNorms::of(&Matrix::new(rows.as_flattened().to_vec(), [5, 2]).unwrap(), &image((2, 2)));
        assert_eq!((norms.norms, norms.median), (vec![50.0, 5.0, 5.0, 20.0, 5.0], 5.0));
        assert_eq!(norms.outliers, [3], "CLS is no patch");
    }

    #[test]
    fn components_of_points_on_a_line_are_one_channel() {
        let rows = [[9.0, 9.0], [0.0, 0.0], [3.0, 4.0], [6.0, 8.0], [1.5, 2.0]];
        let rows = Matrix::new(rows.as_flattened().to_vec(), [5, 2]).unwrap();
        let components = PatchComponents::of(&rows, &image((2, 2))).unwrap();
        assert!((components.shares[0] - 1.0).abs() < 1e-9 && components.shares[1].abs() < 1e-9);
        let reds: Vec<u8> = components.colors().iter().map(|color| color[0]).collect();
        assert_eq!(reds, [0, 128, 255, 64]);
    }
}
