//! Detectors for attention from one sequence to another: where in its order a query looks, and which words it links.
//!
//! A decoder's query holds the token that was written last and writes the next one, so that words are linked in two ways.

use std::collections::HashMap;

use super::{Definition, Detector, KnownToken};
use crate::capture::Matrix;

/// Attention of a decoder to what its encoder read.
const CROSS: &str = "cross-attention";
/// The same where both sequences are texts.
const OF_TEXTS: &str = "cross-attention from one text to another";

pub const LAST: Definition = Definition {
    name: "last",
    title: "Last token",
    meaning: "Weight on the last key of the other sequence, on average: an attention sink where that is no word",
    formula: "mean over i of A[i, last j]",
    threshold: Some((0.6, "as for the first token")),
    applies: CROSS,
};

pub const MONOTONE: Definition = Definition {
    name: "monotone",
    title: "In order",
    meaning: "Correlation of the places of query and key in their sequences: 1 is a straight line through the other sequence, \
              and rows that are all alike, such as uniform ones, have 0",
    formula: "Pearson correlation of i and j, weighted by A[i, j]",
    threshold: Some((0.7, "half of the variance, as r² = 0.49")),
    applies: CROSS,
};

pub const COPIED: Definition = Definition {
    name: "copied",
    title: "Copied token",
    meaning: "Weight on the tokens of the other text that have the text of the query’s own token, on average over the queries \
              that have one: names, numbers and marks",
    formula: "mean over i with a copy of Σ over j with t(j)=t(i) of A[i, j]",
    threshold: Some((0.3, "as for duplicates")),
    applies: OF_TEXTS,
};

pub const COPIED_NEXT: Definition = Definition {
    name: "copied-next",
    title: "Copied token to come",
    meaning: "Weight on the tokens of the other text that have the text of the token behind the query, which the query writes, \
              on average over the queries before such a token",
    formula: "mean over i before a copy of Σ over j with t(j)=t(i+1) of A[i, j]",
    threshold: Some((0.3, "as for duplicates")),
    applies: OF_TEXTS,
};

pub const TRANSLATED: Definition = Definition {
    name: "translated",
    title: "Translated token",
    meaning: "Weight on the token of the other text that goes with the query’s own token: the one with the highest Dice \
              coefficient over the inputs of the corpus, from 0.3 and two common inputs on, on average over the queries that have \
              one (aligned inputs as in Chen et al. 2020)",
    formula: "mean over i with a partner of Σ over j with t(j)=partner(t(i)) of A[i, j]",
    threshold: Some((0.3, "as for duplicates")),
    applies: "cross-attention from one text to another, over a corpus",
};

pub const TRANSLATED_NEXT: Definition = Definition {
    name: "translated-next",
    title: "Translated token to come",
    meaning: "The same of the token behind the query, which the query writes (aligned outputs as in Garg et al. 2019)",
    formula: "mean over i before a token with a partner of Σ over j with t(j)=partner(t(i+1)) of A[i, j]",
    threshold: Some((0.3, "as for duplicates")),
    applies: TRANSLATED.applies,
};

/// Which tokens of two texts belong together in one input.
#[derive(Clone, Debug, Default)]
pub struct LinkedTokens {
    /// By query: the keys with its text.
    copies: Vec<Vec<usize>>,
    /// By query: the keys that go with it over a corpus, where that was counted.
    translations: Vec<Vec<usize>>,
    n_keys: usize,
}

impl LinkedTokens {
    /// Of the queries and keys of two texts, and what goes with each query over a corpus, where that was counted; special tokens
    /// belong to nothing.
    pub fn of(queries: &[KnownToken<'_>], keys: &[KnownToken<'_>], translations: Option<Vec<Vec<usize>>>) -> Self {
        let mut places: HashMap<&str, Vec<usize>> = HashMap::new();
        for (at, (text, ..)) in keys.iter().enumerate().filter(|(_, (_, _, special))| !special) {
            places.entry(text).or_default().push(at);
        }
        let of = |(text, _, special): &KnownToken<'_>| {
            if *special { Vec::new() } else { places.get(text).cloned().unwrap_or_default() }
        };
        let copies = queries.iter().map(of).collect();
        Self { copies, translations: translations.unwrap_or_default(), n_keys: keys.len() }
    }

    /// The keys that a detector looks for behind a query; none of other detectors, and where there is no such key.
    pub fn targets(&self, detector: Detector, query: usize) -> Option<Vec<usize>> {
        let of = |links: &[Vec<usize>], query: usize| links.get(query).cloned();
        match detector {
            Detector::Last => self.n_keys.checked_sub(1).map(|last| vec![last]),
            Detector::Copied => of(&self.copies, query),
            Detector::CopiedNext => of(&self.copies, query + 1),
            Detector::Translated => of(&self.translations, query),
            Detector::TranslatedNext => of(&self.translations, query + 1),
            _ => None,
        }
    }
}

