//! Tokenizers from what came before `tokenizer.json`: `SentencePiece` models, `vocab.txt`, and
//! `vocab.json` with `merges.txt`; and what stands beside a `tokenizer.json` and changes it.

use tokenizers::{
    Tokenizer,
    models::{ModelWrapper, bpe::Vocab, wordpiece::WordPiece},
};

use super::{
    InputError, classes,
    codec::Codec,
    convention::Convention,
    disagreement::{self, DeclaredTokenizer},
    file::{Merge, ModelPart, TokenizerFile, Vocabulary},
    mistral, of_pieces,
    parts::TokenizerParts,
    pieces, read,
    settings::{CONFIG, SmallFiles},
    template,
    tokens::SpecialTokens,
};
use crate::model::checkpoint::ModelFiles;

const VOCAB_TXT: &str = "vocab.txt";
const VOCAB_JSON: &str = "vocab.json";
const TARGET_VOCAB: &str = "target_vocab.json";
const MERGES: &str = "merges.txt";
const SOURCE_SPM: &str = "source.spm";
const TARGET_SPM: &str = "target.spm";
const M2M_MODEL: &str = "sentencepiece.bpe.model";
/// What mBART reads where the checkpoint does not say.
const MBART_LANGUAGE: &str = "en_XX";

/// One model for everything, under the names that the families use.
const PIECE_MODELS: [&str; 4] = ["spiece.model", "sentencepiece.bpe.model", "spm.model", "tokenizer.model"];

/// Families with `vocab.json` and `merges.txt`.
const BYTE_LEVEL: [Convention; 6] = [
    Convention::Gpt2,
    Convention::GptNeoX,
    Convention::Roberta,
    Convention::Clip,
    Convention::Qwen2,
    Convention::CodeGen,
];

