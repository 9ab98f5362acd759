//! Detectors for sequences of tokens.

use std::{collections::BTreeMap, ops::RangeFrom};

use crate::capture::{Matrix, Token};

/// Mean weight at this offset from the query, over the queries that have a key there.
pub fn diagonal(pattern: &Matrix, offset: isize) -> Option<f32> {
    mean(pattern.rows().enumerate().filter_map(|(query, row)| row.get(query.checked_add_signed(offset)?).copied()))
}

/// Mean weight on the query's own position, from query `first` on.
pub fn itself(pattern: &Matrix, first: usize) -> Option<f32> {
    mean(pattern.rows().enumerate().skip(first).filter_map(|(query, row)| row.get(query).copied()))
}

/// The share of queries from `first` on whose largest weight is at one and the same distance from them, other than 0:
/// at the distance that has most (Voita et al. 2019). None of fewer than two queries.
pub fn positional(pattern: &Matrix, first: usize) -> Option<f32> {
    let mut n_at: BTreeMap<isize, usize> = BTreeMap::new();
    let mut n = 0;
    for (query, row) in pattern.rows().enumerate().skip(first) {
        n += 1;
        // Of equal weights none is the largest.
        let most = row.iter().copied().fold(0.0, f32::max);
        let mut largest = row.iter().enumerate().filter(|(_, weight)| **weight == most);
        if let (Some((key, _)), None) = (largest.next(), largest.next())
            && key != query
        {
            *n_at.entry(key as isize - query as isize).or_default() += 1;
        }
    }
    let most = n_at.into_values().max().unwrap_or(0);
    (n > 1).then(|| most as f32 / n as f32)
}

/// Mean over some queries of the weight on all keys that are `wanted`.
pub fn on(pattern: &Matrix, queries: RangeFrom<usize>, wanted: impl Fn(usize) -> bool) -> Option<f32> {
    let sum = |row: &[f32]| row.iter().enumerate().filter(|(key, _)| wanted(*key)).map(|(_, weight)| weight).sum();
    mean(pattern.rows().skip(queries.start).map(sum))
}

/// Mean weight on the tokens `after` places behind earlier copies of the query's token, over the queries
/// that have an earlier copy.
pub fn copies(pattern: &Matrix, tokens: &[Token], after: usize) -> Option<f32> {
    let same = |a: &Token, b: &Token| match (a.id, b.id) {
        (Some(a), Some(b)) => a == b,
        _ => a.text == b.text,
    };
    mean(pattern.rows().enumerate().filter_map(|(query, row)| {
        let token = tokens.get(query)?;
        let earlier = tokens[..query].iter().enumerate().filter(|(_, other)| same(token, other));
        let weights: Vec<f32> = earlier.filter_map(|(copy, _)| row.get(copy + after).copied()).collect();
        (!weights.is_empty()).then(|| weights.iter().sum())
    }))
}

/// Mean of the largest weight of each query, special tokens left out; of both sides what stands from a position on.
pub fn largest(
    pattern: &Matrix,
    (queries, first_query): (&[Token], usize),
    (keys, first_key): (&[Token], usize),
) -> Option<f32> {
    let rows = pattern.rows().zip(queries).skip(first_query).filter(|(_, query)| !query.special);
    mean(rows.filter_map(|(row, _)| {
        let seen = row.iter().zip(keys).skip(first_key).filter(|(_, key)| !key.special);
        seen.map(|(weight, _)| *weight).max_by(f32::total_cmp)
    }))
}

fn mean(values: impl Iterator<Item = f32>) -> Option<f32> {
    let (mut sum, mut n) = (0.0f64, 0usize);
    for value in values {
        sum += f64::from(value);
        n += 1;
    }
    (n > 0).then(|| (sum / n as f64) as f32)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(ids: &[u32]) -> Vec<Token> {
        ids.iter().map(|&id| Token { id: Some(id), ..Token::default() }).collect()
    }

    fn matrix(rows: &[&[f32]]) -> Matrix {
        Matrix::new(rows.concat(), [rows.len(), rows[0].len()]).unwrap()
    }

    fn near(value: Option<f32>, expected: f32) {
        assert!(value.is_some_and(|value| (value - expected).abs() < 1e-6), "{value:?} instead of {expected}");
    }

    /// The tokens of TransformerLens' detector example: 0.7 on the target of induction, the rest on the first.
    #[test]
    fn prefix_matching_counts_queries_with_an_earlier_copy() {
        let tokens = tokens(&[9, 5, 6, 7, 5, 6, 7]);
        let mut rows = vec![vec![0.0; 7]; 7];
        for row in &mut rows {
            row[0] = 1.0;
        }
        for (query, target) in [(4, 2), (5, 3), (6, 4)] {
            (rows[query][0], rows[query][target]) = (0.3, 0.7);
        }
        let rows: Vec<&[f32]> = rows.iter().map(Vec::as_slice).collect();
        near(copies(&matrix(&rows), &tokens, 1), 0.7);
        near(copies(&matrix(&rows), &tokens, 0), 0.0);
        assert_eq!(copies(&matrix(&rows), &self::tokens(&[0, 1, 2, 3, 4, 5, 6]), 1), None, "no token repeats");
    }

    #[test]
    fn diagonals_and_confidence_of_five_tokens() {
        let pattern = matrix(&[
            &[0.5, 0.2, 0.1, 0.1, 0.1],
            &[0.1, 0.1, 0.5, 0.1, 0.2],
            &[0.05, 0.6, 0.1, 0.05, 0.2],
            &[0.1, 0.1, 0.6, 0.1, 0.1],
            &[0.2, 0.1, 0.1, 0.1, 0.5],
        ]);
        // Sums over the diagonals of Clark et al.'s example: 1.3, 0.85 and 1.4.
        near(itself(&pattern, 0), 1.3 / 5.0);
        near(diagonal(&pattern, 1), 0.85 / 4.0);
        near(diagonal(&pattern, -1), 1.4 / 4.0);
        near(on(&pattern, 0.., |key| key == 0), 0.19);
        // The largest weights are 0, +1, −1, −1 and 0 away.
        near(positional(&pattern, 0), 0.4);
        near(positional(&pattern, 1), 0.5);
        assert_eq!(positional(&matrix(&[&[1.0]]), 0), None);
        near(positional(&matrix(&[&[0.5, 0.5], &[0.5, 0.5]]), 0), 0.0);
        let tokens = tokens(&[1, 2, 3, 4, 5]);
        near(largest(&pattern, (&tokens, 0), (&tokens, 0)), (0.5 + 0.5 + 0.6 + 0.6 + 0.5) / 5.0);
    }

    #[test]
    fn what_lies_on_the_first_key_and_on_special_ones_is_no_content() {
        let special = |special: bool| Token { special, ..Token::default() };
        let tokens = [false, false, true, false].map(special);
        let sink =
            matrix(&[&[1.0, 0.0, 0.0, 0.0], &[0.9, 0.1, 0.0, 0.0], &[0.2, 0.1, 0.7, 0.0], &[0.6, 0.1, 0.1, 0.2]]);
        // The second and the last query; the third is special.
        near(largest(&sink, (&tokens, 1), (&tokens, 1)), 0.15);
        let content = matrix(&[&[1.0, 0.0, 0.0, 0.0], &[0.2, 0.8, 0.0, 0.0], &[0.0; 4], &[0.1, 0.6, 0.3, 0.0]]);
        near(largest(&content, (&tokens, 1), (&tokens, 1)), 0.7);
        assert_eq!(largest(&matrix(&[&[1.0]]), (&tokens, 1), (&tokens, 1)), None, "one token sees nothing else");
    }
}
