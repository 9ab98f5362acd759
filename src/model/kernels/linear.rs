//! Linear maps with frozen weights.
//!
//! Weights that are kept as panels are multiplied piece by piece, so that gemm finds nothing to copy, and what has
//! come of a piece goes through bias, residual stream and activation while it is in the cache.

use std::ops::Range;

use candle_core::{CpuStorage, CustomOp1, CustomOp2, Layout, Result, Shape, Storage, Tensor, bail};
use rayon::prelude::*;

use super::{
    Activation, Linear,
    ops::{filled, values},
    packed::PANEL,
    product::{Onto, OutputBuffer, Product, Threads, View},
    simd::{self, Level},
    stored::{Preparation, Source},
};

/// Tokens per product: gemm starts to copy the weights above this.
const TOKENS: usize = 48;
/// Tokens per task at most: enough to make use of a part of a panel that is in the cache; few enough that no thread
/// is long at its last task when the others have none.
pub const TOKENS_PER_TASK: usize = 4 * TOKENS;
/// Inputs that all tokens of a task go through before the next: so much of a panel and of the tokens' values
/// stays in the cache.
const DEPTH: usize = 768;
/// Tokens up to which each goes through the panels alone.
const SINGLE: usize = 2;
/// Tokens below which weights are read where they lie.
const FEW: usize = 8;
/// Multiply–adds below which one thread is faster than several.
const PARALLEL_FROM: usize = 64 * 64 * 64;

/// `x · weight + bias`, and optionally plus a residual stream of the result's shape.
pub(super) struct LinearOp {
    pub map: Linear,
    /// What the result goes through while it is in the cache. Without a gradient.
    pub then: Option<Activation>,
}

impl LinearOp {
    pub const fn of(map: Linear) -> Self {
        Self { map, then: None }
    }

    fn product(&self, x: &[f32], layout: &Layout, residual: Option<&[f32]>) -> Result<(CpuStorage, Shape)> {
        let (d_in, d_out) = self.map.dims()?;
        let &[n, width] = layout.dims() else { bail!("a linear map takes [n, d_in], not {:?}", layout.dims()) };
        if width != d_in || residual.is_some_and(|residual| residual.len() != n * d_out) {
            bail!("a linear map of {d_in} inputs got {:?}", layout.dims());
        }
        let bias = self.map.bias.as_ref().map(Tensor::storage_and_layout);
        let bias = match &bias {
            None => None,
            Some((storage, layout)) => {
                let Storage::Cpu(storage) = &**storage else { bail!("linear weights are not on the CPU") };
                Some(values(storage, layout)?)
            }
        };
        let then = self.then.map(|f| (Level::current(), f));
        let out = self.map.weight.with_source(|source| {
            let fill = |out: &mut [f32]| {
                Job { x, d_in, d_out, n, bias, residual, then, source, target: OutputBuffer::new(out) }.run();
            };
            // SAFETY: the tasks cover all tokens and all panels, and each writes its whole block: the
            // product either overwrites it, or adds to the bias or stream that was written there.
            #[expect(unsafe_code, reason = "large results would otherwise be written twice")]
            unsafe {
                filled(n * d_out, fill)
            }
        })?;
        Ok((CpuStorage::F32(out), Shape::from((n, d_out))))
    }
}

/// One product, cut into tasks of a panel and some tokens each.
struct Job<'a> {
    x: &'a [f32],
    d_in: usize,
    d_out: usize,
    n: usize,
    bias: Option<&'a [f32]>,
    residual: Option<&'a [f32]>,
    then: Option<(Level, Activation)>,
    source: Source<'a>,
    target: OutputBuffer,
}

/// Tokens of each task of a product of `n`: about as many in all of them, so that threads end together, and whole
/// products but for the last.
const fn tokens_per_task(n: usize, most: usize) -> usize {
    let n_tasks = n.div_ceil(most);
    if n_tasks == 0 { TOKENS } else { n.div_ceil(n_tasks).next_multiple_of(TOKENS) }
}

