//! Sizes that the window and figures share, in points of the window, and opacities.

/// The grid everything sits on.
pub const GRID: f32 = 4.0;
/// Width of a colour bar without its numbers.
pub const BAR_PT: f32 = 3.0 * GRID;
/// Width of a colour bar with its numbers.
pub const BAR_AND_TICKS_PT: f32 = 14.0 * GRID;
/// Opacity of a token that is left out of the pattern.
pub const LEFT_OUT_OPACITY: f32 = 0.4;

/// Sizes of text.
pub mod text_size {
    /// Captions and axis labels.
    pub const SMALL: f32 = 11.0;
    /// Everything else.
    pub const BODY: f32 = 13.0;
    /// Titles.
    pub const LARGE: f32 = 16.0;
}
