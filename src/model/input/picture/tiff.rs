//! The first page of a TIFF, as Pillow reads it: grey and colours of 8 and 16 bits, with and without alpha.

use std::io::Cursor;

use image::{DynamicImage, ImageBuffer, metadata::Orientation};
use tiff::{
    ColorType, TiffError,
    decoder::{ChunkType, Decoder, DecodingResult, Limits},
    tags::Tag,
};

/// Pages beyond this number are not counted.
const MAX_PAGES: usize = 10_000;

/// What is read of a file.
pub struct FirstPage {
    pub picture: DynamicImage,
    pub orientation: Orientation,
    pub n_pages: usize,
    /// Whether Pillow reads it as something else: samples of sixteen bits in planes that are not packed.
    pub is_misread: bool,
}

/// Whether a file is a TIFF, also one of more than four gigabytes.
pub fn is_tiff(bytes: &[u8]) -> bool {
    [b"II*\0", b"MM\0*", b"II+\0", b"MM\0+"].iter().any(|start| bytes.starts_with(*start))
}

/// Why there is no picture.
pub enum Fault {
    /// Of a kind that is not read: it ends the sentence “this TIFF …”.
    Kind(String),
    Damaged(String),
    Huge {
        width: u32,
        height: u32,
    },
}

impl From<TiffError> for Fault {
    fn from(error: TiffError) -> Self {
        match error {
            TiffError::UnsupportedError(what) => Self::Kind(format!("cannot be unpacked here ({what})")),
            other => Self::Damaged(other.to_string()),
        }
    }
}

/// What of its tags decides how samples are read.
struct Page {
    width: u32,
    height: u32,
    color: ColorType,
    /// `PhotometricInterpretation`; 0 is grey with white at zero.
    photometric: u16,
    /// `ExtraSamples` of the fourth sample.
    extra: Option<u16>,
}

/// Reads the first page of at most `max_pixels`.
pub fn first_page(bytes: &[u8], max_pixels: u64) -> Result<FirstPage, Fault> {
    let mut limits = Limits::default();
    limits.decoding_buffer_size = usize::try_from(max_pixels.saturating_mul(8)).unwrap_or(usize::MAX);
    limits.intermediate_buffer_size = limits.decoding_buffer_size;
    let mut decoder = Decoder::new(Cursor::new(bytes))?.with_limits(limits);
    let (width, height) = decoder.dimensions()?;
    if u64::from(width) * u64::from(height) > max_pixels {
        return Err(Fault::Huge { width, height });
    }
    let photometric = decoder.find_tag_unsigned(Tag::PhotometricInterpretation)?.unwrap_or_default();
    if photometric == PALETTE {
        return Err(Fault::Kind("has a palette, which is not read".to_owned()));
    }
    let planes = decoder.find_tag_unsigned::<u16>(Tag::PlanarConfiguration)?.unwrap_or(1);
    if planes == 2 && decoder.get_chunk_type() == ChunkType::Tile {
        return Err(Fault::Kind("has its colours in tiles of their own, which are not read".to_owned()));
    }
    let formats = decoder.find_tag_unsigned_vec::<u16>(Tag::SampleFormat)?.unwrap_or_default();
    if formats.iter().any(|&format| format != 1) {
        return Err(Fault::Kind("has signed or floating numbers, which are not read as colours".to_owned()));
    }
    let extra = decoder.find_tag_unsigned_vec(Tag::ExtraSamples)?.and_then(|extra| extra.first().copied());
    let predictor = decoder.find_tag_unsigned::<u16>(Tag::Predictor)?.unwrap_or(1);
    if extra == Some(0) && predictor != 1 {
        return Err(Fault::Kind(
            "has a fourth sample of no known meaning, packed by differences, which is not read".to_owned(),
        ));
    }
    let page = Page { width, height, color: decoder.colortype()?, photometric, extra };
    let orientation = decoder.find_tag_unsigned::<u8>(Tag::Orientation)?.and_then(Orientation::from_exif);
    let is_packed = decoder.find_tag_unsigned::<u16>(Tag::Compression)?.unwrap_or(1) != 1;
    let is_misread = planes == 2 && page.color.bit_depth() == 16 && !is_packed;
    let mut samples = DecodingResult::U8(Vec::new());
    let layout = decoder.read_image_to_buffer(&mut samples)?;
    let picture = match samples {
        DecodingResult::U8(samples) => page.eight_bits(interleaved(samples, layout.planes)),
        DecodingResult::U16(samples) => page.sixteen_bits(interleaved(samples, layout.planes)),
        _ => None,
    };
    let picture = picture.ok_or_else(|| Fault::Kind(page.kind()))?;
    let mut n_pages = 1;
    while n_pages < MAX_PAGES && decoder.more_images() && decoder.next_image().is_ok() {
        n_pages += 1;
    }
    let orientation = orientation.unwrap_or(Orientation::NoTransforms);
    Ok(FirstPage { picture, orientation, n_pages, is_misread })
}

