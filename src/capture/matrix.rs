//! Row-major `f32` storage shared by `Arc`: one matrix, or one matrix per head.

use std::{ops::Range, sync::Arc};

/// Data whose length does not fit the shape it claims to have.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("{what}: {actual} values do not fill the shape {expected:?}")]
pub struct ShapeError {
    pub what: String,
    /// The shape that was claimed.
    pub expected: Vec<usize>,
    /// How many values there were.
    pub actual: usize,
}

/// One matrix per head: `[head, row, column]`, contiguous. Cheap to clone.
#[derive(Clone, Debug, PartialEq)]
pub struct PerHead {
    data: Arc<[f32]>,
    n_heads: usize,
    n_rows: usize,
    n_cols: usize,
}

impl PerHead {
    /// The mean of all heads, `[rows, width]`; `None` without heads.
    pub fn mean(&self) -> Option<Matrix> {
        let [n_heads, n_rows, width] = self.shape();
        let size = n_rows * width;
        let sum = |at: usize| (0..n_heads).map(|head| f64::from(self.as_slice()[head * size + at])).sum::<f64>();
        let mean: Vec<f32> = (0..size).map(|at| (sum(at) / n_heads as f64) as f32).collect();
        Matrix::new(mean, [n_rows, width]).ok().filter(|_| n_heads > 0)
    }

    /// Takes `data` as `[heads, rows, columns]`.
    pub fn new(data: impl Into<Arc<[f32]>>, shape: [usize; 3]) -> Result<Self, ShapeError> {
        let data = data.into();
        check_len("per-head data", &shape, data.len())?;
        let [n_heads, n_rows, n_cols] = shape;
        Ok(Self { data, n_heads, n_rows, n_cols })
    }

    /// The matrix of one head, sharing this storage.
    pub fn head(&self, head: usize) -> Option<Matrix> {
        (head < self.n_heads).then(|| Matrix {
            data: Arc::clone(&self.data),
            offset: head * self.n_rows * self.n_cols,
            n_rows: self.n_rows,
            n_cols: self.n_cols,
        })
    }

    /// `[heads, rows, columns]`.
    pub const fn shape(&self) -> [usize; 3] {
        [self.n_heads, self.n_rows, self.n_cols]
    }

    /// All values, `[head, row, column]`.
    pub fn as_slice(&self) -> &[f32] {
        &self.data
    }

    /// Bytes held by the storage.
    pub fn size_bytes(&self) -> u64 {
        std::mem::size_of_val(&*self.data) as u64
    }
}

/// A row-major matrix, possibly a window into a [`PerHead`]. Cheap to clone.
#[derive(Clone, Debug)]
pub struct Matrix {
    data: Arc<[f32]>,
    offset: usize,
    n_rows: usize,
    n_cols: usize,
}

impl Matrix {
    /// Takes `data` as `[rows, columns]`.
    pub fn new(data: impl Into<Arc<[f32]>>, shape: [usize; 2]) -> Result<Self, ShapeError> {
        let data = data.into();
        check_len("matrix", &shape, data.len())?;
        let [n_rows, n_cols] = shape;
        Ok(Self { data, offset: 0, n_rows, n_cols })
    }

    /// Number of rows.
    pub const fn n_rows(&self) -> usize {
        self.n_rows
    }

    /// Number of columns.
    pub const fn n_cols(&self) -> usize {
        self.n_cols
    }

    /// `[rows, columns]`.
    pub const fn shape(&self) -> [usize; 2] {
        [self.n_rows, self.n_cols]
    }

    /// All values, row by row.
    pub fn as_slice(&self) -> &[f32] {
        &self.data[self.offset..self.offset + self.n_rows * self.n_cols]
    }

    /// One row.
    pub fn row(&self, row: usize) -> Option<&[f32]> {
        (row < self.n_rows).then(|| {
            let start = self.offset + row * self.n_cols;
            &self.data[start..start + self.n_cols]
        })
    }

    /// Some rows, sharing this storage.
    pub fn window(&self, rows: Range<usize>) -> Option<Self> {
        let inside = rows.start <= rows.end && rows.end <= self.n_rows;
        inside.then(|| Self {
            data: Arc::clone(&self.data),
            offset: self.offset + rows.start * self.n_cols,
            n_rows: rows.len(),
            n_cols: self.n_cols,
        })
    }

    /// One value.
    pub fn get(&self, row: usize, col: usize) -> Option<f32> {
        self.row(row)?.get(col).copied()
    }

    /// All rows, from the first.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[f32]> {
        // `max(1)` because a chunk size of zero panics; without columns there are no values to chunk.
        self.as_slice().chunks_exact(self.n_cols.max(1))
    }
}

impl PartialEq for Matrix {
    fn eq(&self, other: &Self) -> bool {
        self.shape() == other.shape() && self.as_slice() == other.as_slice()
    }
}

fn check_len(what: &str, shape: &[usize], actual: usize) -> Result<(), ShapeError> {
    let expected = shape.iter().try_fold(1usize, |product, &n| product.checked_mul(n));
    if expected == Some(actual) {
        Ok(())
    } else {
        Err(ShapeError { what: what.to_owned(), expected: shape.to_vec(), actual })
    }
}
