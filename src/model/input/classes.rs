//! Tokenizers as the classes of transformers 5 build them: around a vocabulary, with parts of their own (`parts.rs`),
//! whatever else the file says. After `tokenization_*.py` of version 5.24; `benches/odd_tokenizers.py` holds them against it.

use tokenizers::{
    AddedToken, DecoderWrapper, NormalizerWrapper, PostProcessorWrapper, PreTokenizerWrapper, Tokenizer,
    models::{
        ModelWrapper,
        bpe::{BPE, Vocab},
        unigram::Unigram,
        wordlevel::WordLevel,
        wordpiece::WordPiece,
    },
    processors::roberta::RobertaProcessing,
};

use super::{
    convention::Convention,
    file::{ModelPart, TokenizerFile, Vocabulary},
    languages::languages,
    parts::TokenizerParts,
    settings::{CONFIG, SmallFiles},
    template,
    tokens::SpecialTokens,
};

/// The tokenizer of a class around a vocabulary, with its special tokens and what it puts around a text.
///
/// # Errors
/// When the vocabulary is not one of the class's kind, or damaged.
pub(super) fn build(
    mut file: TokenizerFile,
    parts: TokenizerParts,
    tokens: &SpecialTokens,
    settings: &SmallFiles,
) -> Result<Tokenizer, String> {
    let told = |error: tokenizers::Error| error.to_string();
    let processor = std::mem::take(&mut file.post_processor);
    let mut tokenizer = Tokenizer::new(model(file.model, &parts, tokens, settings)?);
    let part = |error: serde_json::Error| error.to_string();
    tokenizer
        .with_normalizer(serde_json::from_value::<Option<NormalizerWrapper>>(parts.normalizer).map_err(part)?)
        .map_err(told)?
        .with_pre_tokenizer(serde_json::from_value::<Option<PreTokenizerWrapper>>(parts.pre_tokenizer).map_err(part)?)
        .with_decoder(serde_json::from_value::<Option<DecoderWrapper>>(parts.decoder).map_err(part)?);
    tokens.add_to(&mut tokenizer, settings).map_err(told)?;
    if settings.convention == Convention::Esm {
        // Its class finds every entry of the vocabulary wherever it stands in a text, as others find special tokens.
        let mut entries: Vec<(String, u32)> = tokenizer.get_vocab(false).into_iter().collect();
        entries.sort_by_key(|(_, id)| *id);
        let token = |(text, _): (String, u32)| AddedToken::from(text, false).normalized(false);
        tokenizer.add_tokens(entries.into_iter().map(token)).map_err(told)?;
    }
    let of_file = serde_json::from_value(processor).map_err(part)?;
    let processor = processor_of(settings, tokens, &tokenizer, of_file)?;
    tokenizer.with_post_processor(Some(processor));
    Ok(tokenizer)
}

