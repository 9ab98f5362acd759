//! From pixels to the first residual stream of a vision transformer.

use candle_core::Tensor;

use super::interpolate::{Interpolation, resize_rows};
use crate::model::{
    ModelError,
    kernels::{Linear, Norm},
    run::{At, Run, Site},
};

/// Longest sequence of patches; attention over more would not fit in memory.
const MAX_PATCHES: usize = 16 * 1024;

/// A linear map of each patch, after prefix tokens, plus positions.
#[derive(Debug)]
pub(crate) struct PatchEmbedding {
    /// `[3 · patch height · patch width, d_model]`.
    pub projection: Linear,
    /// CLS and distillation tokens, `[n_prefix, d_model]`; possibly none.
    pub prefix: Option<Tensor>,
    /// `[n_prefix + rows · columns, d_model]`.
    pub position: Option<Tensor>,
    /// Tokens without a position between prefix and patches (DINOv2's registers), `[n_registers, d_model]`.
    pub registers: Option<Tensor>,
    /// How many of the tokens in `prefix` are no registers; all, where they are fewer.
    pub n_class_tokens: usize,
    /// Of the whole sequence (CLIP).
    pub norm: Option<Norm>,
    /// Rows and columns the positions were trained for.
    pub grid: (usize, usize),
    pub patch_px: (usize, usize),
    /// How positions are resampled for other grids.
    pub filter: Interpolation,
}

impl PatchEmbedding {
    /// `[prefix + registers + patches, d_model]` and the grid, from channel-major pixels of any size;
    /// positions are interpolated when the grid is another than the trained one.
    pub fn forward(
        &self,
        pixels: &[f32],
        size_px: (usize, usize),
        at: At,
        run: &mut Run<'_>,
    ) -> Result<(Tensor, (usize, usize)), ModelError> {
        let grid = self.grid_of(pixels.len(), size_px)?;
        let patches = unfold(pixels, size_px, self.patch_px, grid);
        let x = Tensor::from_vec(
            patches,
            (grid.0 * grid.1, 3 * self.patch_px.0 * self.patch_px.1),
            self.projection.device(),
        )?;
        let mut x = self.projection.forward(&x)?;
        if let Some(prefix) = &self.prefix {
            x = Tensor::cat(&[prefix, &x], 0)?;
        }
        let n_prefix = self.n_prefix()?;
        // Registers come between the prefix and the patches, and have no positions.
        let with_registers = |x: &Tensor, registers: &Tensor| {
            let n_patches = x.dim(0)? - n_prefix;
            Tensor::cat(&[&x.narrow(0, 0, n_prefix)?, registers, &x.narrow(0, n_prefix, n_patches)?], 0)
        };
        if let Some(registers) = &self.registers {
            x = with_registers(&x, registers)?;
        }
        x = run.at(Site::Embed, at, x)?;
        if let Some(position) = &self.position
            && !run.leaves_out_positions()
        {
            let mut position = if grid == self.grid { position.clone() } else { self.positions_for(position, grid)? };
            if let Some(registers) = &self.registers {
                position = with_registers(&position, &registers.zeros_like()?)?;
            }
            x = (x + position)?;
        }
        if let Some(norm) = &self.norm {
            x = norm.forward(&x)?;
        }
        Ok((x, grid))
    }

    /// What to call the tokens before the patches.
    pub fn prefix_labels(&self) -> candle_core::Result<Vec<String>> {
        let n_registers = self.registers.as_ref().map_or(Ok(0), |registers| registers.dim(0))?;
        let n_prefix = self.n_prefix()?;
        let n_class = n_prefix.min(self.n_class_tokens);
        let first = ["[CLS]", "[DIST]"].into_iter().take(n_class).map(str::to_owned);
        Ok(first.chain((1..=n_prefix - n_class + n_registers).map(|idx| format!("[REG{idx}]"))).collect())
    }

    fn n_prefix(&self) -> candle_core::Result<usize> {
        self.prefix.as_ref().map_or(Ok(0), |prefix| prefix.dim(0))
    }

    /// Rows and columns of patches in a picture of this size.
    fn grid_of(&self, n_values: usize, size_px: (usize, usize)) -> Result<(usize, usize), ModelError> {
        let expected = size_px.0.checked_mul(size_px.1).and_then(|n| n.checked_mul(3));
        if expected != Some(n_values) {
            let message = format!("{n_values} pixel values are not 3 × {} × {}", size_px.0, size_px.1);
            return Err(input_error(&message, ""));
        }
        let grid = (size_px.0 / self.patch_px.0, size_px.1 / self.patch_px.1);
        match grid.0.checked_mul(grid.1) {
            None | Some(0) => Err(input_error(
                &format!("the picture is smaller than one patch of {} × {} pixels", self.patch_px.0, self.patch_px.1),
                "Choose a larger picture",
            )),
            Some(n) if n > MAX_PATCHES => Err(input_error(
                &format!("the picture has {n} patches, but at most {MAX_PATCHES} are read"),
                "Choose a smaller picture",
            )),
            Some(_) => Ok(grid),
        }
    }

    fn positions_for(&self, position: &Tensor, grid: (usize, usize)) -> Result<Tensor, ModelError> {
        let (n_prefix, d_model) = (self.n_prefix()?, position.dim(1)?);
        let n_patches = self.grid.0 * self.grid.1;
        let trained = position.narrow(0, n_prefix, n_patches)?.flatten_all()?.to_vec1::<f32>()?;
        let resized = resize_rows(&trained, self.grid, grid, d_model, self.filter);
        let resized = Tensor::from_vec(resized, (grid.0 * grid.1, d_model), position.device())?;
        if n_prefix == 0 {
            return Ok(resized);
        }
        Ok(Tensor::cat(&[&position.narrow(0, 0, n_prefix)?, &resized], 0)?)
    }
}

/// One row per patch, `[channel, y, x]` within it: a convolution whose stride is its size becomes a
/// matrix product.
fn unfold(pixels: &[f32], size_px: (usize, usize), patch_px: (usize, usize), grid: (usize, usize)) -> Vec<f32> {
    let (height, width) = size_px;
    let mut patches = Vec::with_capacity(3 * grid.0 * grid.1 * patch_px.0 * patch_px.1);
    for row in 0..grid.0 {
        for col in 0..grid.1 {
            for channel in 0..3 {
                for y in 0..patch_px.0 {
                    let start = (channel * height + row * patch_px.0 + y) * width + col * patch_px.1;
                    patches.extend_from_slice(&pixels[start..start + patch_px.1]);
                }
            }
        }
    }
    patches
}

/// An input that does not suit the model.
pub(super) fn input_error(summary: &str, details: &str) -> ModelError {
    ModelError::Input { summary: summary.to_owned(), details: details.to_owned() }
}
