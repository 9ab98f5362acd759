//! Attention of heads from words to their syntactic heads (Clark et al. 2019).

use super::dense::Dense;

/// Offsets that the baseline chooses from.
const OFFSETS: std::ops::RangeInclusive<isize> = -3..=2;

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

/// The part of words with a head whose head was found; none where no word has one. `gold` has none for
/// roots, and for words that do not count.
pub fn attachment_score(predicted: &[Option<usize>], gold: &[Option<usize>]) -> Option<f64> {
    let words: Vec<_> = predicted.iter().zip(gold).filter(|(_, gold)| gold.is_some()).collect();
    let n_found = words.iter().filter(|(predicted, gold)| predicted == gold).count();
    (!words.is_empty()).then(|| n_found as f64 / words.len() as f64)
}

/// The best that always pointing the same way gets, with that offset: what a head has to beat. `sentences`
/// are the gold heads of each.
pub fn offset_baseline(sentences: &[Vec<Option<usize>>]) -> Option<(isize, f64)> {
    let n_words = sentences.iter().flatten().flatten().count();
    let hits = |offset: isize| {
        let of_sentence = |gold: &Vec<Option<usize>>| {
            let at = gold.iter().enumerate().filter_map(|(word, head)| Some((word, (*head)?)));
            at.filter(|(word, head)| word.checked_add_signed(offset) == Some(*head)).count()
        };
        sentences.iter().map(of_sentence).sum::<usize>()
    };
    let best =
        OFFSETS.filter(|offset| *offset != 0).map(|offset| (offset, hits(offset))).rev().max_by_key(|it| it.1)?;
    (n_words > 0).then(|| (best.0, best.1 as f64 / n_words as f64))
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

    #[test]
    fn scores_leave_out_roots_and_meet_a_baseline() {
        let gold = vec![Some(1), None, Some(1), Some(2)];
        let predicted = [Some(1), Some(0), Some(1), Some(1)];
        assert_eq!(attachment_score(&predicted, &gold), Some(2.0 / 3.0));
        assert_eq!(attachment_score(&predicted, &[None; 4]), None);
        assert_eq!(offset_baseline(&[gold]), Some((-1, 2.0 / 3.0)));
        assert_eq!(offset_baseline(&[vec![None]]), None);
    }
}
