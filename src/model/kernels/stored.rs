//! The matrix of a linear map as it lies in memory. Nobody else knows the type of its numbers, how they lie, or how
//! many bytes they take: kernels are handed panels and readers rows, in `f32`.

use std::ops::Range;

use candle_core::{CpuStorage, DType, Device, Result, Storage, Tensor};

use half::{bf16, f16};

use super::{
    backend::{has_kernels, is_fused},
    block_rows::BlockRows,
    packed::{Half, Narrow, PANEL, PanelValues, Panels, pack, weight_view},
    product::View,
    row_table::RowTable,
};

/// A table of embeddings in two bytes a number, filled piece by piece from single precision. CPU only.
pub enum NarrowTable {
    F16(Vec<f16>),
    Bf16(Vec<bf16>),
}

impl NarrowTable {
    /// An empty one with room for `shape`.
    pub fn new(half: Half, shape: &[usize]) -> Self {
        // Room for a last whole panel, should it become one with an output map.
        let room = if let &[rows, width] = shape { StoredMatrix::room_of(rows, width) } else { shape.iter().product() };
        match half {
            Half::F16 => Self::F16(Vec::with_capacity(room)),
            Half::Bf16 => Self::Bf16(Vec::with_capacity(room)),
        }
    }

    /// Appends numbers; whether each of them is one of the format.
    pub fn push(&mut self, values: &[f32]) -> bool {
        match self {
            Self::F16(table) => push(table, values),
            Self::Bf16(table) => push(table, values),
        }
    }

    /// All that was appended, in this shape.
    pub fn finish(self, shape: &[usize]) -> Result<Tensor> {
        match self {
            Self::F16(table) => Tensor::from_vec(table, shape, &Device::Cpu),
            Self::Bf16(table) => Tensor::from_vec(table, shape, &Device::Cpu),
        }
    }
}

fn push<T: Narrow>(table: &mut Vec<T>, values: &[f32]) -> bool {
    let before = table.len();
    table.extend(values.iter().map_while(|value| T::exactly(*value)));
    table.len() == before + values.len()
}

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
    /// As a file has it, of fewer bits a number. CPU only.
    Blocks(BlockRows),
}

impl StoredMatrix {
    /// Bytes of so many values once they are stored.
    pub const fn bytes_of(n_values: u64, half: Option<Half>) -> u64 {
        match half {
            None => bytes_of(n_values),
            Some(Half::F16 | Half::Bf16) => n_values.saturating_mul(2),
        }
    }

    /// Values of memory into which a table `[d_out, d_in]` is read that [`Self::owning`] may take over.
    pub const fn room_of(d_out: usize, d_in: usize) -> usize {
        Panels::padded(d_out) * d_in
    }

    /// A matrix that shares `weight` `[d_in, d_out]` with something else, such as a token embedding.
    pub const fn shared(weight: Tensor) -> Self {
        Self(Form::Strided(weight))
    }

    /// A matrix whose outputs are the rows of blocks. CPU only.
    pub const fn blocks(rows: BlockRows) -> Self {
        Self(Form::Blocks(rows))
    }

    /// A matrix of its own: on the CPU `weight` `[d_in, d_out]` is brought into the fastest order.
    pub fn new(weight: Tensor) -> Result<Self> {
        Ok(Self(if is_fused(&weight) { Form::Panels(Panels::new(&weight)?) } else { Form::Strided(weight) }))
    }

    /// A matrix of its own from numbers `[d_in, d_out]`, or `[d_out, d_in]` when `transposed`. On the CPU they are kept in
    /// the two bytes of `half` if all of them are numbers of it: products are the same, bit by bit.
    pub fn from_slice(
        values: &[f32],
        (d_in, d_out): (usize, usize),
        transposed: bool,
        half: Option<Half>,
        device: &Device,
    ) -> Result<Self> {
        Ok(Self(if has_kernels(device) {
            Form::Panels(Panels::from_slice(values, (d_in, d_out), transposed, half)?)
        } else if transposed {
            Form::Strided(Tensor::from_slice(values, (d_out, d_in), device)?.t()?)
        } else {
            Form::Strided(Tensor::from_slice(values, (d_in, d_out), device)?)
        }))
    }

