//! Tokenizers from the files that came before `tokenizer.json`: `vocab.txt`, and `vocab.json` with
//! `merges.txt`.

use serde_json::Value;
use tokenizers::{
    AddedToken, Tokenizer,
    decoders::{byte_level::ByteLevel as ByteLevelDecoder, wordpiece::WordPiece as WordPieceDecoder},
    models::{
        bpe::{BPE, Merges, Vocab},
        wordpiece::WordPiece,
    },
    normalizers::BertNormalizer,
    pre_tokenizers::{bert::BertPreTokenizer, byte_level::ByteLevel},
    processors::bert::BertProcessing,
};

use super::{InputError, read};
use crate::model::ModelFiles;

const CONFIG: &str = "tokenizer_config.json";
const VOCAB_TXT: &str = "vocab.txt";
const VOCAB_JSON: &str = "vocab.json";
const MERGES: &str = "merges.txt";

/// Builds a tokenizer from whichever old vocabulary there is; with the name of its file.
pub(super) fn tokenizer(files: &ModelFiles) -> Result<(Tokenizer, &'static str), InputError> {
    let config = match read(files, CONFIG)? {
        None => Value::Object(serde_json::Map::new()),
        Some(bytes) => serde_json::from_slice(&bytes).map_err(|error| bad(CONFIG, &error))?,
    };
    if let Some(vocab) = read(files, VOCAB_TXT)? {
        return Ok((word_piece(&vocab, &config)?, VOCAB_TXT));
    }
    if let (Some(vocab), Some(merges)) = (read(files, VOCAB_JSON)?, read(files, MERGES)?) {
        return Ok((byte_level_bpe(&vocab, &merges, &config)?, "vocab.json and merges.txt"));
    }
    Err(InputError::MissingTokenizer)
}

/// BERT's tokenizer, as `BertTokenizer` of the transformers library builds it.
fn word_piece(vocab: &[u8], config: &Value) -> Result<Tokenizer, InputError> {
    let vocab = WordPiece::read_bytes(vocab).map_err(|error| bad(VOCAB_TXT, &error))?;
    let special = |key: &str, default: &str| special_token(config, key).unwrap_or_else(|| default.to_owned());
    let (unk, cls, sep) = (special("unk_token", "[UNK]"), special("cls_token", "[CLS]"), special("sep_token", "[SEP]"));
    let id = |token: &str| {
        vocab
            .get(token)
            .copied()
            .ok_or_else(|| InputError::BadFile { file: VOCAB_TXT, reason: format!("it does not contain {token}") })
    };
    id(&unk)?;
    let processing = BertProcessing::new((sep.clone(), id(&sep)?), (cls.clone(), id(&cls)?));
    let specials: Vec<_> = [unk.clone(), sep, cls, special("pad_token", "[PAD]"), special("mask_token", "[MASK]")]
        .into_iter()
        .filter(|token| vocab.contains_key(token))
        .map(|token| AddedToken::from(token, true))
        .collect();
    let flag = |key: &str| config.get(key).and_then(Value::as_bool);
    let normalizer = BertNormalizer::new(
        true,
        flag("tokenize_chinese_chars").unwrap_or(true),
        flag("strip_accents"),
        flag("do_lower_case").unwrap_or(true),
    );
    let model = WordPiece::builder().vocab(vocab).unk_token(unk).build().map_err(|error| bad(VOCAB_TXT, &error))?;
    let mut tokenizer = Tokenizer::new(model);
    tokenizer
        .with_normalizer(Some(normalizer))
        .map_err(|error| bad(VOCAB_TXT, &error))?
        .with_pre_tokenizer(Some(BertPreTokenizer))
        .with_post_processor(Some(processing))
        .with_decoder(Some(WordPieceDecoder::default()));
    tokenizer.add_special_tokens(specials).map_err(|error| bad(VOCAB_TXT, &error))?;
    Ok(tokenizer)
}

/// GPT-2's tokenizer, as `GPT2Tokenizer` of the transformers library builds it.
fn byte_level_bpe(vocab: &[u8], merges: &[u8], config: &Value) -> Result<Tokenizer, InputError> {
    let entries: std::collections::HashMap<String, u32> =
        serde_json::from_slice(vocab).map_err(|error| bad(VOCAB_JSON, &error))?;
    let vocab: Vocab = entries.into_iter().collect();
    let merges = std::str::from_utf8(merges).map_err(|error| bad(MERGES, &error))?;
    let merges: Merges = merges
        .lines()
        .filter(|line| !line.starts_with("#version") && !line.trim().is_empty())
        .map(|line| match line.split_once(' ') {
            Some((left, right)) if !right.contains(' ') => Ok((left.to_owned(), right.to_owned())),
            _ => Err(InputError::BadFile { file: MERGES, reason: format!("`{line}` is not a pair of pieces") }),
        })
        .collect::<Result<_, _>>()?;
    let specials: Vec<_> = ["bos_token", "eos_token", "unk_token"]
        .into_iter()
        .map(|key| special_token(config, key).unwrap_or_else(|| "<|endoftext|>".to_owned()))
        .filter(|token| vocab.contains_key(token))
        .map(|token| AddedToken::from(token, true))
        .collect();
    let model = BPE::builder().vocab_and_merges(vocab, merges).build().map_err(|error| bad(MERGES, &error))?;
    let add_prefix_space = config.get("add_prefix_space").and_then(Value::as_bool).unwrap_or(false);
    let mut tokenizer = Tokenizer::new(model);
    tokenizer
        .with_pre_tokenizer(Some(ByteLevel::new(add_prefix_space, true, true)))
        .with_post_processor(Some(ByteLevel::new(true, false, true)))
        .with_decoder(Some(ByteLevelDecoder::default()));
    tokenizer.add_special_tokens(specials).map_err(|error| bad(VOCAB_JSON, &error))?;
    Ok(tokenizer)
}

/// A special token's text, written as a string or as an object with `content`.
fn special_token(config: &Value, key: &str) -> Option<String> {
    let value = config.get(key)?;
    value.as_str().or_else(|| value.get("content")?.as_str()).map(str::to_owned)
}

fn bad(file: &'static str, error: &dyn std::fmt::Display) -> InputError {
    InputError::BadFile { file, reason: error.to_string() }
}
