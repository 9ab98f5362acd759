//! Tokenizers from what came before `tokenizer.json`: `SentencePiece` models, `vocab.txt`, and
//! `vocab.json` with `merges.txt`; and what stands beside a `tokenizer.json` and changes it.

use std::collections::HashSet;

use tokenizers::{
    AddedToken, NormalizerWrapper, PreTokenizerWrapper, SplitDelimiterBehavior, Tokenizer,
    decoders::{byte_level::ByteLevel as ByteLevelDecoder, wordpiece::WordPiece as WordPieceDecoder},
    models::{
        bpe::{BPE, Merges, Vocab},
        wordpiece::WordPiece,
    },
    normalizers::{BertNormalizer, Lowercase, NFC, Replace, Sequence as Normalizers, replace::ReplacePattern},
    pre_tokenizers::{
        bert::BertPreTokenizer,
        byte_level::ByteLevel,
        sequence::Sequence as PreTokenizers,
        split::{Split, SplitPattern},
    },
    processors::{PostProcessorWrapper, bert::BertProcessing, roberta::RobertaProcessing},
};

use super::{InputError, codec::Codec, convention::Convention, pieces, read, settings::Settings, template};
use crate::{capture::spelling::WORD_END, model::checkpoint::ModelFiles};

const VOCAB_TXT: &str = "vocab.txt";
const VOCAB_JSON: &str = "vocab.json";
const TARGET_VOCAB: &str = "target_vocab.json";
const MERGES: &str = "merges.txt";
const SOURCE_SPM: &str = "source.spm";
const TARGET_SPM: &str = "target.spm";

/// One model for everything, under the names that the families use.
const PIECE_MODELS: [&str; 4] = ["spiece.model", "sentencepiece.bpe.model", "spm.model", "tokenizer.model"];

/// CLIP's words: English endings, letters, single digits, and runs of anything else but spaces.
const CLIP_WORDS: &str = r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+";

