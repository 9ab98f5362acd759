//! Small pictures as text, to stand in a file of JSON.

use std::io::Cursor;

use base64::{Engine as _, engine::general_purpose::STANDARD};

use super::png_file;
use crate::capture::RgbaBuffer;

/// How a data URI of a PNG begins.
const PREFIX: &str = "data:image/png;base64,";
/// The largest side that is read, in pixels.
const MAX_SIDE: u32 = 512;
/// Bytes of text that are read.
const MAX_TEXT: usize = 1 << 20;

/// As a data URI; empty for what is no picture.
pub fn encode(picture: &RgbaBuffer) -> String {
    png_file::png_bytes(picture).map_or_else(|_| String::new(), |bytes| format!("{PREFIX}{}", STANDARD.encode(bytes)))
}

/// The picture of a data URI; `None` for anything else, and for what is too large to be small.
pub fn decode(text: &str) -> Option<RgbaBuffer> {
    let text = text.strip_prefix(PREFIX).filter(|text| text.len() <= MAX_TEXT)?;
    let bytes = STANDARD.decode(text).ok()?;
    let limits = png::Limits { bytes: 4 << 20 };
    let mut decoder = png::Decoder::new_with_limits(Cursor::new(bytes), limits);
    decoder.set_transformations(png::Transformations::normalize_to_color8() | png::Transformations::ALPHA);
    let mut reader = decoder.read_info().ok()?;
    let (width, height) = (reader.info().width, reader.info().height);
    if width > MAX_SIDE || height > MAX_SIDE || reader.output_color_type().0 != png::ColorType::Rgba {
        return None;
    }
    let mut pixels = vec![0; reader.output_buffer_size()?];
    reader.next_frame(&mut pixels).ok()?;
    Some(RgbaBuffer { width: width as usize, height: height as usize, pixels })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_small_picture_comes_back_and_anything_else_does_not() {
        let pixels: Vec<u8> = (0..6 * 4 * 4).map(|at| if at % 4 == 3 { 255 } else { at as u8 }).collect();
        let picture = RgbaBuffer { width: 6, height: 4, pixels };
        let text = encode(&picture);
        assert_eq!(decode(&text), Some(picture));
        for wrong in ["", "data:image/png;base64,", "data:image/png;base64,AAAA", &text[..text.len() / 2]] {
            assert_eq!(decode(wrong), None, "{wrong}");
        }
        let wide = RgbaBuffer { width: 513, height: 1, pixels: vec![255; 513 * 4] };
        assert_eq!(decode(&encode(&wide)), None);
    }
}
