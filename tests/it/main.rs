//! The one integration-test binary: one module per feature.

/// Fused operations against candle, forward and backward.
mod kernels;
/// Laws that hold for every capture: sums, masks, hiding, edge selection, statistics.
mod laws;
/// Every recorded site against PyTorch, and the laws between the sites.
mod parity;
/// Pictures to pixel values: the reference's numbers, and hostile files.
mod preprocessing;
/// The joint query–key space in the plane.
mod projection;
/// Made-up captures for other modules.
mod support;
/// Layers, file sizes and the single copy of gemm: what the architecture promises.
mod tidy;
/// Text to ids and tokens: the reference's ids, truncation, what is shown.
mod tokenization;
/// The views: hover, click, options and empty states, without a window.
mod views;
