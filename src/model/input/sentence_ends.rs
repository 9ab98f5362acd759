//! Where sentences of a text end, for models that attend to sentences.

use std::{ops::Range, sync::Arc};

use super::{Encoded, Payload};
use crate::{capture::Token, ids::Side};

/// Letters of a sentence that stand for it.
const LETTERS: usize = 40;

/// How a model tells sentences apart.
#[derive(Clone, Debug)]
pub(crate) struct SentenceEnds {
    /// A sentence ends behind a run of these.
    pub ids: Arc<[u32]>,
    /// Whether the last sentence is a question, and no key.
    pub asks: bool,
}

impl SentenceEnds {
    /// The sentences of a text, in order, without a gap.
    pub fn sentences(&self, ids: &[u32]) -> Vec<Range<usize>> {
        let ends = |at: usize| self.ids.contains(&ids[at]);
        let mut found = Vec::new();
        let mut start = 0;
        for at in 0..ids.len() {
            if at + 1 == ids.len() || (ends(at) && !ends(at + 1)) {
                found.push(start..at + 1);
                start = at + 1;
            }
        }
        found
    }

    /// The sentences that are attended to, as tokens.
    fn tokens(&self, ids: &[u32], words: &[Token], text: Option<&str>) -> Vec<Token> {
        let sentences = self.sentences(ids);
        let n = sentences.len() - usize::from(self.asks && !sentences.is_empty());
        sentences.into_iter().take(n).filter_map(|sentence| Some(token(words.get(sentence)?, text))).collect()
    }
}

/// A sentence: its words as they stand in the text, or else as the vocabulary has them.
fn token(words: &[Token], text: Option<&str>) -> Token {
    // Words may have changed places.
    let spans = words.iter().map(|word| word.span.clone());
    let span = spans.reduce(|all, word| all.start.min(word.start)..all.end.max(word.end)).unwrap_or_default();
    let typed = text.and_then(|text| text.get(span.clone())).filter(|typed| !typed.is_empty());
    let joined = || words.iter().map(|word| word.text.as_str()).collect::<Vec<_>>().join(" ");
    let said = typed.map_or_else(joined, |typed| typed.split_whitespace().collect::<Vec<_>>().join(" "));
    let said = match said.char_indices().nth(LETTERS) {
        Some((at, _)) => format!("{}…", said[..at].trim_end()),
        None => said,
    };
    Token { text: said, span, ..Token::default() }
}

impl Encoded {
    /// The input with the sentences of what it now reads; `text` is what it was made of, as long as it reads that.
    #[must_use]
    pub(crate) fn with_sentences(mut self, text: Option<&str>) -> Self {
        if let (Some(ends), Payload::Text { ids, .. }, Some(words)) =
            (&self.sentences, &self.source, self.tokens.get(&Side::Encoder))
        {
            let sentences = ends.tokens(ids, words, text);
            self.tokens.insert(Side::Sentences, sentences);
        }
        self
    }
}
