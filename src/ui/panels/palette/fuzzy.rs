//! Fuzzy match of a name with typed text: its letters in order, best where words begin and where they stand together.
//!
//! Own code: what is offered is a few hundred short names, where trying every place of every letter takes less than
//! drawing the list, and the small crates for it are either no longer looked after or bring tables for all scripts.

/// For each letter that is found.
const LETTER: i32 = 8;
/// For a letter at the start of the name, or of a word in it.
const WORD_START: i32 = 10;
/// For a letter right behind the one before.
const TOGETHER: i32 = 9;
/// For each letter that is skipped between two.
const SKIPPED: i32 = -1;
/// More letters than these cost no more to skip.
const MOST_SKIPPED: usize = 12;
/// What is typed and what it is held against are looked at so far.
const MOST_LETTERS: usize = 120;

/// How a name fits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Fit {
    pub score: i32,
    /// Which letters were meant, by their place among the characters of the name.
    pub at: Vec<usize>,
}

/// How `name` fits what was typed, word by word in any order; `None` where a word is not in it.
pub fn fit(typed: &str, name: &str) -> Option<Fit> {
    let letters: Vec<char> = name.chars().map(small).take(MOST_LETTERS).collect();
    let mut all = Fit { score: 0, at: Vec::new() };
    for word in typed.split_whitespace() {
        let word: Vec<char> = word.chars().map(small).take(MOST_LETTERS).collect();
        let Fit { score, at } = fit_word(&word, &letters)?;
        all.score += score;
        all.at.extend(at);
    }
    all.at.sort_unstable();
    all.at.dedup();
    // Of two names with the same letters the shorter one is meant.
    all.score = 16 * all.score - letters.len() as i32;
    Some(all)
}

fn small(letter: char) -> char {
    letter.to_lowercase().next().unwrap_or(letter)
}

/// The best way to find the letters of `word` in order: for each place the best score of the letters so far that ends
/// there, and where the letter before was.
fn fit_word(word: &[char], name: &[char]) -> Option<Fit> {
    let mut rows: Vec<Vec<Option<(i32, usize)>>> = Vec::with_capacity(word.len());
    for (nth, letter) in word.iter().enumerate() {
        let before = rows.last();
        let ends = |at: usize| -> Option<(i32, usize)> {
            if name[at] != *letter {
                return None;
            }
            let own = LETTER + if starts_word(name, at) { WORD_START } else { 0 };
            let Some(before) = before else { return Some((own, at)) };
            let from = (0..at).filter_map(|from| Some((before[from]?.0 + between(from, at), from)));
            let (score, from) = from.max_by_key(|(score, from)| (*score, *from))?;
            Some((score + own, from))
        };
        let row: Vec<_> = (0..name.len()).map(|at| if at < nth { None } else { ends(at) }).collect();
        rows.push(row);
    }
    let last = rows.last()?;
    let (mut at, score) = last
        .iter()
        .enumerate()
        .filter_map(|(at, end)| Some((at, end.as_ref()?.0)))
        .max_by_key(|(at, score)| (*score, usize::MAX - at))?;
    let mut found = vec![at; rows.len()];
    for (nth, row) in rows.iter().enumerate().rev() {
        found[nth] = at;
        at = row[at]?.1;
    }
    Some(Fit { score, at: found })
}

fn between(from: usize, at: usize) -> i32 {
    match at - from - 1 {
        0 => TOGETHER,
        skipped => SKIPPED * skipped.min(MOST_SKIPPED) as i32,
    }
}

fn starts_word(name: &[char], at: usize) -> bool {
    at == 0 || (!name[at - 1].is_alphanumeric() && name[at].is_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The names in the order in which they fit.
    fn ranked<'a>(typed: &str, names: &[&'a str]) -> Vec<&'a str> {
        let mut fits: Vec<_> = names.iter().filter_map(|name| Some((fit(typed, name)?.score, *name))).collect();
        fits.sort_by_key(|(score, _)| std::cmp::Reverse(*score));
        fits.into_iter().map(|(_, name)| name).collect()
    }

    #[test]
    fn starts_of_words_count_more_than_letters_somewhere() {
        let names = ["Another head beside it", "Next head", "Heads", "Heatmap", "Shortcuts", "Next layer"];
        assert_eq!(ranked("hea", &names)[0], "Heads", "a start, and the shortest of those");
        assert_eq!(ranked("nl", &names)[0], "Next layer");
        assert_eq!(ranked("nh", &names)[0], "Next head");
        assert_eq!(ranked("head next", &names), ["Next head"], "words in any order");
        assert!(ranked("xyz", &names).is_empty());
    }

    #[test]
    fn the_letters_that_were_meant_are_told() {
        assert_eq!(fit("nl", "Next layer").unwrap().at, [0, 5]);
        assert_eq!(fit("lay", "A plain layer").unwrap().at, [8, 9, 10], "together rather than early");
        assert_eq!(fit("ÜB", "über").unwrap().at, [0, 1]);
        assert_eq!(fit("  ", "anything").unwrap().at, [0usize; 0], "nothing typed fits everything");
    }
}
