//! A matrix whose rows stay in the blocks in which a file has them.

use std::{ops::Range, sync::Arc};

use candle_core::{Device, Result, Tensor, bail};
use rayon::prelude::*;

use super::{
    blocks::{BlockType, LONGEST},
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

/// A matrix `[d_out, d_in]` whose rows are blocks, of one type or of several, one after the other.
#[derive(Clone, Debug)]
pub struct BlockRows {
    /// Each part with the number of rows before it.
    parts: Arc<[(usize, BlockPart)]>,
    /// The rows of all parts that this matrix has.
    rows: Range<usize>,
    d_in: usize,
}

impl BlockRows {
    /// Rows of `d_in` numbers.
    ///
    /// # Errors
    /// When rows are not whole blocks, or a part is not whole rows.
    pub fn new(parts: Vec<BlockPart>, d_in: usize) -> Result<Self> {
        let mut placed = Vec::with_capacity(parts.len());
        let mut n_rows = 0;
        for part in parts {
            let row_bytes = d_in / part.kind.n_values().max(1) * part.kind.size_bytes();
            if row_bytes == 0
                || !d_in.is_multiple_of(part.kind.n_values())
                || !part.bytes.len().is_multiple_of(row_bytes)
            {
                bail!("{} bytes of {} are no rows of {d_in} numbers", part.bytes.len(), part.kind.name());
            }
            let n = part.bytes.len() / row_bytes;
            placed.push((n_rows, part));
            n_rows += n;
        }
        Ok(Self { parts: placed.into(), rows: 0..n_rows, d_in })
    }

    /// `(d_in, d_out)`.
    pub const fn dims(&self) -> (usize, usize) {
        (self.d_in, self.rows.end - self.rows.start)
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
        let at = self.parts.partition_point(|(first, _)| *first <= row).saturating_sub(1);
        let Some((first, BlockPart { kind, bytes })) = self.parts.get(at) else { return };
        let bytes_of = |n: usize| n / kind.n_values() * kind.size_bytes();
        let start = (row - first) * bytes_of(self.d_in);
        kind.widen(&bytes[start + bytes_of(inner.start)..start + bytes_of(inner.end)], out);
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
    use crate::model::kernels::{Linear, StoredMatrix};

    /// Blocks with bytes of every kind and small scales.
    fn part(kind: BlockType, n_blocks: usize, scales: &[usize]) -> BlockPart {
        let mut bytes: Vec<u8> =
            (0..n_blocks * kind.size_bytes()).map(|at| ((at * 7919 + at / 251 + 13) % 256) as u8).collect();
        for (idx, block) in bytes.chunks_exact_mut(kind.size_bytes()).enumerate() {
            for at in scales {
                let scale = half::f16::from_f32((idx % 7) as f32 * 1e-3 + 1e-4);
                block[*at..at + 2].copy_from_slice(&scale.to_le_bytes());
            }
        }
        BlockPart { kind, bytes }
    }

    #[test]
    fn products_of_blocks_are_those_of_their_numbers_bit_by_bit() {
        // Two types within a panel, a last panel that is not full, and inputs that are cut within blocks.
        let (d_in, of_first, of_second) = (1792, 40, 110);
        let d_out = of_first + of_second;
        let parts = vec![
            part(BlockType::Q4K, of_first * d_in / 256, &[0, 2]),
            part(BlockType::Q80, of_second * d_in / 32, &[0]),
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
}
