//! Detectors for sequences of tokens: the score of one row of a pattern, which means are made of.

use std::collections::{BTreeMap, HashMap};

use super::{Detector, sentences::Sentences};
use crate::capture::{Matrix, Token, label_sentences, words};

/// A token's text, its id, and whether it is a special one.
pub type KnownToken<'a> = (&'a str, Option<u32>, bool);

/// A token as detectors know it.
pub fn known_token(token: &Token) -> KnownToken<'_> {
    (&token.text, token.id, token.special)
}

/// The tokens of one input as detectors see them, found out once for all heads of a stack.
#[derive(Clone, Debug)]
pub struct TokenFacts {
    /// Which queries and keys are special tokens.
    special: [Vec<bool>; 2],
    /// Positions of keys that are special tokens.
    special_keys: Vec<usize>,
    /// Positions of keys that are full stops or commas.
    punctuation: Vec<usize>,
    /// The nearest earlier copy of each query.
    copy: Vec<Option<usize>>,
    /// The first query that has a choice.
    first: usize,
    /// Of the queries of a causal stack, else none.
    sentences: Sentences,
}

impl TokenFacts {
    /// Of the queries and keys of a stack; the first query of a causal one sees itself alone.
    pub fn of(queries: &[KnownToken<'_>], keys: &[KnownToken<'_>], causal: bool) -> Self {
        let positions = |wanted: &dyn Fn(&KnownToken<'_>) -> bool| {
            keys.iter().enumerate().filter(|(_, token)| wanted(token)).map(|(at, _)| at).collect()
        };
        let labels: Vec<(&str, bool)> = queries.iter().map(|(text, _, special)| (*text, *special)).collect();
        let special = [queries, keys].map(|tokens| tokens.iter().map(|(_, _, special)| *special).collect());
        Self {
            special,
            special_keys: positions(&|(_, _, special)| *special),
            punctuation: positions(&|(text, ..)| matches!(words::bare(text), "." | ",")),
            copy: nearest_copies(queries),
            first: usize::from(causal),
            sentences: Sentences::new(if causal { label_sentences(&labels) } else { Vec::new() }),
        }
    }

    /// Whether there is a special token among the keys.
    pub const fn has_special(&self) -> bool {
        !self.special_keys.is_empty()
    }

    /// The sentences of a causal stack.
    pub const fn sentences(&self) -> &Sentences {
        &self.sentences
    }

    /// Number of queries.
    pub const fn n_queries(&self) -> usize {
        self.special[0].len()
    }

    /// Positions of keys that are full stops or commas.
    pub fn punctuation(&self) -> &[usize] {
        &self.punctuation
    }

    /// Whether a query has a choice: the first one of a causal head has none.
    pub const fn has_choice(&self, query: usize) -> bool {
        query >= self.first
    }

    /// Whether a query is a special token.
    pub fn is_special_query(&self, query: usize) -> bool {
        self.special[0].get(query).copied().unwrap_or(false)
    }

    /// Whether a key is a special token.
    pub fn is_special_key(&self, key: usize) -> bool {
        self.special[1].get(key).copied().unwrap_or(false)
    }

    /// Earlier copies of a query's token, the nearest first.
    pub fn copies(&self, query: usize) -> impl Iterator<Item = usize> {
        let earlier = move |position: usize| self.copy.get(position).copied().flatten();
        std::iter::successors(earlier(query), move |copy| earlier(*copy))
    }

    /// What followed earlier copies of a query's token, the query itself and what comes after it left out.
    pub fn followers(&self, query: usize) -> impl Iterator<Item = usize> {
        self.copies(query).map(|copy| copy + 1).filter(move |follower| *follower < query)
    }

