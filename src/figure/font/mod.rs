//! Fonts and the typesetter: text to placed glyphs, the same for every writer.
//!
//! The window's own layout gives neither glyph ids nor faces, so files need one of their own. It uses the
//! window's shaper, outlines and fonts, and its widths are the window's within a twentieth of a point.

mod face;
mod fallback;
mod typesetter;

pub use face::{Face, FontBytes};
pub use fallback::FontSource;
pub use typesetter::{Align, Typesetter};
