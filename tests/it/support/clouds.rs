//! Points for the layouts, and how near numbers must be.

use attnscope::projection::Points;

/// Numbers that look random and are the same everywhere.
pub struct Random(pub u64);

impl Random {
    pub fn symmetric(&mut self) -> f32 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 40) as f32 / (1u64 << 23) as f32 - 1.0
    }

    /// `n` points, most of them near the origin.
    pub fn cloud(&mut self, n: usize, width: usize) -> Vec<f32> {
        (0..n * width).map(|_| self.symmetric() + self.symmetric()).collect()
    }
}

/// `n` points around as many centres as `labels` has kinds.
pub fn blobs(n: usize, width: usize, kinds: usize) -> (Vec<f32>, Vec<u32>) {
    let mut random = Random(7);
    let centres = random.cloud(kinds, width);
    let labels: Vec<u32> = (0..n).map(|i| (i % kinds) as u32).collect();
    let values = labels.iter().flat_map(|&kind| {
        let centre = &centres[kind as usize * width..(kind as usize + 1) * width];
        centre.iter().map(|x| x * 4.0 + random.symmetric()).collect::<Vec<f32>>()
    });
    (values.collect(), labels)
}

#[track_caller]
pub fn near(actual: f64, expected: f64, tolerance: f64) {
    assert!((actual - expected).abs() <= tolerance, "{actual} is not {expected}");
}

pub fn points(values: &[f32], width: usize) -> Points<'_> {
    Points::new(values, values.len() / width, width).unwrap()
}
