//! A matrix whose rows stay in the blocks in which a file has them.

use std::{ops::Range, sync::Arc};

use candle_core::{Device, Result, Tensor, bail};
use rayon::prelude::*;

use super::{
    blocks::{BlockType, LONGEST},
    code_rows::CodeRows,
    packed::{PANEL, pack},
    product::View,
    simd::{self, Level},
};

/// Rows of one type of blocks.
#[derive(Debug)]
pub struct BlockPart {
    pub kind: BlockType,
    /// Whole blocks, row after row.
    pub bytes: Vec<u8>,
}

impl BlockPart {
    /// Numbers `inner` of a row of `width` numbers; they begin and end with blocks.
    fn widen(&self, (row, width): (usize, usize), inner: Range<usize>, out: &mut [f32]) {
        let bytes_of = |n: usize| n / self.kind.n_values() * self.kind.size_bytes();
        let start = row * bytes_of(width);
        self.kind.widen(&self.bytes[start + bytes_of(inner.start)..start + bytes_of(inner.end)], out);
    }
}

/// Some rows of a matrix, in the form in which a file has them.
#[derive(Debug)]
pub enum RowPart {
    Blocks(BlockPart),
    Codes(CodeRows),
}

impl RowPart {
    /// The number of rows of `width` numbers.
    ///
    /// # Errors
    /// When rows are not whole blocks, or it is not whole rows.
    fn n_rows(&self, width: usize) -> Result<usize> {
        match self {
            Self::Blocks(BlockPart { kind, bytes }) => {
                let row_bytes = width / kind.n_values() * kind.size_bytes();
                if row_bytes == 0 || !width.is_multiple_of(kind.n_values()) || !bytes.len().is_multiple_of(row_bytes) {
                    bail!("{} bytes of {} are no rows of {width} numbers", bytes.len(), kind.name());
                }
                Ok(bytes.len() / row_bytes)
            }
            Self::Codes(codes) if codes.width != width => bail!("rows of {} codes are not of {width}", codes.width),
            Self::Codes(codes) => codes.checked(),
        }
    }

    /// Writes the numbers `inner` of a row of `width` numbers; they begin and end where blocks do.
    pub fn widen(&self, (row, width): (usize, usize), inner: Range<usize>, out: &mut [f32]) {
        match self {
            Self::Blocks(blocks) => blocks.widen((row, width), inner, out),
            Self::Codes(codes) => codes.widen(row, inner, out),
        }
    }

    /// Whether all numbers are finite.
    pub fn is_finite(&self) -> bool {
        match self {
            Self::Blocks(BlockPart { kind, bytes }) => kind.is_finite(bytes),
            Self::Codes(codes) => {
                let n_rows = codes.checked().unwrap_or(0);
                (0..n_rows).into_par_iter().all(|row| codes.is_finite(row))
            }
        }
    }

    /// Some of its rows of `width` numbers, in this order.
    #[must_use]
    pub fn picked(self, rows: &[usize], width: usize) -> Self {
        match self {
            Self::Blocks(BlockPart { kind, bytes }) => {
                let row_bytes = width / kind.n_values() * kind.size_bytes();
                Self::Blocks(BlockPart { kind, bytes: picked(&bytes, rows, row_bytes) })
            }
            Self::Codes(codes) => Self::Codes(codes.picked(rows)),
        }
    }

    /// Bytes of one row of `width` numbers.
    fn row_size_bytes(&self, width: usize) -> usize {
        match self {
            Self::Blocks(BlockPart { kind, .. }) => width / kind.n_values() * kind.size_bytes(),
            Self::Codes(codes) => codes.row_size_bytes(),
        }
    }
}

/// Some rows of `len` members each, one after the other.
pub(super) fn picked<T: Copy>(all: &[T], rows: &[usize], len: usize) -> Vec<T> {
    rows.iter().flat_map(|row| &all[row * len..(row + 1) * len]).copied().collect()
}

/// A matrix `[d_out, d_in]` whose rows are blocks, of one type or of several, one after the other.
#[derive(Clone, Debug)]
pub struct BlockRows {
    parts: Arc<PlacedParts>,
    /// The rows of all parts that this matrix has.
    rows: Range<usize>,
    d_in: usize,
}

