//! The instrumented forward pass and everything that feeds it. The only module that names candle.

pub mod audit;
pub mod kernels;
