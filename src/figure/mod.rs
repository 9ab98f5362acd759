//! Figures: from data to a display list, and from that to files.
//!
//! What is drawn is decided here, once; the window paints the same list as the writers of SVG, PDF and PNG.
//! Nothing here knows a pointer, a window or a file.

pub mod font;
pub mod list;
pub mod palette;
pub mod path;
pub mod write;

pub use font::{Align, FontSource, Typesetter};
pub use list::{Figure, Item};
