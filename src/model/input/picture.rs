//! Decoding pictures from files, the clipboard and the program itself, within limits.

mod gif;
mod tiff;
mod webp;

use std::{
    io::{Cursor, ErrorKind},
    path::Path,
    sync::Arc,
};

use image::{
    ColorType, DynamicImage, ExtendedColorType, ImageDecoder, ImageError, ImageFormat, ImageReader, Limits,
    metadata::Orientation,
};

use super::{
    ImageSource, InputError,
    guard::guarded,
    resample::{self, Pixels8, repeated},
};
use crate::{capture::RgbaBuffer, model::checkpoint::bundled, text::grouped};

/// A decoded picture.
#[derive(Clone, Debug)]
pub struct Picture {
    /// What to call it: the file's name.
    pub name: String,
    /// For the screen: at its own resolution, or scaled down to `MAX_SHOWN_PX`.
    pub shown: Arc<RgbaBuffer>,
    /// Sentences the user should see.
    pub notes: Vec<String>,
    /// For the model, as PIL converts to RGB; a grey picture stays grey until it is small.
    pub(super) pixels: Pixels8,
}

/// Longest side of the picture that is kept for the screen.
pub const MAX_SHOWN_PX: usize = 4096;

/// More than any camera's picture; larger ones are refused by their declared size.
const MAX_MEGAPIXELS: u64 = 200;
/// The most memory that a picture takes while it is decoded.
const MAX_DECODED_BYTES: u64 = 1_000_000_000;
/// Larger files are no pictures that [`MAX_MEGAPIXELS`] allows.
const MAX_FILE_BYTES: u64 = 1 << 30;
/// Files up to this size are compared, so that what was made of them can be used again.
const MAX_KEPT_BYTES: usize = 32 << 20;

/// A picture before it is decoded: all that decides about what is made of it.
#[derive(Debug, PartialEq)]
pub(super) struct Undecoded {
    source: ImageSource,
    bytes: Vec<u8>,
}

impl Undecoded {
    /// Reads the file, where there is one.
    pub fn read(source: &ImageSource) -> Result<Self, InputError> {
        let mut bytes = Vec::new();
        if let ImageSource::Path(path) = source {
            let unreadable = |reason| InputError::UnreadablePicture { reason, path: path.clone() };
            let file = std::fs::metadata(path).map_err(unreadable)?;
            if file.is_dir() || file.len() > MAX_FILE_BYTES {
                return Err(InputError::NotAPicture { name: path.display().to_string() });
            }
            bytes = std::fs::read(path).map_err(unreadable)?;
        }
        Ok(Self { source: source.clone(), bytes })
    }

    /// Whether it is small enough to be kept beside what was made of it.
    pub const fn is_small(&self) -> bool {
        self.bytes.len() <= MAX_KEPT_BYTES
    }

    /// Decodes it.
    pub fn open(&self) -> Result<Picture, InputError> {
        match &self.source {
            ImageSource::Path(path) => decode(&self.bytes, &file_name(path), &path.display().to_string()),
            ImageSource::Bundled(name) => {
                let bytes = bundled::sample(name).ok_or_else(|| InputError::UnknownSample(name.clone()))?;
                decode(bytes, name, name)
            }
            ImageSource::Embedded { name, bytes } => decode(bytes, name, name),
        }
    }
}

/// Reads a picture.
///
/// # Errors
/// When it does not exist, is no picture, is damaged, or is too large to decode.
pub fn open_picture(source: &ImageSource) -> Result<Picture, InputError> {
    Undecoded::read(source)?.open()
}

fn file_name(path: &Path) -> String {
    path.file_name().unwrap_or(path.as_os_str()).to_string_lossy().into_owned()
}

/// `full_name` is for messages.
fn decode(bytes: &[u8], name: &str, full_name: &str) -> Result<Picture, InputError> {
    let broken =
        || InputError::DamagedPicture { reason: "its decoder broke off".to_owned(), name: full_name.to_owned() };
    guarded(|| decode_unguarded(bytes, name, full_name)).unwrap_or_else(|| Err(broken()))
}

