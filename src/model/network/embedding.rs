//! From token ids or pixels to the first residual stream.

use candle_core::{Device, Tensor};

use super::patches::{PatchEmbedding, input_error};
use crate::{
    model::{
        ModelError,
        input::Payload,
        kernels::{Linear, Norm, RowTable},
        run::{At, Run, Site},
    },
    spec::{Longer, TextSpec},
};

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
            (Self::Text(embedding), _) => Ok((embedding.of(input, first, at, run)?, None)),
            (Self::Patches(embedding), Payload::Image { pixels, size_px }) => {
                let (x, grid) = embedding.forward(pixels, *size_px, at, run)?;
                Ok((x, Some(grid)))
            }
            _ => Err(input_error("this input was prepared for another model", "")),
        }
    }
}

impl Embedding {
    /// What each layer has of its own for an input whose first stream is `x`, where layers have something.
    pub fn own_inputs(&self, input: &Payload, x: &Tensor) -> candle_core::Result<Option<Tensor>> {
        match (self, input) {
            (Self::Text(TextEmbedding { own_inputs: Some(own), .. }), Payload::Text { ids, .. }) => {
                own.of(ids, x).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// Values of that for each token.
    pub fn width_of_own_inputs(&self) -> u64 {
        match self {
            Self::Text(TextEmbedding { own_inputs: Some(own), .. }) => own.width(),
            Self::Text(_) | Self::Patches(_) => 0,
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
    /// A token that stands for nothing: the others are scaled up as if it had been left out by dropout (ESM-2).
    pub dropped: Option<u32>,
    pub position: Option<Positions>,
    /// `[n_segments, d_embedding]`.
    pub segment: Option<Tensor>,
    pub norm: Option<Norm>,
    /// Of the token embeddings alone to the width of the stream (OPT).
    pub token_projection: Option<Linear>,
    /// Of the sum to the width of the stream (ALBERT, ELECTRA).
    pub projection: Option<Linear>,
    /// What layers have of their own for each token.
    pub own_inputs: Option<Box<OwnInputs>>,
    pub n_ctx: usize,
    /// Whether tokens beyond `n_ctx` have positions.
    pub longer: Longer,
}

/// What every layer has of its own for each token (Gemma 3n and 4): a table has a vector for every layer, and a map of the
/// embedded token is added to it.
#[derive(Debug)]
pub(crate) struct OwnInputs {
    /// `[n_vocab, layers · d_own]`.
    pub table: Table,
    /// Factor on its rows.
    pub scale: f32,
    /// From the embedded token, `[d_model, layers · d_own]`.
    pub context: Linear,
    /// Of what that gives, layer by layer: `[d_own]`.
    pub norm: Norm,
    /// Factor on the sum of both.
    pub both: f32,
}

impl OwnInputs {
    /// Of embedded tokens `[n, d_model]`: `[n, layers · d_own]`.
    pub fn of(&self, ids: &[u32], embedded: &Tensor) -> candle_core::Result<Tensor> {
        let context = self.context.forward(embedded)?;
        let (n, width) = context.dims2()?;
        let d_own = self.norm.weight.dim(0)?;
        let context = self.norm.forward(&context.reshape((n * width / d_own, d_own))?)?.reshape((n, width))?;
        let of_tokens = (self.table.select(ids)? * f64::from(self.scale))?;
        (context + of_tokens)? * f64::from(self.both)
    }

    /// Values of each token.
    pub fn width(&self) -> u64 {
        self.context.dims().map_or(0, |(_, d_out)| d_out as u64)
    }
}

/// Token embeddings.
#[derive(Clone, Debug)]
pub(crate) enum Table {
    /// `[n_vocab, d_embedding]`.
    Rows(RowTable),
    /// The head's output map, whose columns are the embeddings: one copy in the order in which the
    /// product reads it serves both.
    Tied(Linear),
}

impl Table {
    /// The table as the file has it, while the model is built.
    ///
    /// # Errors
    /// When it has already become part of the head.
    pub fn rows(&self) -> candle_core::Result<&RowTable> {
        match self {
            Self::Rows(rows) => Ok(rows),
            Self::Tied(_) => candle_core::bail!("the token embeddings are part of the head already"),
        }
    }

    pub fn n_vocab(&self) -> candle_core::Result<usize> {
        match self {
            Self::Rows(rows) => rows.n_rows(),
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
    pub fn select(&self, ids: &[u32]) -> candle_core::Result<Tensor> {
        match self {
            Self::Rows(rows) => rows.rows(ids),
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
    /// Whether rows beyond the table are computed as those of fairseq.
    pub grows: bool,
}

impl Positions {
    /// Rows for positions from 0.
    pub const fn from_zero(table: Tensor) -> Self {
        Self { table, offset: 0, padding: None, grows: false }
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
        Ok(Self { table, offset, padding: Some(padding), grows: true })
    }

    /// `[ids.len(), d_embedding]` for tokens from position `first` on; `positions` are theirs where they are not in
    /// order, each from 0 once.
    pub fn rows_at(&self, ids: &[u32], first: usize, positions: Option<&[usize]>) -> candle_core::Result<Tensor> {
        let Some(positions) = positions else { return self.rows(ids, first) };
        let mut in_order = ids.to_vec();
        for (id, position) in ids.iter().zip(positions) {
            in_order[*position] = *id;
        }
        let positions = Tensor::from_iter(positions.iter().map(|position| *position as u32), self.table.device())?;
        self.rows(&in_order, first)?.index_select(&positions, 0)
    }

    fn rows(&self, ids: &[u32], first: usize) -> candle_core::Result<Tensor> {
        let start = self.offset + first;
        let (n_rows, d) = self.table.dims2()?;
        if let Some(padding) = self.padding.filter(|_| self.grows && start + ids.len() > n_rows) {
            return Self::fairseq(first + ids.len(), d, padding, self.table.device())?.rows(ids, first);
        }
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
    /// Token embeddings alone, of texts that end after `n_ctx` tokens.
    pub const fn tokens(word: RowTable, n_ctx: usize) -> Self {
        Self {
            word: Table::Rows(word),
            scale: 1.0,
            dropped: None,
            token_projection: None,
            position: None,
            segment: None,
            norm: None,
            projection: None,
            own_inputs: None,
            n_ctx,
            longer: Longer::Refused,
        }
    }

    /// Token embeddings alone, of a model that computes positions and was made for `n_ctx` of them.
    pub fn unending(word: RowTable, n_ctx: usize) -> Self {
        Self { longer: Longer::Read, ..Self::tokens(word, n_ctx) }
    }

    /// The texts that it reads.
    pub const fn spec(&self, n_vocab: usize) -> TextSpec {
        TextSpec { n_ctx: self.n_ctx, longer: self.longer, n_vocab }
    }

    /// [`Self::forward`] of an input that is a text.
    pub fn of(&self, input: &Payload, first: usize, at: At, run: &mut Run<'_>) -> Result<Tensor, ModelError> {
        match input {
            Payload::Text { ids, segments, positions } => {
                self.forward((ids, segments, positions.as_deref()), first, at, run)
            }
            Payload::Image { .. } => Err(input_error("this input was prepared for another model", "")),
        }
    }

    /// `[n, d_model]`; `segments` may be empty, which means segment 0 throughout. The first token
    /// stands at position `first`; `positions` as [`Positions::rows_at`] takes them.
    pub fn forward(
        &self,
        (ids, segments, positions): (&[u32], &[u32], Option<&[usize]>),
        first: usize,
        at: At,
        run: &mut Run<'_>,
    ) -> Result<Tensor, ModelError> {
        let device = self.word.device();
        let n_vocab = self.word.n_vocab()?;
        if ids.is_empty() {
            return Err(input_error("the input is empty", "Type some text"));
        }
        let (n_read, most) = (first + ids.len(), self.spec(n_vocab).limits().most);
        if n_read > most {
            return Err(input_error(
                &format!("the input has {n_read} tokens, but the model reads at most {most}"),
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
        if let Some(dropped) = self.dropped {
            x = without(&x, ids, dropped)?;
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
        if let Some(position) = &self.position
            && !run.leaves_out_positions()
        {
            x = (x + position.rows_at(ids, first, positions)?)?;
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

/// Share of a text's tokens that were masked while ESM-2 was trained.
const DROPPED_IN_TRAINING: f64 = 0.15 * 0.8;

/// Embeddings `[n, d]` with zeros for the token `dropped`, and as large together as in training.
fn without(x: &Tensor, ids: &[u32], dropped: u32) -> candle_core::Result<Tensor> {
    let kept = Tensor::from_iter(ids.iter().map(|id| if *id == dropped { 0.0f32 } else { 1.0 }), x.device())?;
    let n_dropped = ids.iter().filter(|id| **id == dropped).count();
    let observed = n_dropped as f32 / ids.len() as f32;
    (x.broadcast_mul(&kept.unsqueeze(1)?)? * (1.0 - DROPPED_IN_TRAINING))? / f64::from(1.0 - observed)
}
