//! Attention profile of a head, in the numbers of published studies.
//!
//! Where [`detect`](crate::analysis::detect) takes means over the queries that have a choice, these divide as
//! the papers do, so that numbers can be compared with theirs.

use super::{divergence::entropy, rank::descending};
use crate::capture::{Matrix, Token};

/// The numbers of Clark et al. (2019), for one document without padding.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct HeadProfile {
    /// Weight on the query itself; here and below all sums are divided by the number of tokens.
    pub itself: f64,
    /// Weight on the token after: the diagonal above the main one. The last token has none.
    pub next: f64,
    /// Weight on the token before. The first token has none.
    pub previous: f64,
    /// Weight on the first special token of the text.
    pub cls: f64,
    pub sep: f64,
    /// Weight on full stops and commas.
    pub punctuation: f64,
    /// Weight of separators on separators, divided by their number; a published notebook divides by two.
    /// NaN where there are none.
    pub sep_to_sep: f64,
    /// Weight of other tokens on separators, divided by the number of other tokens.
    pub rest_to_sep: f64,
    /// Mean entropy in nats of rows smoothed by `0.9999 a + 0.0001 / n`, as published.
    pub entropy: f64,
    /// Entropy of the first token's row, smoothed alike.
    pub cls_entropy: f64,
    /// The entropy of uniform attention, `ln n`.
    pub max_entropy: f64,
}

/// What Clark et al. (2019) call a head; later categories win.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Category {
    /// More than half of the weight on the token after.
    Next,
    /// More than half of the weight on the token before.
    Previous,
    /// Entropy above 3.8 nats, which means something only for texts of about 128 tokens.
    Broad,
    /// More than 0.6 of the weight on the first token.
    Cls,
    /// More than 0.6 of the weight on separators.
    Sep,
    /// More than 0.6 of the weight on punctuation.
    Punctuation,
}

impl HeadProfile {
    /// Of one pattern over a text: the first special token is taken for `[CLS]`, the others for `[SEP]`.
    pub fn of_tokens(pattern: &Matrix, tokens: &[Token]) -> Self {
        let special: Vec<usize> = (0..tokens.len()).filter(|&at| tokens[at].special).collect();
        let (cls, sep) = special.split_at(special.len().min(1));
        let is_point = |at: &usize| !tokens[*at].special && matches!(tokens[*at].text.trim(), "." | ",");
        let points: Vec<usize> = (0..tokens.len()).filter(is_point).collect();
        Self::of(pattern, cls, sep, &points)
    }

    /// Of one pattern `[n, n]` with the positions of `[CLS]`, `[SEP]`, and full stops and commas.
    pub fn of(pattern: &Matrix, cls: &[usize], sep: &[usize], points: &[usize]) -> Self {
        let n = pattern.n_rows();
        let at = |row: usize, col: usize| pattern.get(row, col).map_or(0.0, f64::from);
        let mean = |sum: f64| sum / n.max(1) as f64;
        let on = |keys: &[usize]| mean((0..n).map(|row| keys.iter().map(|&key| at(row, key)).sum::<f64>()).sum());
        let sep_to_sep: f64 = sep.iter().map(|&row| sep.iter().map(|&key| at(row, key)).sum::<f64>()).sum();
        let smoothed = |row: &[f32]| {
            let uniform = 0.0001 / row.len().max(1) as f64;
            entropy(&row.iter().map(|&weight| 0.9999 * f64::from(weight) + uniform).collect::<Vec<f64>>())
        };
        Self {
            itself: mean((0..n).map(|row| at(row, row)).sum()),
            next: mean((0..n).map(|row| at(row, row + 1)).sum()),
            previous: mean((1..n).map(|row| at(row, row - 1)).sum()),
            cls: on(cls),
            sep: on(sep),
            punctuation: on(points),
            sep_to_sep: sep_to_sep / sep.len() as f64,
            rest_to_sep: (on(sep) * n as f64 - sep_to_sep) / n.saturating_sub(sep.len()).max(1) as f64,
            entropy: mean(pattern.rows().map(smoothed).sum()),
            cls_entropy: pattern.row(0).map_or(0.0, smoothed),
            max_entropy: (pattern.n_cols().max(1) as f64).ln(),
        }
    }

