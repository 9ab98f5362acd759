//! How often tokens are in a corpus, which says which of a sentence is rarest; which tokens of two texts go together in it.

use std::{
    cmp::Ordering,
    collections::{BTreeMap, HashMap},
};

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

/// In at least so many inputs two tokens are together that go together.
const TOGETHER: usize = 2;
/// From which Dice coefficient on they do.
const ASSOCIATED: f64 = 0.3;

/// Counts of the tokens of a corpus, of each side by themselves; special tokens are left out.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TokenCounts {
    counts: HashMap<(Side, TokenKey), u32>,
    /// Inputs in which a token is, rising, of inputs that are two texts.
    inputs: HashMap<(Side, TokenKey), Vec<u32>>,
    n_inputs: u32,
}

/// How often the token of each key is in the corpus; none of special tokens.
pub type KeyCounts = Vec<Option<u32>>;

impl TokenCounts {
    /// Adds the tokens of an input by side.
    pub fn add<'a>(&mut self, sides: impl IntoIterator<Item = (Side, Vec<KnownToken<'a>>)>) {
        let sides: Vec<_> = sides.into_iter().collect();
        let are_two_texts = [Side::Encoder, Side::Decoder].iter().all(|side| sides.iter().any(|(of, _)| of == side));
        for (side, tokens) in sides {
            for token in tokens.iter().filter(|(_, _, special)| !special) {
                let key = (side, TokenKey::of(token));
                if are_two_texts {
                    let inputs = self.inputs.entry(key.clone()).or_default();
                    if inputs.last() != Some(&self.n_inputs) {
                        inputs.push(self.n_inputs);
                    }
                }
                *self.counts.entry(key).or_default() += 1;
            }
        }
        self.n_inputs += 1;
    }

    /// Of all sides of some runs.
    pub fn of_captures<'a>(captures: impl IntoIterator<Item = &'a Capture>) -> Self {
        let mut counts = Self::default();
        for capture in captures {
            counts.add(Side::ALL.map(|side| (side, capture.tokens(side).iter().map(known_token).collect())));
        }
        counts
    }

    /// For each token of the decoder of an input the places of the encoder's token that goes with it, by the Dice coefficient
    /// of the inputs in which both are; none of tokens with which nothing does, or several equally.
    pub fn translations(&self, queries: &[KnownToken<'_>], keys: &[KnownToken<'_>]) -> Vec<Vec<usize>> {
        let mut places: BTreeMap<usize, (&[u32], Vec<usize>)> = BTreeMap::new();
        let mut first: HashMap<TokenKey, usize> = HashMap::new();
        for (at, key) in keys.iter().enumerate().filter(|(_, (_, _, special))| !special) {
            let token = TokenKey::of(key);
            let Some(inputs) = self.inputs.get(&(Side::Encoder, token.clone())) else { continue };
            let first = *first.entry(token).or_insert(at);
            places.entry(first).or_insert_with(|| (inputs, Vec::new())).1.push(at);
        }
        let of = |query: &KnownToken<'_>| -> Option<Vec<usize>> {
            let own = self.inputs.get(&(Side::Decoder, TokenKey::of(query))).filter(|_| !query.2)?;
            let (mut best, mut most, mut is_alone) = (None, ASSOCIATED, false);
            for (inputs, of) in places.values() {
                let dice = dice(own, inputs);
                if dice > most || (dice >= most && best.is_none()) {
                    (best, most, is_alone) = (Some(of), dice, true);
                } else if dice >= most {
                    is_alone = false;
                }
            }
            best.filter(|_| is_alone).cloned()
        };
        queries.iter().map(|query| of(query).unwrap_or_default()).collect()
    }

    /// The counts of the tokens of a side.
    pub fn of<'a>(&self, side: Side, tokens: impl Iterator<Item = KnownToken<'a>>) -> KeyCounts {
        let of = |token: KnownToken<'a>| {
            let count = self.counts.get(&(side, TokenKey::of(&token))).copied().unwrap_or(0);
            (!token.2).then_some(count)
        };
        tokens.map(of).collect()
    }
}

/// Twice the inputs in which both are, divided by the sum of those in which each is; 0 of those that are together by chance
/// alone. Inputs rise.
fn dice(a: &[u32], b: &[u32]) -> f64 {
    let (mut n_both, mut left, mut right) = (0, 0, 0);
    while let (Some(of_a), Some(of_b)) = (a.get(left), b.get(right)) {
        match of_a.cmp(of_b) {
            Ordering::Less => left += 1,
            Ordering::Greater => right += 1,
            Ordering::Equal => (n_both, left, right) = (n_both + 1, left + 1, right + 1),
        }
    }
    if n_both < TOGETHER { 0.0 } else { 2.0 * n_both as f64 / (a.len() + b.len()) as f64 }
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
        for words in ["[S] the cat saw the dog", "[S] the cat ran"] {
            counts.add([(Side::Only, text(words).collect())]);
        }
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

    #[test]
    fn tokens_go_together_that_are_in_the_same_inputs() {
        let text = |words: &'static str| -> Vec<KnownToken<'static>> {
            words.split(' ').map(|word| (word, None, word == "[S]")).collect()
        };
        let mut counts = TokenCounts::default();
        for (source, target) in [
            ("the dog runs [S]", "[S] der Hund rennt"),
            ("the dog sleeps [S]", "[S] der Hund schläft"),
            ("the cat runs [S]", "[S] die Katze rennt"),
            ("a cat [S]", "[S] eine Katze"),
        ] {
            counts.add([(Side::Encoder, text(source)), (Side::Decoder, text(target))]);
        }
        // Dog and Hund share both of their inputs: 1. The and der share two of three and two: 0.8, and dog as much: 1.
        let found = counts.translations(&text("[S] der Hund rennt schläft"), &text("the dog runs sleeps dog [S]"));
        assert_eq!(found, [vec![], vec![1, 4], vec![1, 4], vec![2], vec![]]);
        // Without the dog der goes with the; what is together once is by chance.
        assert_eq!(counts.translations(&text("der eine"), &text("the a")), [vec![0], vec![]]);
        // Two that go with it as well as each other decide nothing.
        let mut alike = TokenCounts::default();
        for _ in 0..2 {
            alike.add([(Side::Encoder, text("good day")), (Side::Decoder, text("tag"))]);
        }
        assert_eq!(alike.translations(&text("tag"), &text("good day")), [Vec::<usize>::new()]);
        assert_eq!(dice(&[0, 1, 4, 7], &[1, 4, 5]), 4.0 / 7.0);
        assert_eq!(dice(&[0, 1], &[1]), 0.0);
    }
}