    /// A matrix whose outputs are the rows of `table`, which others look at too.
    pub fn tied(table: &RowTable) -> Result<Self> {
        Ok(match table {
            RowTable::Numbers(table) => Self::shared(table.t()?),
            RowTable::Blocks(rows) => Self::blocks(rows.clone()),
        })
    }

    /// Takes over a table `[d_out, d_in]`: on the CPU numbers are brought into the fastest order where they lie, and no
    /// view of them may be used any more. Blocks stay as they are.
    pub fn owning(table: &RowTable) -> Result<Self> {
        Ok(Self(match table {
            RowTable::Numbers(table) if is_fused(table) => Form::Panels(Panels::taken_from(table)?),
            RowTable::Numbers(table) => Form::Strided(table.t()?),
            RowTable::Blocks(rows) => Form::Blocks(rows.clone()),
        }))
    }

    /// `(d_in, d_out)`.
    pub fn dims(&self) -> Result<(usize, usize)> {
        match &self.0 {
            Form::Strided(weight) => weight.dims2(),
            Form::Panels(panels) => panels.dims(),
            Form::Blocks(rows) => Ok(rows.dims()),
        }
    }

    /// Where the numbers are.
    pub fn device(&self) -> &Device {
        match &self.0 {
            Form::Strided(weight) => weight.device(),
            Form::Panels(panels) => panels.device(),
            Form::Blocks(_) => &Device::Cpu,
        }
    }

    /// The numbers of some outputs, one row each: `[outputs.len(), d_in]`.
    pub fn columns_as_rows(&self, outputs: &[u32]) -> Result<Tensor> {
        match &self.0 {
            Form::Strided(weight) => rows_of(&weight.t()?, outputs),
            Form::Panels(panels) => panels.columns_as_rows(outputs),
            Form::Blocks(rows) => rows.rows(outputs),
        }
    }

    /// Whether the numbers are those of `table` `[d_out, d_in]` itself, seen from the other side.
    pub fn shares(&self, table: &RowTable) -> bool {
        match (&self.0, table) {
            (Form::Strided(weight), RowTable::Numbers(table)) => same_memory(weight, table),
            (Form::Blocks(weight), RowTable::Blocks(table)) => weight.shares(table),
            (Form::Strided(_), RowTable::Blocks(_))
            | (Form::Blocks(_), RowTable::Numbers(_))
            | (Form::Panels(_), RowTable::Numbers(_) | RowTable::Blocks(_)) => false,
        }
    }

    /// Some of the outputs, without a copy when they start where a panel does.
    pub fn columns(&self, columns: Range<usize>) -> Result<Self> {
        Ok(Self(match &self.0 {
            Form::Strided(weight) => Form::Strided(weight.narrow(1, columns.start, columns.len())?),
            Form::Panels(panels) => Form::Panels(panels.columns(columns)?),
            Form::Blocks(rows) => Form::Blocks(rows.narrow(columns)?),
        }))
    }

    /// All numbers as a tensor `[d_in, d_out]`, copied if they are kept in another order.
    pub(in crate::model) fn matrix(&self) -> Result<Tensor> {
        match &self.0 {
            Form::Strided(weight) => weight.to_dtype(DType::F32),
            Form::Panels(panels) => panels.unpacked(),
            Form::Blocks(rows) => rows.all()?.t(),
        }
    }

    /// Whether its numbers take two bytes each.
    pub fn is_half(&self) -> bool {
        match &self.0 {
            Form::Strided(weight) => weight.dtype() != DType::F32,
            Form::Panels(panels) => panels.is_half(),
            Form::Blocks(_) => false,
        }
    }