fn decode_unguarded(bytes: &[u8], name: &str, full_name: &str) -> Result<Picture, InputError> {
    let full_name = || full_name.to_owned();
    if is_cut_jpeg(bytes) {
        return Err(InputError::DamagedPicture { reason: "its end is missing".to_owned(), name: full_name() });
    }
    if tiff::is_tiff(bytes) {
        return decode_tiff(bytes, name, &full_name);
    }
    let reader = ImageReader::new(Cursor::new(bytes))
        .with_guessed_format()
        .map_err(|_| InputError::NotAPicture { name: full_name() })?;
    let Some(format) = reader.format() else {
        return Err(InputError::NotAPicture { name: full_name() });
    };
    let failed = |error: ImageError| match error {
        ImageError::Unsupported(_) => InputError::NotAPicture { name: full_name() },
        ImageError::Limits(_) => InputError::DamagedPicture {
            reason: "a frame in it is larger than the picture may be".to_owned(),
            name: full_name(),
        },
        // The decoders describe what they hold in their own notation, which is for nobody to read.
        ImageError::IoError(error) if error.kind() == ErrorKind::UnexpectedEof => {
            InputError::DamagedPicture { reason: "its end is missing".to_owned(), name: full_name() }
        }
        _ => InputError::DamagedPicture { reason: undecodable(format), name: full_name() },
    };
    let mut decoder = reader.into_decoder().map_err(failed)?;
    // The declared size decides, before a byte is allocated for the pixels.
    let (width, height) = decoder.dimensions();
    let limit = max_megapixels(format, decoder.color_type());
    if u64::from(width) * u64::from(height) > limit * 1_000_000 {
        return Err(InputError::HugePicture { width, height, limit, name: full_name() });
    }
    let mut limits = Limits::default();
    limits.max_alloc = Some(MAX_DECODED_BYTES);
    decoder.set_limits(limits).map_err(failed)?;
    let orientation = orientation(&mut decoder);
    let is_deep_grey = decoder.original_color_type() == ExtendedColorType::L16;
    let as_reference = match format {
        ImageFormat::Jpeg => decode_jpeg(bytes).map(Ok),
        ImageFormat::Gif => Some(gif::first_frame(bytes, limit * 1_000_000).map(DynamicImage::ImageRgba8)),
        ImageFormat::WebP => webp::first_frame(bytes),
        _ => None,
    };
    let mut decoded = as_reference.unwrap_or_else(|| DynamicImage::from_decoder(decoder)).map_err(failed)?;
    if is_deep_grey {
        // A colour that counts as transparent is read as an alpha, which the reference does not know of this kind.
        decoded = DynamicImage::ImageLuma16(decoded.into_luma16());
    }
    finished(decoded, orientation, name, &full_name, Vec::new())
}

fn decode_tiff(bytes: &[u8], name: &str, full_name: &impl Fn() -> String) -> Result<Picture, InputError> {
    let limit = max_megapixels(ImageFormat::Tiff, ColorType::Rgba16);
    let page = tiff::first_page(bytes, limit * 1_000_000).map_err(|fault| match fault {
        tiff::Fault::Kind(what) => InputError::OtherTiff { what, name: full_name() },
        tiff::Fault::Damaged(reason) => InputError::DamagedPicture { reason, name: full_name() },
        tiff::Fault::Huge { width, height } => InputError::HugePicture { width, height, limit, name: full_name() },
    })?;
    let mut notes = Vec::new();
    if page.n_pages > 1 {
        notes.push(format!("Page 1 of its {} is read", grouped(page.n_pages)));
    }
    if page.is_misread {
        notes.push("Its 16 bits lie in planes, which Pillow reads as if they had 8".to_owned());
    }
    finished(page.picture, page.orientation, name, full_name, notes)
}

/// Turned as the camera was held, for the screen and for the model.
fn finished(
    mut decoded: DynamicImage,
    orientation: Orientation,
    name: &str,
    full_name: &impl Fn() -> String,
    mut notes: Vec<String>,
) -> Result<Picture, InputError> {
    if decoded.width() == 0 || decoded.height() == 0 {
        return Err(InputError::NotAPicture { name: full_name() });
    }
    if decoded.color() == ColorType::L16 {
        notes.push("Its grey values have 16 bits; those above 255 count as white, as in the reference".to_owned());
    }
    decoded.apply_orientation(orientation);
    let shown = decoded.color().has_alpha().then(|| RgbaBuffer {
        width: decoded.width() as usize,
        height: decoded.height() as usize,
        pixels: decoded.to_rgba8().into_raw(),
    });
    if shown.iter().flat_map(|rgba| rgba.pixels.chunks_exact(4)).any(|pixel| pixel[3] < 255) {
        notes.push(
            "The model saw the colours under transparent places, as the reference's load_image reads them".to_owned(),
        );
    }
    Ok(picture(name.to_owned(), eight_bits(decoded), shown.map(Arc::new).as_ref(), notes))
}

fn undecodable(format: ImageFormat) -> String {
    let name = format.extensions_str().first().map_or_else(|| "a picture".to_owned(), |name| name.to_uppercase());
    format!("it cannot be decoded as {name}")
}

/// How the camera was held, from EXIF or else from XMP, after Pillow's `exif_transpose`; pipelines turn pictures so.
fn orientation(decoder: &mut impl ImageDecoder) -> Orientation {
    let exif = decoder.exif_metadata().ok().flatten();
    let number = exif.and_then(|exif| Orientation::from_exif_chunk(&exif)).or_else(|| {
        let xmp = decoder.xmp_metadata().ok().flatten()?;
        let xmp = String::from_utf8_lossy(&xmp);
        let (_, after) = xmp.split_once("tiff:Orientation")?;
        let digit = after.strip_prefix("=\"").or_else(|| after.strip_prefix('>'))?.bytes().next()?;
        Orientation::from_exif(digit.wrapping_sub(b'0'))
    });
    number.unwrap_or(Orientation::NoTransforms)
}

