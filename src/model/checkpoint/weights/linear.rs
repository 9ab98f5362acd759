//! Linear maps from one or several tensors of a checkpoint.

use candle_core::Tensor;

use crate::model::{
    LoadError,
    checkpoint::Weights,
    kernels::{self, Half, Linear, StoredMatrix},
};

/// `{name}.weight` and perhaps `{name}.bias`: some of the outputs of a linear map.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LinearPart<'n> {
    pub name: &'n str,
    pub d_out: usize,
    pub bias: bool,
}

/// Factors on some outputs of a linear map, one after the other.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Factors {
    pub n: usize,
    /// On their weights.
    pub weights: f32,
    /// On their biases.
    pub biases: f32,
}

impl Factors {
    /// One number on all that the outputs are.
    pub const fn of(n: usize, factor: f32) -> Self {
        Self { n, weights: factor, biases: factor }
    }

    fn are_none(self) -> bool {
        self.weights == 1.0 && self.biases == 1.0
    }
}

/// How a file stores a matrix.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Stored {
    /// `(out, in)`, as all files but GPT-2's do.
    OutIn,
    /// `(in, out)`.
    InOut,
}

impl Weights<'_> {
    /// A linear map. The outputs of several tensors stand side by side.
    pub fn linear(
        &mut self,
        names: &[&str],
        (d_in, d_out): (usize, usize),
        stored: Stored,
        bias: bool,
    ) -> Result<Linear, LoadError> {
        let parts: Vec<_> = names.iter().map(|name| LinearPart { name, d_out, bias }).collect();
        if stored == Stored::OutIn || names.len() == 1 {
            return self.linear_of(&parts, d_in, stored, None);
        }
        Err(LoadError::Engine(candle_core::Error::Msg("maps stored as (in, out) cannot be joined".to_owned())))
    }

    /// A linear map of parts with different widths, some of them without a bias.
    ///
    /// `order[i]` is the row of the file that becomes output `i`, for files that store heads in an order
    /// of their own; a row may stand for several outputs.
    pub fn linear_of(
        &mut self,
        parts: &[LinearPart<'_>],
        d_in: usize,
        stored: Stored,
        order: Option<&[usize]>,
    ) -> Result<Linear, LoadError> {
        let shared = self.shelf().zip(self.shelf_key(parts, d_in, (stored, order)));
        if let Some((shelf, key)) = &shared
            && let Some(map) = shelf.map(key)
        {
            return Ok(map);
        }
        let n_out = order.map_or_else(|| parts.iter().map(|part| part.d_out).sum(), <[usize]>::len);
        let shape = |d_out| match stored {
            Stored::OutIn => vec![d_out, d_in],
            Stored::InOut => vec![d_in, d_out],
        };
        let weights: Vec<_> = parts.iter().map(|part| (format!("{}.weight", part.name), shape(part.d_out))).collect();
        let weight = match self.block_rows(&weights, d_in, stored, order)? {
            Some(rows) => StoredMatrix::blocks(rows),
            None => self.single_matrix(&weights, (d_in, n_out), stored, order)?,
        };
        let bias = self.biases(parts, order)?;
        let bias = bias.map(|bias| Tensor::from_vec(bias, n_out, &self.device)).transpose()?;
        let map = Linear { weight, bias };
        if let Some((shelf, key)) = shared {
            shelf.keep_map(key, &map);
        }
        Ok(map)
    }

    /// The matrix of tensors whose outputs stand side by side, read in single precision.
    fn single_matrix(
        &mut self,
        weights: &[(String, Vec<usize>)],
        (d_in, n_out): (usize, usize),
        stored: Stored,
        order: Option<&[usize]>,
    ) -> Result<StoredMatrix, LoadError> {
        // The same memory for every matrix: fresh memory costs more than reading the file.
        let mut values = std::mem::take(&mut self.scratch);
        let half = self.read_into(&mut values, weights)?;
        if let Some(order) = order.filter(|_| !self.is_rehearsing()) {
            values = order.iter().flat_map(|&row| values[row * d_in..(row + 1) * d_in].iter().copied()).collect();
        }
        let weight = self.weight(&values, (d_in, n_out), stored, half)?;
        self.scratch = values;
        Ok(weight)
    }

    /// A linear map whose outputs are multiplied by one number, folded into it.
    pub fn linear_times(
        &mut self,
        name: &str,
        factor: f32,
        (d_in, d_out): (usize, usize),
        bias: bool,
    ) -> Result<Linear, LoadError> {
        self.linear_of_times(&[LinearPart { name, d_out, bias }], &[Factors::of(d_out, factor)], d_in)
    }

    /// A linear map of parts whose outputs are multiplied by numbers of their own, folded into it.
    pub fn linear_of_times(
        &mut self,
        parts: &[LinearPart<'_>],
        factors: &[Factors],
        d_in: usize,
    ) -> Result<Linear, LoadError> {
        if factors.iter().all(|factors| factors.are_none()) {
            return self.linear_of(parts, d_in, Stored::OutIn, None);
        }
        let each = |of: fn(&Factors) -> f32| factors.iter().flat_map(move |run| std::iter::repeat_n(of(run), run.n));
        let tensors: Vec<_> =
            parts.iter().map(|part| (format!("{}.weight", part.name), vec![part.d_out, d_in])).collect();
        let weight = self.scaled_matrix(&tensors, each(|run| run.weights).collect(), d_in)?;
        let bias = self.biases(parts, None)?;
        let bias =
            bias.map(|bias| bias.iter().zip(each(|run| run.biases)).map(|(bias, factor)| bias * factor).collect());
        let bias = bias.map(|bias: Vec<f32>| Tensor::from_slice(&bias, bias.len(), &self.device)).transpose()?;
        Ok(Linear { weight, bias })
    }

    /// A linear map whose outputs the tensor `scale` multiplies (layer scale), folded into one.
    pub fn linear_scaled(
        &mut self,
        name: &str,
        scale: &str,
        (d_in, d_out): (usize, usize),
        bias: bool,
    ) -> Result<Linear, LoadError> {
        let mut factors = Vec::new();
        self.read_into(&mut factors, &[(scale.to_owned(), vec![d_out])])?;
        factors.resize(d_out, 1.0);
        let tensors = [(format!("{name}.weight"), vec![d_out, d_in])];
        let weight = self.scaled_matrix(&tensors, factors.clone(), d_in)?;
        if !bias {
            return Ok(Linear { weight, bias: None });
        }
        let mut bias = Vec::new();
        self.read_into(&mut bias, &[(format!("{name}.bias"), vec![d_out])])?;
        if self.is_rehearsing() {
            return Ok(Linear { weight, bias: Some(self.zeros(&[d_out])?) });
        }
        bias.iter_mut().zip(&factors).for_each(|(bias, factor)| *bias *= factor);
        Ok(Linear { weight, bias: Some(Tensor::from_vec(bias, d_out, &self.device)?) })
    }

    /// The matrix of tensors whose outputs stand side by side, each of which is multiplied by a factor of its own: blocks
    /// stay as they are, and are multiplied when they are widened.
    fn scaled_matrix(
        &mut self,
        tensors: &[(String, Vec<usize>)],
        factors: Vec<f32>,
        d_in: usize,
    ) -> Result<StoredMatrix, LoadError> {
        let d_out = factors.len();
        if let Some(rows) = self.block_rows(tensors, d_in, Stored::OutIn, None)? {
            self.audit.n_bytes += kernels::bytes_of(d_out as u64);
            return Ok(StoredMatrix::blocks(rows.times(factors)?));
        }
        let mut values = std::mem::take(&mut self.scratch);
        let half = self.read_into(&mut values, tensors)?;
        for (row, factor) in values.chunks_exact_mut(d_in.max(1)).zip(&factors) {
            for weight in row {
                *weight *= factor;
            }
        }
        let weight = self.weight(&values, (d_in, d_out), Stored::OutIn, half)?;
        self.scratch = values;
        Ok(weight)
    }

    pub(super) fn weight(
        &mut self,
        values: &[f32],
        dims: (usize, usize),
        stored: Stored,
        half: Option<Half>,
    ) -> Result<StoredMatrix, LoadError> {
        if self.is_rehearsing() {
            return Ok(StoredMatrix::shared(self.zeros(&[dims.0, dims.1])?));
        }
        let matrix = StoredMatrix::from_slice(values, dims, stored == Stored::OutIn, half, &self.device)?;
        if matrix.is_half() {
            self.note_half(values.len());
        }
        Ok(matrix)
    }

    /// The biases of all parts, zero where a part has none; `None` when no part has one.
    fn biases(&mut self, parts: &[LinearPart<'_>], order: Option<&[usize]>) -> Result<Option<Vec<f32>>, LoadError> {
        if parts.iter().all(|part| !part.bias) {
            return Ok(None);
        }
        let mut biases = Vec::new();
        for part in parts {
            if part.bias {
                let mut values = Vec::new();
                self.read_into(&mut values, &[(format!("{}.bias", part.name), vec![part.d_out])])?;
                values.resize(part.d_out, 0.0);
                biases.extend(values);
            } else {
                biases.resize(biases.len() + part.d_out, 0.0);
            }
        }
        if let Some(order) = order {
            biases = order.iter().map(|&row| biases[row]).collect();
        }
        Ok(Some(biases))
    }
}
