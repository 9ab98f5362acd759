//! The two products of attention over all heads, each for itself: for runs that want what lies between them.
//!
//! They read heads as strided views of `[n, heads · d_head]`, so nothing is transposed or copied, and skip what
//! a mask hides. Where only the result counts, `attention` computes both at once.

use candle_core::{CpuStorage, CustomOp2, D, Layout, Result, Shape, Tensor};
use rayon::prelude::*;

use super::{
    backend::is_fused,
    heads::{Views, for_each_block, heads_first, repeat_kv, seen, sum_groups, transposed},
    ops::filled,
    product::{Onto, OutputBuffer, Product, Threads},
};
use crate::spec::Mask;

/// `scale · q · kᵀ` for every head, `-inf` where the mask hides the key.
///
/// # Shapes
/// - `q`: `[heads, n_query, d_head]`, any strides
/// - `k`: `[kv_heads, n_key, d_head]`, any strides; `heads` is a multiple of `kv_heads`
/// - result: `[heads, n_query, n_key]`
pub fn scores(q: &Tensor, k: &Tensor, scale: f32, mask: Mask) -> Result<Tensor> {
    if is_fused(q) {
        return q.apply_op2(k, ScoresOp { scale, mask });
    }
    let k = repeat_kv(k, q.dim(0)?)?;
    let scores = (q.contiguous()?.matmul(&k.transpose(1, 2)?.contiguous()?)? * f64::from(scale))?;
    super::mask(&scores, mask)
}

/// `pattern · v` for every head, heads side by side.
///
/// `mask` promises that the pattern is zero where it hides the key; that is then skipped.
///
/// # Shapes
/// - `pattern`: `[heads, n_query, n_key]`, contiguous
/// - `v`: `[kv_heads, n_key, d_head]`, any strides
/// - result: `[n_query, heads · d_head]`
pub fn attend(pattern: &Tensor, v: &Tensor, mask: Mask) -> Result<Tensor> {
    if is_fused(pattern) {
        return pattern.contiguous()?.apply_op2(v, AttendOp { mask });
    }
    let (n_heads, n_query, _) = pattern.dims3()?;
    let v = repeat_kv(v, n_heads)?;
    let d_head = v.dim(D::Minus1)?;
    pattern.contiguous()?.matmul(&v.contiguous()?)?.transpose(0, 1)?.contiguous()?.reshape((n_query, n_heads * d_head))
}

struct ScoresOp {
    scale: f32,
    mask: Mask,
}

impl CustomOp2 for ScoresOp {
    fn name(&self) -> &'static str {
        "attention-scores"
    }

    fn cpu_fwd(&self, s1: &CpuStorage, l1: &Layout, s2: &CpuStorage, l2: &Layout) -> Result<(CpuStorage, Shape)> {
        let (q, k) = (Views::of(s1, l1)?, Views::of(s2, l2)?);
        let (group, n_heads, n_query, n_key) = (q.group(&k)?, q.n_heads, q.n, k.n);
        let fill = |out: &mut [f32]| {
            let target = OutputBuffer::new(out);
            for_each_block(n_heads, n_query, n_heads * n_query * n_key * q.d, |head, rows| {
                let keys = seen(self.mask, &rows, n_query, n_key);
                let product = Product {
                    start: (head * n_query + rows.start) * n_key + keys.start,
                    row_stride: n_key,
                    n_rows: rows.len(),
                    n_inner: q.d,
                    n_cols: keys.len(),
                    a: q.head(head).rows_from(rows.start),
                    b: k.head(head / group).rows_from(keys.start).transposed(),
                    alpha: self.scale,
                    onto: Onto::Nothing,
                    threads: Threads::One,
                };
                // SAFETY: each task owns its rows of its head, and `out` outlives the tasks.
                #[expect(unsafe_code, reason = "tasks write disjoint rows of one buffer")]
                unsafe {
                    target.product(&product);
                }
            });
            if self.mask != Mask::NONE {
                out.par_chunks_exact_mut(n_key.max(1)).enumerate().for_each(|(row, out)| {
                    let keys = self.mask.visible(row % n_query, n_query, n_key);
                    out[..keys.start].fill(f32::NEG_INFINITY);
                    out[keys.end..].fill(f32::NEG_INFINITY);
                });
            }
        };
        // SAFETY: the blocks cover all rows of all heads; what a block does not compute is hidden by the mask
        // and filled with minus infinity.
        #[expect(unsafe_code, reason = "large results would otherwise be written twice")]
        let out = unsafe { filled(n_heads * n_query * n_key, fill) };
        Ok((CpuStorage::F32(out), Shape::from((n_heads, n_query, n_key))))
    }

    /// The gradient of a masked score is zero, because softmax gives it a zero pattern.
    fn bwd(&self, q: &Tensor, k: &Tensor, _res: &Tensor, grad: &Tensor) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let grad = (grad * f64::from(self.scale))?;
        let n_heads = q.dim(0)?;
        let dq = heads_first(&grad.apply_op2_no_bwd(k, &AttendOp { mask: self.mask })?, n_heads)?;
        let dk = heads_first(&transposed(&grad)?.apply_op2_no_bwd(q, &AttendOp { mask: Mask::NONE })?, n_heads)?;
        Ok((Some(dq), Some(sum_groups(&dk, k.dim(0)?)?)))
    }
}

