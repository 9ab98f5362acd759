//! `SentencePiece` vocabularies as the families use them: which id a piece has, what is added, and
//! how text is prepared.

use std::{
    collections::{BTreeMap, HashSet},
    ops::Range,
};

use serde_json::Value;
use tokenizers::{
    AddedToken, Encoding, NormalizedString, Normalizer as _, OffsetReferential, OffsetType, Token, Tokenizer,
    decoders::{DecoderWrapper, byte_fallback::ByteFallback, fuse::Fuse, sequence::Sequence as Decoders, strip::Strip},
    models::wordlevel::WordLevel,
    normalizers::{Lowercase, NFKD, NormalizerWrapper, Replace, Sequence as Normalizers, StripAccents},
    tokenizer::normalizer::Range as In,
};

use super::{
    canonical::Canonical,
    convention::Convention,
    languages::{WMT, languages},
    sentencepiece::{Found, PieceFile, PieceKind, SentencePiece},
    settings::{CONFIG, SmallFiles},
};

/// Cuts text into pieces with the ids of a checkpoint.
#[derive(Debug)]
pub(super) struct PieceCutter {
    model: SentencePiece,
    /// The checkpoint's id of each piece of the model.
    ids: Vec<u32>,
    /// What is done to text before the model sees it.
    prepare: Option<NormalizerWrapper>,
    /// Only the beginning of a text gets a `▁` in front, not what follows a special token.
    prefix_first_only: bool,
    /// What the model does not know may still have an id, as a piece of the other language.
    by_name: bool,
    /// For `SigLIP`: what is written in front of each part and taken away again, whether letters are put into lower case, and the
    /// id of the end.
    canonical: Option<(String, bool, Option<u32>)>,
}

/// A tokenizer that knows names and ids and how to decode, and a cutter that gives the ids.
///
/// `vocab` is the `vocab.json` of Marian or M2M-100, which has ids of its own.
///
/// # Errors
/// A sentence on what is wrong with the model file.
pub(super) fn tokenizer(
    bytes: &[u8],
    vocab: Option<&BTreeMap<String, u32>>,
    settings: &SmallFiles,
) -> Result<(Tokenizer, PieceCutter), String> {
    let (mut model, PieceFile { pieces, .. }) = SentencePiece::parse(bytes)?;
    // T5, mBART, Marian and Gemma have no such flag.
    let has_flag = matches!(
        settings.convention,
        Convention::Albert | Convention::XlmRoberta | Convention::Camembert | Convention::Llama | Convention::Other
    );
    if let Some(add) = has_flag.then(|| settings.flag("add_prefix_space")).flatten() {
        model.set_prefix(add);
    }
    if settings.convention == Convention::Albert {
        // `9,` is written as two pieces, and so are other numbers before a comma.
        model.penalize(ends_in_digit_and_comma, 100.0);
    }
    let mut names = Names::default();
    let ids = match vocab {
        Some(vocab) => {
            let ids = ids_of_file(&pieces, vocab, settings, &mut names)?;
            if settings.convention == Convention::M2m100 {
                names.push_languages(vocab.len(), settings);
            }
            ids
        }
        None => names.lay_out(&pieces, settings),
    };
    let has_prefix = model.adds_prefix();
    let decoder = decoder(&model, has_prefix).map_err(|error| error.to_string())?;
    let mut special = names.special_tokens(&pieces, settings);
    let model_of_names = WordLevel::builder().vocab(names.into_ids().collect()).build();
    let mut tokenizer = Tokenizer::new(model_of_names.map_err(|error| error.to_string())?);
    tokenizer.with_decoder(Some(decoder));
    // A family's token that the vocabulary lacks means that it is another family's vocabulary.
    let declared = settings.named();
    special.retain(|token| declared.contains(&token.content) || tokenizer.token_to_id(&token.content).is_some());
    tokenizer.add_tokens(special).map_err(|error| error.to_string())?;
    let canonical = (settings.convention == Convention::Siglip).then(|| {
        let role = |role: &str| settings.token(role).map(|token| token.content).unwrap_or_default();
        let end = tokenizer.token_to_id(&role("eos_token"));
        (role("unk_token"), settings.flag("do_lower_case").unwrap_or(true), end)
    });
    let cutter = PieceCutter {
        model,
        canonical,
        ids,
        prepare: prepare(settings).map_err(|error| error.to_string())?,
        by_name: vocab.is_some(),
        prefix_first_only: settings.convention == Convention::Llama && settings.flag("legacy") == Some(false),
    };
    Ok((tokenizer, cutter))
}

