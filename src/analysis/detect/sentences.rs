//! How attention between the sentences of a text is spread: receiver heads (Bogdan et al. 2025, “Thought Anchors”).
//!
//! Of the mean weights between two sentences, over all pairs of their tokens, those four and more sentences apart are
//! averaged for each sentence that is looked at; a head that looks at few of them has a high kurtosis of these means, as
//! `scipy.stats.kurtosis` has it (excess, biased). The authors average it over many texts, and leave out all but the
//! reasoning of a model; here every sentence of the text counts, special tokens count in none, and rows are not ranked.

use crate::capture::Matrix;

/// Sentences nearer than this do not count.
const APART: usize = 4;
/// Fewer means have no shape.
const LEAST_MEANS: usize = 4;

/// The sentences of a text.
#[derive(Clone, Debug, Default)]
pub struct Sentences {
    /// The sentence of each token, from 0; none of special tokens.
    of: Vec<Option<usize>>,
    /// Tokens of each.
    n_tokens: Vec<usize>,
}

impl Sentences {
    /// By the sentence of each token, which are numbered in their order.
    pub fn new(of: Vec<Option<usize>>) -> Self {
        let mut n_tokens = vec![0; of.iter().flatten().max().map_or(0, |last| last + 1)];
        for sentence in of.iter().flatten() {
            n_tokens[*sentence] += 1;
        }
        Self { of, n_tokens }
    }

    /// Whether there are as many as a kurtosis needs.
    pub const fn are_enough(&self) -> bool {
        self.n_tokens.len() >= APART + LEAST_MEANS
    }

    /// The mean weight `[sentence]` that each sentence has from those four and more behind it, in a pattern
    /// `[query, key]`.
    pub fn received(&self, pattern: &Matrix) -> Vec<f64> {
        let n = self.n_tokens.len();
        let mut sums = vec![0.0; n * n];
        for (row, from) in pattern.rows().zip(&self.of) {
            let Some(from) = from else { continue };
            let line = &mut sums[from * n..][..n];
            for (weight, to) in row.iter().zip(&self.of) {
                if let Some(to) = to {
                    line[*to] += f64::from(*weight);
                }
            }
        }
        let mean = |from: usize, to: usize| sums[from * n + to] / (self.n_tokens[from] * self.n_tokens[to]) as f64;
        let of = |to: usize| (to + APART..n).map(|from| mean(from, to)).sum::<f64>() / (n - to - APART) as f64;
        (0..n.saturating_sub(APART)).map(of).collect()
    }

    /// The excess kurtosis of what sentences receive; `None` of few sentences, and where all receive the same.
    pub fn kurtosis(&self, pattern: &Matrix) -> Option<f64> {
        if !self.are_enough() {
            return None;
        }
        let received = self.received(pattern);
        let n = received.len() as f64;
        let mean = received.iter().sum::<f64>() / n;
        let moment = |power: i32| received.iter().map(|value| (value - mean).powi(power)).sum::<f64>() / n;
        let variance = moment(2);
        (variance > 0.0).then(|| moment(4) / (variance * variance) - 3.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Ten sentences of two tokens behind a special one; each query spreads what it does not give to the third sentence.
    fn narrow(share: f32) -> (Sentences, Matrix) {
        let of: Vec<Option<usize>> = std::iter::once(None).chain((0..20).map(|token| Some(token / 2))).collect();
        let row = |query: usize| {
            let target = if query >= 6 { share } else { 0.0 };
            let even = (1.0 - target) / (query + 1) as f32;
            (0..21).map(move |key| match key {
                key if key > query => 0.0,
                5 | 6 => even + target / 2.0,
                _ => even,
            })
        };
        let values: Vec<f32> = (0..21).flat_map(row).collect();
        (Sentences::new(of), Matrix::new(values, [21, 21]).unwrap())
    }

    #[test]
    fn a_head_that_looks_at_one_sentence_has_the_higher_kurtosis() {
        let (sentences, pattern) = narrow(0.5);
        let received = sentences.received(&pattern);
        assert_eq!(received.len(), 6);
        // Of the last sentence of all that are looked at only tokens 19 and 20 look back: 0.5 / (20 and 21) each.
        assert!((received[5] - 0.5 * (0.5 / 20.0 + 0.5 / 21.0)).abs() < 1e-7, "{received:?}");
        let [narrow, even] = [pattern, narrow(0.0).1].map(|pattern| sentences.kurtosis(&pattern).unwrap());
        // As scipy.stats.kurtosis has it of the same means.
        assert!((narrow - 1.191_159).abs() < 1e-5 && (even + 1.138_87).abs() < 1e-5, "{narrow} {even}");
    }

    #[test]
    fn few_sentences_and_equal_ones_have_none() {
        let (_, pattern) = narrow(0.5);
        let few = Sentences::new((0..21).map(|token| Some(token / 3)).collect());
        assert_eq!((few.are_enough(), few.kurtosis(&pattern)), (false, None));
        let (sentences, _) = narrow(0.5);
        assert_eq!(sentences.kurtosis(&Matrix::new(vec![0.25; 441], [21, 21]).unwrap()), None);
    }
}
