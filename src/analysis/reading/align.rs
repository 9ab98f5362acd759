//! Which token of one capture is which token of another: for linked hover, and for differences of two
//! documents.
//!
//! Equal texts are aligned position by position, other texts along a longest common subsequence of their
//! labels, patches by their place on the picture. What has no partner is aligned with nothing: a difference
//! speaks of the **intersection** and says how much attention went elsewhere.

use std::collections::BTreeSet;

use crate::{
    capture::{Capture, ImageInfo, Token, words},
    ids::Side,
};

/// How two sequences were aligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum How {
    /// Both are the same: every position is its own partner.
    Equal,
    /// Texts, along a longest common subsequence.
    CommonSubsequence,
    /// Texts so long and so different that only their common beginning and end were aligned.
    CommonEnds,
    /// Patches of equal grids, by row and column.
    Place,
    /// Patches of different grids, by the nearest place; several may share a partner.
    NearestPlace,
}

/// Which position of one sequence is which of another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Alignment {
    pub how: How,
    to_other: Vec<Option<u32>>,
    to_this: Vec<Option<u32>>,
}

/// Cells of the table that a longest common subsequence may fill: about 16,000 × 16,000 tokens that
/// differ, half a second.
const MAX_CELLS: usize = 1 << 28;

impl Alignment {
    /// The partner of a position of this sequence.
    pub fn to_other(&self, position: usize) -> Option<usize> {
        self.to_other.get(position).copied().flatten().map(|at| at as usize)
    }

    /// The partner of a position of the other sequence.
    pub fn to_this(&self, position: usize) -> Option<usize> {
        self.to_this.get(position).copied().flatten().map(|at| at as usize)
    }

    /// Number of positions of this sequence that have a partner.
    pub fn n_matched(&self) -> usize {
        self.to_other.iter().flatten().count()
    }

    /// The partners of a set of positions of this sequence.
    pub fn carry(&self, positions: &BTreeSet<usize>) -> BTreeSet<usize> {
        positions.iter().filter_map(|&position| self.to_other(position)).collect()
    }

    fn new(how: How, n: [usize; 2], pairs: impl IntoIterator<Item = (usize, usize)>) -> Self {
        let (mut to_other, mut to_this) = (vec![None; n[0]], vec![None; n[1]]);
        for (this, other) in pairs {
            to_other[this] = Some(other as u32);
            to_this[other] = Some(this as u32);
        }
        Self { how, to_other, to_this }
    }
}

/// Aligns one side of each of two captures; `None` for a text and a picture.
pub fn align(this: (&Capture, Side), other: (&Capture, Side)) -> Option<Alignment> {
    match (picture(this), picture(other)) {
        (None, None) => {
            let texts = [this, other].map(|(capture, side)| capture.tokens(side).iter().map(bare).collect::<Vec<_>>());
            Some(align_texts(&texts[0], &texts[1]))
        }
        (Some(a), Some(b)) => Some(align_patches(a, b)),
        _ => None,
    }
}

/// The patches of a side, if that is what its tokens are.
pub(super) fn picture((capture, side): (&Capture, Side)) -> Option<&ImageInfo> {
    capture.image().filter(|_| capture.picture_side() == Some(side))
}

/// Vocabularies differ in how they mark words, not in what the words are.
fn bare(token: &Token) -> &str {
    match words::bare(&token.text) {
        "" => &token.text,
        bare => bare,
    }
}