impl PieceCutter {
    /// Tokens of `text` without those that a processor adds. `tokenizer` is the one that came with it.
    ///
    /// # Errors
    /// Never on text; only when the library fails.
    pub fn encode(&self, tokenizer: &Tokenizer, text: &str) -> tokenizers::Result<Encoding> {
        let parts = tokenizer.get_added_vocabulary().extract_and_normalize(None::<&NormalizerWrapper>, text);
        let mut tokens = Vec::new();
        for (part, (start, end), added) in parts.get_splits(OffsetReferential::Original, OffsetType::Byte) {
            if let Some(added) = added {
                tokens.extend(added.iter().map(|token| Token { offsets: (start, end), ..token.clone() }));
                continue;
            }
            if let Some((front, lower, _)) = &self.canonical {
                tokens.extend(self.canonical(front, *lower, part, start));
                continue;
            }
            let mut prepared = NormalizedString::from(part);
            if let Some(prepare) = &self.prepare {
                prepare.normalize(&mut prepared)?;
            }
            let dummy = !self.prefix_first_only || start == 0 && !part.starts_with([' ', '▁']);
            for found in self.model.encode(prepared.get(), dummy) {
                let other = if self.by_name && self.model.is_unknown(found.id) {
                    tokenizer.token_to_id(&found.text)
                } else {
                    None
                };
                let id = other.unwrap_or(self.ids[found.id as usize]);
                let span = if self.prepare.is_some() { original(&prepared, found.span) } else { found.span };
                tokens.push(Token::new(id, found.text, (start + span.start, start + span.end)));
            }
        }
        // An end that is written already is not written again.
        if let Some((_, _, Some(end))) = self.canonical {
            tokens.pop_if(|last| last.id == end);
        }
        Ok(Encoding::from_tokens(tokens, 0))
    }

    /// The id of what the model does not know; `None` where bytes stand for it.
    pub fn unknown(&self) -> Option<u32> {
        (!self.model.has_byte_fallback()).then(|| self.ids[self.model.unknown() as usize])
    }

    /// `SigLIP`'s tokens of a part of a text that begins at `start`. The model would take the `▁` away from the beginning,
    /// so that something is written in front of it. After `SiglipTokenizer._tokenize`.
    fn canonical(&self, front: &str, lower: bool, part: &str, start: usize) -> Vec<Token> {
        let gap = if start == 0 { "▁" } else { "" };
        let canonical = Canonical::of(part, lower, gap);
        let n_front = self.model.encode(front, true).len();
        let lead = front.len() + gap.len();
        let found = self.model.encode(&format!("{front}{gap}{}", canonical.text), true);
        let token = |found: Found| {
            let place = |at: usize| at.saturating_sub(lead);
            let span = canonical.source(place(found.span.start)..place(found.span.end));
            Token::new(self.ids[found.id as usize], found.text, (start + span.start, start + span.end))
        };
        found.into_iter().skip(n_front).map(token).collect()
    }
}

/// From bytes of the prepared text to bytes of the original.
fn original(prepared: &NormalizedString, span: Range<usize>) -> Range<usize> {
    let convert = |span| prepared.convert_offsets(In::Normalized(span));
    if span.is_empty() {
        // The library leaves empty spans as they are: look where the next character comes from.
        let at = convert(span.start..span.start + 1).map_or(prepared.len_original(), |next| next.start);
        return at..at;
    }
    convert(span).unwrap_or(0..0)
}

/// Names by id.
#[derive(Default)]
struct Names(BTreeMap<u32, String>);

