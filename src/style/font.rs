//! The fonts of window and figures, in the order in which they are asked; `assets/fonts/subset.py` makes them, and
//! `assets/symbols.py` the symbols.

/// Noto Sans: Latin, Greek, Cyrillic.
pub const SANS: &[u8] = include_bytes!("../../assets/fonts/sans.ttf");
/// The same in Medium: questions, titles, the tab that is chosen.
pub const SANS_MEDIUM: &[u8] = include_bytes!("../../assets/fonts/sans-medium.ttf");
/// Noto Sans Mono: ids and paths.
pub const MONO: &[u8] = include_bytes!("../../assets/fonts/mono.ttf");
/// Noto Sans Math: arrows and operators.
pub const MATH: &[u8] = include_bytes!("../../assets/fonts/math.ttf");
/// The symbols that the window draws and no text font has.
pub const SYMBOLS: &[u8] = include_bytes!("../../assets/symbols.ttf");
