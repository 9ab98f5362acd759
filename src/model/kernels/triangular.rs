//! Inverses of triangular matrices.

use candle_core::{CpuStorage, CustomOp1, Layout, Result, Shape, Tensor, bail};
use rayon::prelude::*;

use super::{backend::is_fused, ops::values};

/// `(1 + L)⁻¹` of each matrix, where `L` is what it has below its diagonal; what else it has does not count.
///
/// # Shapes
/// - `x`, result: `[matrices, n, n]`
pub fn unit_lower_inverse(x: &Tensor) -> Result<Tensor> {
    if is_fused(x) { x.contiguous()?.apply_op1(InverseOp) } else { by_rows(x) }
}

/// The same of candle's operations: each row follows from those above it.
fn by_rows(x: &Tensor) -> Result<Tensor> {
    let (n_matrices, n, _) = x.dims3()?;
    let identity = Tensor::eye(n, x.dtype(), x.device())?;
    let own = |row: usize| identity.narrow(0, row, 1)?.unsqueeze(0)?.repeat((n_matrices, 1, 1));
    let mut rows = vec![own(0)?];
    for row in 1..n {
        let above = Tensor::cat(&rows, 1)?;
        let weights = x.narrow(1, row, 1)?.narrow(2, 0, row)?.contiguous()?;
        rows.push((own(row)? - weights.matmul(&above)?)?);
    }
    Tensor::cat(&rows, 1)
}

struct InverseOp;

impl CustomOp1 for InverseOp {
    fn name(&self) -> &'static str {
        "unit-lower-inverse"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        let n = match layout.dims() {
            &[_, n, same] if n == same && n > 0 => n,
            dims => bail!("square matrices are inverted, not {dims:?}"),
        };
        let x = values(storage, layout)?;
        let mut out = vec![0.0f32; x.len()];
        out.par_chunks_exact_mut(n * n).zip(x.par_chunks_exact(n * n)).for_each(|(out, x)| {
            // Rows follow from each other, so that their errors would add up.
            let mut wide = vec![0.0f64; n * n];
            for row in 0..n {
                let (above, rest) = wide.split_at_mut(row * n);
                let line = &mut rest[..n];
                for (of, weight) in x[row * n..row * n + row].iter().enumerate() {
                    // Rows above end at their own column.
                    for (value, other) in line[..=of].iter_mut().zip(&above[of * n..=of * n + of]) {
                        *value -= f64::from(*weight) * other;
                    }
                }
                line[row] = 1.0;
            }
            out.iter_mut().zip(&wide).for_each(|(out, value)| *out = *value as f32);
        });
        Ok((CpuStorage::F32(out), layout.shape().clone()))
    }

    fn bwd(&self, _: &Tensor, inverse: &Tensor, grad: &Tensor) -> Result<Option<Tensor>> {
        let turned = inverse.detach().t()?.contiguous()?;
        let gradient = turned.matmul(&grad.detach().contiguous()?)?.matmul(&turned)?.neg()?;
        let n = gradient.dim(2)?;
        let below = Tensor::tril2(n, gradient.dtype(), gradient.device())?;
        let below = (below - Tensor::eye(n, gradient.dtype(), gradient.device())?)?;
        Ok(Some(gradient.broadcast_mul(&below)?))
    }
}

#[cfg(test)]
mod tests {
    use candle_core::{Device, Var};

    use super::*;
    use crate::model::kernels::{KernelPath, with_path};

    const N: usize = 7;

    fn matrices() -> Tensor {
        let values: Vec<f32> = (0..2 * N * N).map(|at| (at as f32 * 1.7).sin()).collect();
        Tensor::from_vec(values, (2, N, N), &Device::Cpu).unwrap()
    }

    fn worst(a: &Tensor, b: &Tensor) -> f32 {
        (a - b).unwrap().abs().unwrap().flatten_all().unwrap().max(0).unwrap().to_scalar().unwrap()
    }

    #[test]
    fn the_inverse_is_one_and_both_ways_to_compute_it_agree() {
        let x = matrices();
        let below = Tensor::tril2(N, x.dtype(), x.device()).unwrap();
        let identity = Tensor::eye(N, x.dtype(), x.device()).unwrap();
        let below = x.broadcast_mul(&(&below - &identity).unwrap()).unwrap();
        let whole = below.broadcast_add(&identity).unwrap();
        let inverse = unit_lower_inverse(&x).unwrap();
        let product = whole.matmul(&inverse).unwrap();
        assert!(worst(&product, &identity.unsqueeze(0).unwrap().repeat((2, 1, 1)).unwrap()) < 1e-4);
        let other = with_path(KernelPath::Operations, || unit_lower_inverse(&x)).unwrap();
        assert!(worst(&inverse, &other) < 1e-4);
    }

    #[test]
    fn both_ways_have_the_same_gradient() {
        let factors = matrices().affine(0.3, 0.1).unwrap();
        let gradient = |way: KernelPath| {
            let x = Var::from_tensor(&matrices()).unwrap();
            with_path(way, || {
                let sum = (unit_lower_inverse(x.as_tensor()).unwrap() * &factors).unwrap().sum_all().unwrap();
                sum.backward().unwrap().get(x.as_tensor()).unwrap().clone()
            })
        };
        let [own, plain] = [KernelPath::Portable, KernelPath::Operations].map(gradient);
        assert!(worst(&own, &plain) < 1e-3 * plain.abs().unwrap().max_all().unwrap().to_scalar::<f32>().unwrap());
    }
}
