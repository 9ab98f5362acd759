//! The matrix of a linear map as it lies in memory. Nobody else knows the type of its numbers, how they lie, or how
//! many bytes they take: kernels are handed panels and readers rows, in `f32`.

use std::ops::Range;

use candle_core::{CpuStorage, Device, Result, Storage, Tensor, bail};

use super::{
    ops::values,
    packed::{PANEL, Panels, pack, weight_view},
    product::View,
};

/// Bytes of so many values that are computed.
pub const fn bytes_of(n_values: u64) -> u64 {
    n_values.saturating_mul(size_of::<f32>() as u64)
}

/// A matrix `[d_in, d_out]` with frozen numbers.
#[derive(Clone, Debug)]
pub struct StoredMatrix(Form);

#[derive(Clone, Debug)]
enum Form {
    /// Any strides: a transposed view serves `(out, in)` tables without a copy.
    Strided(Tensor),
    /// In the order in which the CPU kernel reads it.
    Panels(Panels),
}

impl StoredMatrix {
    /// Bytes of so many values once they are stored.
    pub const fn bytes_of(n_values: u64) -> u64 {
        bytes_of(n_values)
    }

    /// Values of memory into which a table `[d_out, d_in]` is read that [`Self::owning`] may take over.
    pub const fn room_of(d_out: usize, d_in: usize) -> usize {
        Panels::padded(d_out) * d_in
    }

    /// A matrix that shares `weight` `[d_in, d_out]` with something else, such as a token embedding.
    pub const fn shared(weight: Tensor) -> Self {
        Self(Form::Strided(weight))
    }

    /// A matrix of its own: on the CPU `weight` `[d_in, d_out]` is brought into the fastest order.
    pub fn new(weight: Tensor) -> Result<Self> {
        Ok(Self(if weight.device().is_cpu() { Form::Panels(Panels::new(&weight)?) } else { Form::Strided(weight) }))
    }

    /// A matrix of its own from numbers `[d_in, d_out]`, or `[d_out, d_in]` when `transposed`.
    pub fn from_slice(
        values: &[f32],
        (d_in, d_out): (usize, usize),
        transposed: bool,
        device: &Device,
    ) -> Result<Self> {
        Ok(Self(if device.is_cpu() {
            Form::Panels(Panels::from_slice(values, (d_in, d_out), transposed)?)
        } else if transposed {
            Form::Strided(Tensor::from_slice(values, (d_out, d_in), device)?.t()?)
        } else {
            Form::Strided(Tensor::from_slice(values, (d_in, d_out), device)?)
        }))
    }

    /// Takes over a table `[d_out, d_in]`: on the CPU it is brought into the fastest order where it lies, and no view of
    /// it may be used any more.
    pub fn owning(table: &Tensor) -> Result<Self> {
        Ok(Self(if table.device().is_cpu() {
            Form::Panels(Panels::taken_from(table)?)
        } else {
            Form::Strided(table.t()?)
        }))
    }

    /// `(d_in, d_out)`.
    pub fn dims(&self) -> Result<(usize, usize)> {
        match &self.0 {
            Form::Strided(weight) => weight.dims2(),
            Form::Panels(panels) => panels.dims(),
        }
    }

    /// Where the numbers are.
    pub fn device(&self) -> &Device {
        match &self.0 {
            Form::Strided(weight) => weight.device(),
            Form::Panels(panels) => panels.device(),
        }
    }

    /// The numbers of some outputs, one row each: `[outputs.len(), d_in]`.
    pub fn columns_as_rows(&self, outputs: &[u32]) -> Result<Tensor> {
        match &self.0 {
            Form::Strided(weight) => weight.t()?.index_select(&Tensor::new(outputs, weight.device())?, 0),
            Form::Panels(panels) => panels.columns_as_rows(outputs),
        }
    }

    /// Whether the numbers are those of `table` `[d_out, d_in]` itself, seen from the other side.
    pub fn shares(&self, table: &Tensor) -> bool {
        match &self.0 {
            Form::Strided(weight) => same_memory(weight, table),
            Form::Panels(_) => false,
        }
    }

    /// Some of the outputs, without a copy when they start where a panel does.
    pub fn columns(&self, columns: Range<usize>) -> Result<Self> {
        Ok(Self(match &self.0 {
            Form::Strided(weight) => Form::Strided(weight.narrow(1, columns.start, columns.len())?),
            Form::Panels(panels) => Form::Panels(panels.columns(columns)?),
        }))
    }

    /// All numbers as a tensor `[d_in, d_out]`, copied if they are kept in another order.
    pub(in crate::model) fn matrix(&self) -> Result<Tensor> {
        match &self.0 {
            Form::Strided(weight) => Ok(weight.clone()),
            Form::Panels(panels) => panels.unpacked(),
        }
    }

    /// Hands `f` what the CPU kernel multiplies with.
    pub(super) fn with_source<R>(&self, f: impl FnOnce(Source<'_>) -> R) -> Result<R> {
        let tensor = match &self.0 {
            Form::Panels(panels) => panels.tensor(),
            Form::Strided(weight) => weight,
        };
        let (storage, layout) = tensor.storage_and_layout();
        Ok(f(match &self.0 {
            Form::Panels(_) => {
                let Storage::Cpu(storage) = &*storage else { bail!("linear weights are not on the CPU") };
                Source::Panels(values(storage, layout)?)
            }
            Form::Strided(_) => Source::Strided(weight_view(&storage, layout)?),
        }))
    }
}

/// Numbers from which panels `[d_in, PANEL]` are read.
#[derive(Clone, Copy)]
pub(super) enum Source<'a> {
    Panels(&'a [f32]),
    Strided(View<'a>),
}

impl<'a> Source<'a> {
    /// Whether panels are there already. Others are made for each task that wants one.
    pub const fn is_packed(self) -> bool {
        matches!(self, Self::Panels(_))
    }

    /// The numbers where they lie, if those of a product of few rows are better read there.
    pub const fn in_place(self) -> Option<View<'a>> {
        match self {
            Self::Panels(_) => None,
            Self::Strided(view) => Some(view),
        }
    }

    /// A panel of outputs, all of `columns`; `scratch` is where it is made if it is not there.
    pub fn panel<'s>(self, columns: Range<usize>, d_in: usize, scratch: &'s mut Vec<f32>) -> View<'s>
    where
        'a: 's,
    {
        let size = d_in * PANEL;
        let data = match self {
            Self::Panels(panels) => &panels[columns.start / PANEL * size..][..size],
            Self::Strided(view) => {
                scratch.resize(size, 0.0);
                pack(view, d_in, columns, scratch);
                &scratch[..]
            }
        };
        View { data, start: 0, row_stride: PANEL, col_stride: 1 }
    }
}

/// Whether two tensors are views of the same numbers, from the first on. CPU only.
fn same_memory(a: &Tensor, b: &Tensor) -> bool {
    let start = |x: &Tensor| {
        let (storage, layout) = x.storage_and_layout();
        match &*storage {
            Storage::Cpu(CpuStorage::F32(data)) => data.get(layout.start_offset()..).map(<[f32]>::as_ptr),
            _ => None,
        }
    };
    start(a).is_some_and(|a| start(b) == Some(a))
}
