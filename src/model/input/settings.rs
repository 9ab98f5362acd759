//! What stands beside a vocabulary: special tokens, and flags that change how text is cut.

use std::collections::HashSet;

use serde_json::{Map, Value};
use tokenizers::AddedToken;

use super::{InputError, convention::Convention, read};
use crate::model::checkpoint::ModelFiles;

pub(super) const CONFIG: &str = "tokenizer_config.json";
const MODEL_CONFIG: &str = "config.json";
const SPECIAL_TOKENS: &str = "special_tokens_map.json";
const ADDED_TOKENS: &str = "added_tokens.json";
const GENERATION: &str = "generation_config.json";

/// The contents of the small files; `null` where there is none.
#[derive(Debug)]
pub(super) struct Settings {
    tokenizer: Value,
    special_tokens: Value,
    added_tokens: Value,
    /// `config.json`.
    pub model: Value,
    /// `generation_config.json`.
    pub generation: Value,
    pub convention: Convention,
}

impl Settings {
    /// # Errors
    /// When one of the files is not JSON.
    pub fn from_files(files: &ModelFiles) -> Result<Self, InputError> {
        let json = |file| match read(files, file)? {
            None => Ok(Value::Null),
            Some(bytes) => {
                serde_json::from_slice(&bytes).map_err(|error| InputError::BadFile { file, reason: error.to_string() })
            }
        };
        let (tokenizer, model) = (json(CONFIG)?, json(MODEL_CONFIG)?);
        Ok(Self {
            convention: Convention::of(&tokenizer, &model),
            tokenizer,
            special_tokens: json(SPECIAL_TOKENS)?,
            added_tokens: json(ADDED_TOKENS)?,
            model,
            generation: json(GENERATION)?,
        })
    }

    /// The class of tokenizer that the checkpoint asks for, when it is none of the known families.
    pub fn unknown_class(&self) -> Option<&str> {
        Convention::unknown_class(&self.tokenizer, &self.model)
    }

    /// Whether the second of two texts is told to the model as such.
    pub fn tells_segments(&self) -> bool {
        let names = self.tokenizer.get("model_input_names").and_then(Value::as_array);
        names.map_or_else(
            || Convention::tells_segments(&self.tokenizer, &self.model),
            |names| names.iter().any(|name| name == "token_type_ids"),
        )
    }

    /// Whether the class of the tokenizer goes by `tokenizer.json` alone.
    pub fn goes_by_file(&self) -> bool {
        Convention::goes_by_file(&self.tokenizer, &self.model)
    }

    pub fn flag(&self, key: &str) -> Option<bool> {
        self.tokenizer.get(key)?.as_bool()
    }

    pub fn number(&self, key: &str) -> Option<u64> {
        self.tokenizer.get(key)?.as_u64()
    }

    pub fn text(&self, key: &str) -> Option<&str> {
        self.tokenizer.get(key)?.as_str()
    }

    /// A special token that the checkpoint names itself, such as `eos_token`.
    pub fn declared(&self, key: &str) -> Option<AddedToken> {
        let value = [&self.tokenizer, &self.special_tokens].into_iter().find_map(|source| {
            let value = source.get(key)?;
            (!value.is_null()).then_some(value)
        })?;
        let token = added_token(value)?.special(true).normalized(false);
        // A mask written as plain text swallows the space before it, as in the Python classes.
        let lstrip = token.lstrip || value.is_string() && key == "mask_token" && self.convention.mask_takes_space();
        Some(token.lstrip(lstrip))
    }

    /// Texts of all special tokens that the checkpoint names itself.
    pub fn named(&self) -> HashSet<String> {
        self.declared_tokens().chain(self.additional_special_tokens()).map(|token| token.content).collect()
    }

    /// All special tokens with a role that the checkpoint names itself.
    pub fn declared_tokens(&self) -> impl Iterator<Item = AddedToken> {
        ROLES.iter().filter_map(|role| self.declared(role))
    }

    /// A special token by its role; the family's usual one when the checkpoint does not name it.
    pub fn token(&self, key: &str) -> Option<AddedToken> {
        self.declared(key).or_else(|| {
            let (_, text) = self.convention.special_tokens().iter().find(|(role, _)| *role == key)?;
            let lstrip = key == "mask_token" && self.convention.mask_takes_space();
            Some(AddedToken::from(*text, true).lstrip(lstrip))
        })
    }

    /// All special tokens with a role, those of the checkpoint and those of the family.
    pub fn special_tokens(&self) -> impl Iterator<Item = AddedToken> {
        ROLES.iter().filter_map(|role| self.token(role))
    }

    /// Special tokens without a role.
    pub fn additional_special_tokens(&self) -> impl Iterator<Item = AddedToken> {
        let lists = [&self.tokenizer, &self.special_tokens].into_iter().flat_map(|source| {
            ["additional_special_tokens", "extra_special_tokens"].map(|key| source.get(key).and_then(Value::as_array))
        });
        lists.flatten().flatten().filter_map(added_token).map(|token| token.special(true).normalized(false))
    }

    /// Tokens that were added to the vocabulary, with the ids that the checkpoint declares for them,
    /// in the order of the ids.
    pub fn added_tokens(&self) -> Vec<(u32, AddedToken)> {
        let mut tokens: Vec<(u32, AddedToken)> =
            match self.tokenizer.get("added_tokens_decoder").and_then(Value::as_object) {
                Some(decoder) => {
                    let entry = |(id, token): (&String, &Value)| Some((id.parse().ok()?, added_token(token)?));
                    decoder.iter().filter_map(entry).collect()
                }
                None => self.old_added_tokens(),
            };
        tokens.retain(|(id, _)| *id < MAX_ADDED_ID);
        tokens.sort_by_key(|(id, _)| *id);
        tokens
    }

    fn old_added_tokens(&self) -> Vec<(u32, AddedToken)> {
        let named = self.named();
        let entry = |(text, id): (&String, &Value)| {
            Some((u32::try_from(id.as_u64()?).ok()?, AddedToken::from(text, named.contains(text))))
        };
        self.added_tokens.as_object().into_iter().flat_map(Map::iter).filter_map(entry).collect()
    }
}

/// No vocabulary comes near; the library counts on from the largest id.
const MAX_ADDED_ID: u32 = 1 << 30;

const ROLES: [&str; 7] = ["bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"];

/// Written as text, or as an object with `content`.
fn added_token(value: &Value) -> Option<AddedToken> {
    if let Some(text) = value.as_str() {
        return Some(AddedToken::from(text, true));
    }
    let flag = |key: &str| value.get(key).and_then(Value::as_bool);
    let special = flag("special").unwrap_or(false);
    Some(
        AddedToken::from(value.get("content")?.as_str()?, special)
            .lstrip(flag("lstrip").unwrap_or(false))
            .rstrip(flag("rstrip").unwrap_or(false))
            .single_word(flag("single_word").unwrap_or(false))
            .normalized(flag("normalized").unwrap_or(!special)),
    )
}
