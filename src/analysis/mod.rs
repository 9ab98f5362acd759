//! Pure functions on captures: `f32` in, `f32` out. No engine, no window, no threads, no files.

pub mod attention;
pub mod edges;
pub mod projection;
pub mod stats;
