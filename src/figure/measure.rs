//! Sizes that the window and figures share, in points of the window, and opacities.

pub use crate::style::size::{GRID, radius, text_size};

/// Width of a colour bar without its numbers.
pub const BAR_PT: f32 = 3.0 * GRID;
/// Width of a colour bar with its numbers.
pub const BAR_AND_TICKS_PT: f32 = 14.0 * GRID;
/// Opacity of a token that is left out of the pattern.
pub const LEFT_OUT_OPACITY: f32 = 0.4;
