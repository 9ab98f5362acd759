//! The tokens that a class of transformers 5 looks for in a text before it is cut, in the order in which it adds them
//! to its vocabulary. After `PreTrainedTokenizerBase._from_pretrained` and `TokenizersBackend.__init__`.

use std::collections::{BTreeMap, HashSet};

use serde_json::Value;
use tokenizers::{AddedToken, Tokenizer};

use super::{
    convention::Convention,
    languages::languages,
    settings::{MAX_ADDED_ID, ROLES, SmallFiles, added_token},
};

/// Special tokens of a checkpoint and of its class.
#[derive(Debug)]
pub(super) struct SpecialTokens {
    /// With the ids that the checkpoint declares.
    added: BTreeMap<u32, AddedToken>,
    /// By their role, such as `eos_token`, or a name of the checkpoint's own.
    named: Vec<(String, AddedToken)>,
    /// Without a role.
    extra: Vec<AddedToken>,
}

impl SpecialTokens {
    /// `in_file` are the added tokens of the `tokenizer.json`, where there is one.
    pub fn of(settings: &SmallFiles, in_file: &[(u32, AddedToken)]) -> Self {
        Self::collect(settings, in_file, None)
    }

    /// The same around a `SentencePiece` model, whose control and user-defined `pieces` count instead of what the older
    /// `special_tokens_map.json` lists.
    pub fn of_pieces(settings: &SmallFiles, pieces: Vec<AddedToken>) -> Self {
        Self::collect(settings, &[], Some(pieces))
    }

    fn collect(settings: &SmallFiles, in_file: &[(u32, AddedToken)], pieces: Option<Vec<AddedToken>>) -> Self {
        let decoder = settings.get("added_tokens_decoder").and_then(Value::as_object);
        let mut added = BTreeMap::new();
        // The other small files count only where `tokenizer_config.json` does not list the added tokens.
        let map = if decoder.is_some() { &Value::Null } else { &settings.special_tokens };
        if let Some(decoder) = decoder {
            added.extend(decoder.iter().filter_map(|(id, token)| Some((id.parse().ok()?, added_token(token)?))));
        }
        let extra = Extra::of(settings, map);
        if decoder.is_none() {
            let role = |role: &str| Some(added_token(value_of(settings, map, role)?)?.content);
            let mut special: HashSet<String> = ROLES.iter().filter_map(|name| role(name)).collect();
            special.extend(extra.list.iter().flatten().map(|token| token.content.clone()));
            let old = settings.added_tokens.as_object().into_iter().flatten();
            added.extend(old.filter_map(|(text, id)| {
                Some((u32::try_from(id.as_u64()?).ok()?, AddedToken::from(text, special.contains(text))))
            }));
            added.extend(in_file.iter().cloned());
        }
        added.retain(|id, _| *id < MAX_ADDED_ID);
        let known = |token: AddedToken| {
            added.values().rev().find(|added: &&AddedToken| added.content == token.content).cloned().unwrap_or(token)
        };
        let convention = settings.convention;
        let defaults = convention.special_tokens();
        let mut named: Vec<(String, AddedToken)> = Vec::new();
        for role in ROLES {
            let normalizes = role == "mask_token" && convention.class_normalizes_mask();
            let made_by_class = |token: AddedToken| if normalizes { token.normalized(true) } else { token };
            let named_by_class = || {
                let (_, text) = defaults.iter().find(|(name, _)| *name == role)?;
                let lstrip = role == "mask_token" && convention.class_strips_mask();
                Some(made_by_class(AddedToken::from(*text, true).lstrip(lstrip)))
            };
            let given = value_of(settings, map, role);
            let strips = given.is_some_and(Value::is_string) && role == "mask_token" && convention.class_strips_mask();
            let token = match given {
                Some(Value::Null) => None,
                Some(value) => added_token(value).map(|token| {
                    let token = known(token);
                    // The class makes its own of a text that nobody described.
                    let described = added.values().any(|added| added.content == token.content);
                    if strips && !described { made_by_class(token.lstrip(true)) } else { token }
                }),
                None => named_by_class(),
            };
            named.extend(token.map(|token| (role.to_owned(), token)));
        }
        for (name, token) in extra.named {
            named.retain(|(other, _)| *other != name);
            named.push((name, token));
        }
        let extra = extra.list.unwrap_or_else(|| of_class(settings, pieces.or(extra.given)));
        Self { added, named, extra }
    }

