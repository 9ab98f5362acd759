//! The parts of a `tokenizer.json` that a class of transformers takes over or throws away.

use std::fmt;

use serde::{
    Deserialize, Deserializer,
    de::{MapAccess, SeqAccess, Visitor},
};
use serde_json::Value;
use tokenizers::AddedToken;

use super::settings::added_token;

/// A file as it is written; the model alone is read into what it is made of.
#[derive(Debug, Default, Deserialize)]
pub(super) struct TokenizerFile {
    pub model: ModelPart,
    #[serde(default)]
    pub normalizer: Value,
    #[serde(default)]
    pub pre_tokenizer: Value,
    #[serde(default)]
    pub post_processor: Value,
    #[serde(default)]
    pub decoder: Value,
    #[serde(default)]
    pub added_tokens: Vec<Value>,
}

/// The vocabulary and how it is used.
#[derive(Debug, Default, Deserialize)]
pub(super) struct ModelPart {
    #[serde(default)]
    pub vocab: Vocabulary,
    #[serde(default)]
    pub merges: Option<Vec<Merge>>,
    #[serde(flatten)]
    pub rest: serde_json::Map<String, Value>,
}

/// Pieces in the order of the file.
#[derive(Debug)]
pub(super) enum Vocabulary {
    Ids(Vec<(String, u32)>),
    /// With their scores; the place is the id.
    Scores(Vec<(String, f64)>),
}

impl Default for Vocabulary {
    fn default() -> Self {
        Self::Ids(Vec::new())
    }
}

#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Merge {
    Text(String),
    Pair((String, String)),
}

impl Vocabulary {
    /// Number of pieces.
    pub const fn len(&self) -> usize {
        match self {
            Self::Ids(entries) => entries.len(),
            Self::Scores(entries) => entries.len(),
        }
    }
}

impl TokenizerFile {
    /// Added tokens with their ids.
    pub fn added_tokens(&self) -> Vec<(u32, AddedToken)> {
        let entry = |value: &Value| Some((u32::try_from(value.get("id")?.as_u64()?).ok()?, added_token(value)?));
        self.added_tokens.iter().filter_map(entry).collect()
    }

    /// Compiled rules of `SentencePiece`, as a normaliser of the library.
    pub fn rules(&self) -> Option<&Value> {
        let is_rules = |part: &&Value| part.get("type").and_then(Value::as_str) == Some("Precompiled");
        let parts = self.normalizer.get("normalizers").and_then(Value::as_array);
        parts.map_or_else(|| Some(&self.normalizer).filter(is_rules), |parts| parts.iter().find(is_rules))
    }
}

impl ModelPart {
    /// Takes the merges out; a merge is written with a space or as two texts.
    ///
    /// # Errors
    /// For one that is neither.
    pub fn take_merges(&mut self) -> Result<Vec<(String, String)>, String> {
        let pair = |merge| match merge {
            Merge::Pair(pair) => Ok(pair),
            Merge::Text(text) => match text.split_once(' ') {
                Some((left, right)) if !right.contains(' ') => Ok((left.to_owned(), right.to_owned())),
                _ => Err(format!("the merge “{text}” is not a pair of pieces")),
            },
        };
        self.merges.take().unwrap_or_default().into_iter().map(pair).collect()
    }
}

impl<'de> Deserialize<'de> for Vocabulary {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Entries;

        impl<'de> Visitor<'de> for Entries {
            type Value = Vocabulary;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("pieces with ids, or pieces with scores")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Vocabulary, A::Error> {
                let mut entries = Vec::with_capacity(map.size_hint().unwrap_or_default().min(1 << 20));
                while let Some(entry) = map.next_entry()? {
                    entries.push(entry);
                }
                Ok(Vocabulary::Ids(entries))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Vocabulary, A::Error> {
                let mut entries = Vec::with_capacity(list.size_hint().unwrap_or_default().min(1 << 20));
                while let Some(entry) = list.next_element()? {
                    entries.push(entry);
                }
                Ok(Vocabulary::Scores(entries))
            }
        }

        deserializer.deserialize_any(Entries)
    }
}
