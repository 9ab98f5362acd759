//! Everything about UMAP that can be chosen.

use crate::projection::{Metric, ProjectionError, check_dims};

/// Settings of UMAP; the defaults are those of umap-learn, except that it starts from the principal components.
#[derive(Clone, Debug, PartialEq)]
pub struct UmapOptions {
    /// 2 or 3.
    pub dims: usize,
    /// How distances between points are measured.
    pub metric: Metric,
    /// Neighbours that a point is compared with, itself counted. Lowered to the number of points where there are
    /// fewer.
    pub neighbors: usize,
    /// How near to each other points may come, in units of `spread`.
    pub min_dist: f32,
    pub spread: f32,
    /// Random points that push a point away, for each neighbour that draws it.
    pub negative_rate: usize,
    /// Epochs; 500 up to 10,000 points and 200 above where none are given.
    pub epochs: Option<usize>,
    /// Step size at the start; it falls to 0.
    pub learning_rate: f32,
    /// Equal seeds give equal layouts.
    pub seed: u64,
}

impl Default for UmapOptions {
    fn default() -> Self {
        Self {
            dims: 2,
            metric: Metric::Euclidean,
            neighbors: 15,
            min_dist: 0.1,
            spread: 1.0,
            negative_rate: 5,
            epochs: None,
            learning_rate: 1.0,
            seed: 0,
        }
    }
}

impl UmapOptions {
    /// Epochs for `n` points.
    pub fn epochs_for(&self, n: usize) -> usize {
        self.epochs.unwrap_or(if n <= 10_000 { 500 } else { 200 })
    }

    /// Neighbours that are looked for; the point itself is none here.
    pub fn neighbors_of(&self, n: usize) -> usize {
        self.neighbors.min(n).saturating_sub(1).max(1)
    }

    /// # Errors
    /// An option outside its range, by name.
    pub fn check(&self) -> Result<(), ProjectionError> {
        let option = |name, value: f32, must_be| ProjectionError::option(name, value, must_be);
        let positive = |x: f32| x.is_finite() && x > 0.0;
        check_dims(self.dims)?;
        if self.neighbors < 2 {
            return Err(ProjectionError::option("neighbors", self.neighbors, "at least 2, the point itself counted"));
        }
        if !positive(self.spread) {
            return Err(option("spread", self.spread, "a number above 0"));
        }
        if !(0.0..=self.spread).contains(&self.min_dist) {
            return Err(option("min-dist", self.min_dist, "at least 0 and at most the spread"));
        }
        if !positive(self.learning_rate) {
            return Err(option("learning rate", self.learning_rate, "a number above 0"));
        }
        if self.negative_rate > 1000 {
            return Err(ProjectionError::option("negative rate", self.negative_rate, "at most 1000"));
        }
        Ok(())
    }
}
