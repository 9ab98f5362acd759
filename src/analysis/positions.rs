//! How positions enter attention: rows of a table beside each other, sinusoids with their formula, the turn of a rotary
//! embedding, biases by offset, and how far a run in another order is from the permuted one.

use crate::{
    analysis::attention,
    capture::{AppliedEdit, Capture, Edit, Matrix, Permute},
    ids::{HeadId, StackKind},
};

/// Queries whose biases are looked at, of a longer text.
const N_QUERIES: usize = 256;
/// Pairs of a layer, of all heads together, over which the effect of the order is taken: of more, evenly spaced queries.
const MOST_PAIRS: usize = 1 << 18;

/// Cosines of the rows of a table `[position, d]` with each other: `[position, position]`.
pub fn cosines(rows: &Matrix) -> Option<Matrix> {
    let n = rows.n_rows();
    let dot = |a: &[f32], b: &[f32]| -> f64 { a.iter().zip(b).map(|(a, b)| f64::from(*a) * f64::from(*b)).sum() };
    let norms: Vec<f64> = rows.rows().map(|row| dot(row, row).sqrt()).collect();
    let cosine = |a: usize, b: usize| {
        let [x, y] = [a, b].map(|at| rows.row(at).unwrap_or_default());
        let norm = norms[a] * norms[b];
        if norm > 0.0 { (dot(x, y) / norm) as f32 } else { 0.0 }
    };
    let values: Vec<f32> = (0..n * n).map(|at| cosine(at / n, at % n)).collect();
    Matrix::new(values, [n, n]).ok()
}

/// The mean of a square matrix by how far row and column are apart, from 0 on.
pub fn by_distance(square: &Matrix) -> Vec<f64> {
    let n = square.n_rows();
    let of = |distance: usize| {
        let pairs = (0..n - distance).filter_map(|at| square.row(at)?.get(at + distance).copied());
        pairs.map(f64::from).sum::<f64>() / (n - distance) as f64
    };
    (0..n).map(of).collect()
}

/// Sines and cosines of positions (Vaswani et al. 2017): `sin(p / 10000^(2i/d))` in dimension `2i`, the cosine in
/// `2i + 1`; `[n, d]`.
pub fn sinusoids(n: usize, d: usize) -> Option<Matrix> {
    let value = |at: usize| {
        let (position, dim) = (at / d, at % d);
        let angle = position as f64 / 10_000f64.powf((dim - dim % 2) as f64 / d as f64);
        (if dim.is_multiple_of(2) { angle.sin() } else { angle.cos() }) as f32
    };
    Matrix::new((0..n * d).map(value).collect::<Vec<_>>(), [n, d]).ok()
}

/// What is left of the product of two equal vectors whose tokens are `offset` positions apart, as a part of 1, when every
/// pair of dimensions is turned: the mean of `cos(θ offset)`.
pub fn left_after_turning(frequencies: &[f32], offset: usize) -> f64 {
    let turned = frequencies.iter().map(|frequency| (f64::from(*frequency) * offset as f64).cos());
    turned.sum::<f64>() / frequencies.len().max(1) as f64
}

/// The bias on scores at one offset between key and query, less the bias on the query's own position: softmax does not
/// see what all keys of a row have.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OffsetBias {
    /// Key minus query.
    pub offset: isize,
    pub least: f32,
    pub mean: f32,
    pub most: f32,
}

/// The recorded bias of a head by offset, in order, of keys that the mask shows; `None` without one. Of a long text the last queries are looked at.
pub fn bias_by_offset(capture: &Capture, head: HeadId) -> Option<Vec<OffsetBias>> {
    let layer = capture.layer(head)?;
    let [n_query, n_key] = [capture.query_tokens(head.stack).len(), capture.key_tokens(head.stack).len()];
    let own = |query: usize| (query + n_key).checked_sub(n_query);
    let mask = capture.model().mask_of(head)?;
    let mut sums = vec![(f32::INFINITY, 0.0_f64, f32::NEG_INFINITY, 0_usize); 2 * n_key];
    for query in n_query.saturating_sub(N_QUERIES)..n_query {
        let row = layer.bias_row(head.head, query, [n_query, n_key])?;
        let own = own(query)?;
        for key in mask.visible(query, n_query, n_key) {
            let value = row.get(key)? - row.get(own)?;
            let (least, sum, most, n) = &mut sums[key + n_key - own];
            (*least, *most) = (least.min(value), most.max(value));
            (*sum, *n) = (*sum + f64::from(value), *n + 1);
        }
    }
    let at = |(idx, (least, sum, most, n)): (usize, (f32, f64, f32, usize))| OffsetBias {
        offset: idx as isize - n_key as isize,
        least,
        mean: (sum / n as f64) as f32,
        most,
    };
    Some(sums.into_iter().enumerate().filter(|(_, (.., n))| *n > 0).map(at).collect())
}

