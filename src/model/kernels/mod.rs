//! The operations a transformer block is made of, on `f32` tensors, each with a backward pass.
//!
//! On the CPU they are fused kernels: candle's own operations would be 1.2–2 times slower, and its
//! fused softmax and norm silently have no gradient. On any other device the same functions are made
//! of candle's differentiable operations (`fallback`). Weights are frozen: a backward pass gives the
//! gradient of the activations only.

mod attention;
mod backend;
mod block_rows;
mod blocks;
mod code_rows;
mod fallback;
mod gate;
mod heads;
mod linear;
mod mask;
mod matmul;
mod normalize;
mod ops;
mod packed;
mod product;
mod rotate;
mod row_table;
mod simd;
mod stored;
mod to_host;
mod triangular;

use std::sync::Arc;

use candle_core::{Result, Tensor, cpu::erf::erf_f64};

pub use attention::{
    Attended, Bias, KeptCopies, Windows, attention, attention_by_parts, attention_scores, attention_with_pattern,
    attention_with_sink, scratch_values, sink_shares,
};
use backend::is_fused;
pub use backend::{KernelPath, has_kernels, with_path};
pub use block_rows::{BlockPart, BlockRows, RowPart};
pub use blocks::BlockType;
pub use code_rows::{CodeRows, CodeWidth, GroupForm, GroupNumbers, ScaleGroups};
pub use gate::{gated, sigmoid, softplus};
pub use heads::heads_at;
pub use linear::TOKENS_PER_TASK;
use linear::{LinearAddOp, LinearOp};
pub use mask::{mask, softcap};
pub use matmul::{attend, scores};
pub use normalize::normalize;
pub use packed::Half;
pub use rotate::{Turns, rotate, rotate_queries};
pub use row_table::RowTable;
pub use stored::{NarrowTable, StoredMatrix, bytes_of};
pub use to_host::{to_host, with_values};
pub use triangular::unit_lower_inverse;

use crate::spec::Mask;

/// Element-wise non-linearity.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Activation {
    /// `x·Φ(x)` with the exact `erf`; `gelu` in configs.
    Gelu,
    /// The tanh form; `gelu_new`, `gelu_pytorch_tanh`.
    GeluTanh,
    /// `max(x, 0)`.
    Relu,
    /// `x·σ(x)`; `silu`, `swish`.
    Silu,
    /// `x·σ(1.702x)`; `quick_gelu`.
    QuickGelu,
    /// `tanh(x)`.
    Tanh,
}

impl Activation {
    /// The activation that a config calls `name`.
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "gelu" | "gelu_python" => Self::Gelu,
            "gelu_new" | "gelu_pytorch_tanh" | "gelu_python_tanh" | "gelu_fast" | "gelu_accurate" => Self::GeluTanh,
            "relu" => Self::Relu,
            "silu" | "swish" => Self::Silu,
            "quick_gelu" => Self::QuickGelu,
            "tanh" => Self::Tanh,
            _ => return None,
        })
    }

    /// Its value in double precision.
    pub fn at(self, x: f64) -> f64 {
        let sigmoid = |x: f64| 1.0 / (1.0 + (-x).exp());
        match self {
            Self::Gelu => 0.5 * x * (1.0 + erf_f64(x * std::f64::consts::FRAC_1_SQRT_2)),
            Self::GeluTanh => {
                0.5 * x * (1.0 + ((2.0 / std::f64::consts::PI).sqrt() * (x + 0.044_715 * x.powi(3))).tanh())
            }
            Self::Relu => x.max(0.0),
            Self::Silu => x * sigmoid(x),
            Self::QuickGelu => x * sigmoid(1.702 * x),
            Self::Tanh => x.tanh(),
        }
    }
}

/// Which normalisation a [`Norm`] does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NormKind {
    /// Subtract the mean, divide by the standard deviation.
    Layer,
    /// Divide by the root mean square.
    Rms,
}

/// Weights of one layer or RMS norm.
#[derive(Clone, Debug)]
pub struct Norm {
    pub kind: NormKind,
    /// `[d_model]`.
    pub weight: Tensor,
    /// `[d_model]`.
    pub bias: Option<Tensor>,
    pub eps: f32,
}

impl Norm {
    /// Normalises each row.
    ///
    /// # Shapes
    /// - `x`, result: `[n, d_model]`
    pub fn forward(&self, x: &Tensor) -> Result<Tensor> {
        if is_fused(x) { x.contiguous()?.apply_op1(ops::NormOp(self.clone())) } else { fallback::norm(self, x) }
    }
}

/// Weights of one linear map.
#[derive(Clone, Debug)]
pub struct Linear {
    /// `[d_in, d_out]`.
    pub weight: StoredMatrix,
    /// `[d_out]`.
    pub bias: Option<Tensor>,
}

impl Linear {
    /// A map that shares `weight` `[d_in, d_out]` with something else, such as a token embedding.
    pub const fn shared(weight: Tensor, bias: Option<Tensor>) -> Self {
        Self { weight: StoredMatrix::shared(weight), bias }
    }

    /// A map of its own: on the CPU `weight` `[d_in, d_out]` is brought into the fastest order.
    pub fn new(weight: Tensor, bias: Option<Tensor>) -> Result<Self> {
        Ok(Self { weight: StoredMatrix::new(weight)?, bias })
    }

    /// A map whose outputs are the rows of `table`, which others look at too.
    pub fn tied(table: &RowTable, bias: Option<Tensor>) -> Result<Self> {
        Ok(Self { weight: StoredMatrix::tied(table)?, bias })
    }

