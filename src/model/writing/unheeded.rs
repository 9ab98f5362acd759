//! What a checkpoint says about the texts it writes and is not followed: told by name, or known to change no token.

use serde_json::Value;

use crate::model::checkpoint::{Config, config_log::short};

/// Rules that are not followed, and the values, written as in the file, with which they are none.
const RULES: [(&str, &[&str]); 16] = [
    // The most probable token is written, unless somebody asks for chance.
    ("do_sample", &["false"]),
    ("num_beams", &["1"]),
    ("num_beam_groups", &["1"]),
    ("penalty_alpha", &["0"]),
    ("dola_layers", &[]),
    ("constraints", &["[]"]),
    ("force_words_ids", &["[]"]),
    ("sequence_bias", &["{}", "[]"]),
    ("stop_strings", &["[]"]),
    ("max_time", &[]),
    ("token_healing", &["false"]),
    ("watermarking_config", &["{}"]),
    ("encoder_no_repeat_ngram_size", &["0"]),
    ("encoder_repetition_penalty", &["1"]),
    ("guidance_scale", &["1"]),
    ("exponential_decay_length_penalty", &[]),
];

/// Keys that change no token by themselves: how chance is drawn and beams are judged where they are asked for, how far
/// a text goes, which whoever asks says, what is kept in memory, what is answered besides, and other ways to the same
/// tokens.
const HARMLESS: &[&str] = &[
    "_from_model_config",
    "assistant_confidence_threshold",
    "assistant_early_exit",
    "assistant_ensemble_weight",
    "assistant_lookbehind",
    "cache_config",
    "cache_implementation",
    "compile_config",
    "continuous_batching_config",
    "disable_compile",
    "diversity_penalty",
    "early_stopping",
    "epsilon_cutoff",
    "eta_cutoff",
    "is_assistant",
    "length_penalty",
    "low_memory",
    "max_cache_len",
    "max_length",
    "max_matching_ngram_size",
    "max_new_tokens",
    "min_p",
    "num_assistant_tokens",
    "num_assistant_tokens_schedule",
    "num_return_sequences",
    "output_attentions",
    "output_hidden_states",
    "output_logits",
    "output_scores",
    "pad_token_id",
    "prefill_chunk_size",
    "prompt_lookup_num_tokens",
    "remove_invalid_values",
    "renormalize_logits",
    "return_dict_in_generate",
    "speculation_type",
    "target_lookbehind",
    "temperature",
    "top_h",
    "top_k",
    "top_p",
    "transformers_version",
    "typical_p",
    "use_cache",
    "use_mtp",
];

/// Names of the rules that a configuration has and that are not followed.
pub(super) fn rules(config: &Config) -> impl Iterator<Item = &'static str> {
    let says = move |(name, none): &(&'static str, &[&str])| {
        let value = config.value(name)?;
        let is_none = |written: &&str| {
            let written: Value = serde_json::from_str(written).unwrap_or_default();
            written == *value || written.as_f64().is_some_and(|number| value.as_f64() == Some(number))
        };
        (!none.iter().any(is_none)).then_some(*name)
    };
    RULES.iter().filter_map(says)
}

/// Keys of a file and their values: those that were not read and change no token, and those that nobody knows.
pub(super) type Entries = Vec<(String, String)>;

/// What became of the keys of `generation_config.json` that were not read.
pub(super) fn account(generation: &Config) -> (Entries, Entries) {
    let asked = generation.asked().lookups();
    let is_read = |name: &String| asked.iter().any(|(read, _)| read == name);
    let unread = generation.entries().iter().filter(|(name, _)| !is_read(name));
    let unread = unread.map(|(name, value)| (name.clone(), short(value)));
    unread.partition(|(name, value)| HARMLESS.contains(&name.as_str()) || value == "null")
}
