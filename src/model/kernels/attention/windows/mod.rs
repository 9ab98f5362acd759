//! Attention within windows, beside a few keys that every query sees (Beltagy et al. 2020), in blocks of query
//! rows: of `[n, n]` scores only those exist that are not ruled out, unless somebody wants a copy.

mod backward;

use std::{ops::Range, sync::Arc};

use candle_core::{CpuStorage, CustomOp3, Layout, Result, Shape, Storage, Tensor, bail};

use super::{
    super::{
        attend,
        backend::is_fused,
        heads::{Views, for_each_block, rows_per_task, seen},
        ops::filled,
        product::{Onto, OutputBuffer, Product, Threads, View},
        scores,
        simd::{self, Level},
        softmax,
    },
    go_back,
    scratch::{give_back, with_scratch},
};
use crate::spec::Mask;

/// What queries of a sequence see of its keys.
#[derive(Clone, Debug)]
pub struct Windows {
    /// What products of queries and keys are multiplied by.
    pub scale: f32,
    /// What a query sees by its position.
    pub mask: Mask,
    /// Positions, in order, of keys that every query sees besides.
    pub global: Arc<[usize]>,
}

/// What [`Windows::attend`] keeps a copy of.
#[derive(Clone, Copy, Debug, Default)]
pub struct KeptCopies {
    /// Scores `[heads, n, n]`.
    pub scores: bool,
    /// Patterns `[heads, n, n]`.
    pub pattern: bool,
}

/// What came of [`Windows::attend`].
pub struct Attended {
    /// `[n, heads · d_head]`.
    pub z: Tensor,
    pub scores: Option<Tensor>,
    pub pattern: Option<Tensor>,
}

impl Windows {
    /// All scores, `-inf` where a key is not seen.
    ///
    /// # Shapes
    /// - `q`: `[heads, n, d_head]`; `k`: `[kv_heads, n, d_head]`, any strides
    /// - result: `[heads, n, n]`
    pub fn scores(&self, q: &Tensor, k: &Tensor) -> Result<Tensor> {
        let n = q.dim(1)?;
        let mut hidden = vec![f32::NEG_INFINITY; n * n];
        for (query, row) in hidden.chunks_exact_mut(n.max(1)).enumerate() {
            row[self.mask.visible(query, n, n)].fill(0.0);
            self.global.iter().for_each(|key| row[*key] = 0.0);
        }
        scores(q, k, self.scale, Mask::NONE)?.broadcast_add(&Tensor::from_vec(hidden, (1, n, n), q.device())?)
    }

    /// `softmax(scores) · v` for every head, heads side by side, with copies of what is wanted on the way. What is
    /// wanted changes no bit, and cannot be differentiated.
    ///
    /// # Shapes
    /// - as [`Self::scores`]; `v`: `[kv_heads, n, d_head]`, any strides
    pub fn attend(&self, q: &Tensor, k: &Tensor, v: &Tensor, wanted: KeptCopies) -> Result<Attended> {
        if !is_fused(q) {
            let scores = self.scores(q, k)?;
            let pattern = softmax(&scores, Mask::NONE)?;
            let z = attend(&pattern, v, Mask::NONE)?;
            let (scores, pattern) = (wanted.scores.then_some(scores), wanted.pattern.then_some(pattern));
            return Ok(Attended { z, scores, pattern });
        }
        if !(wanted.scores || wanted.pattern) {
            return Ok(Attended { z: q.apply_op3(k, v, WindowsOp(self.clone()))?, scores: None, pattern: None });
        }
        let ((s1, l1), (s2, l2), (s3, l3)) = (q.storage_and_layout(), k.storage_and_layout(), v.storage_and_layout());
        let (Storage::Cpu(s1), Storage::Cpu(s2), Storage::Cpu(s3)) = (&*s1, &*s2, &*s3) else {
            bail!("the kernels take tensors on the CPU only")
        };
        let input = WindowInput::of(self, [(s1, l1), (s2, l2), (s3, l3)])?;
        let (n_heads, n) = (input.q.n_heads, input.q.n);
        let copy = |wanted: bool, hidden: f32| if wanted { vec![hidden; n_heads * n * n] } else { Vec::new() };
        let (mut scores, mut pattern) = (copy(wanted.scores, f32::NEG_INFINITY), copy(wanted.pattern, 0.0));
        let z = input.run([OutputBuffer::new(&mut scores), OutputBuffer::new(&mut pattern)], wanted);
        let kept = |wanted: bool, values: Vec<f32>| {
            wanted.then(|| Tensor::from_vec(values, (n_heads, n, n), q.device())).transpose()
        };
        Ok(Attended {
            z: Tensor::from_vec(z, (n, n_heads * input.v.d), q.device())?,
            scores: kept(wanted.scores, scores)?,
            pattern: kept(wanted.pattern, pattern)?,
        })
    }
}

