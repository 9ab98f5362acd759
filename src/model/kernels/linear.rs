//! Linear maps with frozen weights.
//!
//! gemm copies each operand into panels before it multiplies, which for a few hundred tokens costs a
//! quarter of the time. Weights that are used again and again are therefore kept as panels, in the
//! very order in which gemm's kernel reads them, and multiplied piece by piece so that it finds
//! nothing to copy.

use std::{
    ops::Range,
    sync::{Mutex, PoisonError},
};

use candle_core::{CpuStorage, CustomOp1, CustomOp2, Device, InplaceOp1, Layout, Result, Shape, Storage, Tensor, bail};
use rayon::prelude::*;

use super::{
    Linear, Weight,
    ops::{filled, values},
    product::{Onto, Product, Target, Threads, View},
};

/// Output columns per panel: the height of gemm's AVX-512 kernel, a multiple of the others'.
const PANEL: usize = 64;
/// Tokens per product: gemm starts to copy the weights above this.
const TOKENS: usize = 48;
/// Tokens per task: enough to make use of a part of a panel that is in the cache.
pub const TOKENS_PER_TASK: usize = 10 * TOKENS;
/// Inputs that all tokens of a task go through before the next: so much of a panel and of the tokens' values
/// stays in the cache.
const DEPTH: usize = 768;
/// Tokens below which weights are read where they lie.
const FEW: usize = 8;
/// Multiply–adds below which one thread is faster than several.
const PARALLEL_FROM: usize = 64 * 64 * 64;

/// Weights as `[n_panels, d_in, PANEL]`, the last panel filled up with zeros.
#[derive(Clone, Debug)]
pub struct Panels {
    panels: Tensor,
    d_out: usize,
}

impl Panels {
    /// Reorders `[d_in, d_out]` weights of any strides. CPU only.
    pub fn new(weight: &Tensor) -> Result<Self> {
        let (storage, layout) = weight.storage_and_layout();
        Self::from_view(weight_view(&storage, layout)?, weight.dims2()?)
    }

    /// Reorders weights `[d_in, d_out]`, or `[d_out, d_in]` when `transposed`.
    pub fn from_slice(data: &[f32], (d_in, d_out): (usize, usize), transposed: bool) -> Result<Self> {
        if data.len() != d_in * d_out {
            bail!("{} weights for {d_in} inputs and {d_out} outputs", data.len());
        }
        let (row_stride, col_stride) = if transposed { (1, d_in) } else { (d_out, 1) };
        Self::from_view(View { data, start: 0, row_stride, col_stride }, (d_in, d_out))
    }

    /// Outputs up to the end of the last panel.
    pub const fn padded(d_out: usize) -> usize {
        d_out.div_ceil(PANEL) * PANEL
    }

    /// Reorders a table `[d_out, d_in]` where it lies: its numbers are taken out, so that a large vocabulary is
    /// never in memory twice. Views of it stay valid and read zeros from then on.
    pub fn taken_from(table: &Tensor) -> Result<Self> {
        let (d_out, d_in) = table.dims2()?;
        let taken = TakeOp(Mutex::default());
        table.inplace_op1(&taken)?;
        let mut values = taken.0.into_inner().unwrap_or_else(PoisonError::into_inner);
        if values.len() != d_out * d_in {
            bail!("a table of {d_out} rows of {d_in} has {} numbers", values.len());
        }
        values.resize(Self::padded(d_out) * d_in, 0.0);
        values.par_chunks_exact_mut((d_in * PANEL).max(1)).for_each_init(Vec::new, |rows, panel| {
            rows.clear();
            rows.extend_from_slice(panel);
            pack(View { data: rows, start: 0, row_stride: 1, col_stride: d_in }, d_in, 0..PANEL, panel);
        });
        let panels = Tensor::from_vec(values, (d_out.div_ceil(PANEL), d_in, PANEL), &Device::Cpu)?;
        Ok(Self { panels, d_out })
    }

    fn from_view(view: View<'_>, (d_in, d_out): (usize, usize)) -> Result<Self> {
        let n_panels = d_out.div_ceil(PANEL);
        let mut panels = vec![0.0; n_panels * d_in * PANEL];
        panels.par_chunks_exact_mut((d_in * PANEL).max(1)).enumerate().for_each(|(idx, panel)| {
            pack(view, d_in, idx * PANEL..d_out.min((idx + 1) * PANEL), panel);
        });
        Ok(Self { panels: Tensor::from_vec(panels, (n_panels, d_in, PANEL), &Device::Cpu)?, d_out })
    }

