//! Word alignment from cross-attention (Ghader and Monz 2017; Kobayashi et al. 2020), and what it is worth
//! against a gold alignment.
//!
//! ```text
//! X[t, s] = mean over the pieces of target word t of the sum over the pieces of source word s
//! link of t = argmax over s of X[t, s]; none where the end of the source has more
//! ```

mod fertility;
mod gold;
mod symmetry;

pub use fertility::{LinkGroup, LinkKind, fertility, groups, kinds};
pub use gold::{Aer, Gold};
pub use symmetry::{Symmetrize, symmetrized};

use std::{collections::BTreeSet, ops::Range};

use super::{ExplainError, dense::Dense};
use crate::capture::Matrix;

/// Links of source words with target words, `(source, target)`, from 0.
pub type Links = BTreeSet<(usize, usize)>;

/// Which row of the attention a target piece is read from.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Setting {
    /// The step that outputs the piece.
    #[default]
    Output,
    /// The step that reads the piece, which is the one after: there attention often aligns better.
    Input,
}

vocabulary! {
    Setting: name, title;
    Output("awo", "The step that writes it"),
    Input("awi", "The step that reads it"),
}

/// How the rows of a word's pieces become one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Queries {
    /// Their mean, as papers say.
    #[default]
    Mean,
    /// The first piece's, as the default of a published code is.
    First,
}

/// Attention between words: keys are summed up, queries put together as `queries` says.
///
/// `pattern` is `[pieces, pieces]`; `rows` and `cols` are the positions of each word's pieces. Pieces that are
/// in no word are left out.
pub fn word_map(
    pattern: &Matrix,
    rows: &[Range<usize>],
    cols: &[Range<usize>],
    queries: Queries,
) -> Result<Dense, ExplainError> {
    check_words("the queries' words", rows, pattern.n_rows())?;
    check_words("the keys' words", cols, pattern.n_cols())?;
    let entry = |row: usize, col: usize| {
        let pieces = match queries {
            Queries::Mean => rows[row].clone(),
            Queries::First => rows[row].start..rows[row].start + 1,
        };
        let n_pieces = pieces.len() as f64;
        let weights = pieces.filter_map(|piece| pattern.row(piece)?.get(cols[col].clone()));
        weights.flatten().map(|&weight| f64::from(weight)).sum::<f64>() / n_pieces
    };
    Ok(Dense::from_fn(rows.len(), cols.len(), entry))
}

fn check_words(what: &'static str, words: &[Range<usize>], n: usize) -> Result<(), ExplainError> {
    if words.iter().all(|word| word.start < word.end && word.end <= n) {
        return Ok(());
    }
    let end = words.iter().map(|word| word.end).max().unwrap_or(0);
    Err(ExplainError::shape(what, &[n], &[end]))
}

/// Cross-attention `[target pieces, source pieces]` between words, the rows being those that a setting reads.
pub fn between_words(
    pattern: &Matrix,
    target: &[Range<usize>],
    source: &[Range<usize>],
    setting: Setting,
) -> Result<Dense, ExplainError> {
    match setting {
        Setting::Output => word_map(pattern, target, source, Queries::Mean),
        Setting::Input => word_map(&rotated(pattern), target, source, Queries::Mean),
    }
}

/// Links by the largest weight of each target word; of equal ones the first.
///
/// `pattern` is the cross-attention `[target pieces, source pieces]`, of one head or the mean of several,
/// one row for each step, the last one being the step that outputs the end. `source_end` is the position of
/// the source's end token: words that look there are not linked.
pub fn links(
    pattern: &Matrix,
    source: &[Range<usize>],
    target: &[Range<usize>],
    source_end: Option<usize>,
    setting: Setting,
) -> Result<Links, ExplainError> {
    let mut sources = source.to_vec();
    sources.extend(source_end.map(|end| end..end + 1));
    let words = between_words(pattern, target, &sources, setting)?;
    let mut links = Links::new();
    for (target, row) in words.rows().enumerate() {
        let largest = row.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let best = row.iter().position(|weight| *weight == largest);
        links.extend(best.filter(|&best| best < source.len()).map(|best| (best, target)));
    }
    Ok(links)
}

