//! UMAP, one epoch per step, in the plane or in space.
//!
//! `McInnes`, Healy and Melville (2018); graph, curve and schedule as umap-learn has them. The optimiser differs in
//! one thing, so that the result does not depend on the number of threads: within an epoch each point sees the
//! others where they were when it began, and is drawn from both ends of an edge at once, where umap-learn moves
//! both ends at each sample.

mod curve;
mod graph;
mod optimise;
mod options;

pub use curve::Curve;
pub use options::UmapOptions;

use self::optimise::UmapRun;
use super::{
    Neighbors, Pca, Points, Progress, ProjectionError, check_dims,
    dims::{InDims, in_dims},
    to_the_end,
};
use crate::random::SplitMix;

/// A UMAP layout that is being made.
#[derive(Clone, Debug)]
pub struct Umap {
    run: InDims<UmapRun<2>, UmapRun<3>>,
    epoch: usize,
    epochs: usize,
}

impl Umap {
    /// Finds neighbours and the graph, and places the points along their principal components.
    ///
    /// # Errors
    /// When an option is outside its range.
    pub fn new(points: Points<'_>, options: &UmapOptions) -> Result<Self, ProjectionError> {
        Self::prepare(points, options, &to_the_end)
    }

    /// The same, asking `progress` between blocks of the search for neighbours.
    ///
    /// # Errors
    /// As [`Self::new`], and [`ProjectionError::Stopped`].
    pub fn prepare(points: Points<'_>, options: &UmapOptions, progress: Progress<'_>) -> Result<Self, ProjectionError> {
        options.check()?;
        // Only the proportions of distances matter.
        let k = options.neighbors_of(points.n());
        let (neighbors, _) = Neighbors::in_units(points, k, options.metric, progress)?;
        let start = Pca::fit(points, options.dims)?.layout(points);
        Self::from_neighbors(&neighbors, &start, options)
    }

    /// From neighbours that are known, and where each point starts (`[n, dims]`; each axis is stretched to 0 … 10).
    ///
    /// # Errors
    /// When an option is outside its range, or when `start` does not fit.
    pub fn from_neighbors(
        neighbors: &Neighbors,
        start: &[f32],
        options: &UmapOptions,
    ) -> Result<Self, ProjectionError> {
        options.check()?;
        check_dims(options.dims)?;
        let start = stretched(Points::new(start, neighbors.n(), options.dims)?, options.seed);
        let graph = graph::fuzzy(neighbors);
        let epochs = options.epochs_for(neighbors.n());
        let run = match options.dims {
            2 => InDims::Plane(UmapRun::new(&graph, start.as_chunks().0, epochs, options)?),
            _ => InDims::Space(UmapRun::new(&graph, start.as_chunks().0, epochs, options)?),
        };
        Ok(Self { run, epoch: 0, epochs })
    }

    /// One epoch; nothing once it is [finished](Self::finished).
    pub fn step(&mut self) {
        if !self.finished() {
            in_dims!(&mut self.run, run => run.step(self.epoch, self.epochs));
            self.epoch += 1;
        }
    }

    /// Epochs that were done.
    pub const fn iteration(&self) -> usize {
        self.epoch
    }

    /// Epochs in all.
    pub const fn iterations(&self) -> usize {
        self.epochs
    }

    /// Whether all epochs are done.
    pub const fn finished(&self) -> bool {
        self.epoch >= self.epochs
    }

    /// Where the points are now: `[n, dims]`, in the order in which they were given.
    pub fn layout(&self) -> &[f32] {
        in_dims!(&self.run, run => run.layout().as_flattened())
    }
}

/// The start with each axis from 0 to 10, and a little noise before that, so that equal points are not stuck to
/// each other (as in umap-learn).
fn stretched(start: Points<'_>, seed: u64) -> Vec<f32> {
    const SIZE: f32 = 10.0;
    const NOISE: f32 = 1e-4;
    let (n, dims) = (start.n(), start.width());
    if n == 1 {
        return vec![0.0; dims];
    }
    let largest = start.values().iter().fold(0.0f32, |size, x| size.max(x.abs()));
    let scale = if largest > 0.0 { SIZE / largest } else { 0.0 };
    let mut random = SplitMix::new(seed);
    // A division first: the largest may be so small that its inverse is not finite.
    let place = |&x: &f32| if scale.is_finite() { x * scale } else { x / largest * SIZE };
    let mut placed: Vec<f32> = start.values().iter().map(|x| place(x) + random.symmetric() * NOISE).collect();
    for axis in 0..dims {
        let values = || placed.iter().skip(axis).step_by(dims).copied();
        let (low, high) = (values().fold(f32::INFINITY, f32::min), values().fold(f32::NEG_INFINITY, f32::max));
        let scale = if high > low { SIZE / (high - low) } else { 0.0 };
        placed.iter_mut().skip(axis).step_by(dims).for_each(|x| *x = (*x - low) * scale);
    }
    placed
}
