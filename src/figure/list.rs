//! The display list: what a figure consists of, for every painter.
//!
//! Lengths are points, y grows downwards, colours are straight (not premultiplied) sRGB bytes, and items are
//! painted in their order. Every painter blends in sRGB bytes, so that one opacity means the same everywhere.

use std::{ops::Range, sync::Arc};

use emath::{Pos2, Rect, Vec2};

use super::{font::Face, path::Path};

pub use crate::style::Rgba;

/// `color` with `opacity`, `0..=1`, of what it had.
pub fn faded([red, green, blue, alpha]: Rgba, opacity: f32) -> Rgba {
    [red, green, blue, (f32::from(alpha) * opacity.clamp(0.0, 1.0) + 0.5) as u8]
}

/// Everything a painter needs to know.
#[derive(Clone, Debug, Default)]
pub struct Figure {
    pub size: Vec2,
    /// Where it is cut into pages, from the top; nowhere where it is one page.
    pub cuts: Vec<f32>,
    /// What is painted, from back to front.
    pub items: Vec<Item>,
    /// Whether nothing but the ground and what is said below is painted.
    pub is_empty: bool,
    /// The fonts that [`GlyphRun::face`] counts.
    pub faces: Vec<Face>,
    /// One line for title bars, lists of files and screen readers.
    pub title: String,
    /// Where the figure came from, as JSON: model, input, selection, options, version.
    pub provenance: String,
}

/// One thing to paint.
#[derive(Clone, Debug)]
pub enum Item {
    /// A filled outline (non-zero winding).
    Fill(Path, Rgba),
    /// Straight lines with flat ends. A kind of their own, because the window makes one mesh of them.
    Lines(Arc<[Line]>),
    Text(Text),
    /// A picture: one colour per cell.
    Cells(Cells),
    /// What is seen of the items through a rectangle.
    Clip(Rect, Vec<Self>),
}

/// A straight line.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Line {
    pub from: Pos2,
    pub to: Pos2,
    pub width: f32,
    pub color: Rgba,
}

impl Line {
    /// The rectangle that the line covers, as a closed outline.
    pub fn outline(&self) -> Path {
        let along = (self.to - self.from).normalized();
        let across = along.rot90() * (self.width / 2.0);
        Path::polygon([self.from + across, self.to + across, self.to - across, self.from - across])
    }
}

/// A picture of `size[0]` × `size[1]` cells, row by row from the top, stretched over `rect`.
#[derive(Clone, Debug)]
pub struct Cells {
    pub rect: Rect,
    pub size: [u32; 2],
    /// Four bytes per cell.
    pub rgba: Arc<[u8]>,
    /// What stands between the middles of two cells.
    pub sampling: Sampling,
}

/// How a picture is enlarged.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Sampling {
    /// Every cell has one colour and sharp edges.
    #[default]
    Crisp,
    /// Colours run into each other, as in a photograph.
    Smooth,
}

/// One shaped line of text. Files paint `runs`; the window lays `text` out itself, at the same anchor.
#[derive(Clone, Debug, Default)]
pub struct Text {
    /// What it says, in logical order.
    pub text: String,
    pub at: Pos2,
    /// Direction of the baseline in radians; positive turns clockwise.
    pub angle: f32,
    pub size: f32,
    /// Advance of all glyphs.
    pub width: f32,
    /// Whether the text as a whole reads from right to left.
    pub right_to_left: bool,
    pub color: Rgba,
    pub runs: Vec<GlyphRun>,
}

/// Glyphs of one face.
#[derive(Clone, Debug, Default)]
pub struct GlyphRun {
    /// Into [`Figure::faces`].
    pub face: usize,
    pub glyphs: Vec<Glyph>,
}

/// One glyph, placed relative to the start of the text's baseline.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Glyph {
    pub id: u32,
    pub x: f32,
    pub y: f32,
    pub advance: f32,
    /// The bytes of [`Text::text`] that it stands for: its whole cluster.
    pub text: Range<usize>,
}