/// What attention is computed from.
struct WindowInput<'a> {
    q: Views<'a>,
    k: Views<'a>,
    v: Views<'a>,
    group: usize,
    windows: &'a Windows,
    level: Level,
}

/// Some rows of a head, and the keys that any of them sees: first those that all see, then those of the window.
struct RowBlock<'a> {
    head: usize,
    rows: Range<usize>,
    near: Range<usize>,
    global: &'a [usize],
}

impl RowBlock<'_> {
    fn n_columns(&self) -> usize {
        self.global.len() + self.near.len()
    }

    /// Positions of the keys.
    fn keys(&self) -> impl Iterator<Item = usize> {
        self.global.iter().copied().chain(self.near.clone())
    }

    /// One head's vectors of these keys, next to each other.
    fn gather(&self, of: View<'_>, d: usize, into: &mut [f32]) {
        for (key, row) in self.keys().zip(into.chunks_exact_mut(d)) {
            let from = of.start + key * of.row_stride;
            if of.col_stride == 1 {
                row.copy_from_slice(&of.data[from..from + d]);
            } else {
                row.iter_mut().enumerate().for_each(|(at, value)| *value = of.data[from + at * of.col_stride]);
            }
        }
    }
}

const fn matrix(data: &[f32], row_stride: usize) -> View<'_> {
    View { data, start: 0, row_stride, col_stride: 1 }
}

impl<'a> WindowInput<'a> {
    fn of(windows: &'a Windows, [(s1, l1), (s2, l2), (s3, l3)]: [(&'a CpuStorage, &'a Layout); 3]) -> Result<Self> {
        let (q, k, v) = (Views::of(s1, l1)?, Views::of(s2, l2)?, Views::of(s3, l3)?);
        let group = q.group(&k)?;
        let is_inside = windows.global.iter().all(|key| *key < k.n);
        if q.n != k.n || v.n != k.n || v.n_heads != k.n_heads || !is_inside {
            bail!("queries {:?}, keys {:?} and values {:?} do not fit", l1.dims(), l2.dims(), l3.dims());
        }
        Ok(Self { q, k, v, group, windows, level: Level::current() })
    }