    /// The score of one row of a pattern, `[key]`, by a detector of one sequence; `None` where the row does not qualify, and
    /// of any other detector.
    pub fn of_row(&self, detector: Detector, query: usize, row: &[f32]) -> Option<f64> {
        let at = |key: usize| row.get(key).copied().map(f64::from);
        let on = |keys: &[usize]| Some(keys.iter().filter_map(|key| at(*key)).sum());
        match detector {
            Detector::Previous => at(query.checked_sub(1)?),
            Detector::Next => at(query + 1),
            Detector::Itself => at(query).filter(|_| self.has_choice(query)),
            Detector::First => at(0).filter(|_| self.has_choice(query)),
            Detector::Duplicate => some_sum(self.copies(query).filter_map(at)),
            Detector::Induction => some_sum(self.followers(query).filter_map(at)),
            Detector::Punctuation => on(&self.punctuation),
            Detector::Special => on(&self.special_keys),
            Detector::Content => self.largest(query, row, 1).filter(|_| self.has_choice(query)),
            Detector::Confidence => self.largest(query, row, 0),
            _ => None,
        }
    }

    /// The largest weight of a query that is no special token, on keys from `first` on that are none.
    fn largest(&self, query: usize, row: &[f32], first: usize) -> Option<f64> {
        if self.is_special_query(query) {
            return None;
        }
        let seen = row.iter().enumerate().skip(first).filter(|(key, _)| !self.is_special_key(*key));
        seen.map(|(_, weight)| *weight).max_by(f32::total_cmp).map(f64::from)
    }

    /// The share of queries with a choice whose largest weight is at one and the same distance from them, other than 0:
    /// at the distance that has most (Voita et al. 2019). None of fewer than two queries.
    pub fn positional(&self, pattern: &Matrix) -> Option<f64> {
        let mut n_at: BTreeMap<isize, usize> = BTreeMap::new();
        for (query, row) in pattern.rows().enumerate().skip(self.first) {
            if let Some(offset) = largest_offset(query, row).filter(|offset| *offset != 0) {
                *n_at.entry(offset).or_default() += 1;
            }
        }
        let n = pattern.n_rows().saturating_sub(self.first);
        let most = n_at.into_values().max().unwrap_or(0);
        (n > 1).then(|| most as f64 / n as f64)
    }
}

/// Where the largest weight of a row is, key minus query; of equal weights none is the largest.
pub fn largest_offset(query: usize, row: &[f32]) -> Option<isize> {
    let most = row.iter().copied().fold(0.0, f32::max);
    let mut largest = row.iter().enumerate().filter(|(_, weight)| **weight == most);
    match (largest.next(), largest.next()) {
        (Some((key, _)), None) => Some(key as isize - query as isize),
        _ => None,
    }
}

