//! The look of window and figures as data: colours with one meaning each, how heads are told apart, sizes of text,
//! spaces and corners. Nothing else names a colour or a size.

mod contrast;
#[cfg(test)]
mod eyes;
pub mod font;
mod head;
mod map;
mod palette;
pub mod size;

pub use contrast::{contrast, luminance, mixed};
pub use head::N_HUES;
pub use map::{HATCH_PT, NO_NUMBER};
pub use palette::Palette;

/// Red, green, blue, alpha; not premultiplied.
pub type Rgba = [u8; 4];

/// What colours lie on: the two appearances.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Ground {
    Light,
    Dark,
}

/// An opaque colour by its six digits.
const fn rgb(hex: u32) -> Rgba {
    let [_, red, green, blue] = hex.to_be_bytes();
    [red, green, blue, 255]
}