/// `PhotometricInterpretation` of a picture whose samples are places in a palette.
const PALETTE: u16 = 3;
/// `ExtraSamples` of an alpha by which the colours are already multiplied.
const PREMULTIPLIED: u16 = 1;

impl Page {
    fn eight_bits(&self, samples: Vec<u8>) -> Option<DynamicImage> {
        let (width, height) = (self.width, self.height);
        match self.color {
            ColorType::Gray(8) => ImageBuffer::from_raw(width, height, samples).map(DynamicImage::ImageLuma8),
            ColorType::Gray(bits @ (1 | 2 | 4)) => {
                let samples = spread(&samples, width as usize, bits);
                ImageBuffer::from_raw(width, height, samples).map(DynamicImage::ImageLuma8)
            }
            ColorType::RGB(8) => ImageBuffer::from_raw(width, height, samples).map(DynamicImage::ImageRgb8),
            ColorType::RGBA(8) => self.with_alpha(samples),
            _ => None,
        }
    }

    fn sixteen_bits(&self, mut samples: Vec<u16>) -> Option<DynamicImage> {
        let (width, height) = (self.width, self.height);
        match self.color {
            ColorType::Gray(16) => {
                // Pillow leaves grey values of sixteen bits as they are stored, also where white is zero.
                if self.photometric == 0 {
                    for grey in &mut samples {
                        *grey = !*grey;
                    }
                }
                ImageBuffer::from_raw(width, height, samples).map(DynamicImage::ImageLuma16)
            }
            ColorType::RGB(16) => ImageBuffer::from_raw(width, height, samples).map(DynamicImage::ImageRgb16),
            ColorType::RGBA(16) => self.with_alpha(samples.iter().map(|sample| (sample >> 8) as u8).collect()),
            _ => None,
        }
    }

    /// Red, green, blue and a fourth sample, which is alpha unless the file says otherwise.
    fn with_alpha(&self, mut samples: Vec<u8>) -> Option<DynamicImage> {
        let pixels = samples.as_chunks_mut::<4>().0;
        match self.extra {
            Some(0) => pixels.iter_mut().for_each(|pixel| pixel[3] = u8::MAX),
            Some(PREMULTIPLIED) => pixels.iter_mut().for_each(divided),
            _ => {}
        }
        ImageBuffer::from_raw(self.width, self.height, samples).map(DynamicImage::ImageRgba8)
    }

    fn kind(&self) -> String {
        format!("holds {:?}, which is not read: grey, RGB and RGBA of 8 and 16 bits are", self.color)
    }
}

/// Takes the alpha out of the colours.
fn divided([red, green, blue, alpha]: &mut [u8; 4]) {
    if *alpha > 0 {
        for colour in [red, green, blue] {
            *colour = (u32::from(*colour) * 255 / u32::from(*alpha)).min(255) as u8;
        }
    }
}

/// Samples of pixels one after the other, from planes one after the other.
fn interleaved<T: Copy>(samples: Vec<T>, planes: usize) -> Vec<T> {
    if planes < 2 {
        return samples;
    }
    let plane = samples.len() / planes;
    (0..plane).flat_map(|at| samples.iter().skip(at).step_by(plane).copied()).collect()
}

/// Grey values of less than a byte, over the whole range; rows start at whole bytes.
fn spread(packed: &[u8], width: usize, bits: u8) -> Vec<u8> {
    let per_byte = usize::from(8 / bits);
    let most = u8::MAX >> (8 - bits);
    let grey = |row: &[u8], at: usize| {
        let shift = 8 - bits as usize * (at % per_byte + 1);
        (row[at / per_byte] >> shift & most) * (u8::MAX / most)
    };
    packed
        .chunks_exact(width.div_ceil(per_byte).max(1))
        .flat_map(|row| (0..width).map(move |at| grey(row, at)))
        .collect()
}