/// So many megapixels of a kind of colour are decoded: what the decoder holds, what it gives, and what is made of that
/// for the screen and for the model lie side by side.
fn max_megapixels(format: ImageFormat, color: ColorType) -> u64 {
    let given = u64::from(color.bytes_per_pixel());
    // The decoder of WebP decodes without loss to four channels, also where it gives three.
    let in_decoder = if format == ImageFormat::WebP { 4 } else { given };
    let for_screen = if color.has_alpha() { 4 } else { 0 };
    let for_model = if color == ColorType::Rgb8 { 0 } else { 3 };
    let bytes_per_pixel = in_decoder + given + for_screen + for_model;
    (MAX_DECODED_BYTES / bytes_per_pixel / 1_000_000).min(MAX_MEGAPIXELS)
}

/// Decodes a grey or coloured JPEG to the bytes that libjpeg-turbo, and so PIL, gives. The decoder of
/// `image` differs by up to five grey levels, which a model sees; it remains for everything else
/// (CMYK), and says what is wrong with a damaged file.
fn decode_jpeg(bytes: &[u8]) -> Option<DynamicImage> {
    let limit = (MAX_MEGAPIXELS * 1_000_000) as usize;
    let decode = || {
        let decoder = libjpeg_turbo_rs::Decoder::new(bytes)?.with_max_pixels(limit).with_stop_on_warning(true);
        decoder.with_output_format(libjpeg_turbo_rs::PixelFormat::Rgb).decode_image()
    };
    // Of ten thousand damaged files one or two make it panic instead of saying so.
    let decoded = std::panic::catch_unwind(decode).ok()?.ok()?;
    image::RgbImage::from_raw(decoded.width as u32, decoded.height as u32, decoded.data).map(DynamicImage::ImageRgb8)
}

/// Whether a JPEG lacks the end-of-image marker behind its last scan. The decoder would fill what is
/// missing with grey, and the model would see grey.
fn is_cut_jpeg(bytes: &[u8]) -> bool {
    let last = |marker: [u8; 2]| bytes.windows(2).rposition(|pair| pair == marker);
    bytes.starts_with(&[0xFF, 0xD8, 0xFF]) && last([0xFF, 0xD9]) <= last([0xFF, 0xDA])
}

/// To eight bits as PIL does: alpha is dropped, of sixteen bits the upper eight count, but of grey ones alone larger
/// values are white.
fn eight_bits(decoded: DynamicImage) -> Pixels8 {
    let (width, height) = (decoded.width() as usize, decoded.height() as usize);
    let high = |value: u16| (value >> 8) as u8;
    let pixels = match decoded {
        DynamicImage::ImageRgb8(pixels) => pixels.into_raw(),
        DynamicImage::ImageLuma8(pixels) => {
            return Pixels8 { width, height, n_channels: 1, pixels: pixels.into_raw() };
        }
        DynamicImage::ImageLuma16(pixels) => pixels.pixels().flat_map(|pixel| [pixel.0[0].min(255) as u8; 3]).collect(),
        DynamicImage::ImageLumaA16(pixels) => pixels.pixels().flat_map(|pixel| [high(pixel.0[0]); 3]).collect(),
        DynamicImage::ImageRgb16(pixels) => pixels.pixels().flat_map(|pixel| pixel.0.map(high)).collect(),
        DynamicImage::ImageRgba16(pixels) => {
            pixels.pixels().flat_map(|pixel| [high(pixel.0[0]), high(pixel.0[1]), high(pixel.0[2])]).collect()
        }
        other => other.to_rgb8().into_raw(),
    };
    Pixels8 { width, height, n_channels: 3, pixels }
}

fn picture(name: String, pixels: Pixels8, rgba: Option<&Arc<RgbaBuffer>>, notes: Vec<String>) -> Picture {
    let (width, height) = (pixels.width, pixels.height);
    let longest = width.max(height);
    let shown = if longest > MAX_SHOWN_PX {
        let scaled = |side: usize| (side * MAX_SHOWN_PX / longest).max(1);
        Arc::new(opaque(&resample::resize(&pixels, scaled(width), scaled(height), resample::Filter::Box)))
    } else {
        rgba.map_or_else(|| Arc::new(opaque(&pixels)), Arc::clone)
    };
    Picture { name, shown, notes, pixels }
}

fn opaque(Pixels8 { width, height, n_channels, pixels }: &Pixels8) -> RgbaBuffer {
    let pixels = match n_channels {
        1 => repeated(pixels, |grey| [grey, grey, grey, 255]),
        _ => pixels.as_chunks::<3>().0.iter().flat_map(|[red, green, blue]| [*red, *green, *blue, 255]).collect(),
    };
    RgbaBuffer { width: *width, height: *height, pixels }
}

impl Picture {
    /// Width and height of the picture as decoded.
    pub const fn size_px(&self) -> (usize, usize) {
        (self.pixels.width, self.pixels.height)
    }
}
