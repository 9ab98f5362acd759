//! Writers: a display list to the bytes of a file. They do no IO; `export` puts the bytes on the disk.

mod glyphs;
mod pdf;
mod pixels;
mod svg;

pub use pdf::pdf;
pub use pixels::{MAX_PIXELS, MAX_SIDE, PixelOptions, pixels, png};
pub use svg::{SvgText, svg};

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
    #[error("A figure of {width} × {height} points has no area; give it a width and a height above 0")]
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
