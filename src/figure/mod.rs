//! Figures: from data to a display list, and from that to files.
//!
//! What is drawn is decided here, once; the window paints the same list as the writers of SVG, PDF and PNG.
//! Nothing here knows a pointer, a window or a file.

pub mod apart;
pub mod chart;
mod curves;
pub mod data;
pub mod diversity;
mod dot_rows;
pub mod experts_load;
pub mod font;
pub mod identifiability;
pub mod legend;
pub mod legible;
pub mod lengths;
pub mod likeness;
pub mod list;
pub mod measure;
pub mod multiples;
pub mod page;
pub mod palette;
pub mod paper;
pub mod path;
pub mod pen;
pub mod rationale;
pub mod small;
pub mod spec;
pub mod twins;
mod view_kind;
mod view_options;
pub mod views;
pub mod web;
pub mod word_links;
pub mod write;

pub use font::{Align, FontSource, Typesetter};
pub use list::{Figure, Item};
pub use page::{About, CaptionKind, Captions, Page, Scene, Sheet, figure};
pub use view_kind::ViewKind;
pub use view_options::ViewOptions;
pub use views::{DetailsPart, Facts, FigureExtent, Pages, ViewGroup, ViewSpec};
