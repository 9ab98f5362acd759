//! Pairs of sentences: which token belongs to which, and what a filter leaves of a pattern.

use super::source;
use crate::{
    capture::{Capture, Matrix, Token},
    ids::{HeadId, StackKind},
    session::{HiddenTokens, Pane, SentenceFilter},
};

/// The sentence of every token, 0 or 1; `None` where the input is no pair.
///
/// A special token belongs to the sentence that it closes; one at the start to the first.
pub fn of(tokens: &[Token]) -> Option<Vec<u8>> {
    let own = |token: &Token| (!token.special).then_some(token.segment);
    if !tokens.iter().any(|token| own(token) == Some(1)) {
        return None;
    }
    let mut current = tokens.iter().find_map(own).unwrap_or(0);
    let segment = |token: &Token| {
        current = own(token).unwrap_or(current);
        current
    };
    Some(tokens.iter().map(segment).collect())
}

/// The sentences of the queries and of the keys of a stack.
fn of_stack(capture: &Capture, stack: StackKind) -> Option<[Vec<u8>; 2]> {
    Some([of(capture.query_tokens(stack))?, of(capture.key_tokens(stack))?])
}

/// Whether the selected stack attends between two sentences.
pub fn is_pair(pane: &Pane, capture: &Capture) -> bool {
    of_stack(capture, pane.selection.stack()).is_some()
}

/// The filter that applies to the selected stack: the chosen one where the input is a pair.
pub fn filter(pane: &Pane, capture: &Capture) -> SentenceFilter {
    let chosen = pane.options.sentences;
    if chosen == SentenceFilter::All || is_pair(pane, capture) { chosen } else { SentenceFilter::All }
}

/// Which queries and which keys a filter leaves out.
pub fn left_out(capture: &Capture, stack: StackKind, filter: SentenceFilter) -> [Vec<bool>; 2] {
    match (filter.ends(), of_stack(capture, stack)) {
        (Some((query, key)), Some([queries, keys])) => [
            queries.into_iter().map(|sentence| sentence != query).collect(),
            keys.into_iter().map(|sentence| sentence != key).collect(),
        ],
        _ => [vec![false; capture.query_tokens(stack).len()], vec![false; capture.key_tokens(stack).len()]],
    }
}

/// A pattern as it is shown.
#[derive(Clone, Debug)]
pub struct Shown {
    /// `[query, key]`; 0 where something is left out.
    pub pattern: Matrix,
    /// Mass of the rows that are shown, before keys were left out by sentence.
    pub row_mass: f64,
}

/// One head's pattern without the hidden tokens, rows renormalised, and then without the rows and columns
/// that the filter leaves out, **not** renormalised: what remains is what the model computed.
pub fn shown(capture: &Capture, head: HeadId, hidden: HiddenTokens, filter: SentenceFilter) -> Option<Shown> {
    let pattern = source::shown_pattern(capture, head, hidden)?;
    let mass = |row: &[f32]| row.iter().map(|&weight| f64::from(weight)).sum::<f64>();
    if filter == SentenceFilter::All {
        let row_mass = pattern.rows().map(mass).sum();
        return Some(Shown { pattern, row_mass });
    }
    let [queries, keys] = left_out(capture, head.stack, filter);
    let mut row_mass = 0.0;
    let mut values = pattern.as_slice().to_vec();
    for (row, out) in values.chunks_exact_mut(pattern.n_cols().max(1)).zip(queries) {
        if out {
            row.fill(0.0);
            continue;
        }
        row_mass += mass(row);
        row.iter_mut().zip(&keys).filter(|(_, out)| **out).for_each(|(weight, _)| *weight = 0.0);
    }
    Some(Shown { pattern: Matrix::new(values, pattern.shape()).ok()?, row_mass })
}

/// How much of the attention of the shown queries a filter leaves out, in words.
pub fn left_out_text(filter: SentenceFilter, shown_mass: f64, row_mass: f64) -> Option<String> {
    let (query, _) = filter.ends()?;
    let sentence = if query == 0 { 'A' } else { 'B' };
    let part = 100.0 * shown_mass / row_mass.max(f64::MIN_POSITIVE);
    Some(format!(
        "{}: {part:.0} % of the attention of {sentence}; the other {:.0} % is left out, weights are not renormalised",
        filter.label(),
        100.0 - part,
    ))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tokens(text: &str) -> Vec<Token> {
        let token = |word: &str| Token {
            text: word.to_owned(),
            special: word.starts_with('<'),
            segment: u8::from(word.starts_with('b')),
            ..Token::default()
        };
        text.split(' ').map(token).collect()
    }

    #[test]
    fn special_tokens_belong_to_the_sentence_they_close() {
        assert_eq!(of(&tokens("<cls> a1 a2 <sep> b1 b2 <sep>")), Some(vec![0, 0, 0, 0, 1, 1, 1]));
        assert_eq!(of(&tokens("<s> a1 </s> </s> b1 </s>")), Some(vec![0, 0, 0, 0, 1, 1]));
        assert_eq!(of(&tokens("<cls> a1 a2 <sep>")), None, "one sentence is no pair");
        assert_eq!(of(&[]), None);
    }

    #[test]
    fn what_is_left_out_is_said() {
        let text = left_out_text(SentenceFilter::BToA, 1.0, 4.0).unwrap();
        assert_eq!(text, "B→A: 25 % of the attention of B; the other 75 % is left out, weights are not renormalised");
        assert_eq!(left_out_text(SentenceFilter::All, 4.0, 4.0), None);
    }
}
