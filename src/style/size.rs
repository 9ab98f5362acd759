//! Sizes in points: the grid, text, corners, heights.

/// The grid everything sits on: the space in a control.
pub const GRID: f32 = 4.0;

/// Radii of corners; data have none.
pub mod radius {
    pub const MARK: u8 = 2;
    pub const CONTROL: u8 = 4;
    pub const POPOVER: u8 = 6;
    pub const DIALOG: u8 = 8;
}

/// Height of a control, and the least that can be pointed at.
pub const CONTROL_PT: f32 = 6.0 * GRID;
/// Width that scrollbars have to themselves.
pub const SCROLLBAR_PT: f32 = 2.0 * GRID;
/// Width of the stroke around what has the focus.
pub const FOCUS_PT: f32 = 2.0;

/// Sizes of text.
pub mod text_size {
    /// Ticks, units, captions.
    pub const SMALL: f32 = 11.0;
    /// Everything else.
    pub const BODY: f32 = 13.0;
    /// Questions, titles of dialogs.
    pub const LARGE: f32 = 16.0;
    /// The question of the first picture.
    pub const DISPLAY: f32 = 22.0;
}
