//! Attention of heads from words to their syntactic heads (Clark et al. 2019).

use super::dense::Dense;

/// Offsets from a word that a baseline chooses from; 0 is never right.
pub const OFFSETS: std::ops::RangeInclusive<isize> = -3..=2;

/// For each word the word with the largest weight, itself left out; none where there is no other.
///
/// `words` is the attention between words, see [`word_map`](super::alignment::word_map), without special
/// tokens. Weights are read from dependent to head, or from head to dependent where `transposed`.
pub fn predicted_heads(words: &Dense, transposed: bool) -> Vec<Option<usize>> {
    let n = words.n_rows().min(words.n_cols());
    let weight = |word: usize, head: usize| if transposed { words.at(head, word) } else { words.at(word, head) };
    let best = |word: usize| {
        // Of equal weights the first.
        (0..n).filter(|&head| head != word).fold(None, |best: Option<usize>, head| match best {
            Some(known) if weight(word, known) >= weight(word, head) => best,
            _ => Some(head),
        })
    };
    (0..n).map(best).collect()
}

#[cfg(test)]
mod tests {
    use super::{super::toy, *};

    #[test]
    fn heads_are_read_in_both_directions() {
        let words = toy::dense(&[[0.6, 0.1, 0.3], [0.5, 0.4, 0.1], [0.2, 0.2, 0.6]]);
        assert_eq!(predicted_heads(&words, false), [Some(2), Some(0), Some(0)]);
        assert_eq!(predicted_heads(&words, true), [Some(1), Some(2), Some(0)]);
        assert_eq!(predicted_heads(&toy::dense(&[[1.0]]), false), [None]);
    }
}
