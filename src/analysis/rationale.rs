//! Words that somebody names as reasons for an output, and how well the importance of tokens agrees with them.

use super::{
    bootstrap::Estimate,
    explain::report::{LabQuestion, MethodSpec},
};
use crate::{
    capture::{
        Token,
        words::{unspaced, word_text, words},
    },
    random::SplitMix,
};

/// What `attnscope analyze rationales` says of itself.
pub const RATIONALES: MethodSpec = MethodSpec {
    name: "rationales",
    title: "Agreement with rationales",
    question: LabQuestion::Depends,
    about: "How well what methods call important agrees with the words that a person marked as reasons",
    example: "--model demo:sentiment --corpus demo:rationales --reasons-column reasons --out rationales.svg",
    caveat: "Words that a person finds convincing are not those that the model used: this is plausibility, and a method that \
             tells faithfully of a model with bad reasons scores low.",
    formula: "AP = Σ_n (R_n − R_(n−1)) P_n over the tokens of a text by the size of their importance, equal ones together; by \
              chance the mean over all orders; recall at k: k is the number of marked tokens",
    source: "DeYoung et al. 2020 (ERASER)",
    values: &[],
    ..MethodSpec::EMPTY
};

/// Tokens of an input that are named.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct NamedTokens {
    /// Whether each token belongs to a named word.
    pub is_named: Vec<bool>,
    /// Phrases that the input does not have.
    pub missing: Vec<String>,
}

impl NamedTokens {
    /// All places of the phrases among the words of some tokens. Case and punctuation are left aside, and a phrase stands
    /// for whole words.
    pub fn find(tokens: &[Token], phrases: &[String]) -> Self {
        let all = words(tokens);
        let mut pieces: Vec<(String, usize)> = Vec::new();
        for (nth, word) in all.iter().enumerate().filter(|(_, word)| !tokens[word.start].special) {
            pieces.extend(pieces_of(&word_text(tokens, (*word).clone())).into_iter().map(|piece| (piece, nth)));
        }
        let mut found = Self { is_named: vec![false; tokens.len()], missing: Vec::new() };
        for phrase in phrases {
            let wanted = pieces_of(phrase);
            let here = |at: &[(String, usize)]| at.iter().map(|(piece, _)| piece).eq(&wanted);
            let mut is_there = false;
            for place in pieces.windows(wanted.len().max(1)).filter(|place| here(place)) {
                is_there = true;
                for (_, word) in place {
                    found.is_named[all[*word].clone()].fill(true);
                }
            }
            if !is_there {
                found.missing.push(phrase.clone());
            }
        }
        found
    }
}

/// Runs of letters and digits in lower case; where no spaces are written, single letters.
fn pieces_of(text: &str) -> Vec<String> {
    let mut pieces = Vec::new();
    let mut run = String::new();
    for c in text.chars() {
        if !c.is_alphanumeric() || unspaced(c) {
            pieces.extend((!run.is_empty()).then(|| std::mem::take(&mut run)));
        }
        if unspaced(c) {
            pieces.push(c.to_string());
        } else if c.is_alphanumeric() {
            run.extend(c.to_lowercase());
        }
    }
    pieces.extend((!run.is_empty()).then_some(run));
    pieces
}

/// How well sizes put the named tokens of one text before the others.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Plausibility {
    /// Average precision, from above 0 to 1.
    pub precision: f64,
    /// Its mean over all orders of the tokens.
    pub chance: f64,
    /// Share of the named tokens among as many that come first; of equal sizes, the share that is to be expected.
    pub recall: f64,
}

impl Plausibility {
    /// Of a size for each token; none where all tokens are named, or none is.
    pub fn of(sizes: &[f64], is_named: &[bool]) -> Option<Self> {
        let mut order: Vec<(f64, bool)> = sizes.iter().copied().zip(is_named.iter().copied()).collect();
        let (n, named) = (order.len(), order.iter().filter(|(_, named)| *named).count());
        if named == 0 || named == n {
            return None;
        }
        order.sort_by(|a, b| b.0.total_cmp(&a.0));
        let (mut before, mut hits, mut precision, mut recalled) = (0, 0, 0.0, 0.0);
        for equal in order.chunk_by(|a, b| a.0.total_cmp(&b.0).is_eq()) {
            let new = equal.iter().filter(|(_, named)| *named).count();
            let places = named.saturating_sub(before).min(equal.len());
            recalled += new as f64 * places as f64 / equal.len() as f64;
            before += equal.len();
            hits += new;
            precision += new as f64 / named as f64 * hits as f64 / before as f64;
        }
        let chance = by_chance(n, named);
        Some(Self { precision, chance, recall: recalled / named as f64 })
    }
}