impl Job<'_> {
    fn run(&self) {
        if let Some(weight) = self.source.in_place()
            && self.n < FEW
        {
            // Reordering the weights would cost more than the product.
            self.fill_rows(0..self.n, 0..self.d_out);
            self.product(0..self.n, 0..self.d_out, 0..self.d_in, weight, Threads::All);
            self.activate(0..self.n, 0..self.d_out);
            return;
        }
        let tokens_per_task = match self.source.preparation() {
            Preparation::None => tokens_per_task(self.n, TOKENS_PER_TASK),
            // Twice the tokens for each weight that is widened.
            Preparation::Widen => tokens_per_task(self.n, 2 * TOKENS_PER_TASK),
            // Weights that must be reordered on the way are reordered once, for all tokens.
            Preparation::Pack => self.n.max(1),
        };
        let n_panels = self.d_out.div_ceil(PANEL);
        let n_tasks = n_panels * self.n.div_ceil(tokens_per_task);
        let task = |scratch: &mut Vec<f32>, idx: usize| {
            let first = idx / n_panels * tokens_per_task;
            self.panel(idx % n_panels, first..self.n.min(first + tokens_per_task), scratch);
        };
        if self.n * self.d_in * self.d_out < PARALLEL_FROM || rayon::current_num_threads() == 1 {
            let mut scratch = Vec::new();
            (0..n_tasks).for_each(|idx| task(&mut scratch, idx));
        } else {
            // One at a time: rayon's own pieces are of several, and the last one is waited for.
            (0..n_tasks).into_par_iter().with_max_len(1).for_each_init(Vec::new, task);
        }
    }

    fn panel(&self, idx: usize, tokens: Range<usize>, scratch: &mut Vec<f32>) {
        let columns = idx * PANEL..self.d_out.min((idx + 1) * PANEL);
        if self.n <= SINGLE && self.source.in_place().is_none() {
            // Each weight is read once, and in no other form than that in which it lies.
            for row in tokens {
                self.write_row(row, columns.clone(), |out| {
                    let x = &self.x[row * self.d_in..][..self.d_in];
                    self.source.add_row(x, columns.clone(), scratch, out);
                });
                self.activate(row..row + 1, columns.clone());
            }
            return;
        }
        // A part of the panel stays in the cache while all tokens go by.
        let n_depths = self.d_in.div_ceil(DEPTH).max(1);
        let depth = self.d_in.div_ceil(n_depths).max(1);
        for nth in 0..n_depths {
            let inner = nth * depth..self.d_in.min((nth + 1) * depth);
            let piece = self.source.piece(columns.clone(), inner.clone(), self.d_in, scratch);
            for first in tokens.clone().step_by(TOKENS) {
                let rows = first..tokens.end.min(first + TOKENS);
                if nth == 0 {
                    self.fill_rows(rows.clone(), columns.clone());
                }
                self.product(rows.clone(), columns.clone(), inner.clone(), piece, Threads::One);
                if nth + 1 == n_depths {
                    self.activate(rows, columns.clone());
                }
            }
        }
    }

    /// Writes what the product of one token is added to, and lets `add` add it.
    fn write_row(&self, row: usize, columns: Range<usize>, add: impl FnOnce(&mut [f32])) {
        let start = row * self.d_out + columns.start;
        if self.bias.is_none() && self.residual.is_none() {
            // SAFETY: a task has its rows and columns to itself; the buffer stays until all tasks are done.
            #[expect(unsafe_code, reason = "tasks write disjoint parts of one buffer")]
            unsafe {
                self.target.write(start, (0..columns.len()).map(|_| 0.0));
            }
        }
        self.fill_rows(row..row + 1, columns.clone());
        // SAFETY: as above, and the row has just been written.
        #[expect(unsafe_code, reason = "tasks write disjoint parts of one buffer")]
        add(unsafe { self.target.slice(start, columns.len()) });
    }

    /// Writes what the product is added to.
    fn fill_rows(&self, rows: Range<usize>, columns: Range<usize>) {
        for row in rows {
            let start = row * self.d_out + columns.start;
            let residual = self.residual.map(|residual| &residual[start..start + columns.len()]);
            let bias = self.bias.map(|bias| &bias[columns.clone()]);
            match (residual, bias) {
                // SAFETY: a task has its rows and columns to itself, and `product` keeps the buffer until all
                // tasks are done.
                #[expect(unsafe_code, reason = "tasks write disjoint parts of one buffer")]
                (Some(residual), Some(bias)) => unsafe {
                    self.target.write(start, residual.iter().zip(bias).map(|(residual, bias)| residual + bias));
                },
                // SAFETY: as above.
                #[expect(unsafe_code, reason = "tasks write disjoint parts of one buffer")]
                (Some(values), None) | (None, Some(values)) => unsafe {
                    self.target.write(start, values.iter().copied());
                },
                (None, None) => {}
            }
        }
    }

    /// Sends what has come of some tokens and columns through the activation.
    fn activate(&self, rows: Range<usize>, columns: Range<usize>) {
        let Some((level, f)) = self.then else { return };
        for row in rows {
            // SAFETY: a task has its rows and columns to itself, and has written them; the buffer stays until all
            // tasks are done.
            #[expect(unsafe_code, reason = "tasks write disjoint parts of one buffer")]
            let values = unsafe { self.target.slice(row * self.d_out + columns.start, columns.len()) };
            simd::activate(level, f, values);
        }
    }

    /// Adds the product of some tokens with the weights of some columns, over some inputs, whose first the rows of
    /// `weight` begin with. Each task has its own tokens and columns.
    fn product(
        &self,
        rows: Range<usize>,
        columns: Range<usize>,
        inner: Range<usize>,
        weight: View<'_>,
        threads: Threads,
    ) {
        let x = View { data: self.x, start: 0, row_stride: self.d_in, col_stride: 1 };
        let adds = inner.start > 0 || self.residual.is_some() || self.bias.is_some();
        let product = Product {
            start: rows.start * self.d_out + columns.start,
            row_stride: self.d_out,
            n_rows: rows.len(),
            n_inner: inner.len(),
            n_cols: columns.len(),
            a: x.rows_from(rows.start).columns_from(inner.start),
            b: weight,
            alpha: 1.0,
            onto: if adds { Onto::What } else { Onto::Nothing },
            threads,
        };
        // SAFETY: a task has its rows and columns to itself, `fill_rows` wrote what is added to, and the
        // buffer stays until all tasks are done.
        #[expect(unsafe_code, reason = "tasks write disjoint parts of one buffer")]
        unsafe {
            self.target.product(&product);
        }
    }
}

