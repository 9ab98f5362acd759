//! `tokens`: side → tokens, and what a file of another program may write instead.

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};

use super::FileError;
use crate::capture::{
    InputInfo, Token,
    spelling::{TokenStyle, is_special, labels_of_list},
};

/// `tokens`: side → tokens.
pub(in crate::capture::file) type TokensEntry = BTreeMap<String, Vec<TokenEntry>>;

/// One token; `start` and `end` are bytes of the input text. A file may also give the bare text.
#[derive(Serialize, Deserialize)]
#[serde(from = "TokenForm")]
pub(in crate::capture::file) struct TokenEntry {
    text: String,
    id: Option<u32>,
    /// Where nobody says, the spelling tells.
    special: bool,
    start: usize,
    end: usize,
    #[serde(skip_serializing_if = "is_first")]
    segment: u8,
    #[serde(skip_serializing_if = "Option::is_none")]
    group: Option<u32>,
    #[serde(skip_serializing_if = "Option::is_none")]
    position: Option<usize>,
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
        special: Option<bool>,
        #[serde(default)]
        start: usize,
        #[serde(default)]
        end: usize,
        #[serde(default)]
        segment: u8,
        #[serde(default)]
        group: Option<u32>,
        #[serde(default)]
        position: Option<usize>,
    },
}

impl From<TokenForm> for TokenEntry {
    fn from(form: TokenForm) -> Self {
        match form {
            TokenForm::Text(text) => text.into(),
            TokenForm::Full { text, id, special, start, end, segment, group, position } => {
                let special = special.unwrap_or_else(|| is_special(&text));
                Self { text, id, special, start, end, segment, group, position }
            }
        }
    }
}

impl From<String> for TokenEntry {
    /// A token of which only the text is known.
    fn from(text: String) -> Self {
        let special = is_special(&text);
        Self { text, id: None, special, start: 0, end: 0, segment: 0, group: None, position: None }
    }
}

impl From<&Token> for TokenEntry {
    fn from(token: &Token) -> Self {
        let Token { text, id, special, span, segment, group, position } = token.clone();
        Self { text, id, special, start: span.start, end: span.end, segment, group, position }
    }
}

/// How the tokens of one side are spelled, by what a file says: one name for all sides, or an object with one each.
pub(in crate::capture::file) struct TokenStyles(BTreeMap<String, TokenStyle>);

/// The side that stands for all.
const ALL_SIDES: &str = "";

impl TokenStyles {
    /// Our own files hold labels.
    pub(in crate::capture::file) fn as_is() -> Self {
        Self(BTreeMap::from([(ALL_SIDES.to_owned(), TokenStyle::AsIs)]))
    }

    /// What the entry `token_style` says; without one the tokens tell.
    pub(in crate::capture::file) fn parse(entry: Option<&str>) -> Result<Self, FileError> {
        let Some(entry) = entry else { return Ok(Self(BTreeMap::new())) };
        // An object, or a name, plain or as JSON like the other entries.
        let by_side = serde_json::from_str::<BTreeMap<String, String>>(entry);
        let names =
            by_side.unwrap_or_else(|_| BTreeMap::from([(ALL_SIDES.to_owned(), entry.trim_matches('"').to_owned())]));
        let style = |(side, name): (String, String)| match TokenStyle::from_name(&name) {
            Some(style) => Ok((side, style)),
            None => Err(FileError::Metadata {
                entry: "token_style",
                problem: format!(
                    "{:?} is not one of {}",
                    name.chars().take(40).collect::<String>(),
                    TokenStyle::names()
                ),
            }),
        };
        names.into_iter().map(style).collect::<Result<_, _>>().map(Self)
    }

    /// Puts labels in the place of what a vocabulary has.
    pub(in crate::capture::file) fn apply(&self, tokens: &mut TokensEntry) {
        for (side, tokens) in tokens {
            let style = self.0.get(side).or_else(|| self.0.get(ALL_SIDES));
            let texts: Vec<(&str, bool)> = tokens.iter().map(|token| (token.text.as_str(), token.special)).collect();
            let labels = labels_of_list(&texts, style.copied());
            for (token, label) in tokens.iter_mut().zip(labels) {
                token.text = label;
            }
        }
    }
}

impl TokenEntry {
    /// Marks a token of the second sentence.
    pub(in crate::capture::file) const fn put_into_second(&mut self) {
        self.segment = 1;
    }

    /// The token; a span that does not lie in the input is dropped, because others slice with it.
    pub(in crate::capture::file) fn token(self, input: &InputInfo) -> Token {
        let Self { text, id, special, start, end, segment, group, position } = self;
        let fits = |text: &Option<String>| text.as_ref().is_some_and(|text| text.get(start..end).is_some());
        let span = if fits(&input.text) || fits(&input.text_b) || fits(&input.target) { start..end } else { 0..0 };
        Token { text, id, special, span, segment, group, position }
    }
}