    /// The category by the published thresholds; none where no threshold is passed.
    pub fn category(&self) -> Option<Category> {
        let rules = [
            (self.punctuation > 0.6, Category::Punctuation),
            (self.sep > 0.6, Category::Sep),
            (self.cls > 0.6, Category::Cls),
            (self.entropy > 3.8, Category::Broad),
            (self.previous > 0.5, Category::Previous),
            (self.next > 0.5, Category::Next),
        ];
        rules.into_iter().find(|(holds, _)| *holds).map(|(_, category)| category)
    }
}

/// The part of queries whose largest weight is `offset` keys away: -1 is the token before. A head is
/// positional where it is at least 0.9 (Voita et al. 2019).
pub fn positional(pattern: &Matrix, offset: isize) -> f64 {
    let hits = pattern.rows().enumerate().filter(|(query, row)| {
        let key = query.checked_add_signed(offset);
        key.is_some() && largest(row) == key
    });
    hits.count() as f64 / pattern.n_rows().max(1) as f64
}

/// The part of queries whose largest weight is on the rarest token of the text (Voita et al. 2019).
pub fn rarest(pattern: &Matrix, rarest: usize) -> f64 {
    let hits = pattern.rows().filter(|row| largest(row) == Some(rarest));
    hits.count() as f64 / pattern.n_rows().max(1) as f64
}

/// The mean over queries of the largest weight (Voita et al. 2019): rows and columns of `left_out`, the end of
/// the text, do not count.
pub fn confidence(pattern: &Matrix, left_out: &[usize]) -> f64 {
    let rows = pattern.rows().enumerate().filter(|(query, _)| !left_out.contains(query));
    let of_row = |row: &[f32]| {
        let kept = row.iter().enumerate().filter(|(key, _)| !left_out.contains(key));
        kept.fold(0.0, |most: f64, (_, weight)| most.max(f64::from(*weight)))
    };
    let all: Vec<f64> = rows.map(|(_, row)| of_row(row)).collect();
    all.iter().sum::<f64>() / all.len().max(1) as f64
}

fn largest(row: &[f32]) -> Option<usize> {
    descending(&row.iter().map(|&weight| f64::from(weight)).collect::<Vec<f64>>()).first().copied()
}

/// What a pattern looks like.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PatternShape {
    /// Most weight in one column.
    Vertical,
    /// Most weight on one diagonal next to the main one or on that.
    Diagonal,
    /// Both.
    Both,
    Block,
    /// None of these.
    Heterogeneous,
}

/// How much of each shape a pattern has: the classes of Kovaleva et al. (2019), by rules of our own in place
/// of their trained classifier.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Shapes {
    /// The largest mean weight of a column.
    pub vertical: f64,
    /// The largest mean weight of the main diagonal and its two neighbours.
    pub diagonal: f64,
    /// Weight within the query's segment, less what uniform attention has there.
    pub block: f64,
}

impl Shapes {
    /// Of a pattern `[n, n]`; `segments` says for each token which segment it is in.
    pub fn of(pattern: &Matrix, segments: &[usize]) -> Self {
        let n = pattern.n_rows();
        let at = |row: usize, col: usize| pattern.get(row, col).map_or(0.0, f64::from);
        let mean_of = |values: &mut dyn Iterator<Item = f64>| {
            let values: Vec<f64> = values.collect();
            values.iter().sum::<f64>() / values.len().max(1) as f64
        };
        let column = |key: usize| mean_of(&mut (0..n).map(|row| at(row, key)));
        let diagonals = [
            mean_of(&mut (1..n).map(|row| at(row, row - 1))),
            mean_of(&mut (0..n).map(|row| at(row, row))),
            mean_of(&mut (1..n).map(|row| at(row - 1, row))),
        ];
        let same = |row: usize, key: usize| f64::from(u8::from(segments.get(row) == segments.get(key)));
        let within = |row: usize| (0..n).map(|key| (at(row, key) - 1.0 / n as f64) * same(row, key)).sum::<f64>();
        Self {
            vertical: (0..pattern.n_cols()).map(column).fold(0.0, f64::max),
            diagonal: diagonals.into_iter().fold(0.0, f64::max),
            block: mean_of(&mut (0..n).map(within)),
        }
    }

