//! Classes of transformers 5 that make a tokenizer of their own of a `SentencePiece` model: its pieces, in the order of the
//! family, around the parts that the class has. After `convert_slow_tokenizer.py` and `tokenization_utils_tokenizers.py` of
//! version 5.24.

use std::{
    collections::{HashMap, HashSet, hash_map::Entry},
    mem::take,
};

use base64::Engine as _;
use serde_json::json;
use tokenizers::{AddedToken, Tokenizer};

use super::{
    classes,
    convention::Convention,
    file::{Merge, ModelPart, TokenizerFile, Vocabulary},
    languages::languages,
    parts::TokenizerParts,
    sentencepiece::{PieceFile, PieceKind, SentencePiece},
    settings::SmallFiles,
    tokens::{SENTENCE_MASK, SpecialTokens, given, unused_words},
};

/// Whether a class is one of them. Not so where that gives a piece another id than the weights have, as the pieces of
/// fairseq's older families and T5's extra ids get.
pub(super) const fn is_class(convention: Convention) -> bool {
    matches!(convention, Convention::DebertaV2 | Convention::Nllb | Convention::Pegasus)
}

/// The tokenizer that the class of the settings makes of a model file.
///
/// # Errors
/// A clause on what is wrong with the file.
pub(super) fn tokenizer(bytes: &[u8], settings: &SmallFiles) -> Result<Tokenizer, String> {
    let (model, PieceFile { mut pieces, rules }) = SentencePiece::parse(bytes)?;
    let rules = (!rules.is_empty()).then(|| {
        let rules = base64::engine::general_purpose::STANDARD.encode(rules);
        json!({ "type": "Precompiled", "precompiled_charsmap": rules })
    });
    let added = |(text, kind): &(String, PieceKind)| {
        let token = AddedToken::from(text, *kind == PieceKind::Control).normalized(false);
        matches!(kind, PieceKind::Control | PieceKind::UserDefined).then_some(token)
    };
    let tokens = SpecialTokens::of_pieces(settings, pieces.iter().filter_map(added).collect());
    let mut parts = TokenizerParts::of(settings, &tokens, rules.as_ref()).ok_or("its class is not known")?;
    parts.model["unk_id"] = model.unknown().into();
    let texts = pieces.iter_mut().map(|(text, _)| take(text));
    let part = match settings.convention {
        Convention::Nllb => merges(texts.collect(), settings),
        convention => {
            let scored = (0..).zip(texts).map(|(id, text)| (text, f64::from(model.score(id))));
            let entries = if convention == Convention::Pegasus {
                behind_unused_words(scored.collect(), settings)
            } else {
                scored.collect()
            };
            ModelPart { vocab: Vocabulary::Scores(entries), ..ModelPart::default() }
        }
    };
    let n_pieces = part.vocab.len();
    let file = TokenizerFile { model: part, ..TokenizerFile::default() };
    let tokenizer = classes::build(file, parts, &tokens, settings)?;
    if settings.convention == Convention::Nllb {
        check_languages(&tokenizer, n_pieces, settings);
    }
    Ok(tokenizer)
}

/// NLLB's pieces behind four tokens, with every way to put one of them together.
fn merges(pieces: Vec<String>, settings: &SmallFiles) -> ModelPart {
    let roles = [("bos_token", "<s>"), ("pad_token", "<pad>"), ("eos_token", "</s>"), ("unk_token", "<unk>")];
    let merges = all_merges(&pieces);
    // As in Python: of two roles with one text the later counts, and a piece has as many texts before it as its id says.
    let front = roles.map(|(role, text)| written(settings, role, text)).into_iter().zip(0..);
    let mut ids: HashMap<String, u32> = front.collect();
    let mut next = ids.len();
    for piece in pieces {
        if let Entry::Vacant(place) = ids.entry(piece) {
            place.insert(u32::try_from(next).unwrap_or(u32::MAX));
            next += 1;
        }
    }
    let vocab = Vocabulary::Ids(ids.into_iter().collect());
    ModelPart { vocab, merges: Some(merges), ..ModelPart::default() }
}

/// Pairs of pieces that are a piece together: in the order of that piece, the shorter beginning first.
fn all_merges(pieces: &[String]) -> Vec<Merge> {
    let known: HashSet<&str> = pieces.iter().map(String::as_str).collect();
    let splits = pieces.iter().flat_map(|piece| piece.char_indices().skip(1).map(|(at, _)| piece.split_at(at)));
    let is_known = |(left, right): &(&str, &str)| known.contains(left) && known.contains(right);
    splits.filter(is_known).map(|(left, right)| Merge::Pair((left.to_owned(), right.to_owned()))).collect()
}

/// The pieces of PEGASUS behind its masks and the words that it never uses.
fn behind_unused_words(pieces: Vec<(String, f64)>, settings: &SmallFiles) -> Vec<(String, f64)> {
    let mut entries =
        vec![(written(settings, "pad_token", "<pad>"), 0.0), (written(settings, "eos_token", "</s>"), 0.0)];
    let masks =
        [("mask_token", "<mask_1>"), (SENTENCE_MASK, "<mask_2>")].map(|(role, text)| written(settings, role, text));
    let masks: Vec<&String> = masks.iter().filter(|mask| *mask != NONE).collect();
    let differing = masks.iter().take(1).chain(masks.iter().skip(1).filter(|mask| **mask != masks[0]));
    entries.extend(differing.map(|mask| ((*mask).clone(), 0.0)));
    entries.extend(unused_words(settings).map(|word| (word, -100.0)));
    entries.extend(pieces.into_iter().skip(2));
    entries
}

/// How Python writes a token that is not there.
const NONE: &str = "None";

/// The text of a token as the converters ask for it: their own where the checkpoint says nothing.
fn written(settings: &SmallFiles, role: &str, own: &str) -> String {
    given(settings, role, own).unwrap_or_else(|| NONE.to_owned())
}

/// Tells `settings` when languages do not have the ids that follow the pieces.
fn check_languages(tokenizer: &Tokenizer, n_pieces: usize, settings: &SmallFiles) {
    let ids: HashMap<&str, usize> = languages(Convention::Nllb).iter().copied().zip(n_pieces..).collect();
    let language = settings.text("src_lang").unwrap_or("eng_Latn");
    let (Some(&trained), Some(found)) = (ids.get(language), tokenizer.token_to_id(language)) else { return };
    if trained != found as usize {
        settings.warn(format!(
            "{language} has the id {found} instead of {trained}, which follows the pieces and which published weights were \
             trained with: NllbTokenizer of transformers 5 gives ids to the tokens of tokenizer_config.json in its own \
             order where added_tokens_decoder is missing"
        ));
    }
}
