//! Pairs of sentences: which token belongs to which.

use super::SentenceFilter;
use crate::{
    capture::{Capture, Token},
    ids::StackKind,
};

/// The sentence of every token, 0 or 1; `None` where the input is no pair.
///
/// A special token belongs to the sentence that it closes; one at the start to the first.
pub fn sentences(tokens: &[Token]) -> Option<Vec<u8>> {
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

/// Whether a stack attends between two sentences.
pub fn is_pair(capture: &Capture, stack: StackKind) -> bool {
    sentences(capture.query_tokens(stack)).is_some() && sentences(capture.key_tokens(stack)).is_some()
}

/// Which queries and which keys a filter leaves out; `None` where it leaves out nothing.
pub(super) fn left_out(capture: &Capture, stack: StackKind, filter: SentenceFilter) -> Option<[Vec<bool>; 2]> {
    let (query, key) = filter.ends()?;
    let (queries, keys) = (sentences(capture.query_tokens(stack))?, sentences(capture.key_tokens(stack))?);
    let other = |sentences: Vec<u8>, wanted| sentences.into_iter().map(|sentence| sentence != wanted).collect();
    Some([other(queries, query), other(keys, key)])
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
        assert_eq!(sentences(&tokens("<cls> a1 a2 <sep> b1 b2 <sep>")), Some(vec![0, 0, 0, 0, 1, 1, 1]));
        assert_eq!(sentences(&tokens("<s> a1 </s> </s> b1 </s>")), Some(vec![0, 0, 0, 0, 1, 1]));
        assert_eq!(sentences(&tokens("<cls> a1 a2 <sep>")), None, "one sentence is no pair");
        assert_eq!(sentences(&[]), None);
    }
}
