//! From token ids or pixels to the first residual stream.

use candle_core::{Device, Tensor};

use super::interpolate::{Interpolation, resize_rows};
use crate::model::{
    ModelError,
    input::Payload,
    kernels::{Linear, Norm},
    run::{At, Run, Site},
};

/// Longest sequence of patches; attention over more would not fit in memory.
const MAX_PATCHES: usize = 16 * 1024;

#[derive(Debug)]
pub(crate) enum Embedding {
    Text(TextEmbedding),
    Patches(PatchEmbedding),
}

impl Embedding {
    /// The token embeddings, where there are tokens.
    pub const fn words(&mut self) -> Option<&mut Table> {
        match self {
            Self::Text(embedding) => Some(&mut embedding.word),
            Self::Patches(_) => None,
        }
    }

    /// The first stream `[n, d_model]` of an input whose first token stands at `first`, and the grid of
    /// patches if there is one.
    pub fn forward(
        &self,
        input: &Payload,
        first: usize,
        at: At,
        run: &mut Run<'_>,
    ) -> Result<(Tensor, Option<(usize, usize)>), ModelError> {
        match (self, input) {
            (Self::Text(embedding), Payload::Text { ids, segments }) => {
                Ok((embedding.forward(ids, segments, first, at, run)?, None))
            }
            (Self::Patches(embedding), Payload::Image { pixels, size_px }) => {
                let (x, grid) = embedding.forward(pixels, *size_px, at, run)?;
                Ok((x, Some(grid)))
            }
            _ => Err(input_error("this input was prepared for another model", "")),
        }
    }
}

/// Sum of token, position and segment embeddings.
#[derive(Debug)]
pub(crate) struct TextEmbedding {
    /// `[n_vocab, d_embedding]`.
    pub word: Table,
    /// Factor on the token embedding: `√d_model` for Gemma and Marian, 1 for most.
    pub scale: f32,
    pub position: Option<Positions>,
    /// `[n_segments, d_embedding]`.
    pub segment: Option<Tensor>,
    pub norm: Option<Norm>,
    /// Of the token embeddings alone to the width of the stream (OPT).
    pub token_projection: Option<Linear>,
    /// Of the sum to the width of the stream (ALBERT, ELECTRA).
    pub projection: Option<Linear>,
    /// Longest sequence.
    pub n_ctx: usize,
}

/// Token embeddings.
#[derive(Debug)]
pub(crate) enum Table {
    /// `[n_vocab, d_embedding]`.
    Rows(Tensor),
    /// The head's output map, whose columns are the embeddings: one copy in the order in which the
    /// product reads it serves both.
    Tied(Linear),
}

impl Table {
    /// The table as the file has it, while the model is built.
    ///
    /// # Errors
    /// When it has already become part of the head.
    pub fn rows(&self) -> candle_core::Result<&Tensor> {
        match self {
            Self::Rows(rows) => Ok(rows),
            Self::Tied(_) => candle_core::bail!("the token embeddings are part of the head already"),
        }
    }

    fn n_vocab(&self) -> candle_core::Result<usize> {
        match self {
            Self::Rows(rows) => rows.dim(0),
            Self::Tied(output) => Ok(output.dims()?.1),
        }
    }

    fn device(&self) -> &Device {
        match self {
            Self::Rows(rows) => rows.device(),
            Self::Tied(output) => output.device(),
        }
    }

    /// `[ids.len(), d_embedding]`.
    fn select(&self, ids: &[u32]) -> candle_core::Result<Tensor> {
        match self {
            Self::Rows(rows) => rows.index_select(&Tensor::new(ids, rows.device())?, 0),
            Self::Tied(output) => output.columns_as_rows(ids),
        }
    }
}

/// A table of position embeddings.
#[derive(Debug)]
pub(crate) struct Positions {
    /// `[rows, d_embedding]`.
    pub table: Tensor,
    /// Row of the first position.
    pub offset: usize,
    /// A token that takes no position but the row before the first (RoBERTa's padding).
    pub padding: Option<u32>,
}

impl Positions {
    /// Rows for positions from 0.
    pub const fn from_zero(table: Tensor) -> Self {
        Self { table, offset: 0, padding: None }
    }

