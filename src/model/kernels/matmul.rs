//! Matrix products on gemm: the building block, and the two products of attention over all heads.
//!
//! The attention products read heads as strided views of `[n, heads · d_head]`, so nothing is
//! transposed or copied, and skip the part that a causal mask hides.

use candle_core::{CpuStorage, CustomOp2, D, Layout, Result, Shape, Tensor, bail};
use rayon::prelude::*;

use super::{ops::filled, way::is_fused};
use crate::spec::Mask;

/// Query rows per task of an attention product: small enough to share two heads between threads
/// evenly and to skip most of a causal triangle, large enough to keep gemm efficient.
const BLOCK: usize = 64;
/// The mask that the products know to skip.
const CAUSAL: Mask = Mask { causal: true, window: None };
/// Multiply–adds below which one thread is faster than several.
const PARALLEL_FROM: usize = 64 * 64 * 64;

/// A matrix inside a slice: where it starts and how far apart rows and columns are.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub data: &'a [f32],
    pub start: usize,
    pub row_stride: usize,
    pub col_stride: usize,
}

impl View<'_> {
    fn transposed(self) -> Self {
        Self { row_stride: self.col_stride, col_stride: self.row_stride, ..self }
    }

    pub fn rows_from(self, row: usize) -> Self {
        Self { start: self.start + row * self.row_stride, ..self }
    }

    /// Panics when an `n_rows × n_cols` matrix does not lie inside the slice.
    fn check(self, n_rows: usize, n_cols: usize) {
        if n_rows > 0 && n_cols > 0 {
            let last = self.start + (n_rows - 1) * self.row_stride + (n_cols - 1) * self.col_stride;
            assert!(last < self.data.len(), "a matrix view reaches beyond its data");
        }
    }
}

/// What becomes of what a target holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Onto {
    /// It is overwritten, and may be anything.
    Nothing,
    /// The product is added to it.
    What,
}

/// Who computes one product.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Threads {
    /// The calling thread: the products themselves are shared out.
    One,
    /// All, when there is enough to do.
    All,
}

/// `target[start + i·row_stride + j] = alpha · (a · b)[i, j]`.
pub(super) struct Product<'a> {
    pub start: usize,
    pub row_stride: usize,
    pub n_rows: usize,
    /// Columns of `a`, rows of `b`.
    pub n_inner: usize,
    pub n_cols: usize,
    pub a: View<'a>,
    pub b: View<'a>,
    pub alpha: f32,
    pub onto: Onto,
    pub threads: Threads,
}

/// Where products go: a buffer that several tasks write at once, each its own part.
#[derive(Clone, Copy)]
pub(super) struct Target {
    data: *mut f32,
    len: usize,
}

// SAFETY: writing through it is unsafe, and whoever does so promises disjoint parts.
#[expect(unsafe_code, reason = "tasks write disjoint parts of one buffer")]
unsafe impl Send for Target {}
// SAFETY: as above.
#[expect(unsafe_code, reason = "tasks write disjoint parts of one buffer")]
unsafe impl Sync for Target {}

impl Target {
    pub const fn new(buffer: &mut [f32]) -> Self {
        Self { data: buffer.as_mut_ptr(), len: buffer.len() }
    }

    /// `target[start + i] = values[i]`.
    ///
    /// # Safety
    /// The buffer is still there, and no other task reads or writes these places meanwhile.
    #[expect(unsafe_code, reason = "tasks write disjoint parts of one buffer")]
    pub unsafe fn write(self, start: usize, values: impl ExactSizeIterator<Item = f32>) {
        let n = values.len();
        assert!(start + n <= self.len, "a row reaches beyond its target");
        // SAFETY: the region was just checked to lie inside the buffer, and is the caller's alone.
        let out = unsafe { std::slice::from_raw_parts_mut(self.data.add(start), n) };
        for (out, value) in out.iter_mut().zip(values) {
            *out = value;
        }
    }

    /// Writes a product.
    ///
    /// # Safety
    /// The buffer is still there, no other task reads or writes these rows and columns of it meanwhile, and
    /// what is to be added to was written before.
    #[expect(unsafe_code, reason = "tasks write disjoint parts of one buffer")]
    pub unsafe fn product(self, product: &Product<'_>) {
        let &Product { start, row_stride, n_rows: m, n_inner: k, n_cols: n, a, b, alpha, onto, threads } = product;
        if m == 0 || n == 0 {
            return;
        }
        a.check(m, k);
        b.check(k, n);
        assert!(start + (m - 1) * row_stride + n <= self.len, "a product reaches beyond its target");
        let worthwhile = rayon::current_num_threads() > 1 && m * k * n >= PARALLEL_FROM;
        let parallelism = if threads == Threads::All && worthwhile {
            gemm::Parallelism::Rayon(rayon::current_num_threads())
        } else {
            gemm::Parallelism::None
        };
        // SAFETY: both inputs and the target were just checked to lie inside their buffers, the target is the
        // caller's alone, and all strides are non-negative.
        unsafe {
            gemm::gemm(
                m,
                n,
                k,
                self.data.add(start),
                1,
                row_stride as isize,
                onto == Onto::What,
                a.data.as_ptr().add(a.start),
                a.col_stride as isize,
                a.row_stride as isize,
                b.data.as_ptr().add(b.start),
                b.col_stride as isize,
                b.row_stride as isize,
                1.0,
                alpha,
                false,
                false,
                false,
                parallelism,
            );
        }
    }
}

