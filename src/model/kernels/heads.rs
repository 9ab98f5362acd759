//! Heads as strided views, and the blocks of query rows that attention is computed in.

use std::ops::Range;

use candle_core::{CpuStorage, D, Layout, Result, Tensor, bail};
use rayon::prelude::*;

use super::product::{PARALLEL_FROM, View};
use crate::spec::Mask;

/// A `[head, row, column]` tensor as one [`View`] per head.
#[derive(Clone, Copy)]
pub(super) struct Views<'a> {
    all: View<'a>,
    head_stride: usize,
    pub n_heads: usize,
    pub n: usize,
    pub d: usize,
}

impl<'a> Views<'a> {
    pub fn of(storage: &'a CpuStorage, layout: &Layout) -> Result<Self> {
        let CpuStorage::F32(data) = storage else { bail!("attention takes f32 tensors only") };
        let (&[n_heads, n, d], &[head_stride, row_stride, col_stride]) = (layout.dims(), layout.stride()) else {
            bail!("attention takes [head, row, column], not {:?}", layout.dims())
        };
        let all = View { data, start: layout.start_offset(), row_stride, col_stride };
        Ok(Self { all, head_stride, n_heads, n, d })
    }

    pub fn head(&self, head: usize) -> View<'a> {
        View { start: self.all.start + head * self.head_stride, ..self.all }
    }

    /// Some rows of every head.
    pub fn rows(&self, rows: &Range<usize>) -> Self {
        debug_assert!(rows.end <= self.n, "rows beyond those that there are");
        Self { all: self.all.rows_from(rows.start), n: rows.len(), ..*self }
    }

    /// How many heads of `self` read one of `keys`, which is as wide.
    pub fn group(&self, keys: &Self) -> Result<usize> {
        if self.d != keys.d || keys.n_heads == 0 || !self.n_heads.is_multiple_of(keys.n_heads) {
            let (queries, keys) = ([self.n_heads, self.n, self.d], [keys.n_heads, keys.n, keys.d]);
            bail!("queries {queries:?} and keys {keys:?} do not fit");
        }
        Ok(self.n_heads / keys.n_heads)
    }
}

/// Some heads among the columns of rows, from column `first` on: a view where heads of this width lie from the first
/// column to the last.
///
/// # Shapes
/// - `x`: `[n, columns]`, contiguous
/// - result: `[n, n_heads, width]`
pub fn heads_at(x: &Tensor, first: usize, (n_heads, width): (usize, usize)) -> Result<Tensor> {
    let (n, n_columns) = x.dims2()?;
    if n_columns.is_multiple_of(width) && first.is_multiple_of(width) {
        return x.reshape((n, n_columns / width, width))?.narrow(1, first / width, n_heads);
    }
    x.narrow(1, first, n_heads * width)?.contiguous()?.reshape((n, n_heads, width))
}

/// Query rows of a task. gemm brings the keys into its own order once a task, so they are many; few enough to
/// leave out most of what a causal mask hides, and to share few heads between threads. They follow from the
/// length alone: what a product's last bits are depends on them, and must not on the number of threads.
pub(super) const fn rows_per_task(n_query: usize) -> usize {
    match n_query {
        1025..=8192 => 256,
        _ => 128,
    }
}

/// Runs `task(head, rows)` for blocks of query rows of every head.
pub(super) fn for_each_block(n_heads: usize, n_query: usize, work: usize, task: impl Fn(usize, Range<usize>) + Sync) {
    let rows = rows_per_task(n_query);
    let n_blocks = n_query.div_ceil(rows);
    let run = |idx: usize| {
        // Late blocks of a causal triangle are the largest, so they go first; heads that share keys follow
        // each other.
        let (head, block) = (idx % n_heads, n_blocks - 1 - idx / n_heads);
        task(head, block * rows..n_query.min((block + 1) * rows));
    };
    if work < PARALLEL_FROM || rayon::current_num_threads() == 1 {
        (0..n_heads * n_blocks).for_each(run);
    } else {
        (0..n_heads * n_blocks).into_par_iter().with_max_len(1).for_each(run);
    }
}

/// Keys that some of these query rows may see.
pub(super) fn seen(mask: Mask, rows: &Range<usize>, n_query: usize, n_key: usize) -> Range<usize> {
    let last = rows.end.saturating_sub(1);
    mask.visible(rows.start, n_query, n_key).start..mask.visible(last, n_query, n_key).end
}

/// Repeats key/value heads so that there is one per query head.
pub(super) fn repeat_kv(kv: &Tensor, n_heads: usize) -> Result<Tensor> {
    let (n_kv, n, d) = kv.dims3()?;
    if n_kv == n_heads {
        return Ok(kv.clone());
    }
    kv.unsqueeze(1)?.expand((n_kv, n_heads / n_kv, n, d))?.contiguous()?.reshape((n_heads, n, d))
}

/// `[n, heads · d_head]` as a `[heads, n, d_head]` view.
pub(in crate::model) fn heads_first(x: &Tensor, n_heads: usize) -> Result<Tensor> {
    let (n, width) = x.dims2()?;
    x.reshape((n, n_heads, width / n_heads))?.transpose(0, 1)
}

pub(super) fn transposed(x: &Tensor) -> Result<Tensor> {
    x.transpose(D::Minus2, D::Minus1)
}

/// Adds up the query heads that share a key/value head.
pub(super) fn sum_groups(grad: &Tensor, n_kv: usize) -> Result<Tensor> {
    let (n_heads, n, d) = grad.dims3()?;
    if n_heads == n_kv {
        return Ok(grad.clone());
    }
    grad.contiguous()?.reshape((n_kv, n_heads / n_kv, n, d))?.sum(1)
}