/// The nearest earlier token of the same id, or of the same text where some have no id.
fn nearest_copies<'a>(tokens: &[KnownToken<'a>]) -> Vec<Option<usize>> {
    let has_ids = tokens.iter().all(|(_, id, _)| id.is_some());
    let mut last: HashMap<(Option<u32>, &'a str), usize> = HashMap::new();
    let mut copy_of = |(at, (text, id, _)): (usize, &KnownToken<'a>)| {
        let token = if has_ids { (*id, "") } else { (None, *text) };
        last.insert(token, at)
    };
    tokens.iter().enumerate().map(&mut copy_of).collect()
}

/// The sum of some values; `None` of none.
fn some_sum(values: impl Iterator<Item = f64>) -> Option<f64> {
    values.fold(None, |sum, value| Some(sum.unwrap_or(0.0) + value))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(ids: &[u32]) -> Vec<Token> {
        ids.iter().map(|&id| Token { id: Some(id), ..Token::default() }).collect()
    }

    fn known(tokens: &[Token]) -> Vec<KnownToken<'_>> {
        tokens.iter().map(known_token).collect()
    }

    fn facts(ids: &[u32], causal: bool) -> TokenFacts {
        let tokens = tokens(ids);
        TokenFacts::of(&known(&tokens), &known(&tokens), causal)
    }

    /// The mean over the rows that qualify.
    fn mean(facts: &TokenFacts, detector: Detector, pattern: &Matrix) -> Option<f64> {
        let rows = pattern.rows().enumerate().filter_map(|(query, row)| facts.of_row(detector, query, row));
        let scores: Vec<f64> = rows.collect();
        (!scores.is_empty()).then(|| scores.iter().sum::<f64>() / scores.len() as f64)
    }

    fn matrix(rows: &[&[f32]]) -> Matrix {
        Matrix::new(rows.concat(), [rows.len(), rows[0].len()]).unwrap()
    }

    fn near(value: Option<f64>, expected: f64) {
        assert!(value.is_some_and(|value| (value - expected).abs() < 1e-6), "{value:?} instead of {expected}");
    }

    /// The tokens of TransformerLens' detector example: 0.7 on the target of induction, the rest on the first.
    #[test]
    fn prefix_matching_counts_queries_with_an_earlier_copy() {
        let mut rows = vec![vec![0.0; 7]; 7];
        for row in &mut rows {
            row[0] = 1.0;
        }
        for (query, target) in [(4, 2), (5, 3), (6, 4)] {
            (rows[query][0], rows[query][target]) = (0.3, 0.7);
        }
        let rows: Vec<&[f32]> = rows.iter().map(Vec::as_slice).collect();
        let repeated = facts(&[9, 5, 6, 7, 5, 6, 7], true);
        near(mean(&repeated, Detector::Induction, &matrix(&rows)), 0.7);
        near(mean(&repeated, Detector::Duplicate, &matrix(&rows)), 0.0);
        let other = facts(&[0, 1, 2, 3, 4, 5, 6], true);
        assert_eq!(mean(&other, Detector::Induction, &matrix(&rows)), None, "no token repeats");
    }

    #[test]
    fn a_token_right_after_its_copy_is_no_induction_but_attention_to_itself() {
        let pattern = matrix(&[&[1.0, 0.0, 0.0, 0.0], &[0.5, 0.5, 0.0, 0.0], &[0.1, 0.2, 0.7, 0.0], &[0.25; 4]]);
        assert_eq!(mean(&facts(&[9, 5, 5, 6], true), Detector::Induction, &pattern), None);
        near(mean(&facts(&[9, 5, 5, 6], true), Detector::Duplicate, &pattern), 0.2);
        // Of three copies the last one follows the first at a distance, and the second at none.
        near(mean(&facts(&[5, 5, 5, 6], true), Detector::Induction, &pattern), 0.2);
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
        let five = |causal| facts(&[1, 2, 3, 4, 5], causal);
        let of = |detector| mean(&five(false), detector, &pattern);
        // Sums over the diagonals of Clark et al.'s example: 1.3, 0.85 and 1.4.
        near(of(Detector::Itself), 1.3 / 5.0);
        near(of(Detector::Next), 0.85 / 4.0);
        near(of(Detector::Previous), 1.4 / 4.0);
        near(of(Detector::First), 0.19);
        near(mean(&five(true), Detector::Itself, &pattern), 0.8 / 4.0);
        // The largest weights are 0, +1, −1, −1 and 0 away.
        near(five(false).positional(&pattern), 0.4);
        near(five(true).positional(&pattern), 0.5);
        assert_eq!(facts(&[1], false).positional(&matrix(&[&[1.0]])), None);
        near(facts(&[1, 2], false).positional(&matrix(&[&[0.5, 0.5], &[0.5, 0.5]])), 0.0);
        near(of(Detector::Confidence), (0.5 + 0.5 + 0.6 + 0.6 + 0.5) / 5.0);
    }

    #[test]
    fn what_lies_on_the_first_key_and_on_special_ones_is_no_content() {
        let special = |special: bool| Token { special, ..Token::default() };
        let tokens = [false, false, true, false].map(special);
        let all = TokenFacts::of(&known(&tokens), &known(&tokens), true);
        let content = |pattern: &Matrix| mean(&all, Detector::Content, pattern);
        let sink =
            matrix(&[&[1.0, 0.0, 0.0, 0.0], &[0.9, 0.1, 0.0, 0.0], &[0.2, 0.1, 0.7, 0.0], &[0.6, 0.1, 0.1, 0.2]]);
        // The second and the last query; the third is special.
        near(content(&sink), 0.15);
        near(content(&matrix(&[&[1.0, 0.0, 0.0, 0.0], &[0.2, 0.8, 0.0, 0.0], &[0.0; 4], &[0.1, 0.6, 0.3, 0.0]])), 0.7);
        let alone = TokenFacts::of(&known(&tokens[..1]), &known(&tokens[..1]), true);
        assert_eq!(mean(&alone, Detector::Content, &matrix(&[&[1.0]])), None, "one token sees nothing else");
    }
}
