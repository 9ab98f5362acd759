//! Places of special tokens, by family of tokenizers.

use tokenizers::{
    Tokenizer,
    processors::template::{SpecialToken, Template, TemplateProcessing},
};

use super::{convention::Convention, settings::SmallFiles};

/// Where special tokens go around one text and around two, by their roles.
///
/// Byte-level families are not here: their processors also trim spaces.
fn templates(settings: &SmallFiles) -> (String, String) {
    // ALBERT's class puts nothing else around a text once either is said.
    let says_ends = || ["add_bos_token", "add_eos_token"].iter().any(|key| settings.get(key).is_some());
    let (single, pair) = match settings.convention {
        Convention::Albert if says_ends() => {
            let wants = |key| settings.flag(key).unwrap_or(false);
            return ends(wants("add_bos_token"), wants("add_eos_token"));
        }
        Convention::Albert | Convention::Bert | Convention::DebertaV2 => {
            ("cls_token $A sep_token", "cls_token $A sep_token $B:1 sep_token:1")
        }
        Convention::Camembert | Convention::MpNet | Convention::XlmRoberta => {
            ("cls_token $A sep_token", "cls_token $A sep_token sep_token $B sep_token")
        }
        Convention::T5 | Convention::Siglip => ("$A eos_token", "$A eos_token $B eos_token"),
        Convention::Marian => ("$A eos_token", "$A $B eos_token"),
        Convention::MBart => ("$A eos_token language", "$A $B eos_token language"),
        Convention::M2m100 | Convention::MBart50 => ("language $A eos_token", "language $A $B eos_token"),
        _ => {
            let begins = matches!(settings.convention, Convention::Llama | Convention::CodeLlama | Convention::Gemma);
            let flag = |key, token, default| settings.flag(key).unwrap_or(default) && settings.token(token).is_some();
            let begin = flag("add_bos_token", "bos_token", begins);
            let end = flag("add_eos_token", "eos_token", false);
            return ends(begin, end);
        }
    };
    (single.to_owned(), pair.to_owned())
}

/// What adds the special tokens; `language` is what mBART and M2M-100 write beside a text, with its id where that is not
/// the vocabulary's.
///
/// # Errors
/// When the vocabulary lacks one of them.
pub(super) fn processor(
    settings: &SmallFiles,
    tokenizer: &Tokenizer,
    (language, language_id): (&str, Option<u32>),
) -> Result<TemplateProcessing, String> {
    let (single, pair) = templates(settings);
    build(&single, &pair, |role| {
        let text = match (role, language_id) {
            ("language", Some(id)) => return Ok((language.to_owned(), id)),
            ("language", None) => language.to_owned(),
            (role, _) => settings.token(role).map(|token| token.content).unwrap_or_default(),
        };
        let id = tokenizer.token_to_id(&text).ok_or_else(|| format!("it does not contain {text}"))?;
        Ok((text, id))
    })
}

/// Templates for one text and for two, each with its beginning and its end where they are wanted.
pub(super) fn ends(begin: bool, end: bool) -> (String, String) {
    let around = |segment: &str, type_id: &str| {
        let begin = if begin { format!("bos_token{type_id} ") } else { String::new() };
        let end = if end { format!(" eos_token{type_id}") } else { String::new() };
        format!("{begin}{segment}{type_id}{end}")
    };
    (around("$A", ""), format!("{} {}", around("$A", ""), around("$B", ":1")))
}

/// Templates whose special tokens are roles; `named` knows their texts and ids.
///
/// # Errors
/// Those of `named`, and when the library fails.
pub(super) fn build(
    single: &str,
    pair: &str,
    named: impl Fn(&str) -> Result<(String, u32), String>,
) -> Result<TemplateProcessing, String> {
    let mut tokens = Vec::new();
    for role in ["bos_token", "eos_token", "sep_token", "cls_token", "language"] {
        if pair.contains(role) {
            let (text, id) = named(role)?;
            tokens.push(SpecialToken::new(role.to_owned(), vec![id], vec![text]).map_err(|error| error.to_string())?);
        }
    }
    TemplateProcessing::builder()
        .single(Template::try_from(single)?)
        .pair(Template::try_from(pair)?)
        .special_tokens(tokens)
        .build()
        .map_err(|error| error.to_string())
}