impl Names {
    /// Names all pieces and the tokens that the family adds; with the id of each piece.
    fn lay_out(&mut self, pieces: &[(String, PieceKind)], settings: &SmallFiles) -> Vec<u32> {
        // The families that fairseq trained put tokens of their own in front.
        let (front, offset): (&[&str], u32) = match settings.convention {
            Convention::XlmRoberta | Convention::MBart | Convention::MBart50 => (&["<s>", "<pad>", "</s>", "<unk>"], 1),
            Convention::Camembert => (&["<s>NOTUSED", "<pad>", "</s>NOTUSED", "<unk>", "<unk>NOTUSED"], 4),
            _ => (&[], 0),
        };
        self.0.extend((0..).zip(front.iter().map(|&name| name.to_owned())));
        let by_name = |name: &str| front.iter().position(|&known| known == name).map(|at| at as u32);
        let mut ids = Vec::with_capacity(pieces.len());
        for (id, (name, kind)) in (0..).zip(pieces) {
            let known = if *kind == PieceKind::Unknown { by_name("<unk>") } else { by_name(name) };
            let id = known.unwrap_or(id + offset);
            self.0.entry(id).or_insert_with(|| name.to_owned());
            ids.push(id);
        }
        for name in extra_names(settings) {
            if !pieces.iter().any(|(piece, _)| *piece == name) {
                self.push(name);
            }
        }
        ids
    }

    /// Gives the next id to `name`.
    fn push(&mut self, name: String) {
        let next = self.0.last_key_value().map_or(0, |(id, _)| id + 1);
        self.0.insert(next, name);
    }

    /// Names the languages of M2M-100, which follow the `n` entries of its `vocab.json`, and the tokens that the checkpoint
    /// adds, which are counted on from there by themselves.
    fn push_languages(&mut self, n: usize, settings: &SmallFiles) {
        let declared = settings.added_tokens();
        let mut known: HashSet<String> = self.0.values().cloned().collect();
        known.extend(declared.into_iter().map(|(_, token)| token.content));
        for token in settings.special_tokens().chain(settings.additional_special_tokens()) {
            let next = known.len() as u32;
            if known.insert(token.content.clone()) {
                self.0.insert(next, token.content);
            }
        }
        for (id, code) in (n as u32..).zip(m2m_languages(settings)) {
            let token = language_token(code);
            if !known.contains(&token) {
                self.0.entry(id).or_insert(token);
            }
        }
    }

    /// All tokens to look for in text before it is cut; names those that have no id yet.
    fn special_tokens(&mut self, pieces: &[(String, PieceKind)], settings: &SmallFiles) -> Vec<AddedToken> {
        let added = settings.added_tokens();
        for (id, token) in &added {
            self.0.insert(*id, token.content.clone());
        }
        let mut tokens: Vec<AddedToken> = added.into_iter().map(|(_, token)| token).collect();
        // Those of SigLIP that nobody described take the spaces on both sides.
        let strips = settings.convention == Convention::Siglip;
        let around = |token: AddedToken| if strips { token.lstrip(true).rstrip(true) } else { token };
        tokens.extend(settings.special_tokens().map(around).chain(settings.additional_special_tokens()));
        tokens.extend(extra_names(settings).map(|name| AddedToken::from(name, true)));
        if settings.convention == Convention::Marian {
            let is_language = |name: &&String| name.starts_with(">>") && name.ends_with("<<");
            let languages = self.0.values().filter(is_language);
            tokens.extend(languages.map(|name| AddedToken::from(name, false).normalized(false)));
        } else if !matches!(settings.convention, Convention::Siglip | Convention::M2m100) {
            let control = pieces.iter().filter(|(_, kind)| *kind == PieceKind::Control);
            tokens.extend(control.map(|(name, _)| AddedToken::from(name, true)));
        }
        let mut seen = HashSet::new();
        // The first description of a token counts: declared ones come before those of the family.
        tokens.retain(|token| seen.insert(token.content.clone()));
        tokens
    }

    /// Of two ids with the same name the lower one counts.
    fn into_ids(self) -> impl Iterator<Item = (String, u32)> {
        self.0.into_iter().rev().map(|(id, name)| (name, id))
    }
}

/// Ids from `vocab.json`; pieces that it lacks are unknown.
fn ids_of_file(
    pieces: &[(String, PieceKind)],
    vocab: &BTreeMap<String, u32>,
    settings: &SmallFiles,
    names: &mut Names,
) -> Result<Vec<u32>, String> {
    let unknown = settings.token("unk_token").map(|token| token.content).unwrap_or_default();
    let unknown = *vocab.get(&unknown).ok_or_else(|| format!("vocab.json does not contain {unknown}"))?;
    names.0.extend(vocab.iter().map(|(name, id)| (*id, name.clone())));
    let id = |(name, kind): &(String, PieceKind)| match kind {
        // What a text has in its place is looked up, and not this name.
        PieceKind::Unknown => unknown,
        _ => vocab.get(name).copied().unwrap_or(unknown),
    };
    Ok(pieces.iter().map(id).collect())
}

