//! From token ids or pixels to the first residual stream.

use candle_core::{Device, Tensor};

use super::{
    ModelError,
    bicubic::resize_rows,
    kernels::{Linear, Norm},
};

/// Longest sequence of patches; attention over more would not fit in memory.
const MAX_PATCHES: usize = 16 * 1024;

#[derive(Debug)]
pub(crate) enum Embedding {
    Text(TextEmbedding),
    Patches(PatchEmbedding),
}

/// Sum of token, position and segment embeddings.
#[derive(Debug)]
pub(crate) struct TextEmbedding {
    /// `[n_vocab, d_model]`.
    pub word: Tensor,
    /// `[n_ctx, d_model]`.
    pub position: Tensor,
    /// `[n_segments, d_model]`.
    pub segment: Option<Tensor>,
    pub norm: Option<Norm>,
}

impl TextEmbedding {
    /// `[n, d_model]`; `segments` may be empty, which means segment 0 throughout.
    pub fn forward(&self, ids: &[u32], segments: &[u32]) -> Result<Tensor, ModelError> {
        let device = self.word.device();
        let (n_vocab, n_ctx) = (self.word.dim(0)?, self.position.dim(0)?);
        if ids.is_empty() {
            return Err(input_error("the input is empty", "Type some text"));
        }
        if ids.len() > n_ctx {
            return Err(input_error(
                &format!("the input has {} tokens, but the model reads at most {n_ctx}", ids.len()),
                "Shorten the text",
            ));
        }
        if let Some((position, id)) = ids.iter().enumerate().find(|(_, id)| **id as usize >= n_vocab) {
            return Err(input_error(
                &format!("token {position} has the id {id}, but the model knows only ids below {n_vocab}"),
                "The tokenizer may belong to another model",
            ));
        }
        let n = ids.len();
        let select = |table: &Tensor, ids: &[u32]| table.index_select(&Tensor::new(ids, device)?, 0);
        let mut x = select(&self.word, ids)?;
        if let Some(table) = &self.segment {
            let n_segments = table.dim(0)?;
            if !segments.is_empty() && segments.len() != n {
                let message = format!("there are {} segment numbers for {n} tokens", segments.len());
                return Err(input_error(&message, ""));
            }
            if let Some(segment) = segments.iter().find(|segment| **segment as usize >= n_segments) {
                let message = format!("the input has a segment {segment}, but the model knows only {n_segments}");
                return Err(input_error(&message, "Enter a single text instead of a pair"));
            }
            let zeros = vec![0; n];
            x = (x + select(table, if segments.is_empty() { &zeros } else { segments })?)?;
        }
        x = (x + self.position.narrow(0, 0, n)?)?;
        match &self.norm {
            Some(norm) => Ok(norm.forward(&x)?),
            None => Ok(x),
        }
    }
}

/// A linear map of each patch, after a CLS token, plus positions.
#[derive(Debug)]
pub(crate) struct PatchEmbedding {
    /// `[3 · patch height · patch width, d_model]`.
    pub projection: Linear,
    /// `[1, d_model]`.
    pub cls: Tensor,
    /// `[1 + rows · columns, d_model]`.
    pub position: Tensor,
    /// Rows and columns the positions were trained for.
    pub grid: (usize, usize),
    pub patch_px: (usize, usize),
}

impl PatchEmbedding {
    /// `[1 + patches, d_model]` from channel-major pixels of any size; positions are interpolated
    /// when the grid is another than the trained one.
    pub fn forward(&self, pixels: &[f32], size_px: (usize, usize)) -> Result<Tensor, ModelError> {
        let device = self.cls.device();
        let grid = self.grid_of(pixels.len(), size_px)?;
        let patches = unfold(pixels, size_px, self.patch_px, grid);
        let x = Tensor::from_vec(patches, (grid.0 * grid.1, 3 * self.patch_px.0 * self.patch_px.1), device)?;
        let x = Tensor::cat(&[&self.cls, &self.projection.forward(&x)?], 0)?;
        if grid == self.grid {
            return Ok((x + &self.position)?);
        }
        Ok((x + self.positions_for(grid, device)?)?)
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

    fn positions_for(&self, grid: (usize, usize), device: &Device) -> Result<Tensor, ModelError> {
        let n_prefix = 1;
        let d_model = self.position.dim(1)?;
        let n_patches = self.grid.0 * self.grid.1;
        let trained = self.position.narrow(0, n_prefix, n_patches)?.flatten_all()?.to_vec1::<f32>()?;
        let resized = resize_rows(&trained, self.grid, grid, d_model);
        let resized = Tensor::from_vec(resized, (grid.0 * grid.1, d_model), device)?;
        Ok(Tensor::cat(&[&self.position.narrow(0, 0, n_prefix)?, &resized], 0)?)
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

fn input_error(summary: &str, details: &str) -> ModelError {
    ModelError::Input { summary: summary.to_owned(), details: details.to_owned() }
}
