//! Detectors for patches of a picture.

use std::{collections::BTreeMap, f32::consts::TAU};

use super::{Definition, Detector};
use crate::{
    analysis::explain::patches::{PatchGrid, mean_distance, outliers},
    capture::{ImageInfo, Matrix},
};

/// What detectors of patches have in common.
const OF_PATCHES: Definition =
    Definition { name: "", title: "", meaning: "", formula: "", threshold: None, applies: "pictures" };
/// Where patches have rows and columns.
const IN_ROWS: &str = "pictures in rows and columns of patches";

pub const DISTANCE: Definition = Definition {
    name: "distance",
    title: "Distance",
    meaning: "Distance between patches in pixels of the model’s picture, on average, weights on other tokens left out \
              (Dosovitskiy et al. 2021)",
    formula: "mean over i of Σ over j of A[i, j] · distance(i, j)",
    ..OF_PATCHES
};

pub const HUE: Definition = Definition {
    name: "hue",
    title: "Hue",
    meaning: "How much nearer in hue than chance patches are that attend to each other, weighted by saturation",
    formula: "mean of cos(hue i − hue j) weighted by A[i, j], less the same with equal weights",
    ..OF_PATCHES
};

pub const BRIGHTNESS: Definition = Definition {
    name: "brightness",
    title: "Brightness",
    meaning: "Correlation of the brightness of patches that attend to each other",
    formula: "Pearson correlation of the brightness of i and j, weighted by A[i, j]",
    ..OF_PATCHES
};

pub const NEIGHBOURS: Definition = Definition {
    name: "neighbours",
    title: "Neighbouring patches",
    meaning: "Weight on the patches that touch the query’s own one at a side or a corner, on average over patches",
    formula: "mean over patches i of Σ over the up to eight patches j around i of A[i, j]",
    threshold: Some((0.5, "as for the previous token")),
    applies: IN_ROWS,
};

pub const STEP: Definition = Definition {
    name: "step",
    title: "One step away",
    meaning: "Share of the patches whose largest weight on a patch lies one and the same number of rows and columns away, of \
              those that have a patch there, whichever step has most of them; the patch itself does not count as one, nor does \
              a step that fewer than half of the patches can make",
    formula: "max over Δ≠(0, 0) of the share of i with argmax over patches j of A[i, j] = i + Δ",
    threshold: Some((0.9, "as for positional heads")),
    applies: IN_ROWS,
};

pub const ROW: Definition = Definition {
    name: "row",
    title: "Same row",
    meaning: "Weight on the other patches of the query’s own row, on average over patches",
    formula: "mean over patches i of Σ over j≠i in the row of i of A[i, j]",
    threshold: Some((0.5, "as for the previous token")),
    applies: IN_ROWS,
};

pub const COLUMN: Definition = Definition {
    name: "column",
    title: "Same column",
    meaning: "Weight on the other patches of the query’s own column, on average over patches",
    formula: "mean over patches i of Σ over j≠i in the column of i of A[i, j]",
    threshold: Some((0.5, "as for the previous token")),
    applies: IN_ROWS,
};

pub const ALIKE: Definition = Definition {
    name: "alike",
    title: "Patches of its colour",
    meaning: "How much nearer in colour the patches are that are attended to than those at the same distances: 1 is the same \
              colour, and a head that looks at distances alone has 0",
    formula: "1 − Σ A[i, j]·|c(i) − c(j)|² / Σ Ā[i, j]·|c(i) − c(j)|², Ā the mean of A[i, ·] over the patches as many rows or \
              columns away as j, c the mean colour",
    threshold: Some((0.5, "half of the difference in colour")),
    applies: IN_ROWS,
};

pub const COMMON: Definition = Definition {
    name: "common",
    title: "Same patches for all",
    meaning: "Weight on the patches that receive far more than others from all queries together, six robust deviations above \
              the median: sinks (Darcet et al. 2024), or something that all look at",
    formula: "Σ over outliers j of the mean over i of A[i, j]",
    threshold: Some((0.5, "as for the previous token")),
    applies: "pictures",
};

pub const REGISTERS: Definition = Definition {
    name: "registers",
    title: "Registers",
    meaning: "Weight on the tokens between the class token and the patches, registers (Darcet et al. 2024) and a distillation \
              token, on average",
    formula: "mean over i of Σ over registers j of A[i, j]",
    threshold: Some((0.6, "as for the first token")),
    applies: "pictures with such tokens",
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
    /// Mean red, green and blue of each; `None` without the picture.
    rgb: Option<Vec<[f32; 3]>>,
}

impl Patches {
    /// Of a picture.
    pub fn of(image: &ImageInfo) -> Self {
        let (rows, columns) = image.grid;
        let places = || (0..rows * columns).map(|patch| (patch / columns, patch % columns));
        let colours = places().map(|place| image.hsv(place)).collect();
        let rgb = places().map(|place| image.rgb(place)).collect();
        Self { colours, rgb, ..Self::without_colours(image) }
    }