    /// Hands `f` what the CPU kernel multiplies with.
    pub(super) fn with_source<R>(&self, f: impl FnOnce(Source<'_>) -> R) -> Result<R> {
        match &self.0 {
            Form::Panels(panels) => panels.with_values(|values| f(Source::Panels(values))),
            Form::Blocks(rows) => Ok(f(Source::Blocks(rows))),
            Form::Strided(weight) => {
                let (storage, layout) = weight.storage_and_layout();
                Ok(f(Source::Strided(weight_view(&storage, layout)?)))
            }
        }
    }
}

/// Numbers from which panels `[d_in, PANEL]` are read.
#[derive(Clone, Copy)]
pub(super) enum Source<'a> {
    Panels(PanelValues<'a>),
    Blocks(&'a BlockRows),
    Strided(View<'a>),
}

impl<'a> Source<'a> {
    /// How much a task costs before its product: panels of single precision are there already, those of fewer bits are
    /// widened, others are made.
    pub const fn preparation(self) -> Preparation {
        match self {
            Self::Panels(values) if values.is_single() => Preparation::None,
            Self::Panels(_) | Self::Blocks(_) => Preparation::Widen,
            Self::Strided(_) => Preparation::Pack,
        }
    }

    /// The numbers where they lie, if those of a product of few rows are better read there.
    pub const fn in_place(self) -> Option<View<'a>> {
        match self {
            Self::Panels(_) | Self::Blocks(_) => None,
            Self::Strided(view) => Some(view),
        }
    }

    /// `out += x · weights` for one row `x` and a panel of outputs, all of `columns`, each weight being read once.
    /// Those of any strides are multiplied where they lie instead.
    pub fn add_row(self, x: &[f32], columns: Range<usize>, scratch: &mut Vec<f32>, out: &mut [f32]) {
        match self {
            Self::Panels(values) => values.add_row(x, columns.start * x.len(), out),
            Self::Blocks(rows) => rows.add_row(x, columns, scratch, out),
            Self::Strided(_) => debug_assert!(false, "there are no panels"),
        }
    }

    /// The rows `inner` of a panel of outputs, all of `columns`; `scratch` is where they are made if they are not there.
    pub fn piece<'s>(
        self,
        columns: Range<usize>,
        inner: Range<usize>,
        d_in: usize,
        scratch: &'s mut Vec<f32>,
    ) -> View<'s>
    where
        'a: 's,
    {
        let data = match self {
            Self::Panels(values) => {
                let first = columns.start / PANEL * d_in;
                values.widened((first + inner.start) * PANEL..(first + inner.end) * PANEL, scratch)
            }
            Self::Blocks(rows) => rows.panel(columns, inner, scratch),
            Self::Strided(view) => {
                scratch.resize(inner.len() * PANEL, 0.0);
                pack(view.rows_from(inner.start), inner.len(), columns, scratch);
                &scratch[..]
            }
        };
        View { data, start: 0, row_stride: PANEL, col_stride: 1 }
    }
}

/// What a task does with its weights before it multiplies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Preparation {
    None,
    Widen,
    Pack,
}

/// Some rows of a table in single precision, `[rows.len(), d]`.
pub(super) fn rows_of(table: &Tensor, rows: &[u32]) -> Result<Tensor> {
    table.index_select(&Tensor::new(rows, table.device())?, 0)?.to_dtype(DType::F32)
}

