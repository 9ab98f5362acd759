//! Weights in the order in which gemm's kernel reads them.
//!
//! gemm copies each operand into panels before it multiplies, which for a few hundred tokens costs a
//! quarter of the time. Weights that are used again and again are therefore kept as panels.

use std::{
    ops::Range,
    sync::{
        Mutex, PoisonError,
        atomic::{AtomicBool, Ordering},
    },
};

use candle_core::{CpuStorage, DType, Device, InplaceOp1, Layout, Result, Storage, Tensor, WithDType, bail};
use half::{bf16, f16, slice::HalfFloatSliceExt as _, vec::HalfBitsVecExt as _};
use rayon::prelude::*;

use super::{
    ops::values,
    product::View,
    simd::{self, Level},
};

/// Output columns per panel: the height of gemm's AVX-512 kernel, a multiple of the others'.
pub(super) const PANEL: usize = 64;

/// A format of two bytes, each of whose numbers is one of single precision as well.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Half {
    F16,
    Bf16,
}

/// A number of two bytes.
pub(super) trait Narrow: WithDType {
    /// The number, if it is one of these, bit by bit.
    fn exactly(value: f32) -> Option<Self>;
}

impl Narrow for bf16 {
    fn exactly(value: f32) -> Option<Self> {
        let bits = value.to_bits();
        (bits.trailing_zeros() >= 16).then(|| Self::from_bits((bits >> 16) as u16))
    }
}

impl Narrow for f16 {
    fn exactly(value: f32) -> Option<Self> {
        let narrow = Self::from_f32(value);
        (narrow.to_f32().to_bits() == value.to_bits()).then_some(narrow)
    }
}

