//! Files beside a vocabulary: special tokens, and flags that change how text is cut.

use std::{
    borrow::Cow,
    cell::RefCell,
    collections::{BTreeMap, BTreeSet, HashSet},
};

use serde_json::{Map, Value};
use tokenizers::AddedToken;

use super::{
    InputError,
    convention::{Convention, TokenizerOf},
    read,
};
use crate::{json_file, model::checkpoint::ModelFiles};

pub(super) const CONFIG: &str = "tokenizer_config.json";
const MODEL_CONFIG: &str = "config.json";
const SPECIAL_TOKENS: &str = "special_tokens_map.json";
const ADDED_TOKENS: &str = "added_tokens.json";
const GENERATION: &str = "generation_config.json";

/// The contents of the small files; `null` where there is none.
#[derive(Clone, Debug)]
pub(super) struct SmallFiles {
    /// `tokenizer_config.json`.
    pub tokenizer: Value,
    /// `special_tokens_map.json`.
    pub special_tokens: Value,
    /// `added_tokens.json`.
    pub added_tokens: Value,
    /// What a `tokenizer.json` adds to a vocabulary that its class reads elsewhere.
    beside: Vec<(u32, AddedToken)>,
    /// `config.json`.
    pub model: Value,
    /// `generation_config.json`.
    pub generation: Value,
    pub convention: Convention,
    /// The class that reads the texts of a `model_type`.
    pub tokenizer_of: TokenizerOf,
    /// Whether `add_bos_token` and `add_eos_token` count: beside a `tokenizer.json` they do not.
    pub ends_count: bool,
    /// Keys of `tokenizer_config.json` that somebody asked for.
    asked: RefCell<BTreeSet<String>>,
    /// What the user must know about them.
    warnings: RefCell<Vec<String>>,
}

impl SmallFiles {
    /// `tokenizer_of` knows the classes of families, `is_byte_level` whether the `tokenizer.json` has bytes for letters.
    ///
    /// # Errors
    /// When one of the files is not JSON.
    pub fn from_files(
        files: &ModelFiles,
        tokenizer_of: TokenizerOf,
        is_byte_level: impl FnOnce() -> bool,
    ) -> Result<Self, InputError> {
        let json = |file| match read(files, file)? {
            None => Ok(Value::Null),
            Some(bytes) => {
                json_file::of_python(&bytes).map_err(|error| InputError::BadFile { file, reason: error.to_string() })
            }
        };
        let (tokenizer, model) = (json(CONFIG)?, json(MODEL_CONFIG)?);
        let asked = ["tokenizer_class", "auto_map"].map(str::to_owned);
        Ok(Self {
            convention: Convention::of(&tokenizer, &model, tokenizer_of, is_byte_level),
            tokenizer,
            tokenizer_of,
            special_tokens: json(SPECIAL_TOKENS)?,
            added_tokens: json(ADDED_TOKENS)?,
            beside: Vec::new(),
            model,
            generation: json(GENERATION)?,
            ends_count: false,
            asked: RefCell::new(asked.into()),
            warnings: RefCell::default(),
        })
    }

    /// The same for a vocabulary without a `tokenizer.json`.
    pub fn take_vocabulary(&mut self) {
        self.ends_count = true;
        if self.convention == Convention::Other {
            self.convention = Convention::of_vocabulary(&self.tokenizer, &self.model, self.tokenizer_of);
        }
    }

    /// Of a file whose vocabulary does not count, the added tokens still do. After
    /// `PreTrainedTokenizerBase._from_pretrained`.
    pub fn take_added_tokens(&mut self, tokens: Vec<(u32, AddedToken)>) {
        self.beside = tokens;
    }