/// Tokens that a family has behind the pieces of its model.
fn extra_names(settings: &SmallFiles) -> Box<dyn Iterator<Item = String>> {
    match settings.convention {
        Convention::T5 => {
            // Declared ids would be the same; a million of them would be a mistake.
            let n = settings.number("extra_ids").unwrap_or(100).min(10_000);
            Box::new((0..n).rev().map(|i| format!("<extra_id_{i}>")))
        }
        Convention::XlmRoberta | Convention::Camembert => Box::new(std::iter::once("<mask>".to_owned())),
        convention @ (Convention::MBart | Convention::MBart50) => {
            Box::new(languages(convention).iter().chain(&["<mask>"]).map(|&name| name.to_owned()))
        }
        _ => Box::new(std::iter::empty()),
    }
}

/// How M2M-100 writes a language.
pub(super) fn language_token(code: &str) -> String {
    format!("__{code}__")
}

/// The languages of an M2M-100: one of two lists.
fn m2m_languages(settings: &SmallFiles) -> &'static [&'static str] {
    match settings.text("language_codes") {
        Some("wmt21") => &WMT,
        _ => languages(Convention::M2m100),
    }
}

/// The token of the language that a text is in, and its id behind the `n` entries of `vocab.json`.
///
/// # Errors
/// When the class knows no such language.
pub(super) fn m2m_source(n: usize, settings: &SmallFiles) -> Result<(String, u32), String> {
    if let Some(other) = settings.text("language_codes").filter(|name| !["m2m100", "wmt21"].contains(name)) {
        return Err(format!("language_codes of {CONFIG} is “{other}”, and there are m2m100 and wmt21"));
    }
    let code = settings.text("src_lang").unwrap_or("en");
    let place = m2m_languages(settings).iter().position(|known| *known == code);
    let place = place.ok_or_else(|| format!("src_lang of {CONFIG} is “{code}”, which is none of its languages"))?;
    Ok((language_token(code), (n + place) as u32))
}

/// ALBERT changes letters before the model sees them.
fn prepare(settings: &SmallFiles) -> tokenizers::Result<Option<NormalizerWrapper>> {
    let mut steps: Vec<NormalizerWrapper> = Vec::new();
    if matches!(settings.convention, Convention::Albert) {
        steps.extend([Replace::new("``", "\"")?.into(), Replace::new("''", "\"")?.into()]);
        if !settings.flag("keep_accents").unwrap_or(false) {
            steps.extend([NFKD.into(), StripAccents.into()]);
        }
        if settings.flag("do_lower_case").unwrap_or(true) {
            steps.push(Lowercase.into());
        }
    }
    Ok((!steps.is_empty()).then(|| Normalizers::new(steps).into()))
}

fn decoder(model: &SentencePiece, has_prefix: bool) -> tokenizers::Result<DecoderWrapper> {
    let mut steps: Vec<DecoderWrapper> = vec![Replace::new("▁", " ")?.into()];
    if model.has_byte_fallback() {
        steps.push(ByteFallback::new().into());
    }
    steps.push(Fuse::new().into());
    if has_prefix {
        steps.push(Strip::new(' ', 1, 0).into());
    }
    Ok(Decoders::new(steps).into())
}

fn ends_in_digit_and_comma(piece: &str) -> bool {
    piece.strip_suffix(',').is_some_and(|start| start.ends_with(|c: char| c.is_numeric()))
}

/// A `vocab.json`.
///
/// # Errors
/// When it is not a list of ids by piece.
pub(super) fn ids_by_name(bytes: &[u8]) -> Result<BTreeMap<String, u32>, String> {
    let entries: serde_json::Map<String, Value> = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    let id = |name: &str, value: &Value| {
        let id = value.as_u64().and_then(|id| u32::try_from(id).ok());
        id.ok_or_else(|| format!("the id of “{name}” is not a number"))
    };
    entries.iter().map(|(name, value)| Ok((name.clone(), id(name, value)?))).collect()
}