/// Rows moved up by one, the first one behind the last.
fn rotated(pattern: &Matrix) -> Matrix {
    let [n_rows, n_cols] = pattern.shape();
    let at = |row: usize, col: usize| pattern.get((row + 1) % n_rows.max(1), col).map_or(0.0, f64::from);
    Dense::from_fn(n_rows, n_cols, at).to_matrix()
}

/// How much attention each source piece gets from all steps: around 1 where each is translated once.
pub fn coverage(pattern: &Matrix) -> Vec<f64> {
    let mut sums = vec![0.0; pattern.n_cols()];
    for row in pattern.rows() {
        sums.iter_mut().zip(row).for_each(|(sum, weight)| *sum += f64::from(*weight));
    }
    sums
}

/// The part of neighbouring links, in the order of the target, that do not step back in the source; none
/// where there are fewer than two links.
pub fn monotonicity(links: &Links) -> Option<f64> {
    let mut by_target: Vec<(usize, usize)> = links.iter().map(|&(source, target)| (target, source)).collect();
    by_target.sort_unstable();
    let n_steps = by_target.len().checked_sub(1).filter(|&n| n > 0)?;
    let n_forward = by_target.windows(2).filter(|pair| pair[1].1 >= pair[0].1).count();
    Some(n_forward as f64 / n_steps as f64)
}

/// How much two alignments have in common, `2 |A∩B| / (|A| + |B|)`; none where both are empty.
pub fn agreement(a: &Links, b: &Links) -> Option<f64> {
    let n = a.len() + b.len();
    (n > 0).then(|| 2.0 * a.intersection(b).count() as f64 / n as f64)
}

#[cfg(test)]
mod tests {
    use super::{super::toy, *};

    #[test]
    fn pieces_become_words_in_the_worked_example() {
        let pattern =
            toy::matrix(&[[0.4, 0.3, 0.2, 0.1], [0.1, 0.5, 0.2, 0.2], [0.3, 0.1, 0.4, 0.2], [0.25, 0.25, 0.3, 0.2]]);
        let words = [0..1, 1..3, 3..4];
        let mean = word_map(&pattern, &words, &words, Queries::Mean).unwrap();
        toy::assert_near(mean.as_slice(), &[0.4, 0.5, 0.1, 0.2, 0.6, 0.2, 0.25, 0.55, 0.2]);
        let first = word_map(&pattern, &words, &words, Queries::First).unwrap();
        toy::assert_near(first.row(1), &[0.1, 0.7, 0.2]);
        assert!(word_map(&pattern, &words, &[0..1, 1..5], Queries::Mean).is_err());
    }

    #[test]
    fn links_of_the_worked_example_in_both_settings() {
        let pattern = toy::matrix(&[[0.6, 0.2, 0.1, 0.1], [0.1, 0.3, 0.5, 0.1], [0.1, 0.2, 0.2, 0.5]]);
        let of = |setting| links(&pattern, &[0..1, 1..3], &[0..1, 1..2], Some(3), setting).unwrap();
        assert_eq!(of(Setting::Output), Links::from([(0, 0), (1, 1)]));
        // The second word's step looks at the end of the source.
        assert_eq!(of(Setting::Input), Links::from([(1, 0)]));
        let covered = coverage(&pattern);
        toy::assert_near(&covered, &[0.8, 0.7, 0.8, 0.7]);
    }

    #[test]
    fn alignments_without_gold_are_measured_by_themselves() {
        let links = Links::from([(0, 0), (2, 1), (1, 2), (3, 3)]);
        assert_eq!(monotonicity(&links), Some(2.0 / 3.0));
        assert_eq!(monotonicity(&Links::from([(0, 0)])), None);
        assert_eq!(agreement(&links, &Links::from([(0, 0), (1, 1)])), Some(1.0 / 3.0));
        assert_eq!(agreement(&Links::new(), &Links::new()), None);
    }
}
