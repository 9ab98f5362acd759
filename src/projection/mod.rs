//! Layouts of high-dimensional points in the plane or in space, and what they preserve.
//!
//! Pure functions of plain matrices `[n, width]`: nothing here knows of models, captures or windows. Work is
//! spread over the rayon pool that the caller runs in, in pieces that do not depend on the number of threads, so
//! that equal input and equal seed give equal bytes on one thread and on many. [`tsne::Tsne`] and [`umap::Umap`]
//! do one iteration per step: who wants to stop them stops stepping.
//!
//! ```text
//! space ──► points ──► neighbors ──► affinities ──► tsne
//!   │          │           └───────► umap::graph ──► umap
//!   │          └──► pca (also where the others start)
//!   ├──► correlation            quality measures any layout
//!   └──► clustering: how marked points lie together
//! ```

use rayon::prelude::*;

pub mod affinities;
pub mod clustering;
pub mod correlation;
mod dims;
mod dispatch;
mod eigen;
mod error;
mod lanes;
mod moments;
pub mod neighbors;
mod pca;
mod points;
mod products;
pub mod quality;
mod sorting;
pub mod space;
pub mod tsne;
pub mod umap;

pub use affinities::Affinities;
pub(crate) use eigen::symmetric as symmetric_eigen;
pub use error::ProjectionError;
pub(crate) use moments::{Moments, ranks};
pub use neighbors::Neighbors;
pub use pca::Pca;
pub use points::{Metric, Points};

/// The most points that a layout can have: indices are 32 bits, and two more are needed for marks.
pub const MAX_POINTS: usize = 1 << 24;

/// Told how much of the work is done (`done`, `total`); answers whether to go on.
pub type Progress<'a> = &'a (dyn Fn(usize, usize) -> bool + Sync);

/// Goes on whatever happens.
pub fn to_the_end(_done: usize, _total: usize) -> bool {
    true
}

/// Below so many points the caller's thread does all: waking others would cost more.
const FEW: usize = 1024;

/// Does the same to each of `parts`, on all threads of the pool where `n` points are worth it.
fn spread<T: Send>(parts: &mut [T], n: usize, work: impl Fn(usize, &mut T) + Sync) {
    if n < FEW || rayon::current_num_threads() == 1 {
        parts.iter_mut().enumerate().for_each(|(at, part)| work(at, part));
    } else {
        parts.par_iter_mut().enumerate().for_each(|(at, part)| work(at, part));
    }
}

fn check_dims(dims: usize) -> Result<(), ProjectionError> {
    if matches!(dims, 2 | 3) { Ok(()) } else { Err(ProjectionError::Dims(dims)) }
}