/// Numbers of panels as they lie in memory.
#[derive(Clone, Copy)]
pub(super) enum PanelValues<'a> {
    F32(&'a [f32]),
    F16(&'a [f16]),
    Bf16(&'a [bf16]),
}

impl<'a> PanelValues<'a> {
    /// The numbers of a tensor that is contiguous.
    fn of(storage: &'a Storage, layout: &Layout) -> Result<Self> {
        let Storage::Cpu(storage) = storage else { bail!("linear weights are not on the CPU") };
        let Some((start, end)) = layout.contiguous_offsets() else { bail!("panels do not lie side by side") };
        Ok(match storage {
            CpuStorage::F16(values) => Self::F16(&values[start..end]),
            CpuStorage::BF16(values) => Self::Bf16(&values[start..end]),
            _ => Self::F32(values(storage, layout)?),
        })
    }

    /// Whether each number takes the four bytes that the product reads.
    pub const fn is_single(self) -> bool {
        matches!(self, Self::F32(_))
    }

    /// Some of the numbers in single precision; `scratch` is where they are widened if they have to be.
    pub fn widened<'s>(self, part: Range<usize>, scratch: &'s mut Vec<f32>) -> &'s [f32]
    where
        'a: 's,
    {
        if let Self::F32(values) = self {
            return &values[part];
        }
        scratch.resize(part.len(), 0.0);
        match self {
            Self::F32(_) => {}
            Self::F16(values) => values[part].convert_to_f32_slice(scratch),
            Self::Bf16(values) => simd::widen(Level::current(), &values[part], scratch),
        }
        scratch
    }

    /// `out += x · panel` for one row `x` and the panel that begins at `first`, whose last columns may be absent.
    pub fn add_row(self, x: &[f32], first: usize, out: &mut [f32]) {
        let part = first..first + x.len() * PANEL;
        let mut sums = [0.0; PANEL];
        match self {
            Self::F32(values) => simd::row_product(Level::current(), x, &values[part], &mut sums),
            Self::F16(values) => simd::row_product_f16(Level::current(), x, &values[part], &mut sums),
            Self::Bf16(values) => simd::row_product_bf16(Level::current(), x, &values[part], &mut sums),
        }
        for (out, sum) in out.iter_mut().zip(sums) {
            *out += sum;
        }
    }

    fn at(self, idx: usize) -> f32 {
        match self {
            Self::F32(values) => values[idx],
            Self::F16(values) => values[idx].to_f32(),
            Self::Bf16(values) => values[idx].to_f32(),
        }
    }
}

/// Weights as `[n_panels, d_in, PANEL]`, the last panel filled up with zeros; in single precision, or in two bytes each
/// where that changes none of them.
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

    /// Reorders weights `[d_in, d_out]`, or `[d_out, d_in]` when `transposed`. They are kept in the format `half` if all of
    /// them are numbers of it.
    pub fn from_slice(
        data: &[f32],
        (d_in, d_out): (usize, usize),
        transposed: bool,
        half: Option<Half>,
    ) -> Result<Self> {
        if data.len() != d_in * d_out {
            bail!("{} weights for {d_in} inputs and {d_out} outputs", data.len());
        }
        let (row_stride, col_stride) = if transposed { (1, d_in) } else { (d_out, 1) };
        let view = View { data, start: 0, row_stride, col_stride };
        let narrow = match half {
            None => None,
            Some(Half::F16) => Self::narrow::<f16>(view, (d_in, d_out))?,
            Some(Half::Bf16) => Self::narrow::<bf16>(view, (d_in, d_out))?,
        };
        narrow.map_or_else(|| Self::from_view(view, (d_in, d_out)), Ok)
    }

    /// Panels of numbers of two bytes; `None` where a weight is not one of them.
    fn narrow<T: Narrow>(view: View<'_>, (d_in, d_out): (usize, usize)) -> Result<Option<Self>> {
        let n_panels = d_out.div_ceil(PANEL);
        let mut panels = vec![T::zero(); n_panels * d_in * PANEL];
        let is_exact = AtomicBool::new(true);
        let panel = |single: &mut Vec<f32>, (idx, panel): (usize, &mut [T])| {
            if !is_exact.load(Ordering::Relaxed) {
                return;
            }
            single.clear();
            single.resize(panel.len(), 0.0);
            pack(view, d_in, idx * PANEL..d_out.min((idx + 1) * PANEL), single);
            for (narrow, value) in panel.iter_mut().zip(&*single) {
                match T::exactly(*value) {
                    Some(value) => *narrow = value,
                    None => return is_exact.store(false, Ordering::Relaxed),
                }
            }
        };
        panels.par_chunks_exact_mut((d_in * PANEL).max(1)).enumerate().for_each_init(Vec::new, panel);
        if !is_exact.into_inner() {
            return Ok(None);
        }
        Ok(Some(Self { panels: Tensor::from_vec(panels, (n_panels, d_in, PANEL), &Device::Cpu)?, d_out }))
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
        let shape = (d_out, d_in);
        let panels = match taken.0.into_inner().unwrap_or_else(PoisonError::into_inner) {
            Some(CpuStorage::F32(values)) => reordered(values, shape, |rows, panel| {
                pack(View { data: rows, start: 0, row_stride: 1, col_stride: d_in }, d_in, 0..PANEL, panel);
            }),
            Some(CpuStorage::F16(values)) => reordered(values, shape, |rows, panel| turned(rows, d_in, panel)),
            Some(CpuStorage::BF16(values)) => reordered(values, shape, |rows, panel| turned(rows, d_in, panel)),
            _ => bail!("a table was not taken"),
        }?;
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
        let panels = PanelValues::of(&storage, layout)?;
        let mut rows = Vec::with_capacity(outputs.len() * d_in);
        for &output in outputs {
            let (panel, column) = (output as usize / PANEL, output as usize % PANEL);
            if output as usize >= self.d_out {
                bail!("there is no output {output} among {}", self.d_out);
            }
            let start = panel * d_in * PANEL + column;
            rows.extend((0..d_in).map(|dim| panels.at(start + dim * PANEL)));
        }
        Tensor::from_vec(rows, (outputs.len(), d_in), &Device::Cpu)
    }

    /// Hands `f` the numbers, `[n_panels, d_in, PANEL]`.
    pub(super) fn with_values<R>(&self, f: impl FnOnce(PanelValues<'_>) -> R) -> Result<R> {
        let (storage, layout) = self.panels.storage_and_layout();
        Ok(f(PanelValues::of(&storage, layout)?))
    }

    /// Whether each number takes two bytes.
    pub(super) fn is_half(&self) -> bool {
        self.panels.dtype() != DType::F32
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
        wide.narrow(1, 0, self.d_out)?.to_dtype(DType::F32)
    }
}

/// A table `[d_out, d_in]` as panels where it lies; `turn` writes a panel of its rows.
fn reordered<T: WithDType>(
    mut values: Vec<T>,
    (d_out, d_in): (usize, usize),
    turn: impl Fn(&[T], &mut [T]) + Sync,
) -> Result<Tensor> {
    if values.len() != d_out * d_in {
        bail!("a table of {d_out} rows of {d_in} has {} numbers", values.len());
    }
    values.resize(Panels::padded(d_out) * d_in, T::zero());
    values.par_chunks_exact_mut((d_in * PANEL).max(1)).for_each_init(Vec::new, |rows, panel| {
        rows.clear();
        rows.extend_from_slice(panel);
        turn(rows, panel);
    });
    Tensor::from_vec(values, (d_out.div_ceil(PANEL), d_in, PANEL), &Device::Cpu)
}

/// Rows of `d_in` as columns.
fn turned<T: Copy>(rows: &[T], d_in: usize, panel: &mut [T]) {
    for (column, row) in rows.chunks_exact(d_in.max(1)).enumerate() {
        for (dim, value) in row.iter().enumerate() {
            panel[dim * PANEL + column] = *value;
        }
    }
}

/// Takes the numbers out of a tensor.
struct TakeOp(Mutex<Option<CpuStorage>>);

impl InplaceOp1 for TakeOp {
    fn name(&self) -> &'static str {
        "take"
    }

    fn cpu_fwd(&self, storage: &mut CpuStorage, layout: &Layout) -> Result<()> {
        if layout.start_offset() != 0 || !layout.is_contiguous() {
            bail!("a table is part of something else");
        }
        // Zeros that nobody touches take no memory, and keep every view of the table inside its storage.
        let zeros = match &*storage {
            CpuStorage::F32(values) => CpuStorage::F32(vec![0.0; values.len()]),
            // Zeros of numbers that the language does not know would be written one by one.
            CpuStorage::F16(values) => CpuStorage::F16(vec![0u16; values.len()].reinterpret_into()),
            CpuStorage::BF16(values) => CpuStorage::BF16(vec![0u16; values.len()].reinterpret_into()),
            _ => bail!("a table has numbers of another kind"),
        };
        *self.0.lock().unwrap_or_else(PoisonError::into_inner) = Some(std::mem::replace(storage, zeros));
        Ok(())
    }
}

/// Copies columns `columns` of a `[d_in, d_out]` view into a panel.
pub(super) fn pack(weight: View<'_>, d_in: usize, columns: Range<usize>, panel: &mut [f32]) {
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

pub(super) fn weight_view<'a>(storage: &'a Storage, layout: &Layout) -> Result<View<'a>> {
    let Storage::Cpu(CpuStorage::F32(data)) = storage else { bail!("linear weights are not f32 on the CPU") };
    let &[row_stride, col_stride] = layout.stride() else { bail!("linear weights are not a matrix") };
    Ok(View { data, start: layout.start_offset(), row_stride, col_stride })
}
