//! Bias added to scores, kept no larger than it has to be.

use candle_core::{Result, Storage, Tensor, bail};

use super::{
    super::{heads::Views, ops::values},
    block::BiasRows,
};

/// A bias on scores `[heads, n_query, n_key]`.
///
/// Its tensor is `[heads or 1, n_query or 1, n_key]`. One that depends on the distance between query and key alone
/// is `[heads or 1, 1, n_query + n_key − 1]`: the row of query `i` begins at `n_query − 1 − i`, so that no bias of
/// relative positions grows with the square of the length.
#[derive(Clone, Debug)]
pub struct Bias(pub Tensor);

impl Bias {
    /// The same as a tensor that broadcasts to `[heads, n_query, n_key]`.
    pub fn spread(&self, n_query: usize, n_key: usize) -> Result<Tensor> {
        let (n_heads, n_rows, n_cols) = self.0.dims3()?;
        if n_cols == n_key {
            return Ok(self.0.clone());
        }
        if n_rows != 1 || n_cols + 1 != n_query + n_key {
            bail!("a bias {:?} on {n_query} queries and {n_key} keys", self.0.dims());
        }
        let table = self.0.flatten_all()?.to_vec1::<f32>()?;
        let mut rows = Vec::with_capacity(n_heads * n_query * n_key);
        for table in table.chunks_exact(n_cols) {
            for query in 0..n_query {
                rows.extend_from_slice(&table[n_query - 1 - query..][..n_key]);
            }
        }
        Tensor::from_vec(rows, (n_heads, n_query, n_key), self.0.device())
    }

    /// Hands `f` the rows that queries add to their scores.
    pub(super) fn with_rows<R>(
        bias: Option<&Self>,
        q: &Views<'_>,
        n_key: usize,
        f: impl FnOnce(BiasRows<'_>) -> Result<R>,
    ) -> Result<R> {
        let Some(Self(bias)) = bias else { return f(BiasRows::NONE) };
        let (n_heads, n_rows, n_cols) = bias.dims3()?;
        let by_distance = n_cols != n_key && n_rows == 1 && n_cols + 1 == q.n + n_key;
        if ![1, q.n_heads].contains(&n_heads) || ![1, q.n].contains(&n_rows) || !(n_cols == n_key || by_distance) {
            bail!("a bias {:?} on scores {:?}", bias.dims(), [q.n_heads, q.n, n_key]);
        }
        let bias = bias.contiguous()?;
        let (storage, layout) = bias.storage_and_layout();
        let Storage::Cpu(storage) = &*storage else { bail!("the bias is not on the CPU") };
        let (first, row_stride) = match n_rows {
            _ if by_distance => (q.n - 1, -1),
            1 => (0, 0),
            _ => (0, n_key as isize),
        };
        let head_stride = if n_heads == 1 { 0 } else { n_rows * n_cols };
        f(BiasRows { data: values(storage, layout)?, head_stride, first, row_stride })
    }
}
