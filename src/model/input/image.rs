//! Pictures to pixel values, as the image processors of the transformers library (on PIL) do.

use std::sync::Arc;

use serde_json::Value;

use super::{
    InputError,
    picture::Picture,
    read,
    resample::{Filter, Pixels8, resize},
};
use crate::{
    capture::{CropRect, ImageInfo, Token},
    model::checkpoint::ModelFiles,
};

/// What `preprocessor_config.json` says.
#[derive(Clone, Debug, PartialEq)]
pub struct ImageProcessor {
    resize: Option<TargetSize>,
    filter: Filter,
    /// Height and width.
    crop: Option<(usize, usize)>,
    rescale: Option<f64>,
    normalize: Option<Normalize>,
    source: &'static str,
}

#[derive(Clone, Copy, Debug, PartialEq)]
enum TargetSize {
    /// Height and width.
    Exact(usize, usize),
    ShortestEdge(usize),
}

#[derive(Clone, Copy, Debug, PartialEq)]
struct Normalize {
    mean: [f64; 3],
    std: [f64; 3],
}

/// What a vision model reads.
#[derive(Clone, Debug)]
pub struct EncodedImage {
    /// `[3, height, width]`.
    pub pixels: Vec<f32>,
    /// Height and width.
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
/// Where newer processors of pictures and texts together describe both, pictures under `image_processor`.
const JOINT_FILE: &str = "processor_config.json";
/// Of the pictures that CLIP was trained on, red, green, blue.
const CLIP_MEAN: [f64; 3] = [0.481_454_66, 0.457_827_5, 0.408_210_73];
const CLIP_STD: [f64; 3] = [0.268_629_54, 0.261_302_58, 0.275_777_11];
/// No model reads larger pictures; a larger number is a damaged file.
const MAX_SIDE_PX: u64 = 4096;
/// Scaling the shortest edge of a very thin picture makes the other edge long; this is the bound.
const MAX_LONG_EDGE_PX: usize = 65_536;

impl ImageProcessor {
    /// Reads `processor_config.json` or `preprocessor_config.json`; without them, what the processor of such models
    /// does by default, at the model's own picture size (height, width).
    ///
    /// # Errors
    /// When one is there and cannot be used.
    pub fn from_files(files: &ModelFiles, size_px: (usize, usize)) -> Result<Self, InputError> {
        let model =
            read(files, MODEL_FILE)?.and_then(|bytes| serde_json::from_slice(&bytes).ok()).unwrap_or(Value::Null);
        // What a joint file says about pictures goes first.
        for file in [JOINT_FILE, FILE] {
            let Some(bytes) = read(files, file)? else { continue };
            let in_file = |error| match error {
                InputError::BadFile { reason, .. } => InputError::BadFile { file, reason },
                other => other,
            };
            let mut config: Value = serde_json::from_slice(&bytes).map_err(|error| in_file(bad(&error.to_string())))?;
            if !config.is_object() {
                return Err(in_file(bad("it is not a JSON object")));
            }
            if file == JOINT_FILE {
                match config.get_mut("image_processor") {
                    Some(part) => config = part.take(),
                    None => continue,
                }
            }
            return Ok(Self { source: file, ..Self::from_config(&config, &model, size_px).map_err(in_file)? });
        }
        Self::from_config(&Value::Null, &model, size_px)
    }

