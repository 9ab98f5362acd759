//! Similarity of a head to an ideal pattern (Nanda and Bloom 2022): previous token, duplicate, induction.
//!
//! The detectors of [`detect`](crate::analysis::detect) ask what queries do that have something to find;
//! these compare the whole pattern, so that scores can be held against published ones. The pattern itself is
//! never changed: a published code zeroes columns of the cached attention.

use super::{ExplainError, dense::Dense};
use crate::capture::Matrix;

/// An ideal pattern over a sequence of token ids.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Ideal {
    /// All weight on the token before.
    Previous,
    /// Weight on every earlier copy of the token.
    Duplicate,
    /// Weight on every token behind an earlier copy.
    Induction,
}

impl Ideal {
    /// Ones where the pattern has weight, `[n, n]`.
    pub fn pattern(self, tokens: &[u32]) -> Dense {
        let has = |query: usize, key: usize| match self {
            Self::Previous => key + 1 == query,
            Self::Duplicate => key < query && tokens[key] == tokens[query],
            // The copy itself has to be earlier; where it is the token before, its follower is the query.
            Self::Induction => key > 0 && key <= query && tokens[key - 1] == tokens[query],
        };
        Dense::from_fn(tokens.len(), tokens.len(), |query, key| f64::from(u8::from(has(query, key))))
    }
}

/// How a pattern is compared with the ideal one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Measure {
    /// The part of all weight that lies where the ideal pattern has some, `0..=1`.
    Product,
    /// `1 - n · mean |A - D|`, rounded to three decimals as published, `-1..=1`.
    Difference,
}

/// What is left out of the pattern.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Without {
    /// Weight on the first token.
    pub first: bool,
    /// Weight on the query itself.
    pub own: bool,
}

/// The score of a causal pattern `[n, n]` over `tokens`. NaN where all weight is left out.
pub fn score(
    pattern: &Matrix,
    tokens: &[u32],
    ideal: Ideal,
    measure: Measure,
    without: Without,
) -> Result<f64, ExplainError> {
    let n = tokens.len();
    ExplainError::check_shape("the pattern", &[n, n], &pattern.shape())?;
    let mut weights = Dense::from(pattern);
    for (query, row) in weights.rows_mut().enumerate() {
        if without.first
            && let Some(first) = row.first_mut()
        {
            *first = 0.0;
        }
        if without.own {
            row[query] = 0.0;
        }
    }
    let ideal = ideal.pattern(tokens);
    let pairs = || weights.as_slice().iter().zip(ideal.as_slice());
    Ok(match measure {
        Measure::Product => {
            pairs().map(|(weight, ideal)| weight * ideal).sum::<f64>() / weights.as_slice().iter().sum::<f64>()
        }
        Measure::Difference => {
            let sum: f64 = pairs().map(|(weight, ideal)| (weight - ideal).abs()).sum();
            1.0 - (sum / n as f64 * 1000.0).round() / 1000.0
        }
    })
}

#[cfg(test)]
mod tests {
    use super::{super::toy, *};

    const TOKENS: [u32; 7] = [9, 5, 6, 7, 5, 6, 7];

    fn ones(ideal: Ideal) -> Vec<(usize, usize)> {
        let pattern = ideal.pattern(&TOKENS);
        (0..49).map(|at| (at / 7, at % 7)).filter(|&(row, col)| pattern.at(row, col) == 1.0).collect()
    }

    #[test]
    fn ideal_patterns_of_the_worked_example() {
        assert_eq!(ones(Ideal::Duplicate), [(4, 1), (5, 2), (6, 3)]);
        assert_eq!(ones(Ideal::Induction), [(4, 2), (5, 3), (6, 4)]);
        assert_eq!(ones(Ideal::Previous).len(), 6);
    }

    #[test]
    fn scores_of_the_worked_example() {
        let mut pattern = Dense::zeros(7, 7);
        for query in 0..7 {
            let induction = query >= 4;
            pattern.row_mut(query)[0] = if induction { 0.3 } else { 1.0 };
            if induction {
                pattern.row_mut(query)[query - 2] = 0.7;
            }
        }
        let before = pattern.to_matrix();
        let of = |ideal| {
            let score =
                |measure, first| score(&before, &TOKENS, ideal, measure, Without { first, own: false }).unwrap();
            [score(Measure::Product, false), score(Measure::Product, true), score(Measure::Difference, false)]
        };
        toy::assert_near(&of(Ideal::Induction), &[0.3, 1.0, 0.171]);
        toy::assert_near(&of(Ideal::Previous), &[0.142_857, 0.0, -0.571]);
        toy::assert_near(&of(Ideal::Duplicate), &[0.0, 0.0, -0.429]);
        assert_eq!(before, pattern.to_matrix(), "the pattern is left as it was");
        let own = Without { first: false, own: true };
        let unchanged = score(&before, &TOKENS, Ideal::Induction, Measure::Product, own).unwrap();
        // The first query has nothing but itself.
        toy::assert_near(&[unchanged], &[2.1 / 6.0]);
        assert!(score(&before, &TOKENS[1..], Ideal::Induction, Measure::Product, own).is_err());
    }
}