struct AttendOp {
    mask: Mask,
}

impl CustomOp2 for AttendOp {
    fn name(&self) -> &'static str {
        "attend"
    }

    fn cpu_fwd(&self, s1: &CpuStorage, l1: &Layout, s2: &CpuStorage, l2: &Layout) -> Result<(CpuStorage, Shape)> {
        let (pattern, v) = (Views::of(s1, l1)?, Views::of(s2, l2)?);
        let (n_heads, n_query, n_key) = (pattern.n_heads, pattern.n, pattern.d);
        if n_key != v.n || v.n_heads == 0 || !n_heads.is_multiple_of(v.n_heads) {
            candle_core::bail!("pattern {:?} and values {:?} do not fit", l1.dims(), l2.dims());
        }
        let (group, width) = (n_heads / v.n_heads, n_heads * v.d);
        let mut out = vec![0.0; n_query * width];
        let target = OutputBuffer::new(&mut out);
        for_each_block(n_heads, n_query, n_heads * n_query * n_key * v.d, |head, rows| {
            let keys = seen(self.mask, &rows, n_query, n_key);
            let product = Product {
                start: rows.start * width + head * v.d,
                row_stride: width,
                n_rows: rows.len(),
                n_inner: keys.len(),
                n_cols: v.d,
                a: pattern.head(head).rows_from(rows.start).columns_from(keys.start),
                b: v.head(head / group).rows_from(keys.start),
                alpha: 1.0,
                onto: Onto::Nothing,
                threads: Threads::One,
            };
            // SAFETY: each task owns the columns of its head in its rows, and `out` outlives the tasks.
            #[expect(unsafe_code, reason = "tasks write disjoint columns of one buffer")]
            unsafe {
                target.product(&product);
            }
        });
        Ok((CpuStorage::F32(out), Shape::from((n_query, width))))
    }

    fn bwd(
        &self,
        pattern: &Tensor,
        v: &Tensor,
        _res: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let n_heads = pattern.dim(0)?;
        let grad = heads_first(grad, n_heads)?;
        // The whole matrix, also where a masked pattern is zero: a tap on the pattern wants it all.
        let d_pattern = grad.apply_op2_no_bwd(v, &ScoresOp { scale: 1.0, mask: Mask::NONE })?;
        let dv = transposed(pattern)?.apply_op2_no_bwd(&grad, &Self { mask: Mask::NONE })?;
        Ok((Some(d_pattern), Some(sum_groups(&heads_first(&dv, n_heads)?, v.dim(0)?)?)))
    }
}