    /// The same settings for the first of `families`, unless their own is among them.
    pub fn or_family(&self, families: &[Convention]) -> Cow<'_, Self> {
        match families.first() {
            Some(&convention) if !families.contains(&self.convention) => {
                Cow::Owned(Self { convention, ..self.clone() })
            }
            _ => Cow::Borrowed(self),
        }
    }

    /// The class of tokenizer that the checkpoint asks for, when it is none of the known families.
    pub fn unknown_class(&self) -> Option<&str> {
        Convention::unknown_class(&self.tokenizer, &self.model)
    }

    /// The class whose rules would count and are not known.
    pub fn unfollowed_class(&self) -> Option<&str> {
        Convention::unfollowed_class(&self.tokenizer, &self.model, self.tokenizer_of)
    }

    /// Whether the class reads a `SentencePiece` model that is there, and no `tokenizer.json`.
    pub fn has_own_pieces(&self, files: &ModelFiles) -> bool {
        match self.convention {
            Convention::Marian => files.contains("source.spm") && files.contains("vocab.json"),
            Convention::M2m100 => files.contains("sentencepiece.bpe.model") && files.contains("vocab.json"),
            Convention::Siglip => files.contains("spiece.model"),
            _ => false,
        }
    }

    /// The name of the `tokenizer.json`: there may be some for newer versions of transformers, which say so in their
    /// names. After `get_fast_tokenizer_file`.
    pub fn json_file(&self) -> String {
        let names = self.get("fast_tokenizer_files").and_then(Value::as_array);
        let version = |name: &str| name.strip_prefix("tokenizer.")?.strip_suffix(".json").map(str::to_owned);
        let mut versioned: Vec<(String, &str)> =
            names.into_iter().flatten().filter_map(|name| Some((version(name.as_str()?)?, name.as_str()?))).collect();
        versioned.sort();
        let number = |version: &str| -> Option<Vec<u32>> { version.split('.').map(|part| part.parse().ok()).collect() };
        let fits =
            |(version, _): &&(String, &str)| number(version).is_some_and(|version| version <= TRANSFORMERS.to_vec());
        let last = versioned.iter().take_while(fits).last();
        last.map_or_else(|| "tokenizer.json".to_owned(), |(_, name)| (*name).to_owned())
    }

    /// Whether the second of two texts is told to the model as such.
    pub fn tells_segments(&self) -> bool {
        let names = self.get("model_input_names").and_then(Value::as_array);
        names.map_or_else(
            || self.convention.tells_segments(&self.tokenizer, &self.model),
            |names| names.iter().any(|name| name == "token_type_ids"),
        )
    }

    /// A value of `tokenizer_config.json`, which counts as read from now on.
    pub fn get(&self, key: &str) -> Option<&Value> {
        self.asked.borrow_mut().insert(key.to_owned());
        self.tokenizer.get(key)
    }

    pub fn flag(&self, key: &str) -> Option<bool> {
        let value = self.get(key).filter(|value| !value.is_null())?;
        if !value.is_boolean() {
            self.warn(format!("{key} of {CONFIG} is {value} instead of true or false, so it is not followed"));
        }
        value.as_bool()
    }

    pub fn number(&self, key: &str) -> Option<u64> {
        self.get(key)?.as_u64()
    }

    pub fn text(&self, key: &str) -> Option<&str> {
        self.get(key)?.as_str()
    }

    /// Remembers a sentence that the user must see, once.
    pub fn warn(&self, sentence: String) {
        let mut warnings = self.warnings.borrow_mut();
        if !warnings.contains(&sentence) {
            warnings.push(sentence);
        }
    }

    /// The sentences so far.
    pub fn warnings(&self) -> Vec<String> {
        self.warnings.borrow().clone()
    }

    /// The keys of `tokenizer_config.json` with whether somebody asked for them.
    pub fn keys(&self) -> Vec<(&str, &Value, bool)> {
        let asked = self.asked.borrow();
        let entries = self.tokenizer.as_object().into_iter().flatten();
        entries.map(|(key, value)| (key.as_str(), value, asked.contains(key))).collect()
    }

    /// A special token that the checkpoint names itself, such as `eos_token`.
    pub fn declared(&self, key: &str) -> Option<AddedToken> {
        let value = [self.get(key), self.special_tokens.get(key)].into_iter().flatten().find(|value| !value.is_null());
        let value = value?;
        let token = added_token(value)?.special(true).normalized(false);
        // A mask written as plain text swallows the space before it, as in the Python classes.
        let lstrip = token.lstrip || value.is_string() && key == "mask_token" && self.convention.mask_takes_space();
        Some(token.lstrip(lstrip))
    }

    /// Texts of all special tokens that the checkpoint names itself.
    pub fn named(&self) -> HashSet<String> {
        let roles = ROLES.iter().filter_map(|role| self.declared(role));
        roles.chain(self.additional_special_tokens()).map(|token| token.content).collect()
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
        let lists = ["additional_special_tokens", "extra_special_tokens", "model_specific_special_tokens"]
            .into_iter()
            .flat_map(|key| [self.get(key), self.special_tokens.get(key)]);
        // A list, or an object of names.
        let values = lists.flatten().flat_map(|value| match value {
            Value::Array(values) => values.iter().collect(),
            Value::Object(values) => values.values().collect(),
            _ => Vec::new(),
        });
        values.filter_map(added_token).map(|token| token.special(true).normalized(false))
    }

    /// Tokens that were added to the vocabulary, with the ids that the checkpoint declares for them,
    /// in the order of the ids.
    pub fn added_tokens(&self) -> Vec<(u32, AddedToken)> {
        let mut tokens: Vec<(u32, AddedToken)> = match self.get("added_tokens_decoder").and_then(Value::as_object) {
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
        let old = self.added_tokens.as_object().into_iter().flat_map(Map::iter).filter_map(entry);
        let tokens: BTreeMap<u32, AddedToken> = old.chain(self.beside.iter().cloned()).collect();
        tokens.into_iter().collect()
    }
}

/// The version of transformers whose classes decide.
const TRANSFORMERS: [u32; 3] = [5, 24, 0];

/// No vocabulary comes near; the library counts on from the largest id.
pub(super) const MAX_ADDED_ID: u32 = 1 << 30;

/// What special tokens are for.
pub(super) const ROLES: [&str; 7] =
    ["bos_token", "eos_token", "unk_token", "sep_token", "pad_token", "cls_token", "mask_token"];

/// Written as text, or as an object with `content`.
pub(super) fn added_token(value: &Value) -> Option<AddedToken> {
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
