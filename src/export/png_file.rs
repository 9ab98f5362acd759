//! PNG with text chunks that say where a picture came from.

use std::io::{self, Write};

use super::ExportError;
use crate::capture::RgbaBuffer;

/// The longest keyword that the format allows, in bytes of Latin-1.
const MAX_KEYWORD: usize = 79;

/// Checks that there are pixels, and as many as the size says.
pub(super) fn check(picture: &RgbaBuffer) -> Result<(), ExportError> {
    let RgbaBuffer { width, height, ref pixels } = *picture;
    let n_bytes = width.checked_mul(height).and_then(|n| n.checked_mul(4));
    let encodable = [width, height].iter().all(|side| (1..=i32::MAX as usize).contains(side));
    if encodable && n_bytes == Some(pixels.len()) {
        Ok(())
    } else {
        Err(ExportError::NoPicture { width, height, n_bytes: pixels.len() })
    }
}

/// A picture as a file holds it.
///
/// # Errors
/// When it has no pixels, or others than its size says.
pub fn png_bytes(picture: &RgbaBuffer) -> Result<Vec<u8>, ExportError> {
    check(picture)?;
    let mut bytes = Vec::new();
    let RgbaBuffer { width, height, .. } = *picture;
    let fails = |_| ExportError::NoPicture { width, height, n_bytes: picture.pixels.len() };
    encode(picture, &[], &mut bytes).map_err(fails)?;
    Ok(bytes)
}

/// Writes a picture that passed [`check`]; without alpha when every pixel is opaque.
pub(super) fn encode(picture: &RgbaBuffer, metadata: &[(String, String)], out: &mut dyn Write) -> io::Result<()> {
    let opaque = picture.pixels.chunks_exact(4).all(|pixel| pixel[3] == 255);
    let mut encoder = png::Encoder::new(out, picture.width as u32, picture.height as u32);
    encoder.set_color(if opaque { png::ColorType::Rgb } else { png::ColorType::Rgba });
    encoder.set_depth(png::BitDepth::Eight);
    encoder.set_compression(png::Compression::Fast);
    for (keyword, text) in metadata {
        // Zero bytes end a field in the format.
        let text = text.replace('\0', "");
        let keyword = clean_keyword(keyword);
        // Plain tEXt is what most programs show; it has no more than Latin-1.
        if text.chars().all(|c| u32::from(c) < 256) {
            encoder.add_text_chunk(keyword, text)?;
        } else {
            encoder.add_itxt_chunk(keyword, text)?;
        }
    }
    let mut writer = encoder.write_header()?;
    if opaque {
        let rgb: Vec<u8> = picture.pixels.chunks_exact(4).flat_map(|pixel| [pixel[0], pixel[1], pixel[2]]).collect();
        writer.write_image_data(&rgb)?;
    } else {
        writer.write_image_data(&picture.pixels)?;
    }
    writer.finish()?;
    Ok(())
}

/// Printable ASCII, not empty, not too long: what the format accepts as a keyword.
fn clean_keyword(keyword: &str) -> String {
    let printable: String = keyword.chars().filter(|c| c.is_ascii_graphic() || *c == ' ').take(MAX_KEYWORD).collect();
    let trimmed = printable.trim();
    if trimmed.is_empty() { "Comment".to_owned() } else { trimmed.to_owned() }
}
