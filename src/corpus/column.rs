//! Columns of numbers that grow at the end, and the columns of one layer.

use std::ops::Range;

use super::Kept;
use crate::capture::{LayerCapture, Matrix, PerHead};

/// A column that has to grow gets room for this part of what it holds besides.
const SLACK: usize = 4;

/// Rows of `width` numbers each.
#[derive(Clone, Debug)]
pub(super) struct Column {
    data: Vec<f32>,
    width: usize,
}

impl Column {
    pub const fn new(width: usize) -> Self {
        Self { data: Vec::new(), width }
    }

    pub const fn as_slice(&self) -> &[f32] {
        self.data.as_slice()
    }

    pub const fn width(&self) -> usize {
        self.width
    }

    pub const fn size_bytes(&self) -> u64 {
        (self.data.capacity() * size_of::<f32>()) as u64
    }

    /// Values by which the allocation grows when `n_rows` are added.
    fn growth(&self, n_rows: usize, slack: bool) -> usize {
        let added = n_rows * self.width;
        let free = self.data.capacity() - self.data.len();
        if added <= free {
            return 0;
        }
        let missing = added - free;
        if slack { missing.max(self.data.len() / SLACK) } else { missing }
    }

    /// Room for `n_rows` more.
    pub fn grow(&mut self, n_rows: usize, slack: bool) {
        let growth = self.growth(n_rows, slack);
        if growth > 0 {
            let free = self.data.capacity() - self.data.len();
            self.data.reserve_exact(free + growth);
        }
    }

    /// The rows of these ranges, one after the other.
    pub fn gather(&self, rows: &[Range<usize>]) -> Vec<f32> {
        let mut gathered = Vec::with_capacity(rows.iter().map(ExactSizeIterator::len).sum::<usize>() * self.width);
        for rows in rows {
            gathered.extend_from_slice(&self.data[rows.start * self.width..rows.end * self.width]);
        }
        gathered
    }

    /// The same as a matrix.
    pub fn rows(&self, rows: &[Range<usize>]) -> Option<Matrix> {
        let n = rows.iter().map(ExactSizeIterator::len).sum();
        Matrix::new(self.gather(rows), [n, self.width]).ok()
    }

    /// Whether the rows of a matrix can be added.
    pub const fn fits(&self, rows: &Matrix) -> bool {
        self.width == rows.n_cols()
    }

    /// Adds whole rows.
    pub fn extend(&mut self, rows: &[f32]) {
        self.data.extend_from_slice(rows);
    }

    /// Bytes by which the allocation grows when `n_rows` are added.
    pub fn growth_bytes(&self, n_rows: usize, slack: bool) -> u64 {
        (self.growth(n_rows, slack) * size_of::<f32>()) as u64
    }

    /// Keeps the rows of these ranges, in this order.
    pub fn arrange(&mut self, rows: &[Range<usize>]) {
        self.data = self.gather(rows);
    }
}

/// What one input has of a layer.
#[derive(Clone, Copy, Debug)]
pub(super) struct LayerRows<'a> {
    q: &'a PerHead,
    k: &'a PerHead,
    v: Option<&'a PerHead>,
    stream: Option<&'a Matrix>,
}

impl<'a> LayerRows<'a> {
    /// `None` without queries and keys.
    pub fn of(layer: &'a LayerCapture) -> Option<Self> {
        let (q, k) = layer.q().zip(layer.k())?;
        Some(Self { q, k, v: layer.v(), stream: layer.resid_pre() })
    }
}

/// One layer's queries and keys, and what else is kept of it.
#[derive(Clone, Debug)]
pub(super) struct LayerColumns {
    /// Per head, rows of `d_head`.
    pub q: Vec<Column>,
    /// Per head, one length a row.
    pub q_norms: Vec<Column>,
    /// Per key/value head, rows of `d_head`.
    pub k: Vec<Column>,
    /// Per key/value head, one length a row.
    pub k_norms: Vec<Column>,
    /// Per key/value head, rows of `d_head`; none where values are not kept.
    pub v: Vec<Column>,
    /// The residual stream before the layer, where that is kept.
    pub stream: Option<Column>,
}

