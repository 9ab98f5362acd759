//! `image`: how patches lie on the picture.

use serde::{Deserialize, Serialize};

use super::FileError;
use crate::capture::{CropRect, ImageInfo};

/// `image`: how patches lie on the picture. The picture itself is a tensor, if it is in the file.
#[derive(Serialize, Deserialize)]
pub(in crate::capture::file) struct ImageEntry {
    grid_height: usize,
    grid_width: usize,
    n_prefix: usize,
    patch_height: usize,
    patch_width: usize,
    #[serde(default)]
    crop: Option<CropEntry>,
}

/// In pixels of the source picture.
#[derive(Serialize, Deserialize)]
struct CropEntry {
    x: f32,
    y: f32,
    width: f32,
    height: f32,
}

impl From<&ImageInfo> for ImageEntry {
    fn from(image: &ImageInfo) -> Self {
        let CropRect { x, y, width, height } = image.crop;
        Self {
            grid_height: image.grid.0,
            grid_width: image.grid.1,
            n_prefix: image.n_prefix,
            patch_height: image.patch_px.0,
            patch_width: image.patch_px.1,
            crop: Some(CropEntry { x, y, width, height }),
        }
    }
}

impl ImageEntry {
    /// The placement, when it accounts for `n_tokens` tokens.
    pub(in crate::capture::file) fn info(self, n_tokens: usize) -> Result<ImageInfo, FileError> {
        let Self { grid_height, grid_width, n_prefix, patch_height, patch_width, crop } = self;
        let n_patches = grid_height.checked_mul(grid_width).and_then(|n| n.checked_add(n_prefix));
        if n_patches != Some(n_tokens) || patch_height == 0 || patch_width == 0 {
            return Err(FileError::Metadata {
                entry: "image",
                problem: format!(
                    "{grid_height} × {grid_width} patches and {n_prefix} prefix tokens are not {n_tokens} tokens"
                ),
            });
        }
        let whole = CropEntry {
            x: 0.0,
            y: 0.0,
            width: grid_width as f32 * patch_width as f32,
            height: grid_height as f32 * patch_height as f32,
        };
        let CropEntry { x, y, width, height } = crop.unwrap_or(whole);
        if ![x, y, width, height].iter().all(|value| value.is_finite()) || width <= 0.0 || height <= 0.0 {
            return Err(FileError::Metadata { entry: "image", problem: "the crop has no area".to_owned() });
        }
        Ok(ImageInfo {
            grid: (grid_height, grid_width),
            n_prefix,
            patch_px: (patch_height, patch_width),
            crop: CropRect { x, y, width, height },
            source: None,
        })
    }
}
