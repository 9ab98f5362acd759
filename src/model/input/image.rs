//! Pictures to pixel values, as the image processors of the transformers library (on PIL) do.

use std::sync::Arc;

use serde_json::{Map, Value};

use super::{
    InputError,
    picture::Picture,
    processor::{Keys, NO_CLASS, ProcessorClass, ProcessorSettings},
    read,
    resample::{Pixels8, resize, resize_values},
    size::TargetSize,
};
use crate::{
    capture::{CropRect, ImageInfo, Token},
    json_file,
    model::checkpoint::ModelFiles,
    spec::ImageSpec,
};

/// How a checkpoint wants its pictures.
#[derive(Clone, Debug, PartialEq)]
pub struct ImageProcessor {
    settings: ProcessorSettings,
    source: &'static str,
}

/// What a vision model reads.
#[derive(Clone, Debug)]
pub struct EncodedImage {
    /// `[3, height, width]`.
    pub pixels: Vec<f32>,
    pub size_px: (usize, usize),
    /// How patches lie on the picture.
    pub info: ImageInfo,
    /// Prefix tokens, then patches row by row.
    pub tokens: Vec<Token>,
    /// Sentences the user should see.
    pub notes: Vec<String>,
}

const FILE: &str = "preprocessor_config.json";
const MODEL_FILE: &str = "config.json";
/// Where there is no file.
const DEFAULTS: &str = "the defaults of the processor";
/// Where newer processors of pictures and texts together describe both, pictures under `image_processor`.
const JOINT_FILE: &str = "processor_config.json";
/// Scaling the shortest edge of a very thin picture makes the other edge long; this is the bound.
const MAX_LONG_EDGE_PX: usize = 65_536;

impl ImageProcessor {
    /// Reads `processor_config.json` or `preprocessor_config.json`; without them, what the family's `own` processor does
    /// by default, at the model's own picture size (height, width).
    ///
    /// # Errors
    /// When one is there and cannot be used, or nothing says which processor it is.
    pub(crate) fn from_files(
        files: &ModelFiles,
        own: Option<&'static ProcessorClass>,
        size_px: (usize, usize),
    ) -> Result<Self, InputError> {
        let model = object(files, MODEL_FILE).ok().flatten().map_or(Value::Null, Value::Object);
        if let Some(read) = own.and_then(ProcessorClass::of_model) {
            let source = files.own_name(MODEL_FILE);
            let settings = read(&model).map_err(|reason| bad(source, &reason))?;
            return Ok(Self { settings, source });
        }
        // What a joint file says about pictures goes first.
        for file in [JOINT_FILE, FILE] {
            let Some(mut values) = object(files, file)? else { continue };
            if file == JOINT_FILE {
                match values.remove("image_processor") {
                    Some(Value::Object(part)) => values = part,
                    None | Some(Value::Null) => continue,
                    Some(_) => return Err(bad(file, "image_processor is not an object")),
                }
            }
            let settings = ProcessorSettings::read(&values, &model, own).map_err(|reason| bad(file, &reason))?;
            return Ok(Self { settings, source: file });
        }
        let class = own.ok_or_else(|| bad(FILE, &format!("it is missing, and {NO_CLASS}")))?;
        Ok(Self { settings: ProcessorSettings::of_class(class, size_px), source: DEFAULTS })
    }

    /// The same for a model with such patches: a processor that counts in patches must count in those, and where no file
    /// says how many there may be, the model does.
    ///
    /// # Errors
    /// When its file has patches of another size.
    pub(super) fn for_patches(mut self, spec: &ImageSpec) -> Result<Self, InputError> {
        let Some(TargetSize::Patches { side, .. }) = self.settings.resize else { return Ok(self) };
        let (height, width) = spec.patch_px;
        if self.source == DEFAULTS {
            let most = (spec.size_px.0 / height.max(1)) * (spec.size_px.1 / width.max(1));
            self.settings.resize = Some(TargetSize::Patches { side: height, most });
        } else if (side, side) != (height, width) {
            let reason = format!("its patch_size is {side}, and the model's patches are {height} × {width}");
            return Err(bad(self.source, &reason));
        }
        Ok(self)
    }

    /// What became of the keys of the file.
    pub const fn keys(&self) -> &Keys {
        &self.settings.keys
    }