    /// A map that takes over a table `[d_out, d_in]`: on the CPU numbers are brought into the fastest order where
    /// they lie, and no view of them may be used any more.
    pub fn owning(table: &RowTable, bias: Option<Tensor>) -> Result<Self> {
        Ok(Self { weight: StoredMatrix::owning(table)?, bias })
    }

    /// `(d_in, d_out)`.
    pub fn dims(&self) -> Result<(usize, usize)> {
        self.weight.dims()
    }

    /// Where the weights are.
    pub fn device(&self) -> &candle_core::Device {
        self.weight.device()
    }

    /// The weights of some outputs, one row each: `[outputs.len(), d_in]`.
    pub fn columns_as_rows(&self, outputs: &[u32]) -> Result<Tensor> {
        self.weight.columns_as_rows(outputs)
    }

    /// Whether the weights are those of `table` `[d_out, d_in]` itself, seen from the other side.
    pub fn shares(&self, table: &RowTable) -> bool {
        self.weight.shares(table)
    }

    /// The map to some of the outputs, without a copy when it starts where a panel does.
    pub fn columns(&self, columns: std::ops::Range<usize>) -> Result<Self> {
        let weight = self.weight.columns(columns.clone())?;
        let bias = self.bias.as_ref().map(|bias| bias.narrow(0, columns.start, columns.len())).transpose()?;
        Ok(Self { weight, bias })
    }

    /// `x · weight + bias`.
    ///
    /// # Shapes
    /// - `x`: `[n, d_in]`
    /// - result: `[n, d_out]`
    pub fn forward(&self, x: &Tensor) -> Result<Tensor> {
        if is_fused(x) { x.contiguous()?.apply_op1(LinearOp::of(self.clone())) } else { fallback::linear(self, x) }
    }

    /// `f(x · weight + bias)`, for runs that are not differentiated.
    ///
    /// # Shapes
    /// - as [`Self::forward`]
    pub fn forward_through(&self, x: &Tensor, f: Activation) -> Result<Tensor> {
        if is_fused(x) {
            return x.contiguous()?.apply_op1_no_bwd(&LinearOp { map: self.clone(), then: Some(f) });
        }
        fallback::activation(&fallback::linear(self, x)?, f)
    }

    /// `residual + (x · weight + bias)`.
    ///
    /// # Shapes
    /// - `x`: `[n, d_in]`
    /// - `residual`, result: `[n, d_out]`
    pub fn forward_add(&self, x: &Tensor, residual: &Tensor) -> Result<Tensor> {
        if is_fused(x) {
            x.contiguous()?.apply_op2(&residual.contiguous()?, LinearAddOp(LinearOp::of(self.clone())))
        } else {
            fallback::linear(self, x)? + residual
        }
    }

    /// The weights as `[d_in, d_out]`, copied if they are kept in another order.
    pub(in crate::model) fn matrix(&self) -> Result<Tensor> {
        self.weight.matrix()
    }

    /// `grad · weightᵀ`.
    pub(super) fn input_gradient(&self, grad: &Tensor) -> Result<Tensor> {
        Self::shared(self.matrix()?.t()?, None).forward(&grad.detach())
    }
}

/// Applies `f` to every element.
pub fn activation(x: &Tensor, f: Activation) -> Result<Tensor> {
    if is_fused(x) { x.contiguous()?.apply_op1(ops::ActivationOp(f)) } else { fallback::activation(x, f) }
}

/// Softmax of each row. Entries of `-inf` give exactly zero, and a row of them gives zeros.
///
/// `mask` promises that each `[query, key]` matrix is `-inf` where it hides the key; that is then skipped.
///
/// # Shapes
/// - `scores`, result: `[head, query, key]`
pub fn softmax(scores: &Tensor, mask: Mask) -> Result<Tensor> {
    softmax_with_sink(scores, mask, None)
}

/// [`softmax`] of each row and the score of its head's sink, `[heads]`, where there is one. The sink's own weight is not
/// part of the result, whose rows sum to less than one.
pub fn softmax_with_sink(scores: &Tensor, mask: Mask, sink: Option<&Arc<[f32]>>) -> Result<Tensor> {
    check_sink(scores, sink)?;
    if is_fused(scores) {
        return scores.contiguous()?.apply_op1(ops::SoftmaxOp { mask, sink: sink.cloned() });
    }
    match sink {
        Some(sink) => fallback::softmax_with_sink(scores, sink),
        None => fallback::softmax(scores),
    }
}

/// [`softmax_with_sink`] that may overwrite `scores` instead of allocating. For values that nothing else holds,
/// in runs that are not differentiated.
pub fn softmax_in_place(scores: Tensor, mask: Mask, sink: Option<&Arc<[f32]>>) -> Result<Tensor> {
    if is_fused(&scores) && scores.is_contiguous() {
        check_sink(&scores, sink)?;
        scores.inplace_op1(&ops::SoftmaxOp { mask, sink: sink.cloned() })?;
        return Ok(scores);
    }
    softmax_with_sink(&scores, mask, sink)
}

fn check_sink(scores: &Tensor, sink: Option<&Arc<[f32]>>) -> Result<()> {
    match sink {
        Some(sink) if sink.len() != scores.dim(0)? => {
            candle_core::bail!("{} sinks for scores {:?}", sink.len(), scores.dims())
        }
        _ => Ok(()),
    }
}

/// `Σ exp(x − max)`, the normaliser of a softmax whose largest entry is `max`.
pub fn exp_sum(x: &[f32], max: f32) -> f32 {
    let mut sum = [0.0];
    simd::exp_sum(simd::Level::current(), x, max, &mut sum);
    sum[0]
}
