//! A repair that transformers makes when it is asked: the words of Mistral's tokenizers were once written down wrongly.

use serde_json::{Value, json};
use tokenizers::{PreTokenizerWrapper, Tokenizer, pre_tokenizers::sequence::Sequence};

use super::settings::SmallFiles;

/// From how many ids on a vocabulary can be one of them.
const N_VOCAB: usize = 100_000;
const FLAG: &str = "fix_mistral_regex";
const WORDS: &str = r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// Repairs the words where the checkpoint asks for it, and warns where it should. After `_patch_mistral_regex`.
///
/// # Errors
/// Only when the library fails.
pub(super) fn fix_words(tokenizer: &mut Tokenizer, settings: &SmallFiles) -> tokenizers::Result<()> {
    let asked = settings.flag(FLAG);
    let Some(old) = tokenizer.get_pre_tokenizer().cloned() else { return Ok(()) };
    if tokenizer.get_vocab_size(true) <= N_VOCAB || !may_be_wrong(settings) {
        return Ok(());
    }
    if asked != Some(true) {
        settings.warn(format!(
            "The words of this tokenizer may be cut wrongly: transformers says so of Mistral's models from before \
             version 5. “{FLAG}”: true in tokenizer_config.json repairs them, there and here"
        ));
        return Ok(());
    }
    let split = json!({ "type": "Split", "pattern": { "Regex": WORDS }, "behavior": "Isolated", "invert": false });
    let mut parts: Vec<PreTokenizerWrapper> = vec![serde_json::from_value(split)?];
    match old {
        PreTokenizerWrapper::Sequence(old) => parts.extend(old.as_ref().iter().skip(1).cloned()),
        PreTokenizerWrapper::Metaspace(_) => {
            let bytes =
                json!({ "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": false });
            parts.push(serde_json::from_value(bytes)?);
        }
        old => parts.push(old),
    }
    tokenizer.with_pre_tokenizer(Some(Sequence::new(parts)));
    Ok(())
}

/// Whether a checkpoint is of such a model and was written before version 5.
fn may_be_wrong(settings: &SmallFiles) -> bool {
    let model = &settings.model;
    let text = |key: &str| model.get(key).and_then(Value::as_str);
    let is_older = text("transformers_version").is_none_or(|version| {
        let major = version.split('.').next().and_then(|major| major.parse::<u32>().ok());
        // A version that led to the fifth.
        let leads = version.strip_prefix("5.0.0").is_some_and(|rest| rest.starts_with(['a', 'b', 'r', '.']));
        major.is_some_and(|major| major < 5) || leads
    });
    let is_one = |model_type: &str| (settings.tokenizer_of)(model_type).is_some_and(|class| class.wrong_words);
    model.is_object() && is_older && text("model_type").is_none_or(is_one)
}