/// Mean average precision of all orders of `n` tokens of which some are named: a named token at place i has, on average,
/// `(i − 1)(named − 1) / (n − 1)` others before it.
fn by_chance(n: usize, named: usize) -> f64 {
    let others = (named as f64 - 1.0) / (n as f64 - 1.0);
    (1..=n).map(|place| (1.0 + (place as f64 - 1.0) * others) / place as f64).sum::<f64>() / n as f64
}

/// One method over all texts.
#[derive(Clone, Debug, PartialEq)]
pub struct RationaleRow {
    /// The column of the laboratory, by its name and as it is shown.
    pub name: &'static str,
    pub title: &'static str,
    pub n_texts: usize,
    pub precision: Estimate,
    pub recall: Estimate,
    /// What the precision is above chance, text by text.
    pub gain: Estimate,
}

impl RationaleRow {
    /// Means over texts, which are drawn anew for the intervals; none without a text.
    pub fn of(
        (name, title): (&'static str, &'static str),
        texts: &[Plausibility],
        samples: usize,
        seed: u64,
    ) -> Option<Self> {
        let mean = |what: u64, of: fn(&Plausibility) -> f64| {
            let values: Vec<f64> = texts.iter().map(of).collect();
            Estimate::of_mean(&values, samples, SplitMix::of_words([seed, what]))
        };
        Some(Self {
            name,
            title,
            n_texts: texts.len(),
            precision: mean(0, |text| text.precision)?,
            recall: mean(1, |text| text.recall)?,
            gain: mean(2, |text| text.precision - text.chance)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(texts: &[&str]) -> Vec<Token> {
        let mut at = 0;
        let token = |text: &&str| {
            let (start, len) = (at, text.trim_start_matches('#').len());
            at += len + usize::from(!text.starts_with('#'));
            let start = if text.starts_with('#') { start - 1 } else { start };
            Token { text: (*text).to_owned(), span: start..start + len, ..Token::default() }
        };
        texts.iter().map(token).collect()
    }

    #[test]
    fn phrases_name_whole_words_wherever_they_stand() {
        let tokens = tokens(&["a", "Fine", "film", ",", "fine", "-", "tun", "##ed", "and", "fines"]);
        let named = |phrases: &[&str]| {
            let phrases: Vec<String> = phrases.iter().map(|phrase| (*phrase).to_owned()).collect();
            let found = NamedTokens::find(&tokens, &phrases);
            let at = (0..tokens.len()).filter(|at| found.is_named[*at]).collect::<Vec<_>>();
            (at, found.missing)
        };
        assert_eq!(named(&["fine"]), (vec![1, 4], vec![]));
        assert_eq!(named(&["Film, FINE", "tuned"]), (vec![2, 4, 6, 7], vec![]));
        assert_eq!(named(&["tun", "", "..."]), (vec![], vec!["tun".into(), String::new(), "...".into()]));
        assert_eq!(pieces_of("don't 非常好x"), ["don", "t", "非", "常", "好", "x"]);
    }

    #[test]
    fn precision_is_that_of_other_programs_and_chance_its_mean_over_all_orders() {
        let named = [true, false, true, false];
        let of = |sizes: [f64; 4]| Plausibility::of(&sizes, &named).unwrap();
        assert_eq!((of([4.0, 2.0, 3.0, 1.0]).precision, of([4.0, 2.0, 3.0, 1.0]).recall), (1.0, 1.0));
        // average_precision_score of scikit-learn.
        assert!((of([0.4, 0.3, 0.2, 0.1]).precision - 0.833_333_333).abs() < 1e-9);
        assert!((of([0.3, 0.3, 0.2, 0.1]).precision - 0.583_333_333).abs() < 1e-9);
        assert!((of([0.1, 0.3, 0.1, 0.4]).precision - 0.5).abs() < 1e-9);
        let level = of([1.0; 4]);
        assert_eq!((level.precision, level.recall), (0.5, 0.5));
        // All 24 orders of four tokens.
        let mut sum = (0.0, 0);
        for code in 0..256usize {
            let places = [code % 4, code / 4 % 4, code / 16 % 4, code / 64];
            if (0..4).all(|place| places.contains(&place)) {
                sum = (sum.0 + of(places.map(|place| place as f64)).precision, sum.1 + 1);
            }
        }
        assert_eq!(sum.1, 24);
        assert!((sum.0 / 24.0 - level.chance).abs() < 1e-12, "{} {}", sum.0 / 24.0, level.chance);
        assert_eq!(Plausibility::of(&[1.0, 2.0], &[true, true]), None);
        assert_eq!(Plausibility::of(&[1.0, 2.0], &[false, false]), None);
    }
}