    fn from_config(config: &Value, model: &Value, size_px: (usize, usize)) -> Result<Self, InputError> {
        let flag = |key: &str, default| config.get(key).and_then(Value::as_bool).unwrap_or(default);
        let class = Class::of(config, model)?;
        let pads = flag("do_pad", false) && config.get("pad_size").is_some_and(|size| !size.is_null());
        if pads || class == Class::Clip && flag("use_square_size", false) {
            return Err(bad(if pads { "pad_size is not supported" } else { "use_square_size is not supported" }));
        }
        let resize = match config.get("size") {
            _ if !flag("do_resize", true) => None,
            None | Some(Value::Null) if class == Class::Clip => Some(TargetSize::ShortestEdge(size_px.0)),
            None | Some(Value::Null) => Some(TargetSize::Exact(size_px.0, size_px.1)),
            Some(size) => Some(target_size(size, matches!(class, Class::Clip | Class::Siglip))?),
        };
        let crop = match config.get("crop_size") {
            _ if !flag("do_center_crop", matches!(class, Class::Clip | Class::Deit)) => None,
            None | Some(Value::Null) => Some(size_px),
            Some(size) => match target_size(size, false)? {
                TargetSize::Exact(height, width) => Some((height, width)),
                TargetSize::ShortestEdge(_) => return Err(bad("crop_size needs height and width")),
            },
        };
        let filter = match config.get("resample") {
            None | Some(Value::Null) if class == Class::Vit => Filter::Bilinear,
            None | Some(Value::Null) => Filter::Bicubic,
            Some(number) => {
                number.as_u64().and_then(Filter::from_pil).ok_or_else(|| bad("resample is not a filter's number"))?
            }
        };
        let factor = match config.get("rescale_factor") {
            None | Some(Value::Null) => 1.0 / 255.0,
            Some(factor) => factor.as_f64().ok_or_else(|| bad("rescale_factor is not a number"))?,
        };
        let (mean, std) = if class == Class::Clip { (CLIP_MEAN, CLIP_STD) } else { ([0.5; 3], [0.5; 3]) };
        let mean = channels(config, "image_mean", mean)?;
        let std = channels(config, "image_std", std)?;
        if std.contains(&0.0) {
            return Err(bad("image_std contains zero"));
        }
        Ok(Self {
            resize,
            filter,
            crop,
            rescale: flag("do_rescale", true).then_some(factor),
            normalize: flag("do_normalize", true).then_some(Normalize { mean, std }),
            source: "the defaults of the processor",
        })
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
        let resized = match self.resize {
            None => source.clone(),
            Some(size) => {
                let (height, width) = size.of(source);
                if height.max(width) > MAX_LONG_EDGE_PX {
                    return Err(InputError::ThinPicture { name: picture.name.clone() });
                }
                resize(source, width, height, self.filter)
            }
        };
        let resized = resized.into_rgb();
        let (scale_x, scale_y) =
            (picture.shown.width as f32 / resized.width as f32, picture.shown.height as f32 / resized.height as f32);
        let (cropped, left, top) = match self.crop {
            None => (resized, 0, 0),
            Some((height, width)) => center_crop(&resized, height, width),
        };
        let grid = grid(patch_px, (cropped.height, cropped.width));
        let info = ImageInfo {
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
        Ok(EncodedImage {
            pixels: self.values(&cropped),
            size_px: (cropped.height, cropped.width),
            tokens: patch_tokens(grid, n_prefix),
            info,
            notes: picture.notes.clone(),
        })
    }

    /// `[3, height, width]`, rescaled and normalised with the reference's order of roundings.
    fn values(&self, picture: &Pixels8) -> Vec<f32> {
        // Only 256 values per channel are possible.
        let tables: [Vec<f32>; 3] = std::array::from_fn(|channel| {
            (0..=255u8)
                .map(|value| {
                    let value = self.rescale.map_or_else(|| f32::from(value), |f| (f64::from(value) * f) as f32);
                    self.normalize.map_or(value, |n| (value - n.mean[channel] as f32) / n.std[channel] as f32)
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
        let info = ImageInfo { grid, n_prefix, patch_px, crop, source: None };
        Self { pixels, size_px, info, tokens: patch_tokens(grid, n_prefix), notes: Vec::new() }
    }
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

impl TargetSize {
    /// Height and width for this picture.
    fn of(self, source: &Pixels8) -> (usize, usize) {
        match self {
            Self::Exact(height, width) => (height, width),
            Self::ShortestEdge(short) => {
                let (width, height) = (source.width, source.height);
                // Truncated, as in `get_resize_output_image_size`.
                let long = |long: usize, by: usize| short * long / by;
                if width <= height { (long(height, width), short) } else { (short, long(width, height)) }
            }
        }
    }
}

/// What a processor does when its file does not say.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Class {
    /// Also BiT, which DINOv2 uses. A single number is the shortest edge.
    Clip,
    Deit,
    Beit,
    /// A single number is the shortest edge, too; for the others it is a square.
    Siglip,
    Vit,
}

impl Class {
    /// As the file of the processor names it, or else as the `model_type` asks.
    fn of(config: &Value, model: &Value) -> Result<Self, InputError> {
        let name = ["image_processor_type", "feature_extractor_type"].iter().find_map(|key| config.get(key)?.as_str());
        let Some(name) = name else {
            let model_type = model.get("encoder").unwrap_or(model).get("model_type").and_then(Value::as_str);
            return Ok(match model_type.unwrap_or_default() {
                "beit" => Self::Beit,
                "clip" | "clip_vision_model" | "dinov2" | "dinov2_with_registers" => Self::Clip,
                "deit" => Self::Deit,
                "siglip" | "siglip_vision_model" => Self::Siglip,
                _ => Self::Vit,
            });
        };
        let is = |start: &str| name.starts_with(start);
        match () {
            () if is("CLIP") || is("Bit") || is("ChineseCLIP") => Ok(Self::Clip),
            () if is("DeiT") => Ok(Self::Deit),
            () if is("Beit") => Ok(Self::Beit),
            () if is("Siglip") => Ok(Self::Siglip),
            () if is("ViT") => Ok(Self::Vit),
            () => {
                Err(bad(&format!("it is for “{name}”; those of CLIP, BiT, DeiT, BEiT, SigLIP and ViT are supported")))
            }
        }
    }
}

fn target_size(size: &Value, number_is_shortest_edge: bool) -> Result<TargetSize, InputError> {
    let side = |value: &Value| {
        value
            .as_u64()
            .filter(|side| (1..=MAX_SIDE_PX).contains(side))
            .map(|side| side as usize)
            .ok_or_else(|| bad("a size is not a number of pixels"))
    };
    match size {
        Value::Number(_) if number_is_shortest_edge => Ok(TargetSize::ShortestEdge(side(size)?)),
        Value::Number(_) => side(size).map(|side| TargetSize::Exact(side, side)),
        Value::Array(pair) if pair.len() == 2 => Ok(TargetSize::Exact(side(&pair[0])?, side(&pair[1])?)),
        Value::Object(sizes) if sizes.get("longest_edge").is_some_and(|edge| !edge.is_null()) => {
            Err(bad("a size with longest_edge is not supported"))
        }
        Value::Object(sizes) => match (sizes.get("height"), sizes.get("width"), sizes.get("shortest_edge")) {
            (Some(height), Some(width), _) => Ok(TargetSize::Exact(side(height)?, side(width)?)),
            (_, _, Some(edge)) => Ok(TargetSize::ShortestEdge(side(edge)?)),
            _ => Err(bad("a size needs height and width, or shortest_edge")),
        },
        _ => Err(bad("a size is neither a number nor an object")),
    }
}

/// Three numbers, or one for all channels.
fn channels(config: &Value, key: &str, default: [f64; 3]) -> Result<[f64; 3], InputError> {
    let wrong = || bad(&format!("{key} is not three numbers"));
    match config.get(key) {
        None | Some(Value::Null) => Ok(default),
        Some(Value::Array(values)) => {
            let values: Option<Vec<f64>> = values.iter().map(Value::as_f64).collect();
            values.and_then(|values| values.try_into().ok()).ok_or_else(wrong)
        }
        Some(value) => value.as_f64().map(|value| [value; 3]).ok_or_else(wrong),
    }
}

fn bad(reason: &str) -> InputError {
    InputError::BadFile { file: FILE, reason: reason.to_owned() }
}

/// The middle `height × width` of `source`, which has three channels, with its left and top edge there; black where it
/// is too small.
///
/// After `transformers.image_transforms.center_crop`, which rounds an odd margin down when it cuts and
/// up when it pads.
fn center_crop(source: &Pixels8, height: usize, width: usize) -> (Pixels8, isize, isize) {
    let edge = |have: usize, want: usize| (have as isize - want as isize).div_euclid(2);
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
