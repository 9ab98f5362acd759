//! Columns of numbers that grow at the end, and the columns of one layer.

use std::ops::Range;

use crate::capture::PerHead;

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

    /// Keeps the rows of these ranges, in this order.
    fn arrange(&mut self, rows: &[Range<usize>]) {
        self.data = self.gather(rows);
    }
}

/// One layer's queries and keys.
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
}

impl LayerColumns {
    /// Empty columns for data of these shapes.
    pub fn like(q: &PerHead, k: &PerHead) -> Self {
        let columns = |data: &PerHead| vec![Column::new(data.shape()[2]); data.shape()[0]];
        let norms = |data: &PerHead| vec![Column::new(1); data.shape()[0]];
        Self { q: columns(q), q_norms: norms(q), k: columns(k), k_norms: norms(k) }
    }

    pub fn size_bytes(&self) -> u64 {
        self.all().map(Column::size_bytes).sum()
    }

    /// Bytes by which the allocations grow for so many more queries and keys.
    pub fn growth_bytes(&self, (n_query, n_key): (usize, usize), slack: bool) -> u64 {
        let queries = self.q.iter().chain(&self.q_norms).map(|column| column.growth(n_query, slack));
        let keys = self.k.iter().chain(&self.k_norms).map(|column| column.growth(n_key, slack));
        (queries.chain(keys).sum::<usize>() * size_of::<f32>()) as u64
    }

    pub fn grow(&mut self, (n_query, n_key): (usize, usize), slack: bool) {
        self.q.iter_mut().chain(&mut self.q_norms).for_each(|column| column.grow(n_query, slack));
        self.k.iter_mut().chain(&mut self.k_norms).for_each(|column| column.grow(n_key, slack));
    }

    /// Whether data of these shapes can be added.
    pub fn fits(&self, q: &PerHead, k: &PerHead) -> bool {
        let same = |columns: &[Column], data: &PerHead| {
            let [n_heads, _, width] = data.shape();
            columns.len() == n_heads && columns.iter().all(|column| column.width == width)
        };
        same(&self.q, q) && same(&self.k, k)
    }

    /// Adds the rows of one input.
    pub fn extend(&mut self, q: &PerHead, k: &PerHead) {
        extend(&mut self.q, &mut self.q_norms, q);
        extend(&mut self.k, &mut self.k_norms, k);
    }

    /// Keeps these rows, in this order.
    pub fn arrange(&mut self, queries: &[Range<usize>], keys: &[Range<usize>]) {
        self.q.iter_mut().chain(&mut self.q_norms).for_each(|column| column.arrange(queries));
        self.k.iter_mut().chain(&mut self.k_norms).for_each(|column| column.arrange(keys));
    }

    fn all(&self) -> impl Iterator<Item = &Column> {
        self.q.iter().chain(&self.q_norms).chain(&self.k).chain(&self.k_norms)
    }
}

fn extend(columns: &mut [Column], norms: &mut [Column], data: &PerHead) {
    for (head, (column, norms)) in columns.iter_mut().zip(norms).enumerate() {
        let Some(rows) = data.head(head) else { continue };
        column.data.extend_from_slice(rows.as_slice());
        norms.data.extend(rows.rows().map(norm));
    }
}

/// Euclidean length.
fn norm(row: &[f32]) -> f32 {
    row.iter().map(|x| f64::from(*x).powi(2)).sum::<f64>().sqrt() as f32
}
