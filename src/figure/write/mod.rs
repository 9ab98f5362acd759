//! Writers: a display list to the bytes of a file. They do no IO; `export` puts the bytes on the disk.

mod glyphs;
mod pdf;
mod pixels;
mod svg;

pub use pdf::pdf;
pub use pixels::{MAX_PIXELS, MAX_SIDE, PixelOptions, pixels, png};
pub use svg::{SvgText, svg};

use super::list::Figure;

/// A kind of figure file.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum FigureFormat {
    /// Vectors for the web and for drawing programs.
    #[default]
    Svg,
    Pdf,
    /// Pixels.
    Png,
}

impl FigureFormat {
    /// Every kind and its file name's ending.
    pub const ALL: [(Self, &str); 3] = [(Self::Svg, "svg"), (Self::Pdf, "pdf"), (Self::Png, "png")];

    /// The kind with this ending, whatever its case.
    pub fn from_extension(extension: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(_, known)| known.eq_ignore_ascii_case(extension)).map(|(format, _)| format)
    }

    /// The figure as such a file; `scale` is the pixels per point of a PNG.
    ///
    /// # Errors
    /// See [`WriteError`].
    pub fn bytes(self, figure: &Figure, text: SvgText, scale: f32) -> Result<Vec<u8>, WriteError> {
        match self {
            Self::Svg => Ok(svg(figure, text).into_bytes()),
            Self::Pdf => pdf(figure),
            Self::Png => png(figure, PixelOptions::at(scale)),
        }
    }
}

/// Why a figure could not be turned into bytes. Displays as one sentence for the user.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum WriteError {
    /// More pixels than a picture may have.
    #[error(
        "A picture of {width} × {height} pixels is too large (at most {MAX_SIDE} a side and {} million in all); choose a \
         smaller scale or a smaller figure",
        MAX_PIXELS / 1_000_000
    )]
    TooManyPixels {
        /// Width that was asked for, in pixels.
        width: f64,
        /// Height that was asked for, in pixels.
        height: f64,
    },
    /// A width, height or scale of 0, or one that is not a number.
    #[error("A figure of {width} × {height} points has no area; give a width and a height above 0")]
    NoArea {
        /// Width in points.
        width: f32,
        /// Height in points.
        height: f32,
    },
    /// A font that the PDF library cannot embed.
    #[error("The font {0} cannot be embedded in a PDF; write an SVG, or use the bundled fonts alone")]
    Font(String),
    /// What the PDF library reports.
    #[error("The PDF could not be made ({0}); write an SVG instead")]
    Pdf(String),
}