    fn block(&self, head: usize, rows: Range<usize>) -> RowBlock<'a> {
        let near = seen(self.windows.mask, &rows, self.q.n, self.k.n);
        RowBlock { head, rows, near, global: &self.windows.global }
    }

    /// The most values that a block's columns take, `more` for each column besides the keys' and values' own.
    fn scratch(&self, more: usize) -> usize {
        let rows = rows_per_task(self.q.n).min(self.q.n);
        let starts = (0..self.q.n).step_by(rows.max(1));
        let widest = starts.map(|first| self.block(0, first..self.q.n.min(first + rows)).n_columns()).max();
        widest.unwrap_or(0) * (self.k.d + self.v.d + more)
    }

    fn run(&self, copies: [OutputBuffer; 2], wanted: KeptCopies) -> Vec<f32> {
        let (n_heads, n, d, width) = (self.q.n_heads, self.q.n, self.v.d, self.q.n_heads * self.v.d);
        let rows = rows_per_task(n).min(n);
        let scratch = self.scratch(rows);
        let fill = |out: &mut [f32]| {
            let out = OutputBuffer::new(out);
            for_each_block(n_heads, n, n_heads * n * rows * d, |head, rows| {
                with_scratch(scratch, |buffer| {
                    let block = self.block(head, rows);
                    let n_columns = block.n_columns();
                    let (pattern, buffer) = buffer.split_at_mut(block.rows.len() * n_columns);
                    let (keys, buffer) = buffer.split_at_mut(n_columns * self.k.d);
                    let values = &mut buffer[..n_columns * d];
                    self.pattern(&block, keys, pattern, |nth, row| {
                        if wanted.scores {
                            self.copy(&block, nth, row, copies[0]);
                        }
                    });
                    if wanted.pattern {
                        for (nth, row) in pattern.chunks_exact(n_columns).enumerate() {
                            self.copy(&block, nth, row, copies[1]);
                        }
                    }
                    block.gather(self.v.head(head / self.group), d, values);
                    let product = Product {
                        start: block.rows.start * width + head * d,
                        row_stride: width,
                        n_rows: block.rows.len(),
                        n_inner: n_columns,
                        n_cols: d,
                        a: matrix(pattern, n_columns),
                        b: matrix(values, d),
                        alpha: 1.0,
                        onto: Onto::Nothing,
                        threads: Threads::One,
                    };
                    // SAFETY: each task owns the columns of its head in its rows, and the buffer outlives the tasks.
                    #[expect(unsafe_code, reason = "tasks write disjoint columns of one buffer")]
                    unsafe {
                        out.product(&product);
                    }
                });
            });
        };
        // SAFETY: the blocks cover all rows of all heads; a query sees itself, so no row is left out.
        #[expect(unsafe_code, reason = "large results would otherwise be written twice")]
        let out = unsafe { filled(n * width, fill) };
        give_back(scratch);
        out
    }

    /// The pattern of a block; `scored` is shown each row's scores. `keys` is left with the block's keys.
    fn pattern(
        &self,
        block: &RowBlock<'_>,
        keys: &mut [f32],
        pattern: &mut [f32],
        mut scored: impl FnMut(usize, &[f32]),
    ) {
        let Windows { scale, mask, .. } = *self.windows;
        let (n_columns, n_global) = (block.n_columns(), block.global.len());
        block.gather(self.k.head(block.head / self.group), self.k.d, keys);
        let product = Product {
            start: 0,
            row_stride: n_columns,
            n_rows: block.rows.len(),
            n_inner: self.q.d,
            n_cols: n_columns,
            a: self.q.head(block.head).rows_from(block.rows.start),
            b: matrix(keys, self.k.d).transposed(),
            alpha: scale,
            onto: Onto::Nothing,
            threads: Threads::One,
        };
        // SAFETY: the scratch is this thread's own.
        #[expect(unsafe_code, reason = "products write into a part of a buffer")]
        unsafe {
            OutputBuffer::new(pattern).product(&product);
        }
        for (nth, row) in pattern.chunks_exact_mut(n_columns).enumerate() {
            let visible = mask.visible(block.rows.start + nth, self.q.n, self.k.n);
            let (global, near) = row.split_at_mut(n_global);
            // What a window shows anyway counts once.
            for (score, key) in global.iter_mut().zip(block.global) {
                if visible.contains(key) {
                    *score = f32::NEG_INFINITY;
                }
            }
            near[..visible.start - block.near.start].fill(f32::NEG_INFINITY);
            near[visible.end - block.near.start..].fill(f32::NEG_INFINITY);
            scored(nth, row);
            simd::softmax(self.level, row, simd::NO_SINK);
        }
    }

    /// Puts a row of a block where its keys stand.
    fn copy(&self, block: &RowBlock<'_>, nth: usize, row: &[f32], into: OutputBuffer) {
        let n = self.k.n;
        let visible = self.windows.mask.visible(block.rows.start + nth, self.q.n, n);
        let (global, near) = row.split_at(block.global.len());
        let start = (block.head * self.q.n + block.rows.start + nth) * n;
        // SAFETY: each task owns its rows of its head, which were filled before.
        #[expect(unsafe_code, reason = "tasks write disjoint rows of one buffer")]
        let out = unsafe { into.slice(start, n) };
        let near = &near[visible.start - block.near.start..visible.end - block.near.start];
        out[visible.clone()].copy_from_slice(near);
        for (key, value) in block.global.iter().zip(global).filter(|(key, _)| !visible.contains(key)) {
            out[*key] = *value;
        }
    }
}

struct WindowsOp(Windows);

impl CustomOp3 for WindowsOp {
    fn name(&self) -> &'static str {
        "attention-in-windows"
    }

    fn cpu_fwd(
        &self,
        s1: &CpuStorage,
        l1: &Layout,
        s2: &CpuStorage,
        l2: &Layout,
        s3: &CpuStorage,
        l3: &Layout,
    ) -> Result<(CpuStorage, Shape)> {
        let input = WindowInput::of(&self.0, [(s1, l1), (s2, l2), (s3, l3)])?;
        let shape = (input.q.n, input.q.n_heads * input.v.d);
        let nothing = || OutputBuffer::new(&mut []);
        Ok((CpuStorage::F32(input.run([nothing(), nothing()], KeptCopies::default())), Shape::from(shape)))
    }

    fn bwd(
        &self,
        q: &Tensor,
        k: &Tensor,
        v: &Tensor,
        _res: &Tensor,
        grad: &Tensor,
    ) -> Result<(Option<Tensor>, Option<Tensor>, Option<Tensor>)> {
        go_back([q, k, v], grad, |stored, grad| Ok(WindowInput::of(&self.0, stored)?.gradients(grad)))
    }
}