    /// Some of the output columns.
    pub(super) fn columns(&self, columns: Range<usize>) -> Result<Self> {
        if !columns.start.is_multiple_of(PANEL) {
            return Self::new(&self.unpacked()?.narrow(1, columns.start, columns.len())?);
        }
        let n_panels = columns.len().div_ceil(PANEL);
        Ok(Self { panels: self.panels.narrow(0, columns.start / PANEL, n_panels)?, d_out: columns.len() })
    }

    /// The weights of some outputs, one row each: `[outputs.len(), d_in]`.
    pub(super) fn columns_as_rows(&self, outputs: &[u32]) -> Result<Tensor> {
        let (_, d_in, _) = self.panels.dims3()?;
        let (storage, layout) = self.panels.storage_and_layout();
        let Storage::Cpu(storage) = &*storage else { bail!("linear weights are not on the CPU") };
        let panels = values(storage, layout)?;
        let mut rows = Vec::with_capacity(outputs.len() * d_in);
        for &output in outputs {
            let (panel, column) = (output as usize / PANEL, output as usize % PANEL);
            if output as usize >= self.d_out {
                bail!("there is no output {output} among {}", self.d_out);
            }
            let start = panel * d_in * PANEL + column;
            rows.extend((0..d_in).map(|dim| panels[start + dim * PANEL]));
        }
        Tensor::from_vec(rows, (outputs.len(), d_in), &Device::Cpu)
    }

    pub(super) fn device(&self) -> &Device {
        self.panels.device()
    }

    pub(super) fn dims(&self) -> Result<(usize, usize)> {
        Ok((self.panels.dim(1)?, self.d_out))
    }

    /// The weights as `[d_in, d_out]`, copied back.
    pub(super) fn unpacked(&self) -> Result<Tensor> {
        let (n_panels, d_in, _) = self.panels.dims3()?;
        let wide = self.panels.permute((1, 0, 2))?.contiguous()?.reshape((d_in, n_panels * PANEL))?;
        wide.narrow(1, 0, self.d_out)
    }
}

/// Takes the numbers out of a tensor.
struct TakeOp(Mutex<Vec<f32>>);

impl InplaceOp1 for TakeOp {
    fn name(&self) -> &'static str {
        "take"
    }

    fn cpu_fwd(&self, storage: &mut CpuStorage, layout: &Layout) -> Result<()> {
        let CpuStorage::F32(values) = storage else { bail!("a table is not f32") };
        if layout.start_offset() != 0 || !layout.is_contiguous() {
            bail!("a table is part of something else");
        }
        // Zeros that nobody touches take no memory, and keep every view of the table inside its storage.
        let zeros = vec![0.0; values.len()];
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = std::mem::replace(values, zeros);
        Ok(())
    }
}

/// Copies columns `columns` of a `[d_in, d_out]` view into a panel.
fn pack(weight: View<'_>, d_in: usize, columns: Range<usize>, panel: &mut [f32]) {
    /// Rows per pass when the weights are stored the other way round: one cache line of each column.
    const BLOCK: usize = 16;
    let n = columns.len();
    if weight.col_stride == 1 {
        for (row, out) in panel.chunks_exact_mut(PANEL).enumerate() {
            let start = weight.start + row * weight.row_stride + columns.start;
            out[..n].copy_from_slice(&weight.data[start..start + n]);
        }
        return;
    }
    for (block, out) in panel.chunks_mut(BLOCK * PANEL).enumerate() {
        let rows = block * BLOCK..d_in.min((block + 1) * BLOCK);
        let start = weight.start + columns.start * weight.col_stride + rows.start * weight.row_stride;
        for col in 0..n {
            let from = &weight.data[start + col * weight.col_stride..];
            // Fixed sizes, so that no index has to be checked.
            let whole: Option<(&[f32; BLOCK], &mut [f32; BLOCK * PANEL])> =
                from.first_chunk().filter(|_| weight.row_stride == 1).zip(out.first_chunk_mut());
            if let Some((from, out)) = whole {
                for row in 0..BLOCK {
                    out[row * PANEL + col % PANEL] = from[row];
                }
            } else {
                for row in 0..rows.len() {
                    out[row * PANEL + col] = from[row * weight.row_stride];
                }
            }
        }
    }
}

fn weight_view<'a>(storage: &'a Storage, layout: &Layout) -> Result<View<'a>> {
    let Storage::Cpu(CpuStorage::F32(data)) = storage else { bail!("linear weights are not f32 on the CPU") };
    let &[row_stride, col_stride] = layout.stride() else { bail!("linear weights are not a matrix") };
    Ok(View { data, start: layout.start_offset(), row_stride, col_stride })
}