/// `scale · q · kᵀ` for every head, `-inf` where a causal mask hides the key.
///
/// # Shapes
/// - `q`: `[heads, n_query, d_head]`, any strides
/// - `k`: `[kv_heads, n_key, d_head]`, any strides; `heads` is a multiple of `kv_heads`
/// - result: `[heads, n_query, n_key]`
pub fn scores(q: &Tensor, k: &Tensor, scale: f32, causal: bool) -> Result<Tensor> {
    if is_fused(q) {
        return q.apply_op2(k, ScoresOp { scale, causal });
    }
    let k = repeat_kv(k, q.dim(0)?)?;
    let scores = (q.contiguous()?.matmul(&k.transpose(1, 2)?.contiguous()?)? * f64::from(scale))?;
    if !causal {
        return Ok(scores);
    }
    super::mask(&scores, CAUSAL)
}

/// `pattern · v` for every head, heads side by side.
///
/// `causal` promises that the pattern is zero beyond the diagonal; that half is then skipped.
///
/// # Shapes
/// - `pattern`: `[heads, n_query, n_key]`, contiguous
/// - `v`: `[kv_heads, n_key, d_head]`, any strides
/// - result: `[n_query, heads · d_head]`
pub fn attend(pattern: &Tensor, v: &Tensor, causal: bool) -> Result<Tensor> {
    if is_fused(pattern) {
        return pattern.contiguous()?.apply_op2(v, AttendOp { causal });
    }
    let (n_heads, n_query, _) = pattern.dims3()?;
    let v = repeat_kv(v, n_heads)?;
    let d_head = v.dim(D::Minus1)?;
    pattern.contiguous()?.matmul(&v.contiguous()?)?.transpose(0, 1)?.contiguous()?.reshape((n_query, n_heads * d_head))
}

/// Repeats key/value heads so that there is one per query head.
fn repeat_kv(kv: &Tensor, n_heads: usize) -> Result<Tensor> {
    let (n_kv, n, d) = kv.dims3()?;
    if n_kv == n_heads {
        return Ok(kv.clone());
    }
    kv.unsqueeze(1)?.expand((n_kv, n_heads / n_kv, n, d))?.contiguous()?.reshape((n_heads, n, d))
}

/// A `[head, row, column]` tensor as one [`View`] per head.
fn head_view<'a>(storage: &'a CpuStorage, layout: &Layout) -> Result<impl Fn(usize) -> View<'a> + use<'a>> {
    let CpuStorage::F32(data) = storage else { bail!("attention takes f32 tensors only") };
    let &[head_stride, row_stride, col_stride] = layout.stride() else { bail!("attention takes [head, row, column]") };
    let start = layout.start_offset();
    Ok(move |head: usize| View { data, start: start + head * head_stride, row_stride, col_stride })
}

/// Runs `task(head, first row, rows)` for blocks of query rows of every head.
fn for_each_block(n_heads: usize, n_rows: usize, work: usize, task: impl Fn(usize, usize, usize) + Sync + Send) {
    let n_blocks = n_rows.div_ceil(BLOCK);
    let run = |idx: usize| {
        // Late blocks of a causal triangle are the largest, so they go first.
        let (head, block) = (idx % n_heads, n_blocks - 1 - idx / n_heads);
        let row = block * BLOCK;
        task(head, row, BLOCK.min(n_rows - row));
    };
    if work < PARALLEL_FROM || rayon::current_num_threads() == 1 {
        (0..n_heads * n_blocks).for_each(run);
    } else {
        (0..n_heads * n_blocks).into_par_iter().with_max_len(1).for_each(run);
    }
}

/// Keys that the last of `rows` query rows from `row` may see.
fn visible(causal: bool, row: usize, rows: usize, n_query: usize, n_key: usize) -> usize {
    if causal { CAUSAL.visible(row + rows - 1, n_query, n_key).end } else { n_key }
}

struct ScoresOp {
    scale: f32,
    causal: bool,
}