    /// The class: vertical and diagonal above 0.5, both above 0.3, blocks above 0.3.
    pub fn class(&self) -> PatternShape {
        match (self.vertical, self.diagonal, self.block) {
            (vertical, diagonal, _) if vertical > 0.3 && diagonal > 0.3 => PatternShape::Both,
            (vertical, _, _) if vertical > 0.5 => PatternShape::Vertical,
            (_, diagonal, _) if diagonal > 0.5 => PatternShape::Diagonal,
            (_, _, block) if block > 0.3 => PatternShape::Block,
            _ => PatternShape::Heterogeneous,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{super::toy, *};

    /// `[CLS] cat . sat [SEP]`.
    fn pattern() -> Matrix {
        toy::matrix(&[
            [0.5, 0.2, 0.1, 0.1, 0.1],
            [0.1, 0.1, 0.5, 0.1, 0.2],
            [0.05, 0.6, 0.1, 0.05, 0.2],
            [0.1, 0.1, 0.6, 0.1, 0.1],
            [0.2, 0.1, 0.1, 0.1, 0.5],
        ])
    }

    #[test]
    fn the_published_numbers_of_the_worked_example() {
        let found = HeadProfile::of(&pattern(), &[0], &[4], &[2]);
        toy::assert_near(
            &[found.itself, found.next, found.previous, found.cls, found.sep, found.punctuation],
            &[0.26, 0.17, 0.28, 0.19, 0.22, 0.28],
        );
        toy::assert_near(&[found.sep_to_sep, found.rest_to_sep], &[0.5, 0.15]);
        toy::assert_near(&[found.entropy, found.max_entropy], &[1.292_753, 1.609_438]);
        let entropies: Vec<f64> = pattern().rows().map(|row| entropy(&super::super::dense::wide(row))).collect();
        toy::assert_near(&entropies, &[1.359_237, 1.359_237, 1.158_215, 1.227_529, 1.359_237]);
        toy::assert_near(&[entropies.iter().sum::<f64>() / 5.0], &[1.292_691]);
        assert_eq!(found.category(), None);
        assert_eq!(HeadProfile { next: 0.9, sep: 0.7, ..found }.category(), Some(Category::Sep));
    }

    #[test]
    fn tokens_say_where_the_special_ones_are() {
        let token = |text: &str, special| Token { text: text.to_owned(), special, ..Token::default() };
        let tokens =
            [("[CLS]", true), ("cat", false), (".", false), ("sat", false), ("[SEP]", true)].map(|(t, s)| token(t, s));
        assert_eq!(HeadProfile::of_tokens(&pattern(), &tokens), HeadProfile::of(&pattern(), &[0], &[4], &[2]));
    }

    #[test]
    fn heads_specialise_in_the_worked_example() {
        let pattern = pattern();
        toy::assert_near(&[positional(&pattern, -1), positional(&pattern, 1)], &[0.4, 0.2]);
        toy::assert_near(&[confidence(&pattern, &[]), confidence(&pattern, &[4])], &[0.54, 0.55]);
        toy::assert_near(&[rarest(&pattern, 2)], &[0.4]);
    }

    #[test]
    fn shapes_of_the_worked_example() {
        let shapes = Shapes::of(&pattern(), &[0, 0, 0, 1, 1]);
        toy::assert_near(&[shapes.vertical, shapes.diagonal, shapes.block], &[0.28, 0.35, 0.09]);
        assert_eq!(shapes.class(), PatternShape::Heterogeneous);
        let both = Shapes { vertical: 0.6, diagonal: 0.35, block: 0.0 };
        assert_eq!(
            (both.class(), Shapes { diagonal: 0.1, ..both }.class()),
            (PatternShape::Both, PatternShape::Vertical)
        );
    }
}
