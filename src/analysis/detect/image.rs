//! Detectors for patches of a picture.

use std::f32::consts::TAU;

use crate::{
    analysis::explain::patches::{PatchGrid, mean_distance},
    capture::{ImageInfo, Matrix},
};

/// Below this there is no colour, or no variation, to speak of.
const NOTHING: f64 = 1e-9;

/// The patches that a stack attends between.
pub struct Patches {
    grid: PatchGrid,
    /// Regions lie anywhere, so distances between places of the grid are not theirs.
    has_places: bool,
    /// Mean hue in turns, saturation and brightness of each; `None` without the picture.
    colours: Option<Vec<[f32; 3]>>,
}

impl Patches {
    /// Of a picture.
    pub fn of(image: &ImageInfo) -> Self {
        let (rows, columns) = image.grid;
        let colours = (0..rows * columns).map(|patch| image.hsv((patch / columns, patch % columns))).collect();
        Self { colours, ..Self::without_colours(image) }
    }

    /// Only where they are, which is known at once.
    pub fn without_colours(image: &ImageInfo) -> Self {
        let (height, width) = image.patch_px;
        let patch_px = (height as f32, width as f32);
        let grid = PatchGrid { size: image.grid, n_prefix: image.n_prefix, patch_px };
        Self { grid, has_places: image.regions.is_none(), colours: None }
    }

    /// Mean distance in pixels, weights between patches brought back to a sum of one.
    pub fn distance(&self, pattern: &Matrix) -> Option<f32> {
        if self.has_places { mean_distance(pattern, self.grid, true) } else { None }
    }

    /// Mean cosine of the difference in hue, weighted by attention and saturation, less what uniform
    /// attention has.
    pub fn hue(&self, pattern: &Matrix) -> Option<f32> {
        let colours = self.colours.as_ref()?;
        let (mut attended, mut uniform) = ([0.0f64; 2], [0.0f64; 2]);
        for (query, [hue, saturation, _]) in colours.iter().enumerate() {
            for (weight, [other_hue, other_saturation, _]) in self.grid.row(pattern, query)?.iter().zip(colours) {
                let both = f64::from(saturation * other_saturation);
                let near = f64::from((TAU * (hue - other_hue)).cos());
                let weight = f64::from(*weight);
                attended = [attended[0] + weight * both * near, attended[1] + weight * both];
                uniform = [uniform[0] + both * near, uniform[1] + both];
            }
        }
        let ratio = |[sum, weights]: [f64; 2]| (weights > NOTHING).then(|| sum / weights);
        Some((ratio(attended)? - ratio(uniform)?) as f32)
    }

    /// Pearson correlation of the brightness of query and key, weighted by attention.
    pub fn brightness(&self, pattern: &Matrix) -> Option<f32> {
        let colours = self.colours.as_ref()?;
        let pairs = || {
            colours
                .iter()
                .enumerate()
                .filter_map(|(query, colour)| Some((colour, self.grid.row(pattern, query)?)))
                .flat_map(|(colour, row)| {
                    let pair = move |(weight, other): (&f32, &[f32; 3])| {
                        (f64::from(*weight), f64::from(colour[2]), f64::from(other[2]))
                    };
                    row.iter().zip(colours).map(pair)
                })
        };
        let (mut mass, mut x, mut y) = (0.0, 0.0, 0.0);
        for (weight, a, b) in pairs() {
            (mass, x, y) = (mass + weight, x + weight * a, y + weight * b);
        }
        if mass <= NOTHING {
            return None;
        }
        let (x, y) = (x / mass, y / mass);
        let (mut xx, mut yy, mut xy) = (0.0, 0.0, 0.0);
        for (weight, a, b) in pairs() {
            xx += weight * (a - x).powi(2);
            yy += weight * (b - y).powi(2);
            xy += weight * (a - x) * (b - y);
        }
        let spread = (xx * yy).sqrt();
        (spread > NOTHING).then(|| (xy / spread) as f32)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn patches(colours: &[[f32; 3]]) -> Patches {
        let grid = PatchGrid { size: (2, 2), n_prefix: 1, patch_px: (16.0, 16.0) };
        Patches { grid, has_places: true, colours: Some(colours.to_vec()) }
    }

    /// Weights between patches only, behind a prefix token.
    fn pattern(weights: impl Fn(usize, usize) -> f32) -> Matrix {
        let at = |query: usize, key: usize| if query == 0 || key == 0 { 0.2 } else { weights(query - 1, key - 1) };
        Matrix::new((0..25).map(|idx| at(idx / 5, idx % 5)).collect::<Vec<_>>(), [5, 5]).unwrap()
    }

    #[test]
    fn attention_to_the_same_colour_groups_by_hue_and_not_by_brightness() {
        let colours = [[0.0, 1.0, 0.9], [0.0, 1.0, 0.1], [0.5, 1.0, 0.9], [0.5, 1.0, 0.1]];
        let patches = patches(&colours);
        let same = pattern(|query, key| if query / 2 == key / 2 { 0.5 } else { 0.0 });
        assert!((patches.hue(&same).unwrap() - 1.0).abs() < 1e-5);
        assert!(patches.brightness(&same).unwrap().abs() < 1e-5);
        let uniform = pattern(|_, _| 0.25);
        assert!(patches.hue(&uniform).unwrap().abs() < 1e-6);
        let bright = pattern(|query, key| if query % 2 == key % 2 { 0.5 } else { 0.0 });
        assert!((patches.brightness(&bright).unwrap() - 1.0).abs() < 1e-5);
        assert!(patches.hue(&bright).unwrap().abs() < 1e-6);
    }

    /// Two bright patches and two dark ones that look at each other: a weighted correlation by hand.
    #[test]
    fn brightness_of_the_worked_example() {
        let patches = patches(&[0.9, 0.8, 0.2, 0.1].map(|value| [0.0, 0.0, value]));
        let weight = |query: usize, key: usize| match (query == key, query / 2 == key / 2) {
            (true, _) => 0.5,
            (_, true) => 0.4,
            _ => 0.05,
        };
        assert!((patches.brightness(&pattern(weight)).unwrap() - 0.786).abs() < 1e-6);
        assert_eq!(patches.hue(&pattern(weight)), None, "grey has no hue");
    }
}