impl CustomOp1 for LinearOp {
    fn name(&self) -> &'static str {
        "linear"
    }

    fn cpu_fwd(&self, storage: &CpuStorage, layout: &Layout) -> Result<(CpuStorage, Shape)> {
        self.product(values(storage, layout)?, layout, None)
    }

    fn bwd(&self, _x: &Tensor, _res: &Tensor, grad: &Tensor) -> Result<Option<Tensor>> {
        self.map.input_gradient(grad).map(Some)
    }
}

/// [`LinearOp`] with a residual stream as the second argument.
pub(super) struct LinearAddOp(pub LinearOp);

impl CustomOp2 for LinearAddOp {
    fn name(&self) -> &'static str {
        "linear-add"
    }

    fn cpu_fwd(&self, s1: &CpuStorage, l1: &Layout, s2: &CpuStorage, l2: &Layout) -> Result<(CpuStorage, Shape)> {
        self.0.product(values(s1, l1)?, l1, Some(values(s2, l2)?))
    }

    fn bwd(&self, _x: &Tensor, _r: &Tensor, _y: &Tensor, grad: &Tensor) -> Result<(Option<Tensor>, Option<Tensor>)> {
        Ok((Some(self.0.map.input_gradient(grad)?), Some(grad.clone())))
    }
}
