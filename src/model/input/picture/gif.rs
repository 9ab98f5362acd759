//! The first frame of a GIF, on the canvas that Pillow puts it on.

use std::io::Cursor;

use gif::{ColorOutput, DecodeOptions, DecodingError, MemoryLimit};
use image::{ImageError, RgbaImage, error};

/// The first frame. What it leaves free has the colour of the transparent index, or else of the first one; a frame that
/// is larger than its canvas widens it. Transparent places keep their colour below an alpha of zero.
pub fn first_frame(bytes: &[u8], max_pixels: u64) -> Result<RgbaImage, ImageError> {
    let mut options = DecodeOptions::new();
    options.set_color_output(ColorOutput::Indexed);
    options.set_memory_limit(MemoryLimit::Unlimited);
    let mut decoder = options.read_info(Cursor::new(bytes)).map_err(damaged)?;
    let canvas = (decoder.width(), decoder.height());
    let global = decoder.global_palette().map(<[u8]>::to_vec);
    let frame = decoder.next_frame_info().map_err(damaged)?.ok_or(ImageError::Parameter(no_frame()))?.clone();
    let place = [frame.left, frame.top, frame.width, frame.height].map(u32::from);
    let [left, top, frame_width, frame_height] = place;
    let (width, height) = ((left + frame_width).max(canvas.0.into()), (top + frame_height).max(canvas.1.into()));
    if u64::from(width) * u64::from(height) > max_pixels {
        return Err(ImageError::Limits(error::LimitError::from_kind(error::LimitErrorKind::DimensionError)));
    }
    let transparent = frame.transparent;
    let palettes = [frame.palette.as_deref(), global.as_deref()].into_iter().flatten();
    let palette = palettes.map(Palette::of).find(Palette::has_colours).unwrap_or(Palette::Grey);
    let pixel = |index: u8| {
        let [red, green, blue] = palette.colour(index);
        image::Rgba([red, green, blue, if transparent == Some(index) { 0 } else { u8::MAX }])
    };
    let mut indices = vec![0; decoder.buffer_size()];
    decoder.read_into_buffer(&mut indices).map_err(damaged)?;
    let mut picture = RgbaImage::from_pixel(width, height, pixel(transparent.unwrap_or(0)));
    for (row, line) in indices.chunks_exact(frame_width.max(1) as usize).enumerate() {
        for (column, &index) in line.iter().enumerate() {
            picture.put_pixel(left + column as u32, top + row as u32, pixel(index));
        }
    }
    Ok(picture)
}

enum Palette<'a> {
    /// None, or the greys in their order: an index is a grey.
    Grey,
    Colours(&'a [[u8; 3]]),
}

impl<'a> Palette<'a> {
    fn of(bytes: &'a [u8]) -> Self {
        let colours = bytes.as_chunks().0;
        let is_ramp =
            colours.iter().enumerate().all(|(grey, colour)| colour.iter().all(|&one| usize::from(one) == grey));
        if is_ramp { Self::Grey } else { Self::Colours(colours) }
    }

    /// Pillow passes over a frame's own palette that has none.
    const fn has_colours(&self) -> bool {
        matches!(self, Self::Colours(_))
    }

    /// Black where the palette has no such entry.
    fn colour(&self, index: u8) -> [u8; 3] {
        match self {
            Self::Grey => [index; 3],
            Self::Colours(colours) => colours.get(usize::from(index)).copied().unwrap_or_default(),
        }
    }
}

fn no_frame() -> error::ParameterError {
    error::ParameterError::from_kind(error::ParameterErrorKind::NoMoreData)
}

fn damaged(error: DecodingError) -> ImageError {
    ImageError::Decoding(error::DecodingError::new(image::ImageFormat::Gif.into(), error))
}