    /// Only where they are, which is known at once.
    pub fn without_colours(image: &ImageInfo) -> Self {
        let (height, width) = image.patch_px;
        let patch_px = (height as f32, width as f32);
        let grid = PatchGrid { size: image.grid, n_prefix: image.n_prefix, patch_px };
        Self { grid, has_places: image.regions.is_none(), colours: None, rgb: None }
    }

    /// Whether they stand in rows and columns.
    pub const fn are_in_rows(&self) -> bool {
        self.has_places
    }

    /// Whether there are tokens between the class token and the patches.
    pub const fn has_registers(&self) -> bool {
        self.grid.n_prefix > 1
    }

    /// Row and column of a query that is a patch.
    fn place(&self, query: usize) -> Option<(usize, usize)> {
        let patch = query.checked_sub(self.grid.n_prefix).filter(|patch| *patch < self.grid.len())?;
        Some((patch / self.grid.size.1, patch % self.grid.size.1))
    }

    /// The token of the patch at a place.
    const fn token(&self, (row, column): (usize, usize)) -> usize {
        self.grid.n_prefix + row * self.grid.size.1 + column
    }

    /// The keys that a detector looks for behind a query; none of other detectors, and where there is no such key.
    pub fn targets(&self, detector: Detector, query: usize) -> Option<Vec<usize>> {
        if detector == Detector::Registers {
            return self.has_registers().then(|| (1..self.grid.n_prefix).collect());
        }
        let (row, column) = self.place(query)?;
        let (n_rows, n_columns) = self.grid.size;
        let around = |at: usize, n: usize| at.saturating_sub(1)..(at + 2).min(n);
        let tokens: Vec<usize> = match detector {
            Detector::Neighbours => {
                let places = around(row, n_rows).flat_map(|row| around(column, n_columns).map(move |of| (row, of)));
                places.map(|place| self.token(place)).collect()
            }
            Detector::Row => (0..n_columns).map(|column| self.token((row, column))).collect(),
            Detector::Column => (0..n_rows).map(|row| self.token((row, column))).collect(),
            _ => return None,
        };
        let others: Vec<usize> = tokens.into_iter().filter(|token| *token != query).collect();
        (!others.is_empty()).then_some(others)
    }

    /// The score of [`STEP`]; none where no step can be made.
    pub fn step(&self, pattern: &Matrix) -> Option<f32> {
        let (n_rows, n_columns) = self.grid.size;
        let mut n_at: BTreeMap<(isize, isize), usize> = BTreeMap::new();
        for patch in 0..self.grid.len() {
            let row = self.grid.row(pattern, patch)?;
            let most = row.iter().copied().fold(0.0, f32::max);
            let mut largest = row.iter().enumerate().filter(|(_, weight)| **weight == most);
            if let (Some((key, _)), None) = (largest.next(), largest.next())
                && key != patch
            {
                let along = |at: usize, of: usize| at as isize - of as isize;
                let step = (along(key / n_columns, patch / n_columns), along(key % n_columns, patch % n_columns));
                *n_at.entry(step).or_default() += 1;
            }
        }
        // So many patches have one at this step from them.
        let can = |(down, right): (isize, isize)| {
            n_rows.saturating_sub(down.unsigned_abs()) * n_columns.saturating_sub(right.unsigned_abs())
        };
        let shares = n_at.iter().filter(|(step, _)| 2 * can(**step) >= self.grid.len());
        let most = shares.map(|(step, n)| *n as f32 / can(*step) as f32).max_by(f32::total_cmp).unwrap_or(0.0);
        (self.grid.len() > 1).then_some(most)
    }

    /// The score of [`ALIKE`]; none where the picture has one colour.
    pub fn alike(&self, pattern: &Matrix) -> Option<f32> {
        let (colours, n_columns) = (self.rgb.as_ref()?, self.grid.size.1);
        let (mut attended, mut by_distance) = (0.0f64, 0.0f64);
        for patch in 0..self.grid.len() {
            let away = |key: usize| {
                (key / n_columns).abs_diff(patch / n_columns).max((key % n_columns).abs_diff(patch % n_columns))
            };
            let apart = |key: usize| {
                let channels = colours[patch].iter().zip(&colours[key]);
                channels.map(|(a, b)| f64::from(a - b).powi(2)).sum::<f64>()
            };
            // Weight, difference in colour and number of the patches at each distance.
            let mut rings: BTreeMap<usize, [f64; 3]> = BTreeMap::new();
            for (key, weight) in self.grid.row(pattern, patch)?.iter().enumerate() {
                let (weight, apart) = (f64::from(*weight), apart(key));
                attended += weight * apart;
                let ring = rings.entry(away(key)).or_default();
                *ring = [ring[0] + weight, ring[1] + apart, ring[2] + 1.0];
            }
            by_distance += rings.into_values().map(|[weight, apart, n]| weight * apart / n).sum::<f64>();
        }
        (by_distance > NOTHING).then(|| (1.0 - attended / by_distance) as f32)
    }

