//! The same operations made of candle's differentiable ones, for devices without our kernels.
//!
//! Tests force them on the CPU, too (`with_path`), and hold all ways against double precision.

use candle_core::{D, Result, Tensor};

use super::{Activation, Linear, Norm, NormKind};

pub(super) fn linear(linear: &Linear, x: &Tensor) -> Result<Tensor> {
    let y = x.matmul(&linear.matrix()?.contiguous()?)?;
    match &linear.bias {
        Some(bias) => y.broadcast_add(bias),
        None => Ok(y),
    }
}

pub(super) fn activation(x: &Tensor, f: Activation) -> Result<Tensor> {
    let sigmoid = |x: &Tensor| (x.neg()?.exp()? + 1.0)?.recip();
    match f {
        Activation::Gelu => x.gelu_erf(),
        Activation::GeluTanh => x.gelu(),
        Activation::Relu => x.relu(),
        Activation::Silu => x.silu(),
        Activation::QuickGelu => x * sigmoid(&(x * 1.702)?)?,
        Activation::Tanh => x.tanh(),
    }
}

/// A row without a finite entry gives zeros: subtracting a maximum of at least −1e30 keeps `-inf − max`
/// away from NaN, and its sum is held above zero.
pub(super) fn softmax(scores: &Tensor) -> Result<Tensor> {
    let max = scores.max_keepdim(D::Minus1)?.detach().maximum(-1e30f64)?;
    let exp = scores.broadcast_sub(&max)?.exp()?;
    let sum = exp.sum_keepdim(D::Minus1)?.maximum(1e-30f64)?;
    exp.broadcast_div(&sum)
}

/// [`softmax`] of each row and its head's sink, without the sink's own weight. A row that sees no key gives zeros.
pub(super) fn softmax_with_sink(scores: &Tensor, sink: &[f32]) -> Result<Tensor> {
    let (n_heads, n_query, n_key) = scores.dims3()?;
    let sink = Tensor::from_slice(sink, (n_heads, 1, 1), scores.device())?.expand((n_heads, n_query, 1))?;
    softmax(&Tensor::cat(&[scores, &sink], 2)?)?.narrow(2, 0, n_key)
}

pub(super) fn norm(norm: &Norm, x: &Tensor) -> Result<Tensor> {
    let centred = match norm.kind {
        NormKind::Layer => x.broadcast_sub(&x.mean_keepdim(D::Minus1)?)?,
        NormKind::Rms => x.clone(),
    };
    let variance = centred.sqr()?.mean_keepdim(D::Minus1)?;
    let scaled = centred.broadcast_div(&(variance + f64::from(norm.eps))?.sqrt()?)?.broadcast_mul(&norm.weight)?;
    match &norm.bias {
        Some(bias) => scaled.broadcast_add(bias),
        None => Ok(scaled),
    }
}
