//! Everything about t-SNE that can be chosen.

use crate::projection::{Metric, ProjectionError, check_dims};

/// Settings of t-SNE; the defaults are those of openTSNE, with the learning rate that it uses at first.
#[derive(Clone, Debug, PartialEq)]
pub struct TsneOptions {
    /// 2 or 3.
    pub dims: usize,
    /// How distances between points are measured.
    pub metric: Metric,
    /// About how many neighbours each point keeps close. Lowered to a third of the other points where there are
    /// fewer.
    pub perplexity: f32,
    /// Iterations in all.
    pub iterations: usize,
    /// Attraction is stronger by this at first.
    pub exaggeration: f32,
    pub exaggerated_iterations: usize,
    /// Step size; `max(n / 12, 200)` where none is given.
    pub learning_rate: Option<f32>,
    /// Momentum while attraction is exaggerated, and afterwards.
    pub momentum: [f32; 2],
    /// Groups of points whose extent is less than this times their distance act as one (0: none do).
    pub theta: f32,
    /// Equal seeds give equal layouts. Only what is needed to separate equal points is random.
    pub seed: u64,
}

impl Default for TsneOptions {
    fn default() -> Self {
        Self {
            dims: 2,
            metric: Metric::Euclidean,
            perplexity: 30.0,
            iterations: 750,
            exaggeration: 12.0,
            exaggerated_iterations: 250,
            learning_rate: None,
            momentum: [0.5, 0.8],
            theta: 0.5,
            seed: 0,
        }
    }
}

impl TsneOptions {
    /// The perplexity that `n` points allow: each needs three times as many neighbours.
    pub fn perplexity_for(&self, n: usize) -> f32 {
        self.perplexity.min((n.saturating_sub(1) as f32 / 3.0).max(1.0))
    }

    /// Neighbours that are looked for.
    pub fn neighbors_of(&self, n: usize) -> usize {
        ((3.0 * self.perplexity_for(n)).ceil() as usize).clamp(1, n.max(2) - 1)
    }

    /// The step size for `n` points.
    pub fn learning_rate_for(&self, n: usize) -> f32 {
        self.learning_rate.unwrap_or_else(|| (n as f32 / 12.0).max(200.0))
    }

    /// # Errors
    /// An option outside its range, by name.
    pub fn check(&self) -> Result<(), ProjectionError> {
        let option = |name, value: f32, must_be| ProjectionError::option(name, value, must_be);
        let positive = |x: f32| x.is_finite() && x > 0.0;
        check_dims(self.dims)?;
        if !self.perplexity.is_finite() || self.perplexity < 1.0 {
            return Err(option("perplexity", self.perplexity, "a number of at least 1"));
        }
        if !positive(self.exaggeration) {
            return Err(option("exaggeration", self.exaggeration, "a number above 0"));
        }
        if let Some(rate) = self.learning_rate.filter(|rate| !positive(*rate)) {
            return Err(option("learning rate", rate, "a number above 0"));
        }
        if let Some(momentum) = self.momentum.iter().find(|momentum| !(0.0..1.0).contains(*momentum)) {
            return Err(option("momentum", *momentum, "at least 0 and below 1"));
        }
        if !(0.0..=2.0).contains(&self.theta) {
            return Err(option("theta", self.theta, "between 0 and 2"));
        }
        Ok(())
    }
}