/// Pearson correlation of the places of query and key, weighted by a pattern `[query, key]`; none where either does not vary.
pub fn monotone(pattern: &Matrix) -> Option<f64> {
    let entries = || {
        let of_row = |(query, row)| row_entries(query, row);
        pattern.rows().enumerate().flat_map(of_row)
    };
    let (mut mass, mut x, mut y) = (0.0, 0.0, 0.0);
    for (query, key, weight) in entries() {
        (mass, x, y) = (mass + weight, x + weight * query, y + weight * key);
    }
    let (x, y) = (x / mass, y / mass);
    let (mut xx, mut yy, mut xy) = (0.0, 0.0, 0.0);
    for (query, key, weight) in entries() {
        xx += weight * (query - x).powi(2);
        yy += weight * (key - y).powi(2);
        xy += weight * (query - x) * (key - y);
    }
    let spread = (xx * yy).sqrt();
    (spread > 1e-9).then(|| xy / spread)
}

/// Places of the query and of every key of a row, with weights.
fn row_entries(query: usize, row: &[f32]) -> impl Iterator<Item = (f64, f64, f64)> {
    row.iter().enumerate().map(move |(key, weight)| (query as f64, key as f64, f64::from(*weight)))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn matrix(rows: &[&[f32]]) -> Matrix {
        Matrix::new(rows.concat(), [rows.len(), rows[0].len()]).unwrap()
    }

    #[test]
    fn a_straight_line_is_in_order_and_equal_rows_are_not() {
        let near = |pattern: &Matrix, expected: f64| {
            let found = monotone(pattern).unwrap();
            assert!((found - expected).abs() < 1e-6, "{found} instead of {expected}");
        };
        near(&matrix(&[&[1.0, 0.0, 0.0], &[0.0, 1.0, 0.0], &[0.0, 0.0, 1.0]]), 1.0);
        near(&matrix(&[&[0.0, 0.0, 1.0], &[0.0, 1.0, 0.0], &[1.0, 0.0, 0.0]]), -1.0);
        near(&matrix(&[&[0.1, 0.2, 0.7], &[0.1, 0.2, 0.7]]), 0.0);
        // Means of the keys are 0.4 and 1.3, so that the covariance is a quarter of 0.9; their variance is 1.55 − 0.85².
        near(&matrix(&[&[0.7, 0.2, 0.1], &[0.3, 0.1, 0.6]]), 0.225 / (0.25f64 * 0.8275).sqrt());
        assert_eq!(monotone(&matrix(&[&[1.0, 0.0], &[1.0, 0.0]])), None, "one key alone");
        assert_eq!(monotone(&matrix(&[&[0.5, 0.5]])), None, "one query alone");
    }

    #[test]
    fn copies_are_looked_for_behind_the_query_and_behind_the_one_before() {
        let token = |text: &'static str| (text, None, text.starts_with('<'));
        let queries = ["<s>", "Tom", "hat", "Tom", "."].map(token);
        let keys = ["Tom", "has", "it", ".", "</s>"].map(token);
        let translations = vec![vec![], vec![0], vec![1], vec![0], vec![3]];
        let links = LinkedTokens::of(&queries, &keys, Some(translations));
        let all = |detector| (0..5).map(|query| links.targets(detector, query).unwrap_or_default()).collect::<Vec<_>>();
        assert_eq!(all(Detector::Copied), [vec![], vec![0], vec![], vec![0], vec![3]]);
        assert_eq!(all(Detector::CopiedNext), [vec![0], vec![], vec![0], vec![3], vec![]]);
        assert_eq!(all(Detector::Translated), [vec![], vec![0], vec![1], vec![0], vec![3]]);
        assert_eq!(all(Detector::TranslatedNext), [vec![0], vec![1], vec![0], vec![3], vec![]]);
        assert_eq!(all(Detector::Last), vec![vec![4]; 5]);
        assert_eq!(
            LinkedTokens::of(&queries, &keys, None).targets(Detector::Translated, 1),
            None,
            "nothing was counted"
        );
    }
}