impl CustomOp2 for ScoresOp {
    fn name(&self) -> &'static str {
        "attention-scores"
    }

    fn cpu_fwd(&self, s1: &CpuStorage, l1: &Layout, s2: &CpuStorage, l2: &Layout) -> Result<(CpuStorage, Shape)> {
        let (&[n_heads, n_query, d_head], &[n_kv, n_key, d_key]) = (l1.dims(), l2.dims()) else {
            bail!("attention scores take [head, position, d_head]")
        };
        if d_head != d_key || n_kv == 0 || n_heads % n_kv != 0 {
            bail!("queries {:?} and keys {:?} do not fit", l1.dims(), l2.dims());
        }
        let (q, k) = (head_view(s1, l1)?, head_view(s2, l2)?);
        let group = n_heads / n_kv;
        let fill = |out: &mut [f32]| {
            let target = Target::new(out);
            for_each_block(n_heads, n_query, n_heads * n_query * n_key * d_head, |head, row, rows| {
                let n = visible(self.causal, row, rows, n_query, n_key);
                let product = Product {
                    start: (head * n_query + row) * n_key,
                    row_stride: n_key,
                    n_rows: rows,
                    n_inner: d_head,
                    n_cols: n,
                    a: q(head).rows_from(row),
                    b: k(head / group).transposed(),
                    alpha: self.scale,
                    onto: Onto::Nothing,
                    threads: Threads::One,
                };
                // SAFETY: each task owns the rows `row..row + rows` of its head, and `out` outlives the tasks.
                #[expect(unsafe_code, reason = "tasks write disjoint rows of one buffer")]
                unsafe {
                    target.product(&product);
                }
            });
            if self.causal {
                out.par_chunks_exact_mut(n_key).enumerate().for_each(|(row, out)| {
                    out[visible(true, row % n_query, 1, n_query, n_key)..].fill(f32::NEG_INFINITY);
                });
            }
        };
        // SAFETY: the blocks cover all rows of all heads; what a block does not compute lies beyond
        // the diagonal and is filled with minus infinity.
        #[expect(unsafe_code, reason = "large results would otherwise be written twice")]
        let out = unsafe { filled(n_heads * n_query * n_key, fill) };
        Ok((CpuStorage::F32(out), Shape::from((n_heads, n_query, n_key))))
    }

    /// The gradient of a masked score is zero, because softmax gives it a zero pattern.
    fn bwd(&self, q: &Tensor, k: &Tensor, _res: &Tensor, grad: &Tensor) -> Result<(Option<Tensor>, Option<Tensor>)> {
        let grad = (grad * f64::from(self.scale))?;
        let n_heads = q.dim(0)?;
        let dq = heads_first(&grad.apply_op2_no_bwd(k, &AttendOp { causal: self.causal })?, n_heads)?;
        let dk = heads_first(&transposed(&grad)?.apply_op2_no_bwd(q, &AttendOp { causal: false })?, n_heads)?;
        Ok((Some(dq), Some(sum_groups(&dk, k.dim(0)?)?)))
    }
}

struct AttendOp {
    causal: bool,
}

impl CustomOp2 for AttendOp {
    fn name(&self) -> &'static str {
        "attend"
    }

    fn cpu_fwd(&self, s1: &CpuStorage, l1: &Layout, s2: &CpuStorage, l2: &Layout) -> Result<(CpuStorage, Shape)> {
        let (&[n_heads, n_query, n_key], &[n_kv, n_value, d_head]) = (l1.dims(), l2.dims()) else {
            bail!("attention takes [head, query, key] and [head, key, d_head]")
        };
        if n_key != n_value || n_kv == 0 || n_heads % n_kv != 0 {
            bail!("pattern {:?} and values {:?} do not fit", l1.dims(), l2.dims());
        }
        let (pattern, v) = (head_view(s1, l1)?, head_view(s2, l2)?);
        let (group, width) = (n_heads / n_kv, n_heads * d_head);
        let mut out = vec![0.0; n_query * width];
        let target = Target::new(&mut out);
        for_each_block(n_heads, n_query, n_heads * n_query * n_key * d_head, |head, row, rows| {
            let n = visible(self.causal, row, rows, n_query, n_key);
            let product = Product {
                start: row * width + head * d_head,
                row_stride: width,
                n_rows: rows,
                n_inner: n,
                n_cols: d_head,
                a: pattern(head).rows_from(row),
                b: v(head / group),
                alpha: 1.0,
                onto: Onto::Nothing,
                threads: Threads::One,
            };
            // SAFETY: each task owns the columns of its head in the rows `row..row + rows`, and `out` outlives
            // the tasks.
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
        // The whole matrix, also where a causal pattern is zero: a tap on the pattern wants it all.
        let d_pattern = grad.apply_op2_no_bwd(v, &ScoresOp { scale: 1.0, causal: false })?;
        let dv = transposed(pattern)?.apply_op2_no_bwd(&grad, &Self { causal: false })?;
        Ok((Some(d_pattern), Some(sum_groups(&heads_first(&dv, n_heads)?, v.dim(0)?)?)))
    }
}

/// `[n, heads · d_head]` as a `[heads, n, d_head]` view.
pub(in crate::model) fn heads_first(x: &Tensor, n_heads: usize) -> Result<Tensor> {
    let (n, width) = x.dims2()?;
    x.reshape((n, n_heads, width / n_heads))?.transpose(0, 1)
}

fn transposed(x: &Tensor) -> Result<Tensor> {
    x.transpose(D::Minus2, D::Minus1)
}

/// Adds up the query heads that share a key/value head.
fn sum_groups(grad: &Tensor, n_kv: usize) -> Result<Tensor> {
    let (n_heads, n, d) = grad.dims3()?;
    if n_heads == n_kv {
        return Ok(grad.clone());
    }
    grad.contiguous()?.reshape((n_kv, n_heads / n_kv, n, d))?.sum(1)
}
