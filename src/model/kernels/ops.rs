//! Row-wise operations as candle custom operations: activation, softmax, norm.

use std::sync::Arc;

use candle_core::{CpuStorage, CustomOp1, CustomOp2, InplaceOp1, Layout, Result, Shape, Tensor, bail};
use rayon::prelude::*;

use super::{
    Activation, Norm,
    simd::{self, Level},
};
use crate::spec::Mask;

/// Elements below which a parallel loop costs more than it saves.
const PARALLEL_FROM: usize = 16 * 1024;
/// Elements per task of an element-wise loop: half of a typical L2 cache, input and output together.
const CHUNK: usize = 8 * 1024;

/// The values of a contiguous `f32` tensor.
pub(super) fn values<'a>(storage: &'a CpuStorage, layout: &Layout) -> Result<&'a [f32]> {
    let CpuStorage::F32(data) = storage else { bail!("the kernels take f32 tensors only") };
    match layout.contiguous_offsets() {
        Some((start, end)) => Ok(&data[start..end]),
        None => bail!("the row kernels take contiguous tensors only"),
    }
}

/// The values of a contiguous `f32` tensor, to be overwritten.
fn values_mut<'a>(storage: &'a mut CpuStorage, layout: &Layout) -> Result<&'a mut [f32]> {
    let CpuStorage::F32(data) = storage else { bail!("the kernels take f32 tensors only") };
    match layout.contiguous_offsets() {
        Some((start, end)) => Ok(&mut data[start..end]),
        None => bail!("the row kernels take contiguous tensors only"),
    }
}

/// A buffer of `len` values that `fill` writes, without writing zeros first.
///
/// # Safety
/// `fill` must write every value, and read none that it has not written.
#[expect(unsafe_code, reason = "large results would otherwise be written twice")]
pub(super) unsafe fn filled(len: usize, fill: impl FnOnce(&mut [f32])) -> Vec<f32> {
    let mut data = Vec::with_capacity(len);
    // SAFETY: the allocation holds `len` values, every bit pattern is an `f32`, and the caller
    // promises that all of them are written before any is read; a panic leaves the length at zero.
    unsafe {
        fill(std::slice::from_raw_parts_mut(data.as_mut_ptr(), len));
        data.set_len(len);
    }
    data
}

/// As [`filled`], where the values stay: several may hold them.
///
/// # Safety
/// As [`filled`].
#[expect(unsafe_code, reason = "large results would otherwise be written twice")]
pub(super) unsafe fn filled_shared(len: usize, fill: impl FnOnce(&mut [f32])) -> Arc<[f32]> {
    let mut data = Arc::new_uninit_slice(len);
    if let Some(data) = Arc::get_mut(&mut data) {
        // SAFETY: the allocation holds `len` values, and every bit pattern is an `f32`.
        fill(unsafe { std::slice::from_raw_parts_mut(data.as_mut_ptr().cast(), len) });
    }
    // SAFETY: nobody else holds it yet, so it was filled, with every value as the caller promises.
    unsafe { data.assume_init() }
}

fn last_dim(layout: &Layout) -> usize {
    layout.dims().last().copied().unwrap_or(1).max(1)
}

/// Calls `f(row index, row)` for each row of `out`, on all threads when there is enough to do.
fn for_each_row(out: &mut [f32], row_len: usize, f: impl Fn(usize, &mut [f32]) + Sync) {
    if out.len() < PARALLEL_FROM {
        out.chunks_exact_mut(row_len).enumerate().for_each(|(i, row)| f(i, row));
    } else {
        let rows_per_task = CHUNK.div_ceil(row_len);
        out.par_chunks_exact_mut(row_len).with_min_len(rows_per_task).enumerate().for_each(|(i, row)| f(i, row));
    }
}

fn output(data: Vec<f32>, layout: &Layout) -> (CpuStorage, Shape) {
    (CpuStorage::F32(data), layout.shape().clone())
}

pub(super) struct ActivationOp(pub Activation);

impl ActivationOp {
    fn run(&self, x: &mut [f32]) {
        let level = Level::current();
        x.par_chunks_mut(CHUNK).for_each(|x| simd::activate(level, self.0, x));
    }
}

impl CustomOp1 for ActivationOp {
    fn name(&self) -> &'static str {
        "activation"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let mut out = values(storage, layout)?.to_vec();
        self.run(&mut out);
        Ok(output(out, layout))
    }

    fn bwd(&self, x: &Tensor, _res: &Tensor, grad: &Tensor) -> Result<Option<Tensor>> {
        Ok(Some(x.contiguous()?.apply_op2_no_bwd(&grad.contiguous()?, &ActivationGrad(self.0))?))
    }
}

struct ActivationGrad(Activation);

impl CustomOp2 for ActivationGrad {
    fn name(&self) -> &'static str {
        "activation-grad"
    }

    fn cpu_fwd(&self, s1: &CpuStorage, l1: &Layout, s2: &CpuStorage, l2: &Layout) -> Result<(CpuStorage, Shape)> {
        let (x, grad) = (values(s1, l1)?, values(s2, l2)?);
        let mut out = vec![0.0; x.len()];
        let level = Level::current();
        out.par_chunks_mut(CHUNK)
            .zip(x.par_chunks(CHUNK).zip(grad.par_chunks(CHUNK)))
            .for_each(|(out, (x, grad))| simd::activate_backward(level, self.0, x, grad, out));
        Ok(output(out, l1))
    }
}

