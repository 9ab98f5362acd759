//! What becomes of every key of `tokenizer_config.json`: it was read, it is known to change no id, or nobody follows it.

use serde_json::Value;

use super::{
    convention::{Convention, has_own_code},
    settings::{CONFIG, SmallFiles},
};
use crate::model::checkpoint::{audit::TokenizerKeys, config_log::short};

/// Keys that some class has, and that change neither the ids of one text nor what is written: names of files, what a
/// batch is filled up with, templates of conversations, and what other parts of a program look up.
const HARMLESS: &[&str] = &[
    "_commit_hash",
    "backend",
    "chat_control_tokens",
    "chat_template",
    "device_map",
    "errors",
    // Only a class that reads a tokenizer.json looks, and asks for it.
    "fast_tokenizer_files",
    "files_loaded",
    "gguf_file",
    "is_local",
    // Counts where transformers makes a tokenizer of a SentencePiece model, of which there is a sentence anyway.
    "legacy",
    "local_files_only",
    "max_len",
    "max_length",
    "max_target_length",
    "merges_file",
    "model_max_length",
    "name_or_path",
    // Rows of the table beyond the languages, which no text has.
    "num_madeup_words",
    "pad_to_multiple_of",
    "pad_token_type_id",
    "padding_side",
    "processor_class",
    "response_schema",
    "response_template",
    "return_token_type_ids",
    "slow_tokenizer_class",
    "source_lang",
    "source_spm",
    "special_tokens_map_file",
    "special_tokens_pattern",
    "spm_file",
    "stride",
    "target_lang",
    "target_spm",
    "target_vocab_file",
    "token_type_ids_include_special_tokens",
    "token_type_ids_pattern",
    "tokenizer",
    "tokenizer_file",
    "trim_offsets",
    "truncation_side",
    "truncation_strategy",
    // Only one class looks, and asks for it.
    "unk_id",
    "use_default_system_prompt",
    "verbose",
    "vocab_file",
];

/// Flags that some class of some version follows, with the value with which they change nothing where nobody does.
const FLAGS: &[(&str, &str)] = &[
    ("add_bos_token", "false"),
    ("add_eos_token", "false"),
    ("add_prefix_space", "false"),
    ("do_basic_tokenize", "true"),
    ("do_lower_case", ""),
    ("do_remove_space", "true"),
    ("from_slow", "false"),
    ("keep_accents", ""),
    ("never_split", ""),
    ("normalization", "false"),
    ("remove_space", "true"),
    ("split_by_punct", "false"),
    ("strip_accents", ""),
    ("tokenize_chinese_chars", "true"),
    ("wordpieces_prefix", "\"##\""),
];

/// What classes read and no file of a published checkpoint says: parts of a tokenizer, arguments without names, and chance.
const UNSUPPORTED: &[&str] = &[
    "init_inputs",
    "merges",
    "post_processor",
    "sp_model_kwargs",
    "tokenizer_object",
    "tokenizer_padding",
    "tokenizer_truncation",
    "vocab",
];

/// Sorts the keys after everything was asked, and tells `settings` of flags that nobody follows.
pub(super) fn account(settings: &SmallFiles) -> TokenizerKeys {
    let mut keys = TokenizerKeys::default();
    let (mut flags, mut unsupported) = (Vec::new(), Vec::new());
    let goes_by_file = settings.convention == Convention::Other;
    for (key, value, is_read) in settings.keys() {
        let told = short(value);
        let list = if is_read {
            &mut keys.read
        } else if HARMLESS.contains(&key) {
            &mut keys.harmless
        } else if UNSUPPORTED.contains(&key) {
            unsupported.extend((!is_empty(value)).then(|| format!("{key} = {told}")));
            &mut keys.ignored
        } else {
            let neutral = match (key, settings.convention) {
                // A class that always does it, and those that never do.
                ("do_lower_case", Convention::Clip) => Some("true"),
                ("do_lower_case" | "keep_accents" | "strip_accents", _) if !goes_by_file => Some("false"),
                _ => FLAGS.iter().find(|(flag, _)| *flag == key).map(|(_, neutral)| *neutral),
            };
            // Version 4 followed this one in every class.
            let counts = !goes_by_file || settings.unfollowed_class().is_some() || key == "add_prefix_space";
            if neutral.is_some_and(|neutral| neutral != told) && !is_empty(value) && counts {
                flags.push(format!("{key} = {told}"));
            }
            &mut keys.ignored
        };
        list.push((key.to_owned(), told));
    }
    if !unsupported.is_empty() {
        settings.warn(format!("{} of {CONFIG} is not supported, so it is not followed", unsupported.join(", ")));
    }
    let flags = flags.join(", ");
    let class = settings.convention.class_name();
    match settings.unfollowed_class() {
        Some(unknown) if flags.is_empty() => settings
            .warn(format!("The rules of {unknown} are not known, so tokenizer.json alone decides how a text is cut")),
        Some(unknown) => settings.warn(format!(
            "The rules of {unknown} are not known, so tokenizer.json alone decides how a text is cut; not followed: \
                 {flags}"
        )),
        None if flags.is_empty() => {}
        None if goes_by_file => settings.warn(format!(
            "{flags} of {CONFIG} is not followed: {class} of transformers 5 goes by tokenizer.json alone"
        )),
        None => {
            settings.warn(format!("{flags} of {CONFIG} is not followed: {class} of transformers 5 does not have it"));
        }
    }
    if has_own_code(&settings.tokenizer) {
        settings.warn(format!(
            "{CONFIG} names a tokenizer's program of its own (auto_map), which is not run: what it does beyond \
                 {class} is missing"
        ));
    }
    keys
}

/// Nothing is set.
fn is_empty(value: &Value) -> bool {
    match value {
        Value::Null => true,
        Value::Array(list) => list.is_empty(),
        Value::Object(map) => map.is_empty(),
        _ => false,
    }
}
