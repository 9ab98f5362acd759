//! A `tokenizer.json` for each kind of tokenizer that a GGUF file may have.

use base64::Engine as _;
use serde_json::{Map, Value, json};

use super::{
    MetaFacts, MetaValue,
    pieces::{PieceTable, PieceUse},
    special::SpecialPieces,
    words,
};

/// Pieces of bytes by merges, as GPT-2's.
pub(super) fn of_bytes(facts: MetaFacts<'_>, table: &PieceTable, special: &SpecialPieces) -> Result<Vec<u8>, String> {
    let (normalizer, pre_tokenizer, whole_words) = words::of(facts)?;
    let merges = merges_of_file(facts).ok_or("it has no merges (tokenizer.ggml.merges)")??;
    let pre = facts.text(words::PRE).unwrap_or_default();
    let model = json!({
        "type": "BPE", "unk_token": null, "fuse_unk": false, "byte_fallback": false, "ignore_merges": whole_words,
        "vocab": ids(table), "merges": merges,
    });
    let lstrip = special.mask.filter(|_| words::mask_takes_space(pre));
    Ok(whole(json!({
        "added_tokens": added(table, |id| (Some(id) == lstrip, false)),
        "normalizer": normalizer,
        "pre_tokenizer": pre_tokenizer,
        "post_processor": around(table, special),
        "decoder": bytes(true),
        "model": model,
    })))
}

fn bytes(add_prefix_space: bool) -> Value {
    json!({ "type": "ByteLevel", "add_prefix_space": add_prefix_space, "trim_offsets": true, "use_regex": true })
}

/// Pieces of `SentencePiece`'s merges, as LLaMA's and Gemma's.
pub(super) fn of_merges(facts: MetaFacts<'_>, table: &PieceTable, special: &SpecialPieces) -> Result<Vec<u8>, String> {
    let merges = match merges_of_file(facts) {
        Some(merges) => merges?,
        None => merges_of_scores(facts, table)?,
    };
    let unknown = special.unknown.and_then(|id| table.text(id));
    let model = json!({
        "type": "BPE", "unk_token": unknown, "fuse_unk": true, "byte_fallback": table.has_bytes(),
        "vocab": ids(table), "merges": merges,
    });
    let is_gemma = table.model == "gemma4" || facts.architecture().starts_with("gemma");
    let is_phi = facts.architecture() == "phi3";
    let adds = facts.flag("tokenizer.ggml.add_space_prefix").unwrap_or(!is_gemma);
    let spaces = replace(" ", "▁");
    let (normalizer, pre_tokenizer) = if is_gemma {
        let split = json!({
            "type": "Split", "pattern": { "String": " " }, "behavior": "MergedWithPrevious", "invert": false
        });
        (spaces, split)
    } else if is_phi {
        let steps = [json!({ "type": "Prepend", "prepend": "▁" }), spaces];
        (json!({ "type": "Sequence", "normalizers": steps[usize::from(!adds)..] }), Value::Null)
    } else {
        let scheme = if adds { "first" } else { "never" };
        let words = json!({ "type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": false });
        (Value::Null, words)
    };
    let mut decoders = vec![replace("▁", " "), json!({ "type": "ByteFallback" }), json!({ "type": "Fuse" })];
    decoders.extend(adds.then(|| json!({ "type": "Strip", "content": " ", "start": 1, "stop": 0 })));
    // Phi-3's tokens swallow spaces after them, all but those of its ancestor; no file says so.
    let takes_space = |id: u32| is_phi && !matches!(table.text(id), Some("<unk>" | "<s>" | "<|endoftext|>"));
    Ok(whole(json!({
        "added_tokens": added(table, |id| (false, takes_space(id))),
        "normalizer": normalizer,
        "pre_tokenizer": pre_tokenizer,
        "post_processor": around(table, special),
        "decoder": { "type": "Sequence", "decoders": decoders },
        "model": model,
    })))
}

/// Words and what goes on in them, as BERT's.
pub(super) fn of_words(facts: MetaFacts<'_>, table: &PieceTable, special: &SpecialPieces) -> Result<Vec<u8>, String> {
    let unknown = special.unknown.and_then(|id| table.text(id)).ok_or("it has no piece for unknown words")?;
    let model = json!({
        "type": "WordPiece", "unk_token": unknown, "continuing_subword_prefix": "##", "max_input_chars_per_word": 100,
        "vocab": ids(table),
    });
    let (cls, sep) = (special.cls.ok_or("it has no [CLS]")?, special.sep.ok_or("it has no [SEP]")?);
    Ok(whole(json!({
        "added_tokens": added(table, |_| (false, false)),
        "normalizer": {
            "type": "BertNormalizer",
            "clean_text": true,
            "handle_chinese_chars": true,
            "strip_accents": strips_accents(facts),
            "lowercase": lowers(facts, table),
        },
        "pre_tokenizer": { "type": "BertPreTokenizer" },
        "post_processor": template(
            table,
            &[token(cls, 0), text("A", 0), token(sep, 0)],
            &[token(cls, 0), text("A", 0), token(sep, 0), text("B", 1), token(sep, 1)],
        ),
        "decoder": { "type": "WordPiece", "prefix": "##", "cleanup": true },
        "model": model,
    })))
}