pub(super) struct SoftmaxOp {
    pub mask: Mask,
    /// One score a head.
    pub sink: Option<Arc<[f32]>>,
}

impl SoftmaxOp {
    fn run(&self, x: &mut [f32], layout: &Layout) {
        let n_key = last_dim(layout);
        let n_query = layout.dims().iter().rev().nth(1).copied().unwrap_or(1).max(1);
        let level = Level::current();
        for_each_row(x, n_key, |row, x| {
            let visible = self.mask.visible(row % n_query, n_query, n_key);
            x[..visible.start].fill(0.0);
            x[visible.end..].fill(0.0);
            let sink = self.sink.as_ref().map_or(simd::NO_SINK, |sink| sink[row / n_query]);
            simd::softmax(level, &mut x[visible], sink);
        });
    }
}

impl InplaceOp1 for SoftmaxOp {
    fn name(&self) -> &'static str {
        "softmax-in-place"
    }

    fn cpu_fwd(&self, storage: &mut CpuStorage, layout: &Layout) -> Result<()> {
        self.run(values_mut(storage, layout)?, layout);
        Ok(())
    }
}

impl CustomOp1 for SoftmaxOp {
    fn name(&self) -> &'static str {
        "softmax"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let mut out = values(storage, layout)?.to_vec();
        self.run(&mut out, layout);
        Ok(output(out, layout))
    }

    fn bwd(&self, _x: &Tensor, pattern: &Tensor, grad: &Tensor) -> Result<Option<Tensor>> {
        Ok(Some(pattern.apply_op2_no_bwd(&grad.contiguous()?, &SoftmaxGrad)?))
    }
}

struct SoftmaxGrad;

impl CustomOp2 for SoftmaxGrad {
    fn name(&self) -> &'static str {
        "softmax-grad"
    }

    fn cpu_fwd(&self, s1: &CpuStorage, l1: &Layout, s2: &CpuStorage, l2: &Layout) -> Result<(CpuStorage, Shape)> {
        let (p, grad) = (values(s1, l1)?, values(s2, l2)?);
        let n = last_dim(l1);
        let mut out = vec![0.0; p.len()];
        let level = Level::current();
        for_each_row(&mut out, n, |row, out| {
            let range = row * n..(row + 1) * n;
            simd::softmax_backward(level, &p[range.clone()], &grad[range], out);
        });
        Ok(output(out, l1))
    }
}

pub(super) struct NormOp(pub Norm);

impl NormOp {
    fn parameters<R>(&self, f: impl FnOnce(&[f32], &[f32]) -> R) -> Result<R> {
        let (weight, weight_layout) = self.0.weight.storage_and_layout();
        let candle_core::Storage::Cpu(weight) = &*weight else { bail!("norm weights are not on the CPU") };
        let weight = values(weight, weight_layout)?;
        let Some(bias) = &self.0.bias else { return Ok(f(weight, &[])) };
        let (bias, bias_layout) = bias.storage_and_layout();
        let candle_core::Storage::Cpu(bias) = &*bias else { bail!("norm weights are not on the CPU") };
        Ok(f(weight, values(bias, bias_layout)?))
    }
}

impl CustomOp1 for NormOp {
    fn name(&self) -> &'static str {
        "norm"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let x = values(storage, layout)?;
        let n = last_dim(layout);
        let level = Level::current();
        let Norm { kind, eps, .. } = self.0;
        let out = self.parameters(|weight, bias| {
            let fill = |out: &mut [f32]| {
                for_each_row(out, n, |row, out| {
                    simd::norm(level, kind, &x[row * n..(row + 1) * n], weight, bias, eps, out);
                });
            };
            // SAFETY: the rows cover all values, and a norm writes the whole row.
            #[expect(unsafe_code, reason = "large results would otherwise be written twice")]
            unsafe {
                filled(x.len(), fill)
            }
        })?;
        Ok(output(out, layout))
    }

    fn bwd(&self, x: &Tensor, _res: &Tensor, grad: &Tensor) -> Result<Option<Tensor>> {
        let grad = grad.contiguous()?;
        Ok(Some(x.contiguous()?.apply_op2_no_bwd(&grad, &NormGrad(Self(self.0.clone())))?))
    }
}

struct NormGrad(NormOp);

impl CustomOp2 for NormGrad {
    fn name(&self) -> &'static str {
        "norm-grad"
    }

    fn cpu_fwd(&self, s1: &CpuStorage, l1: &Layout, s2: &CpuStorage, l2: &Layout) -> Result<(CpuStorage, Shape)> {
        let (x, grad) = (values(s1, l1)?, values(s2, l2)?);
        let n = last_dim(l1);
        let mut out = vec![0.0; x.len()];
        let level = Level::current();
        let Norm { kind, eps, .. } = self.0.0;
        self.0.parameters(|weight, _| {
            for_each_row(&mut out, n, |row, out| {
                let range = row * n..(row + 1) * n;
                simd::norm_backward(level, kind, &x[range.clone()], weight, eps, &grad[range], out);
            });
        })?;
        Ok(output(out, l1))
    }
}