    /// Where the description came from, for the audit.
    pub const fn source(&self) -> &'static str {
        self.source
    }

    /// Resizes, crops, rescales and normalises `picture` for a model with patches of `patch_px`
    /// (height, width) and `n_prefix` tokens before them.
    ///
    /// # Errors
    /// When the picture is so thin that its scaled version would not fit into memory.
    pub fn encode(
        &self,
        picture: &Picture,
        patch_px: (usize, usize),
        n_prefix: usize,
    ) -> Result<EncodedImage, InputError> {
        let source = &picture.pixels;
        if self.settings.rescales_first {
            return self.encode_floats(picture, patch_px, n_prefix);
        }
        let resized = match self.settings.resize {
            None => source.clone(),
            Some(size) => {
                let (height, width) = target(size, picture)?;
                resize(source, width, height, self.settings.filter)
            }
        };
        let resized = resized.into_rgb();
        let (scale_x, scale_y) =
            (picture.shown.width as f32 / resized.width as f32, picture.shown.height as f32 / resized.height as f32);
        let (cropped, left, top) = match self.settings.crop {
            None => (resized, 0, 0),
            Some((height, width)) => center_crop(&resized, (height, width), self.settings.crop_rounds),
        };
        let (mut pixels, mut size_px) = (self.values(&cropped), (cropped.height, cropped.width));
        if let Some(padded_px) = self.settings.pad {
            if size_px.0 > padded_px.0 || size_px.1 > padded_px.1 {
                return Err(InputError::BeyondPadding { size_px, padded_px });
            }
            (pixels, size_px) = (padded(&pixels, size_px, padded_px), padded_px);
        }
        let grid = grid(patch_px, size_px);
        let info = ImageInfo {
            regions: None,
            grid,
            n_prefix,
            patch_px,
            crop: CropRect {
                x: left as f32 * scale_x,
                y: top as f32 * scale_y,
                width: (grid.1 * patch_px.1) as f32 * scale_x,
                height: (grid.0 * patch_px.0) as f32 * scale_y,
            },
            source: Some(Arc::clone(&picture.shown)),
        };
        Ok(EncodedImage { pixels, size_px, tokens: patch_tokens(grid, n_prefix), info, notes: picture.notes.clone() })
    }

    /// [`Self::encode`] of a processor that rescales first and does nothing but resize and normalise then.
    fn encode_floats(
        &self,
        picture: &Picture,
        patch_px: (usize, usize),
        n_prefix: usize,
    ) -> Result<EncodedImage, InputError> {
        let source = picture.pixels.clone().into_rgb();
        let factor = self.settings.rescale.unwrap_or(1.0) as f32;
        let rescaled: Vec<f32> = source.pixels.iter().map(|value| f32::from(*value) * factor).collect();
        let size_px = match self.settings.resize {
            None => (source.height, source.width),
            Some(size) => target(size, picture)?,
        };
        let values = resize_values(rescaled, (source.height, source.width), size_px, self.settings.filter);
        let mut pixels = Vec::with_capacity(values.len());
        for channel in 0..3 {
            let normalize = |value: f32| {
                self.settings.normalize.map_or(value, |n| (value - n.mean[channel] as f32) / n.std[channel] as f32)
            };
            pixels.extend(values[channel..].iter().step_by(3).map(|value| normalize(*value)));
        }
        let mut encoded = EncodedImage::from_pixels(pixels, size_px, patch_px, n_prefix);
        let [across, down] =
            [picture.shown.width as f32 / size_px.1 as f32, picture.shown.height as f32 / size_px.0 as f32];
        let CropRect { width, height, .. } = encoded.info.crop;
        encoded.info.crop = CropRect { x: 0.0, y: 0.0, width: width * across, height: height * down };
        encoded.info.source = Some(Arc::clone(&picture.shown));
        encoded.notes.clone_from(&picture.notes);
        Ok(encoded)
    }

    /// `[3, height, width]`, rescaled and normalised with the reference's order of roundings.
    fn values(&self, picture: &Pixels8) -> Vec<f32> {
        // Only 256 values per channel are possible.
        let tables: [Vec<f32>; 3] = std::array::from_fn(|channel| {
            (0..=255u8)
                .map(|value| {
                    let value =
                        self.settings.rescale.map_or_else(|| f32::from(value), |f| (f64::from(value) * f) as f32);
                    self.settings.normalize.map_or(value, |n| (value - n.mean[channel] as f32) / n.std[channel] as f32)
                })
                .collect()
        });
        let mut values = Vec::with_capacity(picture.pixels.len());
        for (channel, table) in tables.iter().enumerate() {
            values.extend(picture.pixels[channel..].iter().step_by(3).map(|&value| table[usize::from(value)]));
        }
        values
    }
}