    /// A token by its role.
    pub fn role(&self, role: &str) -> Option<&str> {
        self.named.iter().find(|(name, _)| name == role).map(|(_, token)| token.content.as_str())
    }

    /// Adds them, and tells `settings` of those that get another id than the checkpoint says.
    ///
    /// # Errors
    /// Only when the library fails.
    pub fn add_to(&self, tokenizer: &mut Tokenizer, settings: &SmallFiles) -> tokenizers::Result<()> {
        let present = tokenizer.get_added_vocabulary().get_added_tokens_decoder();
        // The library gives the id after the largest one, and there may be none.
        if present.contains_key(&u32::MAX) {
            return Ok(());
        }
        let mut known: HashSet<String> = present.values().map(|token| token.content.clone()).collect();
        let has_role = |token: &AddedToken| self.named.iter().any(|(_, named)| named.content == token.content);
        let mut tokens: Vec<AddedToken> = self.added.values().cloned().collect();
        for token in &mut tokens {
            token.special |= has_role(token);
            known.insert(token.content.clone());
        }
        let named = self.named.iter().map(|(_, token)| token.clone().special(true));
        for token in named.chain(self.extra.iter().cloned()) {
            if known.insert(token.content.clone()) {
                tokens.push(token);
            }
        }
        tokenizer.add_tokens(tokens)?;
        if settings.convention == Convention::Qwen2 {
            let all = self.named.iter().map(|(_, token)| token).chain(&self.extra);
            tokenizer.add_tokens(all.map(|token| AddedToken::from(&token.content, true)))?;
        }
        let moved = |(id, token): (&u32, &AddedToken)| {
            let found = tokenizer.token_to_id(&token.content)?;
            (found != *id).then(|| format!("“{}” is {found} instead of {id}", token.content))
        };
        let moved: Vec<String> = self.added.iter().filter_map(moved).collect();
        if let Some(first) = moved.first() {
            let more = if moved.len() > 1 { format!(", and {} more", moved.len() - 1) } else { String::new() };
            settings.warn(format!(
                "Added tokens do not have the ids that the files declare ({first}{more}): as in transformers 5, they \
                 follow the vocabulary; transformers 4 went by the files"
            ));
        }
        Ok(())
    }
}

/// Special tokens without a role, and those with a name that is none of the roles.
struct Extra {
    named: Vec<(String, AddedToken)>,
    /// `None` where the class has its own.
    list: Option<Vec<AddedToken>>,
    /// What the class adds to its own.
    given: Option<Vec<AddedToken>>,
}

impl Extra {
    fn of(settings: &SmallFiles, map: &Value) -> Self {
        const EXTRA: &str = "extra_special_tokens";
        const ADDITIONAL: &str = "additional_special_tokens";
        let mut named = Vec::new();
        let own_names = settings.tokenizer.as_object().into_iter().flatten();
        for (name, value) in own_names.chain(map.as_object().into_iter().flatten()) {
            if name.ends_with("_token") && !ROLES.contains(&name.as_str()) {
                settings.get(name);
                named.extend(added_token(value).map(|token| (name.clone(), token)));
            }
        }
        let objects = [settings.get(EXTRA), settings.get("model_specific_special_tokens"), map.get(EXTRA)];
        for object in objects.into_iter().flatten().filter_map(Value::as_object) {
            named.extend(object.iter().filter_map(|(name, value)| Some((name.clone(), added_token(value)?))));
        }
        let list = |value: Option<&Value>| Some(value?.as_array()?.iter().filter_map(added_token).collect::<Vec<_>>());
        let (extra, additional) = (list(settings.get(EXTRA)), list(settings.get(ADDITIONAL)));
        // Named ones count instead of the older list, too.
        let has_names = settings.get(EXTRA).and_then(Value::as_object).is_some_and(|names| !names.is_empty());
        let additional = additional.filter(|_| !has_names);
        let filled = extra.clone().filter(|list| !list.is_empty());
        let mut found = filled.or(additional).or(extra);
        if let Some(more) = list(map.get(EXTRA)) {
            found.get_or_insert_default().extend(more);
        }
        Self { named, list: found, given: list(map.get(ADDITIONAL)) }
    }
}

