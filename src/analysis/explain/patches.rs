//! What vision transformers' patches are looked at for: how far heads reach, what they look at, and patches
//! that the model uses as memory.

use super::{ExplainError, permutation::median};
use crate::capture::Matrix;

/// Mass below this is none.
const NOTHING: f64 = 1e-9;
/// What the median of absolute deviations is multiplied by to be a standard deviation of normal values.
const TO_DEVIATION: f64 = 1.4826;

/// Where patches lie: rows and columns, tokens before the first patch, and the size of a patch in pixels,
/// height first.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct PatchGrid {
    /// Rows and columns; not the root of their number, pictures need not be square.
    pub size: (usize, usize),
    /// Class, distillation and register tokens before the patches.
    pub n_prefix: usize,
    /// Height and width of a patch.
    pub patch_px: (f32, f32),
}

impl PatchGrid {
    /// Number of patches.
    pub const fn len(&self) -> usize {
        self.size.0 * self.size.1
    }

    /// Whether there is no patch.
    pub const fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Pixels between the centres of two patches.
    pub fn between(&self, a: usize, b: usize) -> f32 {
        let columns = self.size.1.max(1);
        let rows = (a / columns).abs_diff(b / columns) as f32 * self.patch_px.0;
        let columns = (a % columns).abs_diff(b % columns) as f32 * self.patch_px.1;
        rows.hypot(columns)
    }

    /// The weights of one patch on all patches; none where the pattern is of other tokens.
    pub fn row<'a>(&self, pattern: &'a Matrix, query: usize) -> Option<&'a [f32]> {
        pattern.row(self.n_prefix + query)?.get(self.n_prefix..self.n_prefix + self.len())
    }
}

/// Mean attention distance in pixels (Dosovitskiy et al. 2021): the mean over patches of the distance to the
/// patches that they attend to. None where the pattern is of other tokens, or no patch attends to patches.
///
/// `renormalise` brings the weights between patches back to a sum of 1, and leaves out patches without any.
/// Without, heads that look at the class token look near-sighted: a published notebook does that.
pub fn mean_distance(pattern: &Matrix, grid: PatchGrid, renormalise: bool) -> Option<f32> {
    let (mut sum, mut n) = (0.0f64, 0usize);
    for query in 0..grid.len() {
        let (mut far, mut mass) = (0.0f64, 0.0f64);
        for (key, weight) in grid.row(pattern, query)?.iter().enumerate() {
            far += f64::from(*weight) * f64::from(grid.between(query, key));
            mass += f64::from(*weight);
        }
        if !renormalise || mass > NOTHING {
            sum += if renormalise { far / mass } else { far };
            n += 1;
        }
    }
    (n > 0).then(|| (sum / n as f64) as f32)
}

/// The fewest strongest entries that together hold at least `keep` of the sum, `0..=1`: what a query looks at
/// (Caron et al. 2021). `weights` are those on patches, without other tokens.
pub fn attended(weights: &[f32], keep: f64) -> Result<Vec<bool>, ExplainError> {
    ExplainError::check_fraction("the part that is kept", keep)?;
    let total: f64 = weights.iter().map(|&weight| f64::from(weight)).sum();
    let mut order: Vec<usize> = (0..weights.len()).collect();
    order.sort_by(|&a, &b| weights[a].total_cmp(&weights[b]));
    let (mut kept, mut sum) = (vec![false; weights.len()], 0.0);
    for entry in order {
        sum += f64::from(weights[entry]);
        // The entry that crosses the line belongs to what is kept.
        kept[entry] = sum / total > 1.0 - keep;
    }
    Ok(kept)
}

/// Patches whose vectors are much longer than others', which models use as registers (Darcet et al. 2024).
#[derive(Clone, Debug, PartialEq)]
pub struct Outliers {
    /// Their numbers among the patches.
    pub patches: Vec<usize>,
    /// The length above which a patch is one: six robust standard deviations above the median.
    pub threshold: f64,
}

/// Outliers among the lengths of patches' vectors, measured before the final norm.
///
/// Published thresholds belong to single models (150 for `DINOv2`-L, 30 for CLIP-B/16); this one needs none.
/// None where there are no patches.
pub fn outliers(lengths: &[f64]) -> Option<Outliers> {
    let middle = median(lengths)?;
    let deviations: Vec<f64> = lengths.iter().map(|length| (length - middle).abs()).collect();
    let threshold = middle + 6.0 * TO_DEVIATION * median(&deviations)?;
    let patches = (0..lengths.len()).filter(|&patch| lengths[patch] > threshold).collect();
    Some(Outliers { patches, threshold })
}

#[cfg(test)]
mod tests {
    use super::{super::toy, *};

    const GRID: PatchGrid = PatchGrid { size: (2, 2), n_prefix: 1, patch_px: (16.0, 16.0) };

    #[test]
    fn distances_of_the_worked_example() {
        let uniform = Matrix::new(vec![0.2; 25], [5, 5]).unwrap();
        toy::assert_near(&[mean_distance(&uniform, GRID, true).unwrap()], &[13.656_854]);
        toy::assert_near(&[mean_distance(&uniform, GRID, false).unwrap()], &[10.925_483]);
        assert_eq!(mean_distance(&Matrix::new(vec![1.0], [1, 1]).unwrap(), GRID, true), None);
    }

    #[test]
    fn what_is_attended_to_in_the_worked_example() {
        let kept = attended(&[0.05, 0.1, 0.3, 0.25, 0.2, 0.1], 0.6).unwrap();
        assert_eq!(kept, [false, false, true, true, true, false]);
        assert!(attended(&[1.0], 1.5).is_err());
    }

    #[test]
    fn outliers_of_the_worked_example() {
        let found = outliers(&[45.0, 47.0, 44.0, 190.0, 46.0, 48.0, 43.0, 210.0]).unwrap();
        assert_eq!(found.patches, [3, 7]);
        toy::assert_near(&[found.threshold], &[64.2912]);
        assert_eq!(outliers(&[]), None);
    }
}