impl EncodedImage {
    /// Already preprocessed pixels `[3, height, width]`, without a picture to show.
    pub fn from_pixels(pixels: Vec<f32>, size_px: (usize, usize), patch_px: (usize, usize), n_prefix: usize) -> Self {
        let grid = grid(patch_px, size_px);
        let crop =
            CropRect { x: 0.0, y: 0.0, width: (grid.1 * patch_px.1) as f32, height: (grid.0 * patch_px.0) as f32 };
        let info = ImageInfo { grid, regions: None, n_prefix, patch_px, crop, source: None };
        Self { pixels, size_px, info, tokens: patch_tokens(grid, n_prefix), notes: Vec::new() }
    }
}

/// The size that a picture is brought to.
fn target(size: TargetSize, picture: &Picture) -> Result<(usize, usize), InputError> {
    let (height, width) = size.of(&picture.pixels);
    if height.max(width) > MAX_LONG_EDGE_PX || height.min(width) == 0 {
        return Err(InputError::ThinPicture { name: picture.name.clone() });
    }
    Ok((height, width))
}

fn grid(patch_px: (usize, usize), size_px: (usize, usize)) -> (usize, usize) {
    (size_px.0 / patch_px.0.max(1), size_px.1 / patch_px.1.max(1))
}

/// Tokens of a grid of patches (rows, columns): the prefix, then `r0 c0` and so on, row by row.
fn patch_tokens((n_rows, n_columns): (usize, usize), n_prefix: usize) -> Vec<Token> {
    let prefix = (0..n_prefix).map(|idx| {
        let text = if idx == 0 { "[CLS]".to_owned() } else { format!("[REG{idx}]") };
        Token { text, special: true, ..Token::default() }
    });
    let patches = (0..n_rows).flat_map(|row| {
        (0..n_columns).map(move |column| Token { text: format!("r{row} c{column}"), ..Token::default() })
    });
    prefix.chain(patches).collect()
}

/// A file of the checkpoint that is a JSON object; `None` when there is no such file.
fn object(files: &ModelFiles, file: &'static str) -> Result<Option<Map<String, Value>>, InputError> {
    let Some(bytes) = read(files, file)? else { return Ok(None) };
    match json_file::of_python(&bytes) {
        Ok(Value::Object(values)) => Ok(Some(values)),
        Ok(_) => Err(bad(file, "it is not a JSON object")),
        Err(error) => Err(bad(file, &error.to_string())),
    }
}

fn bad(file: &'static str, reason: &str) -> InputError {
    InputError::BadFile { file, reason: reason.to_owned() }
}

/// The middle `height × width` of `source`, which has three channels, with its left and top edge there; black where it
/// is too small.
///
/// After `transformers.image_transforms.center_crop`, which rounds an odd margin down when it cuts and
/// up when it pads.
fn center_crop(source: &Pixels8, (height, width): (usize, usize), rounds: bool) -> (Pixels8, isize, isize) {
    let edge = |have: usize, want: usize| {
        let beside = have as isize - want as isize;
        // Ties go to even numbers, as in Python.
        let up = rounds && beside.rem_euclid(4) == 3;
        beside.div_euclid(2) + isize::from(up)
    };
    let (left, top) = (edge(source.width, width), edge(source.height, height));
    let mut pixels = vec![0; 3 * height * width];
    let first = left.max(0) as usize;
    let (offset, n) = ((-left).max(0) as usize, width.min(source.width));
    for (y, row) in pixels.chunks_exact_mut(3 * width).enumerate() {
        let source_y = y as isize + top;
        if (0..source.height as isize).contains(&source_y) {
            let start = 3 * (source_y as usize * source.width + first);
            row[3 * offset..3 * (offset + n)].copy_from_slice(&source.pixels[start..start + 3 * n]);
        }
    }
    (Pixels8 { width, height, n_channels: 3, pixels }, left, top)
}

/// Pixel values `[3, height, width]` with zeros at the right and at the bottom up to a larger size.
fn padded(pixels: &[f32], (height, width): (usize, usize), (new_height, new_width): (usize, usize)) -> Vec<f32> {
    let mut values = vec![0.0; 3 * new_height * new_width];
    for (row, source) in pixels.chunks_exact(width.max(1)).enumerate() {
        let (channel, y) = (row / height, row % height);
        values[(channel * new_height + y) * new_width..][..width].copy_from_slice(source);
    }
    values
}
