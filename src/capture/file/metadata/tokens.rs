//! `tokens`: side → tokens, and what a file of another program may write instead.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use crate::capture::{InputInfo, Token};

/// What tokenizers call the tokens they add.
const SPECIAL_TOKENS: [&str; 14] = [
    "[CLS]",
    "[SEP]",
    "[PAD]",
    "[BOS]",
    "[EOS]",
    "<s>",
    "</s>",
    "<pad>",
    "<bos>",
    "<eos>",
    "<|begin_of_text|>",
    "<|end_of_text|>",
    "<|endoftext|>",
    "<|im_end|>",
];

/// `tokens`: side → tokens.
pub(in crate::capture::file) type TokensEntry = BTreeMap<String, Vec<TokenEntry>>;

/// One token; `start` and `end` are bytes of the input text. A file may also give the bare text.
#[derive(Serialize, Deserialize)]
#[serde(from = "TokenForm")]
pub(in crate::capture::file) struct TokenEntry {
    text: String,
    id: Option<u32>,
    special: bool,
    start: usize,
    end: usize,
    #[serde(skip_serializing_if = "is_first")]
    segment: u8,
}

#[expect(clippy::trivially_copy_pass_by_ref, reason = "the signature that serde wants")]
const fn is_first(segment: &u8) -> bool {
    *segment == 0
}

/// The ways to write a token.
#[derive(Deserialize)]
#[serde(untagged)]
enum TokenForm {
    Text(String),
    Full {
        text: String,
        #[serde(default)]
        id: Option<u32>,
        #[serde(default)]
        special: bool,
        #[serde(default)]
        start: usize,
        #[serde(default)]
        end: usize,
        #[serde(default)]
        segment: u8,
    },
}

impl From<TokenForm> for TokenEntry {
    fn from(form: TokenForm) -> Self {
        match form {
            TokenForm::Text(text) => text.into(),
            TokenForm::Full { text, id, special, start, end, segment } => {
                Self { text, id, special, start, end, segment }
            }
        }
    }
}

impl From<String> for TokenEntry {
    /// A token of which only the text is known; the usual names of special tokens tell those.
    fn from(text: String) -> Self {
        let special = SPECIAL_TOKENS.contains(&text.as_str());
        Self { text, id: None, special, start: 0, end: 0, segment: 0 }
    }
}

impl From<&Token> for TokenEntry {
    fn from(token: &Token) -> Self {
        let Token { text, id, special, span, segment } = token;
        Self { text: text.clone(), id: *id, special: *special, start: span.start, end: span.end, segment: *segment }
    }
}

impl TokenEntry {
    /// The token; a span that does not lie in the input is dropped, because others slice with it.
    pub(in crate::capture::file) fn token(self, input: &InputInfo) -> Token {
        let Self { text, id, special, start, end, segment } = self;
        let fits = |text: &Option<String>| text.as_ref().is_some_and(|text| text.get(start..end).is_some());
        let span = if fits(&input.text) || fits(&input.text_b) || fits(&input.target) { start..end } else { 0..0 };
        Token { text, id, special, span, segment }
    }
}
