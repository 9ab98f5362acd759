//! Short causal convolution of every channel by itself, along the tokens.

use candle_core::{Result, Tensor};

use crate::model::kernels::{self, Activation};

/// A depthwise convolution over a token and the few before it.
#[derive(Debug)]
pub(crate) struct ShortConvolution {
    /// `[taps, width]`; the last row is the token's own.
    pub taps: Tensor,
    /// `[width]`.
    pub bias: Option<Tensor>,
    pub activation: Option<Activation>,
}

impl ShortConvolution {
    /// What it makes of rows, and the rows that the tokens after them need.
    ///
    /// # Shapes
    /// - `x`, result: `[n, width]`
    /// - `before`, rows kept: `[taps − 1, width]`; zeros where nothing came before
    pub fn forward(&self, x: &Tensor, before: Option<&Tensor>) -> Result<(Tensor, Tensor)> {
        let ((n, width), n_taps) = (x.dims2()?, self.taps.dim(0)?);
        let before = match before {
            Some(before) => before.clone(),
            None => Tensor::zeros((n_taps - 1, width), x.dtype(), x.device())?,
        };
        let all = Tensor::cat(&[&before, x], 0)?;
        let mut sum = all.narrow(0, 0, n)?.broadcast_mul(&self.taps.narrow(0, 0, 1)?)?;
        for tap in 1..n_taps {
            sum = (sum + all.narrow(0, tap, n)?.broadcast_mul(&self.taps.narrow(0, tap, 1)?)?)?;
        }
        if let Some(bias) = &self.bias {
            sum = sum.broadcast_add(bias)?;
        }
        if let Some(activation) = self.activation {
            sum = kernels::activation(&sum, activation)?;
        }
        Ok((sum, all.narrow(0, n, n_taps - 1)?.contiguous()?))
    }
}
