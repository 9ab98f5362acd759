//! A table of embeddings as it lies in memory: rows are looked up in it, and it may serve as an output map.

use candle_core::{Device, Result, Tensor};

use super::{
    block_rows::BlockRows,
    stored::{rows_of, same_memory},
};

/// Rows that are in single precision at once while two tables are compared.
const ROWS_AT_ONCE: usize = 1 << 10;

/// Embeddings `[n_rows, d]`.
#[derive(Clone, Debug)]
pub enum RowTable {
    /// One number after the other, perhaps of two bytes each.
    Numbers(Tensor),
    /// In the blocks of a file, of which rows are widened when they are looked up. CPU only.
    Blocks(BlockRows),
}

impl RowTable {
    /// `(n_rows, d)`.
    pub fn dims(&self) -> Result<(usize, usize)> {
        match self {
            Self::Numbers(table) => table.dims2(),
            Self::Blocks(rows) => {
                let (d, n_rows) = rows.dims();
                Ok((n_rows, d))
            }
        }
    }

    /// The number of embeddings.
    pub fn n_rows(&self) -> Result<usize> {
        self.dims().map(|(n_rows, _)| n_rows)
    }

    /// Where the numbers are.
    pub fn device(&self) -> &Device {
        match self {
            Self::Numbers(table) => table.device(),
            Self::Blocks(_) => &Device::Cpu,
        }
    }

    /// Some rows in single precision, `[rows.len(), d]`.
    ///
    /// # Errors
    /// When there is no such row.
    pub fn rows(&self, rows: &[u32]) -> Result<Tensor> {
        match self {
            Self::Numbers(table) => rows_of(table, rows),
            Self::Blocks(blocks) => blocks.rows(rows),
        }
    }

    /// Whether these are the numbers of another table where they lie.
    pub fn shares(&self, other: &Self) -> bool {
        match (self, other) {
            (Self::Numbers(a), Self::Numbers(b)) => same_memory(a, b),
            (Self::Blocks(a), Self::Blocks(b)) => a.shares(b),
            (Self::Numbers(_), Self::Blocks(_)) | (Self::Blocks(_), Self::Numbers(_)) => false,
        }
    }

    /// Bytes that it takes.
    pub fn size_bytes(&self) -> usize {
        match self {
            Self::Numbers(table) => table.elem_count() * table.dtype().size_in_bytes(),
            Self::Blocks(rows) => rows.size_bytes(),
        }
    }

    /// Whether two tables hold the same numbers.
    pub fn equals(&self, other: &Self) -> Result<bool> {
        let (n_rows, d) = self.dims()?;
        if other.dims()? != (n_rows, d) {
            return Ok(false);
        }
        for first in (0..n_rows).step_by(ROWS_AT_ONCE) {
            let rows: Vec<u32> = (first..n_rows.min(first + ROWS_AT_ONCE)).map(|row| row as u32).collect();
            let numbers = |table: &Self| table.rows(&rows)?.flatten_all()?.to_vec1::<f32>();
            if numbers(self)? != numbers(other)? {
                return Ok(false);
            }
        }
        Ok(true)
    }
}