/// Whether two tensors are views of the same numbers, from the first on. CPU only.
pub(super) fn same_memory(a: &Tensor, b: &Tensor) -> bool {
    let start = |x: &Tensor| {
        let (storage, layout) = x.storage_and_layout();
        let at = layout.start_offset();
        match &*storage {
            Storage::Cpu(CpuStorage::F32(data)) => Some(data.get(at..)?.as_ptr().cast::<u8>()),
            Storage::Cpu(CpuStorage::F16(data)) => Some(data.get(at..)?.as_ptr().cast()),
            Storage::Cpu(CpuStorage::BF16(data)) => Some(data.get(at..)?.as_ptr().cast()),
            _ => None,
        }
    };
    start(a).is_some_and(|a| start(b) == Some(a))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::kernels::Linear;

    /// Numbers between −1 and 1 of two bytes each.
    fn numbers(n: usize, half: Half) -> Vec<f32> {
        let of = |at: usize| ((at * 7919 + 13) % 1009) as f32 / 504.5 - 1.0;
        (0..n)
            .map(|at| match half {
                Half::F16 => f16::from_f32(of(at)).to_f32(),
                Half::Bf16 => bf16::from_f32(of(at)).to_f32(),
            })
            .collect()
    }

    #[test]
    fn products_of_two_bytes_a_number_are_those_of_four_bit_by_bit() {
        // More inputs than stay in the cache, panels that are not full, and tokens of one and of several tasks.
        let (d_in, d_out) = (1_700, 150);
        for half in [Half::F16, Half::Bf16] {
            let values = numbers(d_in * d_out, half);
            for transposed in [false, true] {
                let of =
                    |half| StoredMatrix::from_slice(&values, (d_in, d_out), transposed, half, &Device::Cpu).unwrap();
                let (single, narrow) = (of(None), of(Some(half)));
                assert!(narrow.is_half() && !single.is_half());
                let map = |weight: &StoredMatrix| Linear { weight: weight.clone(), bias: None };
                for n in [1, 7, 48, 193, 500] {
                    let x = Tensor::from_vec(numbers(n * d_in, Half::F16), (n, d_in), &Device::Cpu).unwrap();
                    let bits = |weight: &StoredMatrix| -> Vec<u32> {
                        let y = map(weight).forward(&x).unwrap().flatten_all().unwrap().to_vec1::<f32>().unwrap();
                        y.into_iter().map(f32::to_bits).collect()
                    };
                    assert_eq!(bits(&single), bits(&narrow), "{half:?}, {n} tokens");
                }
                let all = |x: Tensor| x.flatten_all().unwrap().to_vec1::<f32>().unwrap();
                assert_eq!(all(single.matrix().unwrap()), all(narrow.matrix().unwrap()));
                let rows = |weight: &StoredMatrix| all(weight.columns_as_rows(&[0, 149, 64]).unwrap());
                assert_eq!(rows(&single), rows(&narrow));
                for columns in [64..150, 3..90] {
                    let part = |weight: &StoredMatrix| all(weight.columns(columns.clone()).unwrap().matrix().unwrap());
                    assert_eq!(part(&single), part(&narrow));
                }
            }
        }
    }

    #[test]
    fn a_matrix_with_another_number_stays_in_single_precision() {
        let mut values = numbers(300, Half::Bf16);
        for half in [Half::F16, Half::Bf16] {
            for odd in [0.1, f32::MIN_POSITIVE / 3.0, 1e30 + 1e23] {
                values[299] = odd;
                let matrix = StoredMatrix::from_slice(&values, (3, 100), false, Some(half), &Device::Cpu).unwrap();
                let kept = matrix.matrix().unwrap().flatten_all().unwrap().to_vec1::<f32>().unwrap();
                assert!(!matrix.is_half() && kept == values, "{odd:e}");
            }
        }
        // Infinities, zeros with a sign and numbers below the normal ones are numbers of both.
        values[0..3].copy_from_slice(&[f32::INFINITY, -0.0, 2f32.powi(-24)]);
        values[299] = 1.0;
        for half in [Half::F16, Half::Bf16] {
            let values: Vec<f32> =
                values.iter().map(|x| f16::from_f32(*x).to_f32()).map(|x| bf16::from_f32(x).to_f32()).collect();
            let matrix = StoredMatrix::from_slice(&values, (3, 100), false, Some(half), &Device::Cpu).unwrap();
            assert!(matrix.is_half());
            let kept = matrix.matrix().unwrap().flatten_all().unwrap().to_vec1::<f32>().unwrap();
            assert!(kept.iter().zip(&values).all(|(a, b)| a.to_bits() == b.to_bits()));
        }
    }
}
