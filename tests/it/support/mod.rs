//! Helpers of the other test modules; no tests of their own.

pub mod clouds;
pub mod corpora;
pub mod desktop;
pub mod excerpts;
pub mod fuzz;
pub mod hub_bench;
pub mod hub_server;
pub mod play;
pub mod real;
pub mod scripted;
pub mod sessions;
#[cfg(target_os = "linux")]
pub mod small_disk;
pub mod stacks;
pub mod synthetic;
pub mod window;