/// Whether letters are made small: what the file says, else whether no word has a capital.
pub(super) fn lowers(facts: MetaFacts<'_>, table: &PieceTable) -> bool {
    let has_capital =
        || table.iter().any(|(_, text, kind)| kind == PieceUse::Normal && is_word(text) && text.contains(is_capital));
    facts.flag("tokenizer.ggml.normalizer.lowercase").unwrap_or_else(|| !has_capital())
}

fn is_word(text: &str) -> bool {
    !text.starts_with('[')
}

const fn is_capital(c: char) -> bool {
    c.is_ascii_uppercase()
}

/// `None` where accents go with capitals.
pub(super) fn strips_accents(facts: MetaFacts<'_>) -> Option<bool> {
    facts.flag("tokenizer.ggml.normalizer.strip_accents")
}

/// Pieces by their probabilities, as T5's and XLM-R's.
pub(super) fn of_scores(facts: MetaFacts<'_>, table: &PieceTable, special: &SpecialPieces) -> Result<Vec<u8>, String> {
    if table.scores.is_empty() {
        return Err("it has no scores (tokenizer.ggml.scores)".to_owned());
    }
    // What is not found in a text has no probability, and the least of all counts for unknown letters.
    let scored = |(id, text, kind): (u32, &str, PieceUse)| {
        let is_found = matches!(kind, PieceUse::Normal | PieceUse::Unused);
        let score = if is_found { table.scores.get(id as usize).copied().unwrap_or_default() } else { 0.0 };
        json!([text, score])
    };
    let vocab: Vec<Value> = table.iter().map(scored).collect();
    // The place in this list is the id.
    if table.iter().any(|(id, ..)| id as usize >= vocab.len()) {
        return Err("its pieces have gaps".to_owned());
    }
    let model = json!({
        "type": "Unigram", "unk_id": special.unknown, "byte_fallback": table.has_bytes(), "vocab": vocab,
    });
    let rules = facts.get("tokenizer.ggml.precompiled_charsmap").and_then(MetaValue::as_numbers);
    let normalizer = rules.filter(|rules| rules.len() > 0).map(|rules| {
        let text = base64::engine::general_purpose::STANDARD.encode(rules.bytes());
        json!({ "type": "Precompiled", "precompiled_charsmap": text })
    });
    let adds = facts.flag("tokenizer.ggml.add_space_prefix").unwrap_or(true);
    let scheme = if adds { "always" } else { "never" };
    let spaces = json!({ "type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": true });
    let joins = facts.flag("tokenizer.ggml.remove_extra_whitespaces").unwrap_or(true);
    let words = json!({ "type": "Sequence", "pretokenizers": [{ "type": "WhitespaceSplit" }, spaces] });
    Ok(whole(json!({
        "added_tokens": added(table, |id| (Some(id) == special.mask, false)),
        "normalizer": normalizer,
        "pre_tokenizer": if joins { &words } else { &spaces },
        "post_processor": around(table, special),
        "decoder": spaces,
        "model": model,
    })))
}

/// Pairs of pieces in the order of the file; `None` where there are none.
fn merges_of_file(facts: MetaFacts<'_>) -> Option<Result<Vec<Value>, String>> {
    let merges = facts.get("tokenizer.ggml.merges")?.as_texts()?;
    let pair = |merge: &str| {
        // The first letter may be a space itself.
        let first = merge.chars().next().map_or(0, char::len_utf8);
        let space = merge[first..].find(' ').map(|at| first + at);
        let (left, right) = space.map(|at| (&merge[..at], &merge[at + 1..])).unwrap_or_default();
        if left.is_empty() || right.is_empty() {
            return Err(format!("the merge “{merge}” is not a pair of pieces"));
        }
        Ok(json!([left, right]))
    };
    Some(merges.iter().map(pair).collect())
}