/// Aligns two sequences of labels.
pub fn align_texts<T: PartialEq>(this: &[T], other: &[T]) -> Alignment {
    let n = [this.len(), other.len()];
    if this == other {
        return Alignment::new(How::Equal, n, (0..n[0]).map(|at| (at, at)));
    }
    let start = this.iter().zip(other).take_while(|(a, b)| a == b).count();
    let rest = [&this[start..], &other[start..]];
    let end = rest[0].iter().rev().zip(rest[1].iter().rev()).take_while(|(a, b)| a == b).count();
    let ends = (0..start).map(|at| (at, at)).chain((1..=end).map(|at| (n[0] - at, n[1] - at)));
    let middle = [&rest[0][..rest[0].len() - end], &rest[1][..rest[1].len() - end]];
    if middle[0].len().saturating_mul(middle[1].len()) > MAX_CELLS {
        return Alignment::new(How::CommonEnds, n, ends);
    }
    let mut pairs = Vec::new();
    common_subsequence(middle, [start, start], &mut pairs);
    Alignment::new(How::CommonSubsequence, n, ends.chain(pairs))
}

/// Adds the pairs of a longest common subsequence of two sequences that start at `at`, in linear space
/// (Hirschberg 1975): splits the first in the middle, and the second where the halves have most in common,
/// as early as possible.
fn common_subsequence<T: PartialEq>([a, b]: [&[T]; 2], at: [usize; 2], pairs: &mut Vec<(usize, usize)>) {
    match a {
        [] => {}
        [only] => pairs.extend(b.iter().position(|other| other == only).map(|found| (at[0], at[1] + found))),
        _ => {
            let middle = a.len() / 2;
            let (before, after) = a.split_at(middle);
            let ahead = lengths(before.iter(), &b.iter());
            let behind = lengths(after.iter().rev(), &b.iter().rev());
            let total = |split: usize| ahead[split] + behind[b.len() - split];
            let split = (0..=b.len()).rev().max_by_key(|&split| total(split)).unwrap_or(0);
            common_subsequence([before, &b[..split]], at, pairs);
            common_subsequence([after, &b[split..]], [at[0] + middle, at[1] + split], pairs);
        }
    }
}

