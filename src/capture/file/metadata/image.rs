//! `image`: how patches lie on the picture, or where regions do.

use std::sync::Arc;

use serde::{Deserialize, Serialize};

use super::FileError;
use crate::capture::{CropRect, ImageInfo, RgbaBuffer};

/// Longest side of a picture that regions are given for.
const MOST_PX: usize = 1 << 16;
/// How far beyond an edge of the picture a box may lie, in pixels: detectors round.
const SLACK_PX: f32 = 1.0;

/// `image`: how patches lie on the picture, or where regions do. The picture itself is a tensor, if it is in the file.
#[derive(Serialize, Deserialize)]
pub(in crate::capture::file) struct ImageEntry {
    #[serde(default)]
    n_prefix: usize,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    grid_height: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    grid_width: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    patch_height: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    patch_width: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    crop: Option<CropEntry>,
    /// Left, top, right and bottom of each.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    regions: Option<Vec<Vec<f32>>>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    unit: Option<Unit>,
    /// Of the picture that regions lie on, in pixels.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    width: Option<usize>,
    #[serde(default, skip_serializing_if = "Option::is_none")]
    height: Option<usize>,
}

/// In pixels of the source picture.
#[derive(Serialize, Deserialize)]
struct CropEntry {
    x: f32,
    y: f32,
    width: f32,
    height: f32,
}

/// How edges of regions are measured.
#[derive(Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
enum Unit {
    #[default]
    Pixel,
    /// Of the width and the height of the picture.
    Fraction,
}

impl From<&ImageInfo> for ImageEntry {
    fn from(image: &ImageInfo) -> Self {
        let CropRect { x, y, width, height } = image.crop;
        let nothing = Self {
            n_prefix: image.n_prefix,
            grid_height: None,
            grid_width: None,
            patch_height: None,
            patch_width: None,
            crop: None,
            regions: None,
            unit: None,
            width: None,
            height: None,
        };
        if let Some(regions) = &image.regions {
            return Self {
                regions: Some(regions.iter().map(|region| region.to_vec()).collect()),
                width: Some(width as usize),
                height: Some(height as usize),
                ..nothing
            };
        }
        Self {
            grid_height: Some(image.grid.0),
            grid_width: Some(image.grid.1),
            patch_height: Some(image.patch_px.0),
            patch_width: Some(image.patch_px.1),
            crop: Some(CropEntry { x, y, width, height }),
            ..nothing
        }
    }
}

fn refused(problem: impl Into<String>) -> FileError {
    FileError::Metadata { entry: "image", problem: problem.into() }
}

impl ImageEntry {
    /// The placement on `picture`, when it accounts for `n_tokens` tokens.
    ///
    /// # Errors
    /// When it does not, or when something lies outside of the picture.
    pub(in crate::capture::file) fn info(
        self,
        n_tokens: usize,
        picture: Option<Arc<RgbaBuffer>>,
    ) -> Result<ImageInfo, FileError> {
        let Self { n_prefix, grid_height, grid_width, patch_height, patch_width, crop, regions, unit, width, height } =
            self;
        if let Some(regions) = regions {
            if [grid_height, grid_width, patch_height, patch_width].iter().any(Option::is_some) || crop.is_some() {
                return Err(refused("a picture has a grid of patches or regions, not both"));
            }
            return of_regions(&regions, (unit.unwrap_or_default(), width, height), (n_prefix, n_tokens), picture);
        }
        let (Some(grid_height), Some(grid_width), Some(patch_height), Some(patch_width)) =
            (grid_height, grid_width, patch_height, patch_width)
        else {
            return Err(refused(
                "there is neither a grid of patches (grid_height, grid_width, patch_height, patch_width) nor regions",
            ));
        };
        let n_patches = grid_height.checked_mul(grid_width).and_then(|n| n.checked_add(n_prefix));
        if n_patches != Some(n_tokens) || patch_height == 0 || patch_width == 0 {
            return Err(refused(format!(
                "{grid_height} × {grid_width} patches and {n_prefix} prefix tokens are not {n_tokens} tokens"
            )));
        }
        let whole = CropEntry {
            x: 0.0,
            y: 0.0,
            width: grid_width as f32 * patch_width as f32,
            height: grid_height as f32 * patch_height as f32,
        };
        let CropEntry { x, y, width, height } = crop.unwrap_or(whole);
        if ![x, y, width, height].iter().all(|value| value.is_finite()) || width <= 0.0 || height <= 0.0 {
            return Err(refused("the crop has no area"));
        }
        Ok(ImageInfo {
            grid: (grid_height, grid_width),
            regions: None,
            n_prefix,
            patch_px: (patch_height, patch_width),
            crop: CropRect { x, y, width, height },
            source: picture,
        })
    }
}