#[derive(Debug)]
struct PlacedParts {
    /// Each part with the number of rows before it.
    placed: Vec<(usize, RowPart)>,
    /// What each row of all parts is multiplied by once it is in single precision; none where that is nothing.
    factors: Vec<f32>,
}

impl BlockRows {
    /// Rows of `d_in` numbers.
    ///
    /// # Errors
    /// When rows are not whole blocks, or a part is not whole rows.
    pub fn new(parts: Vec<RowPart>, d_in: usize) -> Result<Self> {
        let mut placed = Vec::with_capacity(parts.len());
        let mut n_rows = 0;
        for part in parts {
            let n = part.n_rows(d_in)?;
            placed.push((n_rows, part));
            n_rows += n;
        }
        Ok(Self { parts: Arc::new(PlacedParts { placed, factors: Vec::new() }), rows: 0..n_rows, d_in })
    }

    /// `(d_in, d_out)`.
    pub const fn dims(&self) -> (usize, usize) {
        (self.d_in, self.rows.end - self.rows.start)
    }

    /// The same rows, each multiplied by a number of its own when it is widened.
    ///
    /// # Errors
    /// When there are not as many factors as rows, or others look at the rows, too.
    pub fn times(self, factors: Vec<f32>) -> Result<Self> {
        let Self { parts, rows, d_in } = self;
        match Arc::into_inner(parts) {
            Some(parts) if parts.factors.is_empty() && rows == (0..factors.len()) => {
                Ok(Self { parts: Arc::new(PlacedParts { factors, ..parts }), rows, d_in })
            }
            _ => bail!("{} factors are not those of {} rows", factors.len(), rows.len()),
        }
    }

    /// Bytes of the blocks of its rows, and of their factors.
    pub fn size_bytes(&self) -> usize {
        let ends = self.parts.placed.iter().skip(1).map(|(first, _)| *first).chain([usize::MAX]);
        let of_part = |((first, part), end): (&(usize, RowPart), usize)| {
            let mine = self.rows.end.min(end).saturating_sub(self.rows.start.max(*first));
            mine * part.row_size_bytes(self.d_in)
        };
        let of_factors = if self.parts.factors.is_empty() { 0 } else { size_of::<f32>() * self.rows.len() };
        self.parts.placed.iter().zip(ends).map(of_part).sum::<usize>() + of_factors
    }

