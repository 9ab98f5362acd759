//! The gated non-linearity of LLaMA-like MLPs: one half of the hidden layer, activated, scales the other.

use candle_core::{CpuStorage, CustomOp1, CustomOp2, D, Layout, Result, Shape, Tensor, bail};
use rayon::prelude::*;

use super::{
    Activation,
    backend::is_fused,
    ops::values,
    simd::{self, Level},
};

/// `f(x[.., ..d]) · x[.., d..]`.
///
/// # Shapes
/// - `x`: `[n, 2·d]`, gate first
/// - result: `[n, d]`
pub fn gated(x: &Tensor, f: Activation) -> Result<Tensor> {
    if is_fused(x) {
        return x.contiguous()?.apply_op1(GateOp(f));
    }
    let d = x.dim(D::Minus1)? / 2;
    super::activation(&x.narrow(1, 0, d)?, f)? * x.narrow(1, d, d)?
}

/// `1 / (1 + e⁻ˣ)` of every element.
pub fn sigmoid(x: &Tensor) -> Result<Tensor> {
    (x.neg()?.exp()? + 1.0)?.recip()
}

/// `ln(1 + eˣ)` of every element, of large ones too.
pub fn softplus(x: &Tensor) -> Result<Tensor> {
    x.relu()? + (x.abs()?.neg()?.exp()? + 1.0)?.log()?
}

fn width(layout: &Layout) -> Result<usize> {
    match layout.dims() {
        &[_, width] if width > 0 && width % 2 == 0 => Ok(width),
        dims => bail!("a gate takes [n, 2·d], not {dims:?}"),
    }
}

struct GateOp(Activation);

impl CustomOp1 for GateOp {
    fn name(&self) -> &'static str {
        "gate"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let width = width(layout)?;
        let (x, d, level) = (values(storage, layout)?, width / 2, Level::current());
        let mut out = vec![0.0; x.len() / 2];
        out.par_chunks_exact_mut(d).zip(x.par_chunks_exact(width)).for_each(|(out, row)| {
            let (gate, up) = row.split_at(d);
            out.copy_from_slice(gate);
            simd::activate(level, self.0, out);
            for (out, up) in out.iter_mut().zip(up) {
                *out *= up;
            }
        });
        let n = x.len() / width;
        Ok((CpuStorage::F32(out), Shape::from((n, d))))
    }

    fn bwd(&self, x: &Tensor, _res: &Tensor, grad: &Tensor) -> Result<Option<Tensor>> {
        Ok(Some(x.contiguous()?.apply_op2_no_bwd(&grad.contiguous()?, &GateGrad(self.0))?))
    }
}

struct GateGrad(Activation);

impl CustomOp2 for GateGrad {
    fn name(&self) -> &'static str {
        "gate-grad"
    }

    fn cpu_fwd(&self, s1: &CpuStorage, l1: &Layout, s2: &CpuStorage, l2: &Layout) -> Result<(CpuStorage, Shape)> {
        let width = width(l1)?;
        let (x, grad, d) = (values(s1, l1)?, values(s2, l2)?, width / 2);
        let level = Level::current();
        let mut out = vec![0.0; x.len()];
        out.par_chunks_exact_mut(width).zip(x.par_chunks_exact(width).zip(grad.par_chunks_exact(d))).for_each(
            |(out, (row, grad))| {
                let (gate, up) = row.split_at(d);
                let (d_gate, d_up) = out.split_at_mut(d);
                let scaled: Vec<f32> = grad.iter().zip(up).map(|(grad, up)| grad * up).collect();
                simd::activate_backward(level, self.0, gate, &scaled, d_gate);
                d_up.copy_from_slice(gate);
                simd::activate(level, self.0, d_up);
                for (out, grad) in d_up.iter_mut().zip(grad) {
                    *out *= grad;
                }
            },
        );
        Ok((CpuStorage::F32(out), l1.shape().clone()))
    }
}