/// Regions on a picture, checked.
fn of_regions(
    regions: &[Vec<f32>],
    (unit, width, height): (Unit, Option<usize>, Option<usize>),
    (n_prefix, n_tokens): (usize, usize),
    picture: Option<Arc<RgbaBuffer>>,
) -> Result<ImageInfo, FileError> {
    if regions.is_empty() || regions.len().checked_add(n_prefix) != Some(n_tokens) {
        let n = regions.len();
        return Err(refused(format!("{n} regions and {n_prefix} prefix tokens are not {n_tokens} tokens")));
    }
    let of_picture = picture.as_ref().map(|picture| (picture.width, picture.height));
    let (width, height) = match (width.zip(height), of_picture) {
        (Some(given), Some(has)) if given != has => {
            return Err(refused(format!(
                "regions are of a picture of {} × {} pixels, but that in the file has {} × {}",
                given.0, given.1, has.0, has.1
            )));
        }
        (_, Some(has)) => has,
        (Some(given), None) => given,
        (None, None) => {
            return Err(refused("regions need the picture, or its width and height in pixels"));
        }
    };
    if ![width, height].iter().all(|side| (1..=MOST_PX).contains(side)) {
        return Err(refused(format!("sides of a picture are 1 to {MOST_PX} pixels, not {width} × {height}")));
    }
    let whole = [width as f32, height as f32];
    let checked = |(nth, region): (usize, &Vec<f32>)| {
        let [left, top, right, bottom] = <[f32; 4]>::try_from(region.as_slice()).map_err(|_| {
            refused(format!("region {nth} has {} numbers, not left, top, right and bottom", region.len()))
        })?;
        let said = || format!("region {nth} ({left}, {top}, {right}, {bottom})");
        if ![left, top, right, bottom].iter().all(|edge| edge.is_finite()) {
            return Err(refused(format!("{} is not finite", said())));
        }
        if left >= right || top >= bottom {
            let order = "edges are left, top, right and bottom, not a corner with width and height";
            return Err(refused(format!("{} has no area: {order}", said())));
        }
        let scale = if unit == Unit::Fraction { whole } else { [1.0; 2] };
        let edges = [left * scale[0], top * scale[1], right * scale[0], bottom * scale[1]];
        let on = [0, 1, 0, 1].map(|axis| whole[axis]);
        let is_inside = edges.iter().zip(on).all(|(edge, whole)| (-SLACK_PX..=whole + SLACK_PX).contains(edge));
        let mut inside = edges;
        inside.iter_mut().zip(on).for_each(|(edge, whole)| *edge = edge.clamp(0.0, whole));
        if !is_inside || inside[0] >= inside[2] || inside[1] >= inside[3] {
            let unit = if unit == Unit::Fraction { "fractions of" } else { "pixels of" };
            return Err(refused(format!(
                "{} lies outside of the picture: its edges are {unit} {width} × {height} pixels",
                said()
            )));
        }
        Ok(inside)
    };
    let regions = regions.iter().enumerate().map(checked).collect::<Result<Vec<_>, _>>()?;
    Ok(ImageInfo {
        grid: (1, regions.len()),
        regions: Some(regions.into()),
        n_prefix,
        patch_px: (height, width),
        crop: CropRect { x: 0.0, y: 0.0, width: whole[0], height: whole[1] },
        source: picture,
    })
}