    /// Whether these are the rows of another matrix where they lie.
    pub fn shares(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.parts, &other.parts) && self.rows == other.rows
    }

    /// Some of the rows, without a copy.
    pub fn narrow(&self, rows: Range<usize>) -> Result<Self> {
        if rows.end > self.rows.len() || rows.start > rows.end {
            bail!("there are no rows {rows:?} among {}", self.rows.len());
        }
        Ok(Self { rows: self.rows.start + rows.start..self.rows.start + rows.end, ..self.clone() })
    }

    /// The numbers `inner` of one row, which begin and end with blocks.
    fn widen(&self, row: usize, inner: Range<usize>, out: &mut [f32]) {
        let row = self.rows.start + row;
        let at = self.parts.placed.partition_point(|(first, _)| *first <= row).saturating_sub(1);
        let Some((first, part)) = self.parts.placed.get(at) else { return };
        part.widen((row - first, self.d_in), inner, out);
        if let Some(factor) = self.parts.factors.get(row) {
            for value in out {
                *value *= factor;
            }
        }
    }

    /// Some rows in single precision, `[rows.len(), d_in]`.
    pub fn rows(&self, rows: &[u32]) -> Result<Tensor> {
        let mut values = vec![0.0; rows.len() * self.d_in];
        for (row, out) in rows.iter().zip(values.chunks_exact_mut(self.d_in)) {
            if *row as usize >= self.rows.len() {
                bail!("there is no row {row} among {}", self.rows.len());
            }
            self.widen(*row as usize, 0..self.d_in, out);
        }
        Tensor::from_vec(values, (rows.len(), self.d_in), &Device::Cpu)
    }

    /// All numbers in single precision, `[d_out, d_in]`.
    pub fn all(&self) -> Result<Tensor> {
        let (d_in, d_out) = self.dims();
        let mut values = vec![0.0; d_in * d_out];
        let rows = values.par_chunks_exact_mut(d_in).enumerate();
        rows.for_each(|(row, out)| self.widen(row, 0..d_in, out));
        Tensor::from_vec(values, (d_out, d_in), &Device::Cpu)
    }

    /// The numbers `inner` of the rows `columns` as a panel `[inner.len(), PANEL]`, made in `scratch`; columns beyond the
    /// last row are any numbers.
    pub(super) fn panel<'s>(&self, columns: Range<usize>, inner: Range<usize>, scratch: &'s mut Vec<f32>) -> &'s [f32] {
        // Whole blocks of every type.
        let around = inner.start / LONGEST * LONGEST..inner.end.next_multiple_of(LONGEST).min(self.d_in);
        let width = around.len();
        let n_panel = inner.len() * PANEL;
        scratch.resize(n_panel + columns.len() * width, 0.0);
        let (panel, rows) = scratch.split_at_mut(n_panel);
        for (row, out) in columns.clone().zip(rows.chunks_exact_mut(width.max(1))) {
            self.widen(row, around.clone(), out);
        }
        let view = View { data: rows, start: inner.start - around.start, row_stride: 1, col_stride: width };
        pack(view, inner.len(), 0..columns.len(), panel);
        panel
    }

    /// `out += x · rows` for one row `x` and the rows `columns`, at most a panel of them.
    pub(super) fn add_row(&self, x: &[f32], columns: Range<usize>, scratch: &mut Vec<f32>, out: &mut [f32]) {
        let mut sums = [0.0; PANEL];
        for first in (0..self.d_in).step_by(LONGEST) {
            let inner = first..self.d_in.min(first + LONGEST);
            let panel = self.panel(columns.clone(), inner.clone(), scratch);
            simd::row_product(Level::current(), &x[inner], panel, &mut sums);
        }
        for (out, sum) in out.iter_mut().zip(sums) {
            *out += sum;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::kernels::{CodeWidth, GroupForm, GroupNumbers, Linear, RowTable, ScaleGroups, StoredMatrix};

    /// Blocks with bytes of every kind and small scales.
    fn part(kind: BlockType, n_blocks: usize, scales: &[usize]) -> RowPart {
        let mut bytes: Vec<u8> =
            (0..n_blocks * kind.size_bytes()).map(|at| ((at * 7919 + at / 251 + 13) % 256) as u8).collect();
        for (idx, block) in bytes.chunks_exact_mut(kind.size_bytes()).enumerate() {
            for at in scales {
                let scale = half::f16::from_f32((idx % 7) as f32 * 1e-3 + 1e-4);
                block[*at..at + 2].copy_from_slice(&scale.to_le_bytes());
            }
        }
        RowPart::Blocks(BlockPart { kind, bytes })
    }

    /// Codes of four bits, offsets and scales of every kind.
    fn codes(n_rows: usize, width: usize) -> RowPart {
        let n_groups = n_rows * width.div_ceil(128);
        RowPart::Codes(CodeRows {
            width,
            code_width: CodeWidth::Four,
            codes: (0..n_rows * width / 2).map(|at| ((at * 7919 + at / 251 + 13) % 256) as u8).collect(),
            values: (0..16u8).map(f32::from).collect(),
            form: GroupForm::Centred,
            groups: ScaleGroups::Runs(128),
            scales: GroupNumbers::new((0..n_groups).map(|at| (at % 11) as f32 * 1e-3 + 1e-4).collect()),
            offsets: GroupNumbers::new((0..n_groups).map(|at| (at % 16) as f32).collect()),
        })
    }

    #[test]
    fn products_of_blocks_are_those_of_their_numbers_bit_by_bit() {
        // Three types within a panel, a last panel that is not full, and inputs that are cut within blocks.
        let (d_in, of_first, of_second, of_third) = (1792, 40, 10, 100);
        let d_out = of_first + of_second + of_third;
        let parts = vec![
            part(BlockType::Q4K, of_first * d_in / 256, &[0, 2]),
            codes(of_second, d_in),
            part(BlockType::Q80, of_third * d_in / 32, &[0]),
        ];
        let rows = BlockRows::new(parts, d_in).unwrap();
        let values = rows.all().unwrap().flatten_all().unwrap().to_vec1::<f32>().unwrap();
        let single = StoredMatrix::from_slice(&values, (d_in, d_out), true, None, &Device::Cpu).unwrap();
        let blocks = StoredMatrix::blocks(rows);
        for n in [1, 2, 7, 48, 193, 500] {
            let x: Vec<f32> = (0..n * d_in).map(|at| ((at * 31 + 7) % 113) as f32 / 56.0 - 1.0).collect();
            let x = Tensor::from_vec(x, (n, d_in), &Device::Cpu).unwrap();
            let bits = |weight: &StoredMatrix| -> Vec<u32> {
                let map = Linear { weight: weight.clone(), bias: None };
                let y = map.forward(&x).unwrap().flatten_all().unwrap().to_vec1::<f32>().unwrap();
                y.into_iter().map(f32::to_bits).collect()
            };
            assert_eq!(bits(&single), bits(&blocks), "{n} tokens");
        }
        let all = |x: Tensor| x.flatten_all().unwrap().to_vec1::<f32>().unwrap();
        assert_eq!(all(single.matrix().unwrap()), all(blocks.matrix().unwrap()));
        let some = |weight: &StoredMatrix| all(weight.columns_as_rows(&[0, 149, 39, 40]).unwrap());
        assert_eq!(some(&single), some(&blocks));
        for columns in [64..150, 3..90] {
            let part = |weight: &StoredMatrix| all(weight.columns(columns.clone()).unwrap().matrix().unwrap());
            assert_eq!(part(&single), part(&blocks));
        }
        assert!(BlockRows::new(vec![part(BlockType::Q4K, 7, &[0])], 1793).is_err());
    }

    #[test]
    fn a_table_of_blocks_is_looked_up_and_multiplied_from_one_copy() {
        let d = 256;
        let rows = BlockRows::new(vec![part(BlockType::Q4K, 70, &[0, 2])], d).unwrap();
        let numbers = |x: Tensor| x.flatten_all().unwrap().to_vec1::<f32>().unwrap();
        let values = numbers(rows.all().unwrap());
        let single = RowTable::Numbers(Tensor::from_vec(values.clone(), (70, d), &Device::Cpu).unwrap());
        let table = RowTable::Blocks(rows.clone());
        assert_eq!((table.dims().unwrap(), table.size_bytes()), ((70, d), 70 * 144));
        assert_eq!(numbers(table.rows(&[69, 0, 3]).unwrap()), numbers(single.rows(&[69, 0, 3]).unwrap()));
        assert!(table.rows(&[70]).is_err());
        assert!(table.equals(&single).unwrap() && single.equals(&table).unwrap());
        let other = BlockRows::new(vec![part(BlockType::Q4K, 70, &[0])], d).unwrap();
        assert!(!table.equals(&RowTable::Blocks(other.clone())).unwrap());
        let output = StoredMatrix::tied(&table).unwrap();
        assert!(output.shares(&table) && !output.shares(&RowTable::Blocks(other)) && !output.shares(&single));
        // Rows with factors of their own are those numbers times the factors, in one product.
        let factors: Vec<f32> = (0..70u8).map(|row| f32::from(row) * 0.37 - 3.0).collect();
        let alone = || BlockRows::new(vec![part(BlockType::Q4K, 70, &[0, 2])], d).unwrap();
        let scaled = alone().times(factors.clone()).unwrap();
        let expected: Vec<f32> = values
            .chunks_exact(d)
            .zip(&factors)
            .flat_map(|(row, factor)| row.iter().map(move |x| x * factor))
            .collect();
        assert_eq!(numbers(scaled.all().unwrap()), expected);
        assert_eq!(scaled.narrow(3..5).unwrap().size_bytes(), 2 * (144 + 4));
        assert!(
            alone().times(vec![1.0; 69]).is_err() && rows.clone().times(factors).is_err() && rows.dims() == (d, 70)
        );
    }
}