fn model(
    part: ModelPart,
    parts: &TokenizerParts,
    tokens: &SpecialTokens,
    settings: &SmallFiles,
) -> Result<ModelWrapper, String> {
    let mut part = part;
    let told = |error: tokenizers::Error| error.to_string();
    let text = |key: &str| parts.model[key].as_str().map(str::to_owned);
    let flag = |key: &str| parts.model[key].as_bool().unwrap_or(false);
    let merges = part.take_merges()?;
    let by_name = |vocabulary| match vocabulary {
        Vocabulary::Ids(entries) => entries.into_iter().collect(),
        Vocabulary::Scores(entries) => entries.into_iter().map(|(name, _)| name).zip(0..).collect(),
    };
    Ok(match parts.model["type"].as_str() {
        Some("WordPiece") => {
            let unknown = text("unk_token").unwrap_or_default();
            let vocab: Vocab = by_name(part.vocab);
            // The library would stop at the first word that it does not know.
            if !vocab.contains_key(&unknown) {
                return Err(format!("it does not contain {unknown}"));
            }
            WordPiece::builder().vocab(vocab).unk_token(unknown).build().map_err(told)?.into()
        }
        Some("WordLevel") => {
            let unknown = text("unk_token").unwrap_or_default();
            WordLevel::builder().vocab(by_name(part.vocab)).unk_token(unknown).build().map_err(told)?.into()
        }
        Some("BPE") => {
            let mut model = BPE::builder()
                .vocab_and_merges::<Vocab>(by_name(part.vocab), merges)
                .fuse_unk(flag("fuse_unk"))
                .byte_fallback(flag("byte_fallback"));
            if let Some(unknown) = text("unk_token") {
                model = model.unk_token(unknown);
            }
            if let Some(suffix) = text("end_of_word_suffix") {
                model = model.end_of_word_suffix(suffix);
            }
            model.build().map_err(told)?.into()
        }
        _ => {
            let unk_id = unknown_of(&part.vocab, parts, tokens, settings);
            if settings.convention == Convention::Pegasus && unk_id.is_none() {
                let unknown = tokens.role("unk_token").unwrap_or_default();
                return Err(format!("it does not contain {unknown} with the score 0"));
            }
            let Vocabulary::Scores(mut entries) = part.vocab else {
                return Err("its vocabulary has no scores".to_owned());
            };
            if settings.convention == Convention::MBart50 {
                entries = with_languages(entries, tokens);
            }
            Unigram::from(entries, unk_id, false).map_err(told)?.into()
        }
    })
}

/// Which of the pieces with scores stands for what is unknown; `None` where pieces have no scores.
pub(super) fn unknown_of(
    vocabulary: &Vocabulary,
    parts: &TokenizerParts,
    tokens: &SpecialTokens,
    settings: &SmallFiles,
) -> Option<usize> {
    let Vocabulary::Scores(entries) = vocabulary else { return None };
    let default = parts.model["unk_id"].as_u64().and_then(|id| usize::try_from(id).ok());
    let unknown = tokens.role("unk_token").unwrap_or_default();
    let place = |is: &dyn Fn(f64) -> bool| entries.iter().position(|(name, score)| name == unknown && is(*score));
    match settings.convention {
        Convention::Camembert => Some(place(&|_| true).unwrap_or(0)),
        Convention::DebertaV2 => place(&|score| score == 0.0).or(default),
        Convention::Pegasus => place(&|score| score == 0.0),
        _ => default,
    }
}

/// The pieces of mBART-50 as fairseq orders them, where the vocabulary is still that of `SentencePiece`.
fn with_languages(pieces: Vec<(String, f64)>, tokens: &SpecialTokens) -> Vec<(String, f64)> {
    let codes = languages(Convention::MBart50);
    if pieces.iter().any(|(name, _)| codes.contains(&name.as_str())) {
        return pieces;
    }
    let role = |role: &&str| tokens.role(role).unwrap_or_default().to_owned();
    let front = ["cls_token", "pad_token", "eos_token", "unk_token"].iter().map(role);
    let back = codes.iter().map(|&code| code.to_owned()).chain([role(&"mask_token")]);
    let scored = |name| (name, 0.0);
    front.map(scored).chain(pieces.into_iter().skip(3)).chain(back.map(scored)).collect()
}

