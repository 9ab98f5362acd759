//! How often tokens are in a corpus, which says which of a sentence is rarest.

use std::collections::HashMap;

use super::{KnownToken, known_token};
use crate::{capture::Capture, ids::Side};

/// What tells tokens apart: ids, and texts where there are none.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
enum TokenKey {
    Id(u32),
    Text(String),
}

impl TokenKey {
    fn of((text, id, _): &KnownToken<'_>) -> Self {
        id.map_or_else(|| Self::Text((*text).to_owned()), Self::Id)
    }
}

/// Counts of the tokens of a corpus, of each side by themselves; special tokens are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenCounts(HashMap<(Side, TokenKey), u32>);

/// How often the token of each key is in the corpus; none of special tokens.
pub type KeyCounts = Vec<Option<u32>>;

impl TokenCounts {
    /// Adds the tokens of one side of an input.
    pub fn add<'a>(&mut self, side: Side, tokens: impl Iterator<Item = KnownToken<'a>>) {
        for token in tokens.filter(|(_, _, special)| !special) {
            *self.0.entry((side, TokenKey::of(&token))).or_default() += 1;
        }
    }

    /// Of all sides of some runs.
    pub fn of_captures<'a>(captures: impl IntoIterator<Item = &'a Capture>) -> Self {
        let mut counts = Self::default();
        for capture in captures {
            for side in Side::ALL {
                counts.add(side, capture.tokens(side).iter().map(known_token));
            }
        }
        counts
    }

    /// The counts of the tokens of a side.
    pub fn of<'a>(&self, side: Side, tokens: impl Iterator<Item = KnownToken<'a>>) -> KeyCounts {
        let of = |token: KnownToken<'a>| {
            let count = self.0.get(&(side, TokenKey::of(&token))).copied().unwrap_or(0);
            (!token.2).then_some(count)
        };
        tokens.map(of).collect()
    }
}

/// Whether the largest weight of a row is on a key whose token is the rarest of those that it sees, and the share of these
/// keys that are as rare; none where all are equally rare.
pub fn on_rarest(row: &[f32], seen: &[usize], counts: &[Option<u32>]) -> Option<(bool, f64)> {
    let known = || seen.iter().filter_map(|key| Some((row.get(*key)?, counts.get(*key).copied().flatten()?)));
    let least = known().map(|(_, count)| count).min()?;
    let (n, n_rarest) =
        known().fold((0usize, 0usize), |(n, rare), (_, count)| (n + 1, rare + usize::from(count == least)));
    // Of equal weights the first counts.
    let mut largest: Option<(f32, u32)> = None;
    for (weight, count) in known() {
        if largest.is_none_or(|(most, _)| *weight > most) {
            largest = Some((*weight, count));
        }
    }
    let (_, count) = largest.filter(|_| n_rarest < n)?;
    Some((count == least, n_rarest as f64 / n as f64))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_rarest_of_what_is_seen_counts_and_equally_rare_ones_decide_nothing() {
        let mut counts = TokenCounts::default();
        let text = |words: &'static str| words.split(' ').map(|word| (word, None, word == "[S]"));
        counts.add(Side::Only, text("[S] the cat saw the dog"));
        counts.add(Side::Only, text("[S] the cat ran"));
        let keys = counts.of(Side::Only, text("[S] the cat saw zebras"));
        assert_eq!(keys, [None, Some(3), Some(2), Some(1), Some(0)]);
        assert_eq!(counts.of(Side::Encoder, text("the")), [Some(0)], "sides are apart");
        // The special token has most of the weight and does not count.
        let row = [0.6, 0.05, 0.1, 0.2, 0.05];
        assert_eq!(on_rarest(&row, &[0, 1, 2, 3], &keys), Some((true, 1.0 / 3.0)));
        assert_eq!(on_rarest(&row, &[0, 1, 2, 3, 4], &keys), Some((false, 0.25)));
        assert_eq!(on_rarest(&row, &[0, 1, 2], &keys), Some((true, 0.5)));
        assert_eq!(on_rarest(&row, &[0, 1], &keys), None, "a single word is no choice");
        assert_eq!(on_rarest(&row, &[0], &keys), None);
        assert_eq!(on_rarest(&row, &[1, 2], &[None, Some(2), Some(2)]), None, "equally rare");
    }
}