impl LayerColumns {
    /// Empty columns for such rows.
    pub fn like(rows: LayerRows<'_>, kept: Kept) -> Self {
        let columns = |data: &PerHead| vec![Column::new(data.shape()[2]); data.shape()[0]];
        let norms = |data: &PerHead| vec![Column::new(1); data.shape()[0]];
        let LayerRows { q, k, v, stream } = rows;
        Self {
            q: columns(q),
            q_norms: norms(q),
            k: columns(k),
            k_norms: norms(k),
            v: v.filter(|_| kept.values).map(columns).unwrap_or_default(),
            stream: stream.filter(|_| kept.residual).map(|stream| Column::new(stream.n_cols())),
        }
    }

    pub fn size_bytes(&self) -> u64 {
        self.of_queries().chain(self.of_keys()).map(Column::size_bytes).sum()
    }

    /// Bytes by which the allocations grow for so many more queries and keys.
    pub fn growth_bytes(&self, (n_query, n_key): (usize, usize), slack: bool) -> u64 {
        let queries = self.of_queries().map(|column| column.growth_bytes(n_query, slack));
        queries.chain(self.of_keys().map(|column| column.growth_bytes(n_key, slack))).sum()
    }

    pub fn grow(&mut self, (n_query, n_key): (usize, usize), slack: bool) {
        let [queries, keys] = self.by_side();
        for (columns, n_rows) in [(queries, n_query), (keys, n_key)] {
            for column in columns {
                column.grow(n_rows, slack);
            }
        }
    }

    /// Whether such rows can be added.
    pub fn fits(&self, LayerRows { q, k, v, stream }: LayerRows<'_>) -> bool {
        let same = |columns: &[Column], data: &PerHead| {
            let [n_heads, _, width] = data.shape();
            columns.len() == n_heads && columns.iter().all(|column| column.width == width)
        };
        same(&self.q, q)
            && same(&self.k, k)
            && (self.v.is_empty() || v.is_some_and(|v| same(&self.v, v)))
            && self.stream.as_ref().is_none_or(|column| stream.is_some_and(|stream| column.fits(stream)))
    }

    /// Adds the rows of one input.
    pub fn extend(&mut self, LayerRows { q, k, v, stream }: LayerRows<'_>) {
        extend(&mut self.q, &mut self.q_norms, q);
        extend(&mut self.k, &mut self.k_norms, k);
        for (head, column) in self.v.iter_mut().enumerate() {
            if let Some(rows) = v.and_then(|v| v.head(head)) {
                column.extend(rows.as_slice());
            }
        }
        if let Some((column, rows)) = self.stream.as_mut().zip(stream) {
            column.extend(rows.as_slice());
        }
    }

    /// Keeps these rows, in this order.
    pub fn arrange(&mut self, of_queries: &[Range<usize>], of_keys: &[Range<usize>]) {
        let [queries, keys] = self.by_side();
        for (columns, rows) in [(queries, of_queries), (keys, of_keys)] {
            for column in columns {
                column.arrange(rows);
            }
        }
    }

    /// Columns with a row for each query.
    fn of_queries(&self) -> impl Iterator<Item = &Column> {
        self.q.iter().chain(&self.q_norms).chain(&self.stream)
    }

    /// Columns with a row for each key.
    fn of_keys(&self) -> impl Iterator<Item = &Column> {
        self.k.iter().chain(&self.k_norms).chain(&self.v)
    }

    /// Columns with a row for each query, and for each key.
    fn by_side(&mut self) -> [Vec<&mut Column>; 2] {
        let queries = self.q.iter_mut().chain(&mut self.q_norms).chain(&mut self.stream).collect();
        [queries, self.k.iter_mut().chain(&mut self.k_norms).chain(&mut self.v).collect()]
    }
}

fn extend(columns: &mut [Column], norms: &mut [Column], data: &PerHead) {
    for (head, (column, norms)) in columns.iter_mut().zip(norms).enumerate() {
        let Some(rows) = data.head(head) else { continue };
        column.extend(rows.as_slice());
        norms.data.extend(rows.rows().map(norm));
    }
}

/// Euclidean length.
fn norm(row: &[f32]) -> f32 {
    row.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt() as f32
}
