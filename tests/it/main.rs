//! The one integration-test binary: one module per feature.

/// Fused operations against candle, forward and backward.
mod kernels;
/// Layers, file sizes and the single copy of gemm: what the architecture promises.
mod tidy;

/// Laws that hold for every capture: sums, masks, hiding, edge selection, statistics.
mod laws;
/// The joint query–key space in the plane.
mod projection;
/// Made-up captures for other modules.
mod support;
/// The views: hover, click, options and empty states, without a window.
mod views;
