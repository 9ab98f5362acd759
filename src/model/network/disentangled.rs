//! The part of attention scores that compares contents with relative positions (DeBERTa, He et al. 2021).

use candle_core::{Result, Tensor};

use crate::{model::kernels, spec::Mask};

/// Vectors of relative positions that queries and keys are compared with, one per bucket of distances.
#[derive(Debug)]
pub(crate) struct Disentangled {
    /// Keys of positions, which queries look for: `[heads, 2 · span, d_head]`.
    pub keys: Option<Tensor>,
    /// Queries of positions, which keys answer: `[heads, 2 · span, d_head]`.
    pub queries: Option<Tensor>,
    pub distances: Distances,
}

/// How distances (query minus key) share the vectors.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Distances {
    /// The distance 0 has this bucket, the first of the second half.
    pub span: usize,
    /// Distance from which all share a bucket, when far ones have logarithmic buckets.
    pub logarithmic: Option<usize>,
}

impl Disentangled {
    /// What is added to the scores.
    ///
    /// # Shapes
    /// - `q`, `k`: `[heads, n, d_head]`, of the same positions
    /// - result: `[heads, n, n]`
    pub fn scores(&self, q: &Tensor, k: &Tensor, scale: f32) -> Result<Tensor> {
        let (n_heads, n, _) = q.dims3()?;
        if k.dim(1)? != n {
            candle_core::bail!("queries and keys of different positions have no distances");
        }
        let buckets = self.distances.buckets(n);
        // The matrix of distances does not change along diagonals: row `i` is a part of the list.
        let rows = |part: fn(usize, usize, usize) -> usize| -> Result<Tensor> {
            let index: Vec<u32> = (0..n * n).map(|at| buckets[part(n, at / n, at % n)]).collect();
            Tensor::from_vec(index, (1, n, n), q.device())?.expand((n_heads, n, n))?.contiguous()
        };
        let to_position = |keys: &Tensor| -> Result<Tensor> {
            let all = kernels::scores(q, keys, scale, Mask::NONE)?;
            all.gather(&rows(|n, query, key| n - 1 + query - key)?, 2)
        };
        let from_position = |queries: &Tensor| -> Result<Tensor> {
            let all = kernels::scores(k, queries, scale, Mask::NONE)?;
            all.gather(&rows(|n, key, query| n - 1 + query - key)?, 2)?.transpose(1, 2)
        };
        match (&self.keys, &self.queries) {
            (Some(keys), Some(queries)) => to_position(keys)? + from_position(queries)?,
            (Some(keys), None) => to_position(keys),
            (None, Some(queries)) => from_position(queries)?.contiguous(),
            (None, None) => Tensor::zeros((n_heads, n, n), q.dtype(), q.device()),
        }
    }
}

impl Distances {
    /// The buckets of all distances among `n` tokens, from `1 − n` up.
    fn buckets(self, n: usize) -> Vec<u32> {
        let last = 2 * self.span as i64 - 1;
        let n = n as i64;
        (1 - n..n).map(|distance| (self.bucket(distance) + self.span as i64).clamp(0, last) as u32).collect()
    }

    /// A distance as it is up to half of the span; beyond, so that the last distance has the last bucket.
    fn bucket(self, distance: i64) -> i64 {
        let half = self.span as i64 / 2;
        let Some(furthest) = self.logarithmic.filter(|_| distance.abs() > half) else { return distance };
        // In single precision, as the reference rounds.
        let (far, half_f) = (distance.abs() as f32, half as f32);
        let end = ((furthest as f64 - 1.0) / half as f64) as f32;
        let steps = ((far / half_f).ln() / end.ln() * (half_f - 1.0)).ceil();
        distance.signum() * (steps as i64 + half)
    }
}