/// How far the patterns of a layer are from those of the other run with rows and columns in the new order.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct OrderEffect {
    /// Largest difference of a weight.
    pub largest: f32,
    /// Half the sum of the differences of a row, on average over queries and heads: 0 where order means nothing, at most 1.
    pub variation: f32,
}

/// The permutation that a run was made with; `None` where tokens stand in the order of the text.
pub fn permutation(capture: &Capture) -> Option<&Permute> {
    capture
        .computation()
        .edits
        .iter()
        .filter_map(AppliedEdit::known)
        .find_map(|edit| if let Edit::Permute(permute) = edit { Some(permute) } else { None })
}

/// For each layer of a stack, the effect of the order of tokens: `A(P x)` of a permuted run beside `P A(x) Pᵀ` of the
/// same run in the order of the text; of a long text of evenly spaced queries. `None` where neither run or both are permuted, or patterns are not there.
pub fn effect_of_order(a: &Capture, b: &Capture, stack: StackKind) -> Option<Vec<OrderEffect>> {
    let (plain, permuted, permute) = match (permutation(a), permutation(b)) {
        (None, Some(permute)) => (a, b, permute),
        (Some(permute), None) => (b, a, permute),
        _ => return None,
    };
    let rest = |capture: &Capture| {
        let edits = &capture.computation().edits;
        edits.iter().filter(|edit| edit.known() != Some(&Edit::Permute(permute.clone()))).cloned().collect::<Vec<_>>()
    };
    if rest(plain) != rest(permuted) {
        return None;
    }
    let places = permute.order.places(plain.tokens(permute.side));
    let n_layers = plain.model().stack(stack)?.layers.len();
    let old = |at: usize, is_permuted: bool| if is_permuted { places.get(at).copied() } else { Some(at) };
    let [queries_move, keys_move] = [stack.query_side(), stack.key_side()].map(|side| side == permute.side);
    let of_layer = |layer: usize| {
        let (mut largest, mut sum, mut n) = (0.0_f32, 0.0_f64, 0_usize);
        let n_heads = plain.model().stack(stack)?.n_heads(layer);
        let n_pairs = n_heads * plain.query_tokens(stack).len() * plain.key_tokens(stack).len();
        for head in 0..n_heads {
            let head = HeadId { stack, layer, head };
            let row_of = |capture, query: usize| attention::pattern_rows(capture, head, query..query + 1);
            for query in (0..plain.query_tokens(stack).len()).step_by(n_pairs.div_ceil(MOST_PAIRS).max(1)) {
                let (row, expected) = (row_of(permuted, query)?, row_of(plain, old(query, queries_move)?)?);
                let (row, expected) = (row.as_slice(), expected.as_slice());
                for (key, weight) in row.iter().enumerate() {
                    let apart = (weight - expected.get(old(key, keys_move)?)?).abs();
                    largest = largest.max(apart);
                    sum += f64::from(apart) / 2.0;
                }
                n += 1;
            }
        }
        Some(OrderEffect { largest, variation: (sum / n.max(1) as f64) as f32 })
    };
    (0..n_layers).map(of_layer).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sinusoids_are_those_of_the_formula_and_their_cosines_go_by_distance() {
        let rows = sinusoids(12, 8).unwrap();
        assert_eq!(rows.row(0).unwrap(), [0.0, 1.0, 0.0, 1.0, 0.0, 1.0, 0.0, 1.0]);
        let third = rows.row(3).unwrap();
        assert!((third[2] - 0.3_f32.sin()).abs() < 1e-6 && (third[3] - 0.3_f32.cos()).abs() < 1e-6, "{third:?}");
        let cosines = cosines(&rows).unwrap();
        for at in 0..9 {
            assert!((cosines.row(at).unwrap()[at + 3] - cosines.row(0).unwrap()[3]).abs() < 1e-6);
        }
        // Two sinusoids `offset` apart are as alike as the mean of the cosines of the pairs' angles.
        let frequencies: Vec<f32> = (0..4).map(|pair| 10_000_f32.powf(-pair as f32 / 4.0)).collect();
        let means = by_distance(&cosines);
        for (offset, mean) in means.iter().enumerate() {
            assert!((mean - left_after_turning(&frequencies, offset)).abs() < 1e-5, "{offset}: {mean}");
        }
    }
}
