//! Helpers of the other test modules; no tests of their own.

pub mod scripted;
pub mod synthetic;
