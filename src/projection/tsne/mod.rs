//! t-SNE by Barnes–Hut, one iteration per step, in the plane or in space.
//!
//! van der Maaten and Hinton (2008), van der Maaten (2014); settings after Kobak and Berens (2019) and openTSNE,
//! whose gradient (without the factor 4) and learning rates are used.

mod options;
mod pull;
mod push;
mod run;
mod tree;

pub use options::TsneOptions;

use self::run::TsneRun;
use super::{
    Affinities, Neighbors, Pca, Points, Progress, ProjectionError, check_dims,
    dims::{InDims, in_dims},
    quality, to_the_end,
};
use crate::random::SplitMix;

/// A t-SNE layout that is being made.
#[derive(Clone, Debug)]
pub struct Tsne {
    run: InDims<TsneRun<2>, TsneRun<3>>,
    options: TsneOptions,
    perplexity: f32,
    iteration: usize,
}

impl Tsne {
    /// Finds neighbours and affinities, and places the points along their principal components.
    ///
    /// # Errors
    /// When an option is outside its range.
    pub fn new(points: Points<'_>, options: TsneOptions) -> Result<Self, ProjectionError> {
        Self::prepare(points, options, &to_the_end)
    }

    /// The same, asking `progress` between blocks of the search for neighbours.
    ///
    /// # Errors
    /// As [`Self::new`], and [`ProjectionError::Stopped`].
    pub fn prepare(points: Points<'_>, options: TsneOptions, progress: Progress<'_>) -> Result<Self, ProjectionError> {
        options.check()?;
        // Only the proportions of distances matter.
        let k = options.neighbors_of(points.n());
        let (neighbors, _) = Neighbors::in_units(points, k, options.metric, progress)?;
        let start = Pca::fit(points, options.dims)?.layout(points);
        Self::from_neighbors(&neighbors, &start, options)
    }

    /// From neighbours that are known, and where each point starts (`[n, dims]`; only the shape matters, the size
    /// is set so that the first axis has the standard deviation 1e-4).
    ///
    /// # Errors
    /// When an option is outside its range, or when `start` does not fit.
    pub fn from_neighbors(neighbors: &Neighbors, start: &[f32], options: TsneOptions) -> Result<Self, ProjectionError> {
        options.check()?;
        check_dims(options.dims)?;
        let start = Points::new(start, neighbors.n(), options.dims)?;
        let perplexity = options.perplexity_for(neighbors.n()).min(neighbors.k().max(1) as f32);
        let affinities = Affinities::of(neighbors, perplexity);
        let start = small(start, options.seed);
        let rate = options.learning_rate_for(neighbors.n());
        let run = match options.dims {
            2 => InDims::Plane(TsneRun::new(affinities, start.as_chunks().0, rate)),
            _ => InDims::Space(TsneRun::new(affinities, start.as_chunks().0, rate)),
        };
        Ok(Self { run, options, perplexity, iteration: 0 })
    }

    /// One iteration; nothing once it is [finished](Self::finished).
    pub fn step(&mut self) {
        if !self.finished() {
            in_dims!(&mut self.run, run => run.step(self.iteration, &self.options));
            self.iteration += 1;
        }
    }

    /// Iterations that were done.
    pub const fn iteration(&self) -> usize {
        self.iteration
    }

    /// Whether all iterations are done. One point has nowhere to go.
    pub fn finished(&self) -> bool {
        self.iteration >= self.options.iterations
    }

    /// Where the points are now: `[n, dims]`, in the order in which they were given.
    pub fn layout(&self) -> &[f32] {
        in_dims!(&self.run, run => run.layout().as_flattened())
    }

    /// The perplexity that was used: the one that was asked for, or a third of the other points where that is
    /// less.
    pub const fn perplexity(&self) -> f32 {
        self.perplexity
    }

    /// The options as they were given.
    pub const fn options(&self) -> &TsneOptions {
        &self.options
    }

    /// What the layout loses: the Kullback–Leibler divergence of the layout's similarities from the affinities,
    /// in nats. Exact, in O(n²) time and O(n) memory.
    pub fn divergence(&self) -> f64 {
        let affinities = in_dims!(&self.run, run => run.affinities());
        let layout = Points::new(self.layout(), affinities.n(), self.options.dims);
        // A layout is finite and has as many points as went in.
        layout.and_then(|layout| quality::divergence(affinities, layout)).unwrap_or(f64::NAN)
    }
}

/// The start, centred, with the standard deviation 1e-4 along the first axis; a hundredth of that is random, so
/// that equal points are not stuck to each other, and more where all points are equal.
fn small(start: Points<'_>, seed: u64) -> Vec<f32> {
    /// As in openTSNE and scikit-learn.
    const SIZE: f64 = 1e-4;
    let (n, dims) = (start.n(), start.width());
    let mean = start.mean();
    let deviation = |row: &[f32], axis: usize| f64::from(row[axis]) - mean[axis];
    let spread = |axis: usize| (start.rows().map(|row| deviation(row, axis).powi(2)).sum::<f64>() / n as f64).sqrt();
    let largest = (0..dims).map(spread).fold(0.0f64, f64::max);
    let (scale, jitter) = if largest > 0.0 { (SIZE / largest, SIZE * 0.01) } else { (0.0, SIZE) };
    let mut random = SplitMix::new(seed);
    let mut placed = Vec::with_capacity(n * dims);
    for row in start.rows() {
        for axis in 0..dims {
            let random = f64::from(random.symmetric()) * jitter;
            placed.push(if n > 1 { (deviation(row, axis) * scale + random) as f32 } else { 0.0 });
        }
    }
    placed
}
