//! The first frame of an animated WebP, as libwebp and so Pillow has it: as it is stored, on a canvas of zeros.

use std::io::Cursor;

use image::{DynamicImage, GenericImage, ImageResult, RgbaImage, codecs::webp::WebPDecoder};

/// The first frame; `None` where the file is not animated or its chunks are not as they must be.
pub fn first_frame(bytes: &[u8]) -> Option<ImageResult<DynamicImage>> {
    let (kind, header, mut rest) = chunk(bytes.get(12..)?)?;
    if kind != b"VP8X" || header.first()? & 2 == 0 {
        return None;
    }
    let (width, height) = (number(header, 4)? + 1, number(header, 7)? + 1);
    let frame = loop {
        let (kind, body, after) = chunk(rest)?;
        if kind == b"ANMF" {
            break body;
        }
        rest = after;
    };
    let (left, top) = (2 * number(frame, 0)?, 2 * number(frame, 3)?);
    let still = still(frame)?;
    let has_alpha = header.first()? & 16 != 0;
    Some(decoded(&still).and_then(|frame| {
        let mut canvas = RgbaImage::new(width, height);
        canvas.copy_from(&frame, left, top)?;
        let canvas = DynamicImage::ImageRgba8(canvas);
        Ok(if has_alpha { canvas } else { DynamicImage::ImageRgb8(canvas.to_rgb8()) })
    }))
}

fn decoded(still: &[u8]) -> ImageResult<RgbaImage> {
    DynamicImage::from_decoder(WebPDecoder::new(Cursor::new(still))?).map(DynamicImage::into_rgba8)
}

/// The same frame as a file of its own.
fn still(frame: &[u8]) -> Option<Vec<u8>> {
    let mut chunks = Vec::new();
    let mut rest = frame.get(16..)?;
    let mut has_alpha = false;
    while let Some((kind, body, after)) = chunk(rest) {
        has_alpha |= kind == b"ALPH";
        if [b"ALPH", b"VP8 ", b"VP8L"].contains(&kind) {
            push(&mut chunks, *kind, body);
        }
        rest = after;
    }
    let mut file = b"WEBP".to_vec();
    if has_alpha {
        let mut header = vec![16, 0, 0, 0];
        header.extend(frame.get(6..12)?);
        push(&mut file, *b"VP8X", &header);
    }
    file.extend(chunks);
    let mut still = Vec::new();
    push(&mut still, *b"RIFF", &file);
    Some(still)
}

/// Kind and contents of the first chunk, and what follows it.
fn chunk(bytes: &[u8]) -> Option<(&[u8; 4], &[u8], &[u8])> {
    let (kind, rest) = bytes.split_first_chunk()?;
    let (length, rest) = rest.split_first_chunk()?;
    let length = usize::try_from(u32::from_le_bytes(*length)).ok()?;
    let body = rest.get(..length)?;
    Some((kind, body, rest.get(length + length % 2..).unwrap_or_default()))
}

fn push(file: &mut Vec<u8>, kind: [u8; 4], body: &[u8]) {
    file.extend(kind);
    file.extend((body.len() as u32).to_le_bytes());
    file.extend(body);
    file.extend(&[0][..body.len() % 2]);
}

/// The number of three bytes at a place.
fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes = bytes.get(at..at + 3)?;
    Some(u32::from_le_bytes([bytes[0], bytes[1], bytes[2], 0]))
}
