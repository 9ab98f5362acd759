//! Scores and patterns of one head: the stored ones, or recomputed from q and k.
//!
//! Recomputing knows scale, cap, bias and mask. A bias is part of the capture; a file that lacks the
//! bias of a biased layer must store its scores or patterns.

use crate::{
    capture::{Capture, Matrix},
    ids::HeadId,
};

/// Keys per packed panel, and queries per block, of [`dots`]: 4 × 8 sums fit the sixteen 128-bit
/// registers that every x86-64 has.
const PANEL: usize = 8;
const BLOCK: usize = 4;

/// One head's scores `[query, key]`, scaled and masked (`-inf` where masked), before softmax.
///
/// `None` when the capture has neither scores nor q and k.
pub fn scores(capture: &Capture, head: HeadId) -> Option<Matrix> {
    if let Some(stored) = capture.layer(head)?.scores.as_ref() {
        return stored.head(head.head);
    }
    scores_from(capture, head)
}

/// [`scores`] computed from q and k even where they are stored.
pub(crate) fn scores_from(capture: &Capture, head: HeadId) -> Option<Matrix> {
    let (q, k) = (capture.q(head)?, capture.k(head)?);
    let stack = capture.model().stack(head.stack)?;
    let layer = stack.layers.get(head.layer)?;
    let bias = match &capture.layer(head)?.bias {
        Some(bias) => Some(bias.head(head.head)?),
        None if layer.biased => return None,
        None => None,
    };
    let (n_query, n_key) = (q.n_rows(), k.n_rows());
    let mut scores = dots(&q, &k)?;
    for (query, row) in scores.chunks_exact_mut(n_key.max(1)).enumerate() {
        for score in row.iter_mut() {
            *score *= layer.scale;
        }
        if let Some(cap) = layer.softcap {
            for score in row.iter_mut() {
                *score = cap * (*score / cap).tanh();
            }
        }
        if let Some(bias) = &bias {
            // A bias of one row holds for every query.
            let bias = bias.row(if bias.n_rows() == 1 { 0 } else { query })?;
            row.iter_mut().zip(bias).for_each(|(score, bias)| *score += bias);
        }
        let visible = layer.mask(stack.causal).visible(query, n_query, n_key);
        row[..visible.start].fill(f32::NEG_INFINITY);
        row[visible.end..].fill(f32::NEG_INFINITY);
    }
    Matrix::new(scores, [n_query, n_key]).ok()
}

/// One cell of [`scores`], without computing the others.
pub fn score(capture: &Capture, head: HeadId, query: usize, key: usize) -> Option<f32> {
    if let Some(stored) = capture.layer(head)?.scores.as_ref() {
        return stored.head(head.head)?.get(query, key);
    }
    let (q, k) = (capture.q(head)?, capture.k(head)?);
    let stack = capture.model().stack(head.stack)?;
    let layer = stack.layers.get(head.layer)?;
    if !layer.mask(stack.causal).visible(query, q.n_rows(), k.n_rows()).contains(&key) {
        return Some(f32::NEG_INFINITY);
    }
    let mut score = q.row(query)?.iter().zip(k.row(key)?).map(|(q, k)| q * k).sum::<f32>() * layer.scale;
    if let Some(cap) = layer.softcap {
        score = cap * (score / cap).tanh();
    }
    match &capture.layer(head)?.bias {
        Some(bias) => {
            let bias = bias.head(head.head)?;
            Some(score + bias.get(if bias.n_rows() == 1 { 0 } else { query }, key)?)
        }
        None if layer.biased => None,
        None => Some(score),
    }
}

/// One head's pattern `[query, key]`: the stored one, or the softmax of its [`scores`].
///
/// `None` when the capture has neither.
pub fn pattern(capture: &Capture, head: HeadId) -> Option<Matrix> {
    capture.stored_pattern(head).or_else(|| softmax(&scores(capture, head)?))
}

/// Whether [`pattern`] can answer, without computing it.
pub fn has_pattern(capture: &Capture, head: HeadId) -> bool {
    capture.layer(head).is_some_and(|layer| {
        let biased = || capture.model().stack(head.stack).and_then(|stack| Some(stack.layers.get(head.layer)?.biased));
        layer.pattern.is_some()
            || layer.scores.is_some()
            || (layer.q.is_some() && layer.k.is_some() && (layer.bias.is_some() || biased() == Some(false)))
    })
}

/// Softmax of every row; a row that is masked everywhere becomes zeros.
///
/// `None` only for a matrix whose shape does not fit its data, which cannot be built.
pub fn softmax(scores: &Matrix) -> Option<Matrix> {
    let mut values = scores.as_slice().to_vec();
    for row in values.chunks_exact_mut(scores.n_cols().max(1)) {
        let max = row.iter().copied().fold(f32::NEG_INFINITY, f32::max);
        if max == f32::NEG_INFINITY {
            row.fill(0.0);
            continue;
        }
        let mut sum = 0.0f64;
        for value in row.iter_mut() {
            *value = (*value - max).exp();
            sum += f64::from(*value);
        }
        let factor = (1.0 / sum) as f32;
        for value in row {
            *value *= factor;
        }
    }
    Matrix::new(values, scores.shape()).ok()
}

/// `q·kᵀ` as `[query, key]` values, unscaled. `None` when the widths differ.
pub(crate) fn dots(q: &Matrix, k: &Matrix) -> Option<Vec<f32>> {
    let d = q.n_cols();
    if d != k.n_cols() {
        return None;
    }
    let (n_query, n_key) = (q.n_rows(), k.n_rows());
    let mut out = vec![0.0f32; n_query * n_key];
    let mut panel = vec![[0.0f32; PANEL]; d];
    let (q, k) = (q.as_slice(), k.as_slice());
    for start in (0..n_key).step_by(PANEL) {
        let width = PANEL.min(n_key - start);
        // Keys interleaved, so that the inner loop reads eight keys' same dimension side by side.
        for (dim, lane) in panel.iter_mut().enumerate() {
            for (j, value) in lane.iter_mut().enumerate() {
                *value = if j < width { k[(start + j) * d + dim] } else { 0.0 };
            }
        }
        let mut query = 0;
        while query + BLOCK <= n_query {
            let rows: [&[f32]; BLOCK] = std::array::from_fn(|r| &q[(query + r) * d..(query + r + 1) * d]);
            let sums = block_dots(rows, &panel);
            for (r, sum) in sums.iter().enumerate() {
                let at = (query + r) * n_key + start;
                out[at..at + width].copy_from_slice(&sum[..width]);
            }
            query += BLOCK;
        }
        for query in query..n_query {
            let sums = block_dots([&q[query * d..(query + 1) * d]], &panel);
            let at = query * n_key + start;
            out[at..at + width].copy_from_slice(&sums[0][..width]);
        }
    }
    Some(out)
}

#[inline]
fn block_dots<const R: usize>(rows: [&[f32]; R], panel: &[[f32; PANEL]]) -> [[f32; PANEL]; R] {
    let mut sums = [[0.0f32; PANEL]; R];
    for (dim, lane) in panel.iter().enumerate() {
        for r in 0..R {
            let x = rows[r][dim];
            for j in 0..PANEL {
                sums[r][j] += x * lane[j];
            }
        }
    }
    sums
}
