//! The one integration-test binary: one module per feature.

/// Layers, file sizes and the single copy of gemm: what the architecture promises.
mod tidy;