    /// Computed rows for positions from 0: sines in one half, cosines in the other (Vaswani et al. 2017).
    pub fn sinusoidal(n: usize, d: usize, device: &Device) -> candle_core::Result<Self> {
        let n_sines = d.div_ceil(2);
        let row = |position: usize| {
            (0..d).map(move |dim| {
                let (pair, is_sine) = if dim < n_sines { (dim, true) } else { (dim - n_sines, false) };
                let angle = position as f64 / 10_000f64.powf((2 * pair) as f64 / d as f64);
                (if is_sine { angle.sin() } else { angle.cos() }) as f32
            })
        };
        Ok(Self::from_zero(Tensor::from_iter((0..n).flat_map(row), device)?.reshape((n, d))?))
    }

    /// As [`Self::sinusoidal`], with the frequencies of fairseq, which end at exactly 1 / 10000, in single
    /// precision. The padding token has a row of zeros, and positions begin after it.
    pub fn fairseq(n: usize, d: usize, padding: u32, device: &Device) -> candle_core::Result<Self> {
        let n_pairs = d / 2;
        let step = -(10_000f64.ln() / n_pairs.saturating_sub(1).max(1) as f64) as f32;
        let offset = padding as usize + 1;
        let row = |position: usize| {
            (0..d).map(move |dim| {
                let angle = position as f32 * ((dim % n_pairs.max(1)) as f32 * step).exp();
                match dim / n_pairs.max(1) {
                    _ if position < offset => 0.0,
                    0 => angle.sin(),
                    1 => angle.cos(),
                    _ => 0.0,
                }
            })
        };
        let table = Tensor::from_iter((0..n + offset).flat_map(row), device)?.reshape((n + offset, d))?;
        Ok(Self { table, offset, padding: Some(padding) })
    }

    pub fn rows(&self, ids: &[u32], first: usize) -> candle_core::Result<Tensor> {
        let start = self.offset + first;
        if !self.padding.is_some_and(|padding| ids.contains(&padding)) {
            return self.table.narrow(0, start, ids.len());
        }
        let mut next = start as u32;
        let rows: Vec<u32> = ids
            .iter()
            .map(|id| {
                if Some(*id) == self.padding {
                    self.offset.saturating_sub(1) as u32
                } else {
                    next += 1;
                    next - 1
                }
            })
            .collect();
        self.table.index_select(&Tensor::new(rows, self.table.device())?, 0)
    }
}

impl TextEmbedding {
    /// Token embeddings alone.
    pub const fn tokens(word: Tensor, n_ctx: usize) -> Self {
        Self {
            word: Table::Rows(word),
            scale: 1.0,
            token_projection: None,
            position: None,
            segment: None,
            norm: None,
            projection: None,
            n_ctx,
        }
    }

    /// `[n, d_model]`; `segments` may be empty, which means segment 0 throughout. The first token
    /// stands at position `first`.
    pub fn forward(
        &self,
        ids: &[u32],
        segments: &[u32],
        first: usize,
        at: At,
        run: &mut Run<'_>,
    ) -> Result<Tensor, ModelError> {
        let device = self.word.device();
        let n_vocab = self.word.n_vocab()?;
        if ids.is_empty() {
            return Err(input_error("the input is empty", "Type some text"));
        }
        if first + ids.len() > self.n_ctx {
            return Err(input_error(
                &format!("the input has {} tokens, but the model reads at most {}", first + ids.len(), self.n_ctx),
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
        let mut x = run.at(Site::Embed, at, self.word.select(ids)?)?;
        if self.scale != 1.0 {
            x = (x * f64::from(self.scale))?;
        }
        if let Some(projection) = &self.token_projection {
            x = projection.forward(&x)?;
        }
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
        if let Some(position) = &self.position {
            x = (x + position.rows(ids, first)?)?;
        }
        if let Some(norm) = &self.norm {
            x = norm.forward(&x)?;
        }
        match &self.projection {
            Some(projection) => Ok(projection.forward(&x)?),
            None => Ok(x),
        }
    }
}

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
        if let Some(position) = &self.position {
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
        let first = ["[CLS]", "[DIST]"].into_iter().take(self.n_prefix()?).map(str::to_owned);
        Ok(first.chain((1..=n_registers).map(|idx| format!("[REG{idx}]"))).collect())
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

fn input_error(summary: &str, details: &str) -> ModelError {
    ModelError::Input { summary: summary.to_owned(), details: details.to_owned() }
}
