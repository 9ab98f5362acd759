//! Pure functions on captures: `f32` in, `f32` out. No engine, no window, no files; threads only where
//! rayon splits work whose result does not depend on them.

pub mod aggregate;
pub mod attention;
mod cloud;
pub mod cluster;
pub mod crowds;
pub mod detect;
pub mod drawn;
pub mod edges;
pub mod effect;
pub mod explain;
pub mod filter;
mod joint;
pub mod laws;
pub mod point_set;
pub mod projection;
pub mod proxy;
pub mod reading;
pub mod search;
mod space;
pub mod stats;
pub mod survey;

pub use cloud::{Cloud, CloudToken, lengths_of};
pub use space::Space;