/// What the class puts around a text; `of_file` is what the file has.
fn processor_of(
    settings: &SmallFiles,
    tokens: &SpecialTokens,
    tokenizer: &Tokenizer,
    of_file: Option<PostProcessorWrapper>,
) -> Result<PostProcessorWrapper, String> {
    let text = |role: &str| tokens.role(role).unwrap_or_default().to_owned();
    let named = |role: &str| {
        let text = text(role);
        let id = tokenizer.token_to_id(&text).ok_or_else(|| format!("it does not contain {text}"))?;
        Ok::<_, String>((text, id))
    };
    let template = |single: &str, pair: &str| Ok(template::build(single, pair, named)?.into());
    let roberta = |sep: &str, cls: &str, trim: bool, add: bool| {
        let processor = RobertaProcessing::new(named(sep)?, named(cls)?);
        Ok::<_, String>(processor.trim_offsets(trim).add_prefix_space(add).into())
    };
    let flag = |key: &str, default: bool| settings.flag(key).unwrap_or(default);
    match settings.convention {
        Convention::Bert | Convention::DebertaV2 => {
            template("cls_token $A sep_token", "cls_token $A sep_token $B:1 sep_token:1")
        }
        Convention::Esm => template("cls_token $A eos_token", "cls_token $A eos_token $B eos_token"),
        Convention::MpNet => roberta("sep_token", "cls_token", true, false),
        Convention::Roberta => {
            roberta("sep_token", "cls_token", flag("trim_offsets", true), flag("add_prefix_space", false))
        }
        Convention::Clip => roberta("eos_token", "bos_token", false, false),
        Convention::T5 => template("$A eos_token", "$A eos_token $B eos_token"),
        Convention::XlmRoberta | Convention::Camembert => {
            template("bos_token $A eos_token", "bos_token $A eos_token eos_token $B eos_token")
        }
        Convention::Pegasus => template("$A eos_token", "$A $B eos_token"),
        Convention::MBart | Convention::MBart50 | Convention::Nllb => {
            let is_nllb = settings.convention == Convention::Nllb;
            let default = if is_nllb { "eng_Latn" } else { "en_XX" };
            let language = settings.text("src_lang").unwrap_or(default);
            let behind = if is_nllb {
                settings.flag("legacy_behaviour").unwrap_or(false)
            } else {
                settings.convention == Convention::MBart
            };
            let (single, pair) = if behind {
                ("$A eos_token language", "$A $B eos_token language")
            } else {
                ("language $A eos_token", "language $A $B eos_token")
            };
            if is_nllb && tokenizer.token_to_id(language).is_none() {
                settings.warn(format!(
                    "The class has no token for the language {language}, so a text is read with {} in its place: \
                     {CONFIG} lists no languages, and NllbTokenizer of transformers 5 takes none of its own beside a \
                     SentencePiece model",
                    text("unk_token")
                ));
            }
            let named = |role: &str| match role {
                "language" => {
                    let unknown = || tokenizer.token_to_id(&text("unk_token"));
                    let id = tokenizer.token_to_id(language).or_else(unknown);
                    Ok((language.to_owned(), id.ok_or_else(|| format!("it does not contain {language}"))?))
                }
                role => named(role),
            };
            Ok(template::build(single, pair, named)?.into())
        }
        // Whatever the file has: only what the checkpoint says about the beginning and the end counts.
        Convention::GptNeoX | Convention::CodeLlama => around(settings, tokens, named),
        Convention::Albert if of_file.is_none() => {
            template("cls_token $A sep_token", "cls_token $A sep_token $B:1 sep_token:1")
        }
        Convention::CodeGen if of_file.is_none() && !says_ends(settings) => {
            Ok(tokenizers::pre_tokenizers::byte_level::ByteLevel::new(true, false, true).into())
        }
        _ => match of_file {
            Some(processor) if !says_ends(settings) => Ok(processor),
            _ => around(settings, tokens, named),
        },
    }
}

/// Whether the checkpoint says what begins and ends a text; beside a `tokenizer.json` that counts for nothing.
fn says_ends(settings: &SmallFiles) -> bool {
    let says = |key| settings.ends_count && settings.get(key).is_some();
    says("add_bos_token") | says("add_eos_token")
}

/// `update_post_processor`: what `add_bos_token` and `add_eos_token` say.
pub(super) fn around(
    settings: &SmallFiles,
    tokens: &SpecialTokens,
    named: impl Fn(&str) -> Result<(String, u32), String>,
) -> Result<PostProcessorWrapper, String> {
    let says = |key, default| if settings.ends_count { settings.flag(key).unwrap_or(default) } else { default };
    let is_code_llama = settings.convention == Convention::CodeLlama;
    let begin = says("add_bos_token", is_code_llama) && tokens.role("bos_token").is_some();
    let end = says("add_eos_token", false) && tokens.role("eos_token").is_some();
    let (single, pair) = template::ends(begin, end);
    Ok(template::build(&single, &pair, named)?.into())
}