/// Qwen's words: as GPT-2's, but with single digits, line ends of their own, and punctuation that
/// may begin a word.
const QWEN_WORDS: &str =
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// Text, target where it has pieces of its own, and the names of the files.
type Codecs = (Codec, Option<Codec>, &'static str);

/// Builds a tokenizer from whichever old vocabulary there is.
pub(super) fn codecs(files: &ModelFiles, settings: &Settings) -> Result<Codecs, InputError> {
    if let Some(class) = settings.unknown_class() {
        return Err(InputError::UnknownTokenizer { class: class.to_owned() });
    }
    if let (Some(source), Some(vocab)) = (read(files, SOURCE_SPM)?, read(files, VOCAB_JSON)?) {
        let text = marian(SOURCE_SPM, &source, VOCAB_JSON, &vocab, settings)?;
        let target_vocab = read(files, TARGET_VOCAB)?;
        let (file, vocab) = target_vocab.as_ref().map_or((VOCAB_JSON, &vocab), |vocab| (TARGET_VOCAB, vocab));
        let target = read(files, TARGET_SPM)?.map(|spm| marian(TARGET_SPM, &spm, file, vocab, settings)).transpose()?;
        return Ok((text, target, "source.spm and vocab.json"));
    }
    for file in PIECE_MODELS {
        if let Some(bytes) = read(files, file)? {
            let (tokenizer, cutter) = pieces::tokenizer(&bytes, None, settings).map_err(|error| bad(file, &error))?;
            return Ok((processed(file, tokenizer, cutter, settings)?, None, file));
        }
    }
    if let Some(vocab) = read(files, VOCAB_TXT)? {
        return Ok((Codec::new(word_piece(&vocab, settings)?, None)?, None, VOCAB_TXT));
    }
    if let (Some(vocab), Some(merges)) = (read(files, VOCAB_JSON)?, read(files, MERGES)?) {
        let tokenizer = byte_level_bpe(&vocab, &merges, settings)?;
        return Ok((Codec::new(tokenizer, None)?, None, "vocab.json and merges.txt"));
    }
    Err(InputError::MissingTokenizer)
}

fn marian(
    file: &'static str,
    model: &[u8],
    vocab_file: &'static str,
    vocab: &[u8],
    settings: &Settings,
) -> Result<Codec, InputError> {
    let ids = pieces::ids_by_name(vocab).map_err(|error| bad(vocab_file, &error))?;
    let (tokenizer, cutter) = pieces::tokenizer(model, Some(&ids), settings).map_err(|error| bad(file, &error))?;
    processed(file, tokenizer, cutter, settings)
}

/// With the special tokens that the family puts around a text.
fn processed(
    file: &'static str,
    mut tokenizer: Tokenizer,
    cutter: pieces::PieceCutter,
    settings: &Settings,
) -> Result<Codec, InputError> {
    let language = settings.text("src_lang").unwrap_or("en_XX");
    let processor = template::processor(settings, &tokenizer, language).map_err(|error| bad(file, &error))?;
    tokenizer.with_post_processor(Some(processor));
    Codec::new(tokenizer, Some(cutter))
}

/// Applies what `tokenizer_config.json` and the other small files say to a `tokenizer.json`.
///
/// `add_bos_token` and `add_eos_token` are not among it: the processor in the file already obeys them.
///
/// # Errors
/// Only when the library fails.
pub(super) fn adjust(tokenizer: &mut Tokenizer, settings: &Settings) -> tokenizers::Result<()> {
    if !settings.goes_by_file() {
        adjust_cutting(tokenizer, settings)?;
    }
    let new = |token: &AddedToken| tokenizer.token_to_id(&token.content).is_none();
    let mut tokens: Vec<AddedToken> = settings.added_tokens().into_iter().map(|(_, token)| token).collect();
    tokens.extend(settings.declared_tokens().chain(settings.additional_special_tokens()).filter(new));
    // The library gives the id after the largest one, and there may be none.
    if !tokenizer.get_added_vocabulary().get_added_tokens_decoder().contains_key(&u32::MAX) {
        tokenizer.add_tokens(tokens)?;
    }
    Ok(())
}

/// What the Python classes set again, by their flags and what those are by default: a file of their own that says
/// otherwise has no effect.
fn adjust_cutting(tokenizer: &mut Tokenizer, settings: &Settings) -> tokenizers::Result<()> {
    let convention = settings.convention;
    if let (Convention::Bert | Convention::MpNet, Some(NormalizerWrapper::BertNormalizer(_))) =
        (convention, tokenizer.get_normalizer())
    {
        let normalizer = bert_normalizer(settings);
        tokenizer.with_normalizer(Some(normalizer))?;
    }
    if let (Convention::Gpt2 | Convention::Roberta, Some(PreTokenizerWrapper::ByteLevel(old))) =
        (convention, tokenizer.get_pre_tokenizer())
    {
        let pre_tokenizer = old.add_prefix_space(settings.flag("add_prefix_space").unwrap_or(false));
        tokenizer.with_pre_tokenizer(Some(pre_tokenizer));
    }
    Ok(())
}

/// `WordPiece` as the Python classes of BERT and its relatives build it.
fn word_piece(vocab: &[u8], settings: &Settings) -> Result<Tokenizer, InputError> {
    let mut vocab: Vocab = WordPiece::read_bytes(vocab).map_err(|error| bad(VOCAB_TXT, &error))?;
    add_declared(&mut vocab, settings);
    let special =
        |role: &str, default: &str| settings.token(role).map_or_else(|| default.to_owned(), |token| token.content);
    let (unk, cls, sep) = (special("unk_token", "[UNK]"), special("cls_token", "[CLS]"), special("sep_token", "[SEP]"));
    let id = |token: &str| id_of(&vocab, token, VOCAB_TXT);
    id(&unk)?;
    let (sep, cls) = ((sep.clone(), id(&sep)?), (cls.clone(), id(&cls)?));
    let processor: PostProcessorWrapper = match settings.convention {
        Convention::MpNet => RobertaProcessing::new(sep, cls).trim_offsets(true).add_prefix_space(false).into(),
        _ => BertProcessing::new(sep, cls).into(),
    };
    let normalizer = bert_normalizer(settings);
    let tokens = added_tokens(&vocab, settings, Convention::Bert);
    let model = WordPiece::builder().vocab(vocab).unk_token(unk).build();
    let mut tokenizer = Tokenizer::new(model.map_err(|error| bad(VOCAB_TXT, &error))?);
    tokenizer
        .with_normalizer(Some(normalizer))
        .map_err(|error| bad(VOCAB_TXT, &error))?
        .with_pre_tokenizer(Some(BertPreTokenizer))
        .with_post_processor(Some(processor))
        .with_decoder(Some(WordPieceDecoder::default()));
    tokenizer.add_tokens(tokens).map_err(|error| bad(VOCAB_TXT, &error))?;
    Ok(tokenizer)
}

fn bert_normalizer(settings: &Settings) -> BertNormalizer {
    BertNormalizer::new(
        true,
        settings.flag("tokenize_chinese_chars").unwrap_or(true),
        settings.flag("strip_accents"),
        settings.flag("do_lower_case").unwrap_or(true),
    )
}

/// Byte-level BPE as the Python classes of GPT-2, `RoBERTa`, CLIP and Qwen build it.
fn byte_level_bpe(vocab: &[u8], merges: &[u8], settings: &Settings) -> Result<Tokenizer, InputError> {
    let convention = settings.convention;
    let failed = |error: &dyn std::fmt::Display| bad(VOCAB_JSON, error);
    let vocab = pieces::ids_by_name(vocab).map_err(|error| bad(VOCAB_JSON, &error))?;
    let mut vocab: Vocab = vocab.into_iter().collect();
    add_declared(&mut vocab, settings);
    let tokens = added_tokens(&vocab, settings, Convention::Gpt2);
    let id = |role: &str| {
        let token = settings.token(role).map(|token| token.content).unwrap_or_default();
        id_of(&vocab, &token, VOCAB_JSON).map(|id| (token, id))
    };
    let add_prefix_space = settings.flag("add_prefix_space").unwrap_or(false);
    let processor: Option<PostProcessorWrapper> = match convention {
        Convention::Roberta => {
            let processor = RobertaProcessing::new(id("sep_token")?, id("cls_token")?);
            Some(processor.trim_offsets(true).add_prefix_space(add_prefix_space).into())
        }
        Convention::Clip => {
            let processor = RobertaProcessing::new(id("eos_token")?, id("bos_token")?);
            Some(processor.trim_offsets(false).add_prefix_space(false).into())
        }
        _ => None,
    };
    let mut model = BPE::builder();
    if convention == Convention::Clip {
        model = model.end_of_word_suffix(WORD_END.to_owned()).unk_token(id("unk_token")?.0);
    }
    let model = model.vocab_and_merges(vocab, read_merges(merges)?).build().map_err(|error| bad(MERGES, &error))?;
    let mut tokenizer = Tokenizer::new(model);
    match convention {
        Convention::Clip => {
            let spaces = Replace::new(ReplacePattern::Regex(r"\s+".to_owned()), " ").map_err(|error| failed(&error))?;
            let steps = Normalizers::new(vec![NFC.into(), spaces.into(), Lowercase.into()]);
            tokenizer.with_normalizer(Some(steps)).map_err(|error| failed(&error))?;
            let words = words(CLIP_WORDS, SplitDelimiterBehavior::Removed)?;
            let bytes = ByteLevel::new(false, true, true);
            tokenizer.with_pre_tokenizer(Some(PreTokenizers::new(vec![words.into(), bytes.into()])));
        }
        Convention::Qwen2 => {
            tokenizer.with_normalizer(Some(NFC)).map_err(|error| failed(&error))?;
            let words = words(QWEN_WORDS, SplitDelimiterBehavior::Isolated)?;
            let bytes = ByteLevel::new(add_prefix_space, true, false);
            tokenizer.with_pre_tokenizer(Some(PreTokenizers::new(vec![words.into(), bytes.into()])));
        }
        _ => {
            tokenizer.with_pre_tokenizer(Some(ByteLevel::new(add_prefix_space, true, true)));
        }
    }
    tokenizer.with_decoder(Some(ByteLevelDecoder::default()));
    tokenizer.add_tokens(tokens).map_err(|error| failed(&error))?;
    match processor {
        Some(processor) => tokenizer.with_post_processor(Some(processor)),
        None if settings.flag("add_bos_token") == Some(true) || settings.flag("add_eos_token") == Some(true) => {
            let processor = template::processor(settings, &tokenizer, "").map_err(|error| bad(VOCAB_JSON, &error))?;
            tokenizer.with_post_processor(Some(processor))
        }
        None => tokenizer.with_post_processor(Some(ByteLevel::new(true, false, true))),
    };
    Ok(tokenizer)
}

/// What matches is a word; what lies between is removed or kept apart.
fn words(pattern: &str, behavior: SplitDelimiterBehavior) -> Result<Split, InputError> {
    let invert = behavior == SplitDelimiterBehavior::Removed;
    let pattern = SplitPattern::Regex(pattern.to_owned());
    Split::new(pattern, behavior, invert).map_err(|error| bad(VOCAB_JSON, &error))
}

fn read_merges(merges: &[u8]) -> Result<Merges, InputError> {
    let merges = std::str::from_utf8(merges).map_err(|error| bad(MERGES, &error))?;
    merges
        .lines()
        .filter(|line| !line.starts_with("#version") && !line.trim().is_empty())
        .map(|line| match line.split_once(' ') {
            Some((left, right)) if !right.contains(' ') => Ok((left.to_owned(), right.to_owned())),
            _ => Err(InputError::BadFile { file: MERGES, reason: format!("`{line}` is not a pair of pieces") }),
        })
        .collect()
}

/// Adds the tokens that the checkpoint declares, with their ids.
fn add_declared(vocab: &mut Vocab, settings: &Settings) {
    for (id, token) in settings.added_tokens() {
        if !vocab.contains_key(&token.content) {
            vocab.insert(token.content, id);
        }
    }
}

/// Tokens to look for in text before it is cut: all that the checkpoint names, and those of the
/// family that the vocabulary has.
fn added_tokens(vocab: &Vocab, settings: &Settings, default: Convention) -> Vec<AddedToken> {
    let declared = settings.added_tokens().into_iter().map(|(_, token)| token);
    let of_family = default.special_tokens().iter().map(|(_, text)| AddedToken::from(*text, true));
    let of_family = of_family.filter(|_| settings.convention == Convention::Other);
    let special = settings.special_tokens().chain(settings.additional_special_tokens()).chain(of_family);
    let named = settings.named();
    let known = |token: &AddedToken| vocab.contains_key(&token.content) || named.contains(&token.content);
    let mut tokens: Vec<AddedToken> = declared.chain(special.filter(known)).collect();
    let mut seen = HashSet::new();
    tokens.retain(|token| seen.insert(token.content.clone()));
    tokens
}

fn id_of(vocab: &Vocab, token: &str, file: &'static str) -> Result<u32, InputError> {
    let missing = || InputError::BadFile { file, reason: format!("it does not contain {token}") };
    vocab.get(token).copied().ok_or_else(missing)
}

fn bad(file: &'static str, error: &dyn std::fmt::Display) -> InputError {
    InputError::BadFile { file, reason: error.to_string() }
}
