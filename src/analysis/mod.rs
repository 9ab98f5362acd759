//! Pure functions on captures: `f32` in, `f32` out. No engine, no window, no files; threads only where
//! rayon splits work whose result does not depend on them.

pub mod accuracy;
pub mod aggregate;
pub mod approximations;
pub mod attention;
pub mod bootstrap;
pub mod by_hand;
pub mod chain;
pub mod chosen;
pub mod cloud_query;
pub mod cost;
pub mod debate;
pub mod density_clusters;
pub mod detect;
pub mod distance_fidelity;
pub mod drawn;
pub mod edges;
pub mod effect;
pub mod explain;
pub mod filter;
pub mod head_folder;
pub mod head_page;
pub mod head_statistics;
mod joint;
pub mod laws;
pub mod lengths;
pub mod patch_stream;
pub mod paths;
mod point_cloud;
pub mod point_set;
pub mod positions;
pub mod projection;
pub mod rank_heads;
pub mod reach;
pub mod reading;
pub mod search;
pub mod simplex;
mod space;
pub mod states;
pub mod stats;
pub mod stream_norms;
pub mod timing;
pub mod welch;
pub mod written;

pub use point_cloud::{CloudToken, PointCloud, lengths_of};
pub use space::Space;