/// Text, target where it has pieces of its own, and the names of the files.
type Codecs = (Codec, Option<Codec>, &'static str);

/// Builds a tokenizer from whichever old vocabulary there is.
pub(super) fn codecs(files: &ModelFiles, settings: &SmallFiles) -> Result<Codecs, InputError> {
    if let Some(class) = settings.unknown_class() {
        return Err(InputError::UnknownTokenizer { class: class.to_owned() });
    }
    if settings.convention == Convention::M2m100 {
        return m2m(files, settings);
    }
    if let (Some(source), Some(vocab)) = (read(files, SOURCE_SPM)?, read(files, VOCAB_JSON)?) {
        let text = marian(SOURCE_SPM, &source, VOCAB_JSON, &vocab, settings)?;
        let has_two = settings.flag("separate_vocabs").unwrap_or(false);
        let target_vocab = if has_two { read(files, TARGET_VOCAB)? } else { None };
        let (file, vocab) = target_vocab.as_ref().map_or((VOCAB_JSON, &vocab), |vocab| (TARGET_VOCAB, vocab));
        let target = read(files, TARGET_SPM)?.map(|spm| marian(TARGET_SPM, &spm, file, vocab, settings)).transpose()?;
        return Ok((text, target, "source.spm and vocab.json"));
    }
    for file in PIECE_MODELS {
        if let Some(bytes) = read(files, file)? {
            if settings.convention == Convention::Siglip2 {
                return Err(InputError::UnknownTokenizer { class: settings.convention.class_name().to_owned() });
            }
            if of_pieces::is_class(settings.convention) {
                return Ok((of_class(file, &bytes, settings)?, None, file));
            }
            if settings.convention != Convention::Siglip {
                settings.warn(format!(
                    "{file} is cut by SentencePiece's own rules, as in transformers 4; transformers 5 makes another \
                     tokenizer of it, which may give other ids for spaces in a row, unknown characters, “▁” in a text \
                     and words beside special tokens"
                ));
            }
            let (tokenizer, cutter) = pieces::tokenizer(&bytes, None, settings).map_err(|error| bad(file, &error))?;
            let language = settings.text("src_lang").unwrap_or(MBART_LANGUAGE);
            return Ok((processed(file, tokenizer, cutter, settings, (language, None))?, None, file));
        }
    }
    if let Some(vocab) = read(files, VOCAB_TXT)? {
        let settings = settings.or_family(&[Convention::Bert, Convention::MpNet, Convention::Esm]);
        let vocab: Vocab = WordPiece::read_bytes(&vocab).map_err(|error| bad(VOCAB_TXT, &error))?;
        let model = ModelPart { vocab: Vocabulary::Ids(vocab.into_iter().collect()), ..ModelPart::default() };
        return Ok((around_vocabulary(model, VOCAB_TXT, &settings)?, None, VOCAB_TXT));
    }
    if let (Some(vocab), Some(merges)) = (read(files, VOCAB_JSON)?, read(files, MERGES)?) {
        let settings = settings.or_family(&BYTE_LEVEL);
        let vocab = pieces::ids_by_name(&vocab).map_err(|error| bad(VOCAB_JSON, &error))?;
        let vocab = Vocabulary::Ids(vocab.into_iter().collect());
        let model = ModelPart { vocab, merges: Some(read_merges(&merges)?), ..ModelPart::default() };
        return Ok((around_vocabulary(model, VOCAB_JSON, &settings)?, None, "vocab.json and merges.txt"));
    }
    Err(InputError::MissingTokenizer)
}

/// M2M-100's pieces have the ids of its `vocab.json`; its languages follow them.
fn m2m(files: &ModelFiles, settings: &SmallFiles) -> Result<Codecs, InputError> {
    let (pieces, vocab) = (read(files, M2M_MODEL)?, read(files, VOCAB_JSON)?);
    let (Some(pieces), Some(vocab)) = (&pieces, &vocab) else {
        let (file, other) = if pieces.is_some() { (VOCAB_JSON, M2M_MODEL) } else { (M2M_MODEL, VOCAB_JSON) };
        let nothing = pieces.is_none() && vocab.is_none();
        let reason = format!(
            "it is missing: M2M100Tokenizer reads it beside {other}, and an NLLB says so by “tokenizer_class”: \
             “NllbTokenizer” in tokenizer_config.json"
        );
        return Err(if nothing { InputError::MissingTokenizer } else { InputError::BadFile { file, reason } });
    };
    let ids = pieces::ids_by_name(vocab).map_err(|error| bad(VOCAB_JSON, &error))?;
    let (text, id) = pieces::m2m_source(ids.len(), settings).map_err(|error| bad(CONFIG, &error))?;
    let (tokenizer, cutter) =
        pieces::tokenizer(pieces, Some(&ids), settings).map_err(|error| bad(M2M_MODEL, &error))?;
    let codec = processed(M2M_MODEL, tokenizer, cutter, settings, (&text, Some(id)))?;
    Ok((codec, None, "sentencepiece.bpe.model and vocab.json"))
}

fn marian(
    file: &'static str,
    model: &[u8],
    vocab_file: &'static str,
    vocab: &[u8],
    settings: &SmallFiles,
) -> Result<Codec, InputError> {
    let ids = pieces::ids_by_name(vocab).map_err(|error| bad(vocab_file, &error))?;
    let (tokenizer, cutter) = pieces::tokenizer(model, Some(&ids), settings).map_err(|error| bad(file, &error))?;
    processed(file, tokenizer, cutter, settings, (MBART_LANGUAGE, None))
}

/// With the special tokens that the family puts around a text.
fn processed(
    file: &'static str,
    mut tokenizer: Tokenizer,
    cutter: pieces::PieceCutter,
    settings: &SmallFiles,
    language: (&str, Option<u32>),
) -> Result<Codec, InputError> {
    let processor = template::processor(settings, &tokenizer, language).map_err(|error| bad(file, &error))?;
    tokenizer.with_post_processor(Some(processor));
    tokenizer.set_encode_special_tokens(settings.flag("split_special_tokens").unwrap_or(false));
    Codec::new(tokenizer, Some(cutter))
}

/// A tokenizer from `tokenizer.json` and what stands beside it.
///
/// # Errors
/// One clause that says what is wrong with the file.
pub(super) fn from_json(bytes: &[u8], settings: &SmallFiles) -> Result<Tokenizer, String> {
    let told = |error: tokenizers::Error| error.to_string();
    let hides = settings.get("model_input_names").and_then(serde_json::Value::as_array);
    if settings.convention == Convention::Siglip2
        && hides.is_none_or(|names| names.iter().any(|name| name == "attention_mask"))
    {
        settings.warn(
            "Its tokenizer_config.json does not leave attention_mask out of model_input_names, so transformers hides the \
             padding behind a text from the text tower; here it is seen, as while the model was trained"
                .to_owned(),
        );
    }
    if settings.convention == Convention::M2m100 {
        settings.warn(format!(
            "M2M100Tokenizer of transformers 5 reads {M2M_MODEL} and {VOCAB_JSON}, which are not here, so tokenizer.json \
             alone decides; transformers itself does not open it"
        ));
    }
    if TokenizerParts::of(settings, &SpecialTokens::of(settings, &[]), None).is_none() {
        return by_file(bytes, settings).map_err(told);
    }
    let file: TokenizerFile = serde_json::from_slice(bytes).map_err(|error| error.to_string())?;
    let tokens = SpecialTokens::of(settings, &file.added_tokens());
    let Some(parts) = TokenizerParts::of(settings, &tokens, file.rules()) else {
        return by_file(bytes, settings).map_err(told);
    };
    let has_scores = matches!(file.model.vocab, Vocabulary::Scores(_));
    if parts.model["type"] == "Unigram" && !has_scores {
        let class = settings.convention.class_name();
        settings.warn(format!(
            "{class} of transformers 5 needs pieces with scores, which tokenizer.json does not have, so it goes by the \
             file alone; transformers itself does not open it"
        ));
        return by_file(bytes, settings).map_err(told);
    }
    let written = DeclaredTokenizer::of(&file);
    let mut model = parts.model.clone();
    if let Some(unknown) = classes::unknown_of(&file.model.vocab, &parts, &tokens, settings) {
        model["unk_id"] = unknown.into();
    }
    let mut tokenizer = classes::build(file, parts, &tokens, settings)?;
    written.compare(&tokenizer, &model, settings);
    finish(&mut tokenizer, settings).map_err(told)?;
    Ok(tokenizer)
}

/// For classes that go by the file, with the tokens that the checkpoint names.
fn by_file(bytes: &[u8], settings: &SmallFiles) -> tokenizers::Result<Tokenizer> {
    let mut tokenizer = Tokenizer::from_bytes(bytes)?;
    let present = tokenizer.get_added_vocabulary().get_added_tokens_decoder();
    let mut in_file: Vec<_> = present.iter().map(|(id, token)| (*id, token.clone())).collect();
    in_file.sort_by_key(|(id, _)| *id);
    let tokens = SpecialTokens::of(settings, &in_file);
    tokens.add_to(&mut tokenizer, settings)?;
    if tokenizer.get_post_processor().is_none() {
        let (single, pair) = template::ends(false, false);
        tokenizer.with_post_processor(Some(template::build(&single, &pair, |role| Err(role.to_owned()))?));
    }
    if let ModelWrapper::BPE(model) = tokenizer.get_model()
        && model.dropout.is_some_and(|dropout| dropout > 0.0)
    {
        let mut model = model.clone();
        model.dropout = None;
        tokenizer.with_model(model);
        settings.warn(
            "tokenizer.json leaves out merges by chance (dropout), so Python cuts a text in another way each time; \
             here no merge is left out"
                .to_owned(),
        );
    }
    finish(&mut tokenizer, settings)?;
    Ok(tokenizer)
}

/// What every class does in the end.
fn finish(tokenizer: &mut Tokenizer, settings: &SmallFiles) -> tokenizers::Result<()> {
    tokenizer.set_encode_special_tokens(settings.flag("split_special_tokens").unwrap_or(false));
    disagreement::check_ends(tokenizer, settings);
    mistral::fix_words(tokenizer, settings)
}

/// The tokenizer that the settings' class makes of a `SentencePiece` model.
fn of_class(file: &'static str, bytes: &[u8], settings: &SmallFiles) -> Result<Codec, InputError> {
    let mut tokenizer = of_pieces::tokenizer(bytes, settings).map_err(|error| bad(file, &error))?;
    finish(&mut tokenizer, settings).map_err(|error| bad(file, &error))?;
    Codec::new(tokenizer, None)
}

/// A tokenizer of the settings' class around an older vocabulary.
fn around_vocabulary(model: ModelPart, file: &'static str, settings: &SmallFiles) -> Result<Codec, InputError> {
    let tokens = SpecialTokens::of(settings, &[]);
    let parts = TokenizerParts::of(settings, &tokens, None).ok_or(InputError::MissingTokenizer)?;
    built(model, parts, &tokens, file, settings)
}

fn built(
    model: ModelPart,
    parts: TokenizerParts,
    tokens: &SpecialTokens,
    file: &'static str,
    settings: &SmallFiles,
) -> Result<Codec, InputError> {
    let model = TokenizerFile { model, ..TokenizerFile::default() };
    let mut tokenizer = classes::build(model, parts, tokens, settings).map_err(|error| bad(file, &error))?;
    finish(&mut tokenizer, settings).map_err(|error| bad(file, &error))?;
    Codec::new(tokenizer, None)
}

fn read_merges(merges: &[u8]) -> Result<Vec<Merge>, InputError> {
    let merges = std::str::from_utf8(merges).map_err(|error| bad(MERGES, &error))?;
    merges
        .lines()
        .filter(|line| !line.starts_with("#version") && !line.trim().is_empty())
        .map(|line| match line.split_once(' ') {
            Some((left, right)) if !right.contains(' ') => Ok(Merge::Pair((left.to_owned(), right.to_owned()))),
            _ => Err(InputError::BadFile { file: MERGES, reason: format!("`{line}` is not a pair of pieces") }),
        })
        .collect()
}

fn bad(file: &'static str, error: &dyn std::fmt::Display) -> InputError {
    InputError::BadFile { file, reason: error.to_string() }
}