/// Pairs that make a piece, the best piece first: what `generate_merges` of transformers makes of scores. Gemma's
/// scores do not follow the order of its merges, and some files have the same score for all; there the order of the
/// pieces counts.
fn merges_of_scores(facts: MetaFacts<'_>, table: &PieceTable) -> Result<Vec<Value>, String> {
    let normal = |(id, _, kind): (u32, &str, PieceUse)| {
        (kind == PieceUse::Normal).then(|| table.scores.get(id as usize).copied()).flatten()
    };
    let mut scores = table.iter().filter_map(normal);
    let first = scores.next().ok_or("it has neither merges nor scores of its pieces")?;
    let by_order = facts.architecture().starts_with("gemma") || scores.all(|score| score == first);
    let mut pairs = Vec::new();
    for (id, text, _) in table.iter() {
        let score = if by_order { -f64::from(id) } else { table.scores[id as usize] };
        let start = pairs.len();
        for (n_left, (at, _)) in text.char_indices().enumerate().skip(1) {
            let (left, right) = text.split_at(at);
            if let (Some(left_id), Some(right_id)) = (table.id(left), table.id(right)) {
                let n_right = right.chars().count();
                pairs.push(ScoredPair { score, lengths: (n_left, n_right), ids: (left_id, right_id), left, right });
            }
        }
        pairs[start..].sort_by_key(|pair| pair.ids);
    }
    pairs.sort_by(|a, b| b.score.total_cmp(&a.score).then(b.lengths.cmp(&a.lengths)));
    Ok(pairs.into_iter().map(|pair| json!([pair.left, pair.right])).collect())
}

/// Two pieces that make a third one.
struct ScoredPair<'a> {
    /// Of the third one.
    score: f64,
    /// In characters.
    lengths: (usize, usize),
    ids: (u32, u32),
    left: &'a str,
    right: &'a str,
}

/// The vocabulary by name.
fn ids(table: &PieceTable) -> Value {
    let entries = table.iter().map(|(id, text, _)| (text.to_owned(), json!(id)));
    Value::Object(entries.collect::<Map<_, _>>())
}

/// What is found in a text before it is cut; `strips` says which of them take the space before and after.
fn added(table: &PieceTable, strips: impl Fn(u32) -> (bool, bool)) -> Vec<Value> {
    let entry = |(id, text, kind): (u32, &str, PieceUse)| {
        let special = matches!(kind, PieceUse::Control | PieceUse::Unknown);
        let (lstrip, rstrip) = strips(id);
        (special || kind == PieceUse::UserDefined).then(|| {
            json!({
                "id": id, "content": text, "single_word": false, "lstrip": lstrip, "rstrip": rstrip,
                "normalized": false, "special": special,
            })
        })
    };
    table.iter().filter_map(entry).collect()
}

/// A member of a template.
enum Member {
    Token { id: u32, segment: u8 },
    Text { name: &'static str, segment: u8 },
}

const fn token(id: u32, segment: u8) -> Member {
    Member::Token { id, segment }
}

const fn text(name: &'static str, segment: u8) -> Member {
    Member::Text { name, segment }
}

/// What begins and ends one text and two; `null` where nothing does.
fn around(table: &PieceTable, special: &SpecialPieces) -> Value {
    let begin = |segment| special.bos.filter(|_| special.begins).map(|id| token(id, segment));
    let end = |segment| special.eos.filter(|_| special.ends).map(|id| token(id, segment));
    let one = |name, segment| begin(segment).into_iter().chain([text(name, segment)]).chain(end(segment));
    let single: Vec<Member> = one("A", 0).collect();
    let pair: Vec<Member> = if special.separates {
        one("A", 0).chain(end(0)).chain([text("B", 0)]).chain(end(0)).collect()
    } else {
        one("A", 0).chain(one("B", 1)).collect()
    };
    if single.len() == 1 { Value::Null } else { template(table, &single, &pair) }
}

fn template(table: &PieceTable, single: &[Member], pair: &[Member]) -> Value {
    let name = |id: u32| table.text(id).unwrap_or_default();
    let member = |member: &Member| match member {
        Member::Token { id, segment } => json!({ "SpecialToken": { "id": name(*id), "type_id": segment } }),
        Member::Text { name, segment } => json!({ "Sequence": { "id": name, "type_id": segment } }),
    };
    let mut tokens = Map::new();
    for part in single.iter().chain(pair) {
        if let Member::Token { id, .. } = part {
            tokens.insert(name(*id).to_owned(), json!({ "id": name(*id), "ids": [id], "tokens": [name(*id)] }));
        }
    }
    json!({
        "type": "TemplateProcessing",
        "single": single.iter().map(member).collect::<Vec<_>>(),
        "pair": pair.iter().map(member).collect::<Vec<_>>(),
        "special_tokens": tokens,
    })
}

fn replace(old: &str, new: &str) -> Value {
    json!({ "type": "Replace", "pattern": { "String": old }, "content": new })
}

/// The file, with what is the same in all.
fn whole(mut file: Value) -> Vec<u8> {
    for (key, value) in [("version", json!("1.0")), ("truncation", Value::Null), ("padding", Value::Null)] {
        file[key] = value;
    }
    file.to_string().into_bytes()
}
