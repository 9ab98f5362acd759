//! Pure pixels: colour maps, heatmaps, overlays, lines and points, shared by the window and by files.
//!
//! No window, no files. Pixels are eight-bit RGBA, not premultiplied, row by row from the top.

pub mod colormap;
mod colormap_tables;
pub mod heatmap;
pub mod lines;
pub mod overlay;
pub mod points;
pub mod reduce;

pub use colormap::{ColorMap, ColorRange, Colors};
