//! Matrices of `f64`, for chains of products whose results are `f32`.

use rayon::prelude::*;

use super::ExplainError;
use crate::capture::{Matrix, PerHead};

/// Products of fewer multiplications stay on the caller's thread.
const FEW: usize = 1 << 18;

/// A row-major matrix.
#[derive(Clone, Debug, PartialEq)]
pub struct Dense {
    values: Vec<f64>,
    n_rows: usize,
    n_cols: usize,
}

impl Dense {
    /// Zeros.
    pub fn zeros(n_rows: usize, n_cols: usize) -> Self {
        Self { values: vec![0.0; n_rows * n_cols], n_rows, n_cols }
    }

    /// Ones on the diagonal.
    pub fn identity(n: usize) -> Self {
        Self::from_fn(n, n, |row, col| f64::from(u8::from(row == col)))
    }

    /// The value of every entry from its row and column.
    pub fn from_fn(n_rows: usize, n_cols: usize, value: impl Fn(usize, usize) -> f64) -> Self {
        let values = (0..n_rows).flat_map(|row| (0..n_cols).map(move |col| (row, col)));
        Self { values: values.map(|(row, col)| value(row, col)).collect(), n_rows, n_cols }
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
    pub fn as_slice(&self) -> &[f64] {
        &self.values
    }

    /// All values, row by row.
    pub fn as_mut_slice(&mut self) -> &mut [f64] {
        &mut self.values
    }

    /// One row; empty where there is none.
    pub fn row(&self, row: usize) -> &[f64] {
        self.values.get(row * self.n_cols..(row + 1) * self.n_cols).unwrap_or(&[])
    }

    /// One row; empty where there is none.
    pub fn row_mut(&mut self, row: usize) -> &mut [f64] {
        self.values.get_mut(row * self.n_cols..(row + 1) * self.n_cols).unwrap_or(&mut [])
    }

    /// All rows.
    pub fn rows(&self) -> impl ExactSizeIterator<Item = &[f64]> {
        self.values.chunks_exact(self.n_cols.max(1))
    }

    /// All rows.
    pub fn rows_mut(&mut self) -> impl ExactSizeIterator<Item = &mut [f64]> {
        self.values.chunks_exact_mut(self.n_cols.max(1))
    }

    /// One value.
    pub fn at(&self, row: usize, col: usize) -> f64 {
        self.values[row * self.n_cols + col]
    }

    /// `self · other`.
    pub fn product(&self, other: &Self) -> Result<Self, ExplainError> {
        ExplainError::check_shape("the factor of a product", &[self.n_cols, other.n_cols], &other.shape())?;
        let mut product = Self::zeros(self.n_rows, other.n_cols);
        let width = other.n_cols.max(1);
        let fill = |(row, out): (usize, &mut [f64])| {
            for (factor, line) in self.row(row).iter().zip(other.rows()).filter(|(factor, _)| **factor != 0.0) {
                for (out, value) in out.iter_mut().zip(line) {
                    *out += factor * value;
                }
            }
        };
        if self.values.len() * other.n_cols < FEW {
            product.values.chunks_exact_mut(width).enumerate().for_each(fill);
        } else {
            product.values.par_chunks_exact_mut(width).enumerate().for_each(fill);
        }
        Ok(product)
    }

    /// Rows as columns.
    #[must_use]
    pub fn transposed(&self) -> Self {
        Self::from_fn(self.n_cols, self.n_rows, |row, col| self.at(col, row))
    }

    /// `self + other`, of the same shape.
    pub fn plus(mut self, other: &Self) -> Result<Self, ExplainError> {
        ExplainError::check_shape("what is added", &self.shape(), &other.shape())?;
        self.values.iter_mut().zip(&other.values).for_each(|(a, b)| *a += b);
        Ok(self)
    }

    /// Every row divided by its sum. Rows that sum to 0 stay 0.
    #[must_use]
    pub fn with_normalised_rows(mut self) -> Self {
        for row in self.rows_mut() {
            let sum: f64 = row.iter().sum();
            if sum != 0.0 {
                for value in row {
                    *value /= sum;
                }
            }
        }
        self
    }

    /// Rounded to `f32`.
    pub fn to_matrix(&self) -> Matrix {
        let values: Vec<f32> = self.values.iter().map(|&value| value as f32).collect();
        // The shape is that of the values.
        Matrix::new(values, self.shape()).unwrap_or_else(|_| unreachable!())
    }
}

impl From<&Matrix> for Dense {
    fn from(matrix: &Matrix) -> Self {
        let [n_rows, n_cols] = matrix.shape();
        Self { values: matrix.as_slice().iter().map(|&value| f64::from(value)).collect(), n_rows, n_cols }
    }
}

/// The sum of products.
pub fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}

/// Values as `f64`.
pub fn wide(values: &[f32]) -> Vec<f64> {
    values.iter().map(|&value| f64::from(value)).collect()
}

/// Values as `f32`.
pub fn narrow(values: &[f64]) -> Vec<f32> {
    values.iter().map(|&value| value as f32).collect()
}

/// Fails unless there is a layer, and all layers have heads, `shape` of the first, and finite values.
/// Answers with `[queries, keys]`.
pub(super) fn check_layers(what: &'static str, layers: &[PerHead]) -> Result<[usize; 2], ExplainError> {
    let Some(first) = layers.first() else { return Err(ExplainError::Nothing(what)) };
    let [_, n_query, n_key] = first.shape();
    for layer in layers {
        let [n_heads, rows, cols] = layer.shape();
        ExplainError::check_shape(what, &[n_heads.max(1), n_query, n_key], &[n_heads, rows, cols])?;
        if !layer.as_slice().iter().all(|value| value.is_finite()) {
            return Err(ExplainError::NotFinite(what));
        }
    }
    if n_query == 0 || n_key == 0 { Err(ExplainError::Nothing("tokens")) } else { Ok([n_query, n_key]) }
}

/// As [`check_layers`], for stacks whose queries and keys are the same tokens. Answers with their number.
pub(super) fn check_square(what: &'static str, layers: &[PerHead]) -> Result<usize, ExplainError> {
    let [n_query, n_key] = check_layers(what, layers)?;
    ExplainError::check_shape(what, &[n_query, n_query], &[n_query, n_key])?;
    Ok(n_query)
}

/// The mean over heads of what `value` makes of the entries of two matrices per head.
pub(super) fn mean_over_heads(
    a: &PerHead,
    b: &PerHead,
    value: impl Fn(f64, f64) -> f64,
) -> Result<Dense, ExplainError> {
    ExplainError::check_shape("the gradient of a layer's attention", &a.shape(), &b.shape())?;
    let [n_heads, n_rows, n_cols] = a.shape();
    let mut mean = Dense::zeros(n_rows, n_cols);
    let size = (n_rows * n_cols).max(1);
    for (a, b) in a.as_slice().chunks_exact(size).zip(b.as_slice().chunks_exact(size)) {
        for (mean, (a, b)) in mean.values.iter_mut().zip(a.iter().zip(b)) {
            *mean += value(f64::from(*a), f64::from(*b)) / n_heads as f64;
        }
    }
    Ok(mean)
}