    /// The weight on patches that receive far more than others, and the share of all tokens that they are; none of a
    /// pattern of other tokens.
    pub fn common(&self, pattern: &Matrix) -> Option<(f32, f32)> {
        let patches = self.grid.n_prefix..self.grid.n_prefix + self.grid.len();
        let mut received = vec![0.0f64; patches.len()];
        for row in pattern.rows() {
            let of_patches = row.get(patches.clone())?;
            received.iter_mut().zip(of_patches).for_each(|(sum, weight)| *sum += f64::from(*weight));
        }
        let n = pattern.n_rows().max(1) as f64;
        let received: Vec<f64> = received.into_iter().map(|sum| sum / n).collect();
        let found = outliers(&received)?.patches;
        let weight: f64 = found.iter().map(|patch| received[*patch]).sum();
        Some((weight as f32, found.len() as f32 / pattern.n_cols().max(1) as f32))
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
        Patches { grid, has_places: true, colours: Some(colours.to_vec()), rgb: None }
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

    /// Three rows of four patches behind a class token and two registers, dark but for the two columns on the right.
    fn picture() -> Patches {
        let grid = PatchGrid { size: (3, 4), n_prefix: 3, patch_px: (8.0, 8.0) };
        let rgb = (0..12).map(|patch| if patch % 4 > 1 { [0.8; 3] } else { [0.2; 3] }).collect();
        Patches { grid, has_places: true, colours: None, rgb: Some(rgb) }
    }

    /// Weights `(query, key)` of tokens 3 rows by 4 columns of patches behind three others.
    fn tokens(weights: impl Fn(usize, usize) -> f32) -> Matrix {
        Matrix::new((0..225).map(|idx| weights(idx / 15, idx % 15)).collect::<Vec<_>>(), [15, 15]).unwrap()
    }

    #[test]
    fn keys_around_a_patch_in_its_row_and_column_and_registers() {
        let of = |detector, query| picture().targets(detector, query);
        // The second patch of the second row.
        assert_eq!(of(Detector::Neighbours, 8), Some(vec![3, 4, 5, 7, 9, 11, 12, 13]));
        assert_eq!(of(Detector::Neighbours, 3), Some(vec![4, 7, 8]), "a corner has three");
        assert_eq!(of(Detector::Row, 8), Some(vec![7, 9, 10]));
        assert_eq!(of(Detector::Column, 8), Some(vec![4, 12]));
        assert_eq!(of(Detector::Registers, 8), Some(vec![1, 2]));
        assert_eq!((of(Detector::Row, 0), of(Detector::Registers, 0)), (None, Some(vec![1, 2])), "the class token");
    }

    #[test]
    fn a_step_counts_for_the_patches_that_can_make_it() {
        // To the right where there is a patch, which 9 of 12 have, and to itself else.
        let right = tokens(|query, key| f32::from(u8::from(key == query + usize::from((query + 1) % 4 != 3))));
        assert_eq!(picture().step(&right), Some(1.0));
        let itself = tokens(|query, key| f32::from(u8::from(key == query)));
        assert_eq!(picture().step(&itself), Some(0.0));
        assert_eq!(picture().step(&tokens(|_, _| 1.0 / 15.0)), Some(0.0), "of equal weights none is the largest");
        // One patch that all look at is a single step for each, and most of these can be made by few.
        let corner = tokens(|_, key| f32::from(u8::from(key == 3)));
        assert!((picture().step(&corner).unwrap() - 1.0 / 6.0).abs() < 1e-6, "{:?}", picture().step(&corner));
    }

    #[test]
    fn colours_count_beside_those_at_the_same_distance() {
        let uniform = tokens(|_, _| 1.0 / 15.0);
        assert!(picture().alike(&uniform).unwrap().abs() < 1e-6);
        let same = |query: usize, key: usize| (query + 1) % 4 / 2 == (key + 1) % 4 / 2;
        let alike = tokens(|query, key| if key > 2 && same(query, key) { 1.0 / 6.0 } else { 0.0 });
        assert_eq!(picture().alike(&alike), Some(1.0));
        // The upper left patch alone looks at others: 0.6 two to the right, of another colour, 0.4 two down, of its own. Five
        // are two away, of which three are of the other one.
        let one = tokens(|query, key| match (query, key) {
            (3, 5) => 0.6,
            (3, 11) => 0.4,
            _ => 0.0,
        });
        assert!(picture().alike(&one).unwrap().abs() < 1e-6, "0.6 as by distance");
        let grey = Patches { rgb: Some(vec![[0.5; 3]; 12]), ..picture() };
        assert_eq!(grey.alike(&alike), None, "one colour");
    }

    #[test]
    fn what_all_queries_look_at_stands_out() {
        let weights = |_: usize, key: usize| if key == 9 { 0.6 } else { 0.4 / 14.0 + key as f32 * 1e-5 };
        let (weight, share) = picture().common(&tokens(weights)).unwrap();
        assert!((weight - 0.6).abs() < 1e-6 && (share - 1.0 / 15.0).abs() < 1e-6, "{weight} {share}");
        assert_eq!(picture().common(&tokens(|_, _| 1.0 / 15.0)).unwrap().0, 0.0);
        assert_eq!(picture().common(&Matrix::new(vec![1.0], [1, 1]).unwrap()), None);
    }
}