/// A value that the checkpoint gives for a role; the older file goes over the other.
fn value_of<'a>(settings: &'a SmallFiles, map: &'a Value, role: &str) -> Option<&'a Value> {
    let own = settings.get(role);
    map.get(role).or(own)
}

/// What the checkpoint says of a token that its class knows: the class's `own` where it says nothing, and `None` where it
/// wants none.
pub(super) fn given(settings: &SmallFiles, role: &str, own: &str) -> Option<String> {
    let has_decoder = settings.get("added_tokens_decoder").is_some_and(Value::is_object);
    let map = if has_decoder { &Value::Null } else { &settings.special_tokens };
    let Some(value) = value_of(settings, map, role) else { return Some(own.to_owned()) };
    added_token(value).map(|token| token.content)
}

/// Special tokens without a role where `tokenizer_config.json` lists none: those of the class, and those that it is
/// `given`.
fn of_class(settings: &SmallFiles, given: Option<Vec<AddedToken>>) -> Vec<AddedToken> {
    let special = |text: &str| AddedToken::from(text, true);
    let has = |text: &str| given.iter().flatten().any(|token| token.content.contains(text));
    let mut tokens: Vec<AddedToken> = match settings.convention {
        Convention::Camembert if given.as_ref().is_none_or(Vec::is_empty) => {
            ["<s>NOTUSED", "</s>NOTUSED", "<unk>NOTUSED"].map(special).into()
        }
        convention @ (Convention::MBart | Convention::MBart50) => {
            languages(convention).iter().map(|code| special(code)).collect()
        }
        Convention::Nllb if given.is_none() => languages(Convention::Nllb).iter().map(|code| special(code)).collect(),
        Convention::T5 if !has("<extra_id_") => {
            // A million of them would be a mistake.
            let n = settings.number("extra_ids").unwrap_or(100).min(10_000);
            (0..n).map(|i| special(&format!("<extra_id_{i}>"))).collect()
        }
        Convention::CodeLlama => ["▁<PRE>", "▁<MID>", "▁<SUF>", "▁<EOT>", "<FILL_ME>"].map(special).into(),
        // Its own alone, whatever it is given.
        Convention::Pegasus => return of_pegasus(settings, &given.unwrap_or_default()),
        _ => Vec::new(),
    };
    tokens.splice(0..0, given.into_iter().flatten());
    tokens
}

/// The mask of sentences, unless it is among those that are `given`, and the words that were never used.
fn of_pegasus(settings: &SmallFiles, given: &[AddedToken]) -> Vec<AddedToken> {
    let sentences = self::given(settings, SENTENCE_MASK, "<mask_1>");
    let is_new = |mask: &String| !given.iter().any(|token| token.content == *mask);
    let mask = sentences.filter(is_new).map(|mask| AddedToken::from(mask, true));
    mask.into_iter().chain(unused_words(settings).map(|word| AddedToken::from(word, true))).collect()
}

/// What PEGASUS calls the token that stands for a whole sentence.
pub(super) const SENTENCE_MASK: &str = "mask_token_sent";

/// The words that PEGASUS has in front of its pieces and never uses.
pub(super) fn unused_words(settings: &SmallFiles) -> impl Iterator<Item = String> {
    (2..settings.number("offset").unwrap_or(103).min(10_000)).map(|i| format!("<unk_{i}>"))
}
