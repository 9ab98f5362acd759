//! Inputs that each layer has of its own for every token, beside the stream (Gemma 3n and 4).
//!
//! [`OwnInputs`](super::embedding::OwnInputs) makes them of the tokens; each layer takes its part in behind the MLP.

use candle_core::{Result as CandleResult, Tensor};

use crate::model::kernels::{self, Activation, Linear, Norm};

/// How a layer takes its own in.
#[derive(Debug)]
pub(crate) struct OwnInput {
    /// `[d_model, d_own]`.
    pub gate: Linear,
    pub activation: Activation,
    /// `[d_own, d_model]`.
    pub out: Linear,
    /// Of what is added.
    pub norm: Norm,
}

impl OwnInput {
    /// The stream `[n, d_model]` with what the layer's own input `[n, d_own]` adds.
    pub fn onto(&self, stream: &Tensor, own: &Tensor) -> CandleResult<Tensor> {
        let gate = kernels::activation(&self.gate.forward(stream)?, self.activation)?;
        let added = self.norm.forward(&self.out.forward(&(gate * own)?)?)?;
        stream + added
    }

    /// Width of a layer's own input.
    pub fn width(&self) -> usize {
        self.gate.dims().map_or(0, |(_, d_out)| d_out)
    }
}