/// Lengths of the longest common subsequences of all of `a` with the first `0, 1, …` items of `b`.
fn lengths<'a, T: PartialEq + 'a>(
    a: impl Iterator<Item = &'a T>,
    b: &(impl ExactSizeIterator<Item = &'a T> + Clone),
) -> Vec<u32> {
    let mut row = vec![0u32; b.len() + 1];
    for left in a {
        let mut diagonal = 0;
        for (idx, right) in b.clone().enumerate() {
            let above = row[idx + 1];
            row[idx + 1] = if left == right { diagonal + 1 } else { above.max(row[idx]) };
            diagonal = above;
        }
    }
    row
}

/// Prefix tokens by their number, patches by row and column.
fn align_patches(this: &ImageInfo, other: &ImageInfo) -> Alignment {
    let n_tokens = |image: &ImageInfo| image.n_prefix + image.grid.0 * image.grid.1;
    let n = [n_tokens(this), n_tokens(other)];
    let prefix = (0..this.n_prefix.min(other.n_prefix)).map(|at| (at, at));
    if this.grid == other.grid && this.regions == other.regions {
        let patches = (0..this.grid.0 * this.grid.1).map(|at| (this.n_prefix + at, other.n_prefix + at));
        return Alignment::new(How::Place, n, prefix.chain(patches));
    }
    let mut alignment = Alignment::new(How::NearestPlace, n, prefix);
    if this.regions.is_some() || other.regions.is_some() {
        return alignment;
    }
    alignment.to_other.splice(this.n_prefix.., nearest(this, other));
    alignment.to_this.splice(other.n_prefix.., nearest(other, this));
    alignment
}

/// For each patch of `from` the token of `to` whose patch covers its centre.
fn nearest(from: &ImageInfo, to: &ImageInfo) -> Vec<Option<u32>> {
    let along = |at: usize, n: usize, m: usize| (2 * at + 1) * m / (2 * n.max(1));
    let place = |at: usize| {
        let (row, col) = (at / from.grid.1.max(1), at % from.grid.1.max(1));
        let (row, col) = (along(row, from.grid.0, to.grid.0), along(col, from.grid.1, to.grid.1));
        (to.grid.0 * to.grid.1 > 0).then(|| (to.n_prefix + row * to.grid.1 + col) as u32)
    };
    (0..from.grid.0 * from.grid.1).map(place).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn partners(this: &str, other: &str) -> Vec<Option<usize>> {
        let (this, other): (Vec<&str>, Vec<&str>) = (this.split(' ').collect(), other.split(' ').collect());
        let found = align_texts(&this, &other);
        (0..this.len()).map(|at| found.to_other(at)).collect()
    }

    #[test]
    fn equal_texts_are_aligned_by_position_and_others_along_what_they_share() {
        assert_eq!(partners("a b a", "a b a"), [Some(0), Some(1), Some(2)]);
        assert_eq!(partners("the cat sat", "the old cat sat"), [Some(0), Some(2), Some(3)]);
        assert_eq!(partners("x y", "a b"), [None, None]);
        // The word that moved has no partner: order is kept.
        assert_eq!(partners("he it she saw", "she he it saw"), [Some(1), Some(2), None, Some(3)]);
        assert_eq!(align_texts(&["a"], &["a"]).how, How::Equal);
        assert_eq!(align_texts::<&str>(&[], &["a"]).n_matched(), 0);
    }

    /// The length of a longest common subsequence, by definition: over all subsequences of `a`.
    fn longest(a: &[u8], b: &[u8]) -> usize {
        let is_part = |wanted: &[u8]| {
            let mut rest = b.iter();
            wanted.iter().all(|item| rest.any(|other| other == item))
        };
        let subsequence = |bits: u32| -> Vec<u8> {
            a.iter().enumerate().filter(|(at, _)| bits & (1 << at) != 0).map(|(_, &item)| item).collect()
        };
        (0..1u32 << a.len()).map(subsequence).filter(|wanted| is_part(wanted)).map(|wanted| wanted.len()).max().unwrap()
    }

    #[test]
    fn no_common_subsequence_is_longer_than_the_one_that_is_found() {
        let mut state = 1u32;
        let mut next = |n: u32| {
            state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
            (state >> 16) % n
        };
        for _ in 0..200 {
            let sequence = |next: &mut dyn FnMut(u32) -> u32| (0..next(9)).map(|_| next(3) as u8).collect::<Vec<_>>();
            let (a, b) = (sequence(&mut next), sequence(&mut next));
            let found = align_texts(&a, &b);
            let pairs: Vec<_> = (0..a.len()).filter_map(|at| Some((at, found.to_other(at)?))).collect();
            assert_eq!(pairs.len(), longest(&a, &b), "{a:?} {b:?}");
            assert!(pairs.iter().all(|&(this, other)| a[this] == b[other] && found.to_this(other) == Some(this)));
            assert!(pairs.windows(2).all(|two| two[0].1 < two[1].1), "{a:?} {b:?}: {pairs:?}");
        }
    }

    fn grid(rows: usize, cols: usize, n_prefix: usize) -> ImageInfo {
        let crop = crate::capture::CropRect { x: 0.0, y: 0.0, width: 1.0, height: 1.0 };
        ImageInfo { grid: (rows, cols), regions: None, n_prefix, patch_px: (1, 1), crop, source: None }
    }

    #[test]
    fn patches_are_aligned_by_place() {
        let same = align_patches(&grid(2, 2, 1), &grid(2, 2, 0));
        assert_eq!(same.how, How::Place);
        assert_eq!((0..5).map(|at| same.to_other(at)).collect::<Vec<_>>(), [None, Some(0), Some(1), Some(2), Some(3)]);

        let finer = align_patches(&grid(2, 2, 1), &grid(4, 4, 1));
        assert_eq!(finer.how, How::NearestPlace);
        assert_eq!(finer.to_other(0), Some(0));
        assert_eq!(finer.to_other(4), Some(1 + 3 * 4 + 3), "the last quarter lies under the last of its four");
        assert_eq!(finer.to_this(1), Some(1));
        assert_eq!(finer.to_this(16), Some(4));
    }
}