/// `x · weight + bias`, and optionally plus a residual stream of the result's shape.
pub(super) struct LinearOp(pub Linear);

impl LinearOp {
    fn product(&self, x: &[f32], layout: &Layout, residual: Option<&[f32]>) -> Result<(CpuStorage, Shape)> {
        let (d_in, d_out) = self.0.dims()?;
        let &[n, width] = layout.dims() else { bail!("a linear map takes [n, d_in], not {:?}", layout.dims()) };
        if width != d_in || residual.is_some_and(|residual| residual.len() != n * d_out) {
            bail!("a linear map of {d_in} inputs got {:?}", layout.dims());
        }
        let bias = self.0.bias.as_ref().map(Tensor::storage_and_layout);
        let bias = match &bias {
            None => None,
            Some((storage, layout)) => {
                let Storage::Cpu(storage) = &**storage else { bail!("linear weights are not on the CPU") };
                Some(values(storage, layout)?)
            }
        };
        let tensor = match &self.0.weight {
            Weight::Panels(panels) => &panels.panels,
            Weight::Strided(weight) => weight,
        };
        let (storage, weight_layout) = tensor.storage_and_layout();
        let source = match &self.0.weight {
            Weight::Panels(_) => {
                let Storage::Cpu(storage) = &*storage else { bail!("linear weights are not on the CPU") };
                Source::Panels(values(storage, weight_layout)?)
            }
            Weight::Strided(_) => Source::Strided(weight_view(&storage, weight_layout)?),
        };
        // SAFETY: the tasks cover all tokens and all panels, and each writes its whole block: the
        // product either overwrites it, or adds to the bias or stream that was written there.
        #[expect(unsafe_code, reason = "large results would otherwise be written twice")]
        let out = unsafe {
            filled(n * d_out, |out| {
                Job { x, d_in, d_out, n, bias, residual, source, target: Target::new(out) }.run();
            })
        };
        Ok((CpuStorage::F32(out), Shape::from((n, d_out))))
    }
}

enum Source<'a> {
    Panels(&'a [f32]),
    Strided(View<'a>),
}

/// One product, cut into tasks of a panel and some tokens each.
struct Job<'a> {
    x: &'a [f32],
    d_in: usize,
    d_out: usize,
    n: usize,
    bias: Option<&'a [f32]>,
    residual: Option<&'a [f32]>,
    source: Source<'a>,
    target: Target,
}

impl Job<'_> {
    fn run(&self) {
        if let Source::Strided(weight) = self.source
            && self.n < FEW
        {
            // Reordering the weights would cost more than the product.
            self.fill_rows(0..self.n, 0..self.d_out);
            self.product(0..self.n, 0..self.d_out, 0..self.d_in, weight, Threads::All);
            return;
        }
        // Weights that must be reordered on the way are reordered once, for all tokens.
        let tokens_per_task = match self.source {
            Source::Panels(_) => TOKENS_PER_TASK,
            Source::Strided(_) => self.n.max(1),
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
            (0..n_tasks).into_par_iter().for_each_init(Vec::new, task);
        }
    }

    fn panel(&self, idx: usize, tokens: Range<usize>, scratch: &mut Vec<f32>) {
        let columns = idx * PANEL..self.d_out.min((idx + 1) * PANEL);
        let size = self.d_in * PANEL;
        let panel = match self.source {
            Source::Panels(panels) => &panels[idx * size..(idx + 1) * size],
            Source::Strided(view) => {
                scratch.resize(size, 0.0);
                pack(view, self.d_in, columns.clone(), scratch);
                &scratch[..]
            }
        };
        let panel = View { data: panel, start: 0, row_stride: PANEL, col_stride: 1 };
        // A part of the panel stays in the cache while all tokens go by.
        let n_depths = self.d_in.div_ceil(DEPTH).max(1);
        let depth = self.d_in.div_ceil(n_depths).max(1);
        for nth in 0..n_depths {
            let inner = nth * depth..self.d_in.min((nth + 1) * depth);
            for first in tokens.clone().step_by(TOKENS) {
                let rows = first..tokens.end.min(first + TOKENS);
                if nth == 0 {
                    self.fill_rows(rows.clone(), columns.clone());
                }
                self.product(rows, columns.clone(), inner.clone(), panel, Threads::One);
            }
        }
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

    /// Adds the product of some tokens with the weights of some columns, over some inputs. Each task has its own
    /// tokens and columns.
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
            b: weight.rows_from(inner.start),
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
        self.0.input_gradient(grad).map(Some)
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
        Ok((Some(self.0.0.input_gradient(grad)?), Some(grad.clone())))
    }
}
