//! The parts that each class of transformers 5 gives its tokenizer, beside the vocabulary. After `tokenization_*.py` of
//! version 5.24.

use serde_json::{Value, json};

use super::{convention::Convention, settings::SmallFiles, tokens::SpecialTokens};
use crate::capture::spelling::WORD_END;

/// CLIP's words: English endings, letters, single digits, and runs of anything else but spaces.
const CLIP_WORDS: &str = r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+";
/// Qwen's words: as GPT-2's, but with single digits, line ends of their own, and punctuation that
/// may begin a word.
const QWEN_WORDS: &str =
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";

/// The parts of a tokenizer as a `tokenizer.json` would write them.
#[derive(Debug, Default)]
pub(super) struct TokenizerParts {
    pub normalizer: Value,
    pub pre_tokenizer: Value,
    pub decoder: Value,
    /// The model without its vocabulary.
    pub model: Value,
}

impl TokenizerParts {
    /// What the class sets; `None` for one that goes by the file. `rules` are compiled ones of `SentencePiece`.
    pub fn of(settings: &SmallFiles, tokens: &SpecialTokens, rules: Option<&Value>) -> Option<Self> {
        let unknown = tokens.role("unk_token");
        match settings.convention {
            Convention::Bert | Convention::MpNet => Some(Self::of_words(settings, unknown)),
            Convention::Roberta
            | Convention::Gpt2
            | Convention::CodeGen
            | Convention::GptNeoX
            | Convention::Qwen2
            | Convention::Clip => Some(Self::of_bytes(settings, unknown)),
            Convention::Llama | Convention::CodeLlama | Convention::Gemma | Convention::Siglip2 => {
                Some(Self::of_merges(settings, unknown))
            }
            Convention::Nllb => Some(Self::of_pieces(rules, unknown)),
            Convention::T5
            | Convention::Albert
            | Convention::XlmRoberta
            | Convention::Camembert
            | Convention::MBart
            | Convention::MBart50
            | Convention::Pegasus
            | Convention::DebertaV2 => Some(Self::of_scores(settings, rules)),
            Convention::Esm => Some(Self {
                pre_tokenizer: json!({ "type": "WhitespaceSplit" }),
                model: json!({ "type": "WordLevel", "unk_token": unknown }),
                ..Self::default()
            }),
            Convention::M2m100 | Convention::Marian | Convention::Siglip | Convention::Other => None,
        }
    }

    fn of_words(settings: &SmallFiles, unknown: Option<&str>) -> Self {
        Self {
            normalizer: json!({
                "type": "BertNormalizer",
                "clean_text": true,
                "handle_chinese_chars": flag(settings, "tokenize_chinese_chars", true),
                "strip_accents": settings.flag("strip_accents"),
                "lowercase": flag(settings, "do_lower_case", true),
            }),
            pre_tokenizer: json!({ "type": "BertPreTokenizer" }),
            decoder: json!({ "type": "WordPiece", "prefix": "##", "cleanup": true }),
            model: json!({
                "type": "WordPiece",
                "unk_token": unknown,
                "continuing_subword_prefix": "##",
                "max_input_chars_per_word": 100,
            }),
        }
    }

    fn of_bytes(settings: &SmallFiles, unknown: Option<&str>) -> Self {
        let prefix = || flag(settings, "add_prefix_space", false);
        let mut model = json!({
            "type": "BPE", "unk_token": null, "fuse_unk": false, "byte_fallback": false, "end_of_word_suffix": null
        });
        let (normalizer, pre_tokenizer) = match settings.convention {
            Convention::GptNeoX => (json!({ "type": "NFC" }), bytes(prefix(), true)),
            Convention::Qwen2 => {
                let words = split(&json!({ "Regex": QWEN_WORDS }), "Isolated", false);
                let parts = json!({ "type": "Sequence", "pretokenizers": [words, bytes(prefix(), false)] });
                (json!({ "type": "NFC" }), parts)
            }
            Convention::Clip => {
                model["unk_token"] = json!(unknown);
                model["end_of_word_suffix"] = json!(WORD_END);
                let steps = [json!({ "type": "NFC" }), replace_all(r"\s+", " "), json!({ "type": "Lowercase" })];
                let words = split(&json!({ "Regex": CLIP_WORDS }), "Removed", true);
                let parts = json!({ "type": "Sequence", "pretokenizers": [words, bytes(false, true)] });
                (sequence(&steps), parts)
            }
            _ => (Value::Null, bytes(prefix(), true)),
        };
        Self { normalizer, pre_tokenizer, decoder: bytes(true, true), model }
    }

    fn of_merges(settings: &SmallFiles, unknown: Option<&str>) -> Self {
        let model = |unknown: Option<&str>| {
            json!({
                "type": "BPE", "unk_token": unknown, "fuse_unk": true, "byte_fallback": true, "end_of_word_suffix": null
            })
        };
        if matches!(settings.convention, Convention::Gemma | Convention::Siglip2) {
            let spaces = replace(" ", "▁");
            let is_lower = settings.convention == Convention::Siglip2;
            return Self {
                normalizer: if is_lower { sequence(&[json!({ "type": "Lowercase" }), spaces]) } else { spaces },
                pre_tokenizer: split(&json!({ "String": " " }), "MergedWithPrevious", false),
                decoder: bytes_and_text(false),
                model: model(unknown),
            };
        }
        let is_llama = settings.convention == Convention::Llama;
        let add = flag(settings, "add_prefix_space", true);
        let scheme = match (add, is_llama && settings.flag("legacy").unwrap_or(false)) {
            (false, _) => "never",
            (true, true) => "always",
            (true, false) => "first",
        };
        let mut words = metaspace(scheme);
        words["split"] = json!(false);
        Self {
            normalizer: Value::Null,
            pre_tokenizer: words,
            decoder: bytes_and_text(add || !is_llama),
            model: model(unknown.filter(|_| !is_llama)),
        }
    }

    /// Merges of pieces, of a text that is normalised by rules.
    fn of_pieces(rules: Option<&Value>, unknown: Option<&str>) -> Self {
        let normalizer = rules.map(|rules| sequence(&[rules.clone(), replace_all(" {2,}", " ")]));
        Self {
            normalizer: normalizer.unwrap_or_default(),
            pre_tokenizer: metaspace("always"),
            decoder: metaspace("always"),
            model: json!({
                "type": "BPE", "unk_token": unknown, "fuse_unk": true, "byte_fallback": false, "end_of_word_suffix": null
            }),
        }
    }

    fn of_scores(settings: &SmallFiles, rules: Option<&Value>) -> Self {
        let compiled = || rules.cloned().unwrap_or_default();
        let by_prefix = || if flag(settings, "add_prefix_space", true) { "always" } else { "never" };
        let model = |unk_id: u64| json!({ "type": "Unigram", "unk_id": unk_id, "byte_fallback": false });
        let around = |normalizer: Value, scheme: &str, unk_id: u64| Self {
            normalizer,
            pre_tokenizer: words(scheme),
            decoder: metaspace(scheme),
            model: model(unk_id),
        };
        match settings.convention {
            Convention::T5 => around(compiled(), "always", 2),
            Convention::MBart => around(Value::Null, "always", 3),
            Convention::MBart50 => {
                let steps: Vec<Value> = rules.cloned().into_iter().chain([replace_all(" {2,}", " ")]).collect();
                Self { pre_tokenizer: metaspace("always"), ..around(sequence(&steps), "always", 3) }
            }
            Convention::Pegasus => {
                let first = rules.cloned().unwrap_or_else(|| replace_all(r"\n", " "));
                let normalizer = sequence(&[first, replace_all(" {2,}", " ")]);
                Self { pre_tokenizer: metaspace("always"), ..around(normalizer, "always", 2) }
            }
            Convention::Albert => {
                let mut steps = vec![replace("``", "\""), replace("''", "\"")];
                if !flag(settings, "keep_accents", false) {
                    steps.extend([json!({ "type": "NFKD" }), json!({ "type": "StripAccents" })]);
                }
                steps.extend(flag(settings, "do_lower_case", true).then(|| json!({ "type": "Lowercase" })));
                steps.extend(rules.cloned());
                around(sequence(&steps), by_prefix(), 1)
            }
            Convention::DebertaV2 => {
                let lower = flag(settings, "do_lower_case", false).then(|| json!({ "type": "Lowercase" }));
                let cleaned = [
                    replace_all(r"\s{2,}|[\n\r\t]", " "),
                    json!({ "type": "NFC" }),
                    json!({ "type": "Strip", "strip_left": false, "strip_right": true }),
                ];
                let scheme = if flag(settings, "add_prefix_space", true) { "always" } else { "first" };
                let punctuation = flag(settings, "split_by_punct", false)
                    .then(|| json!({ "type": "Punctuation", "behavior": "Isolated" }));
                let words: Vec<Value> = punctuation.into_iter().chain([metaspace(scheme)]).collect();
                Self {
                    pre_tokenizer: json!({ "type": "Sequence", "pretokenizers": words }),
                    ..around(
                        sequence(&lower.into_iter().chain(cleaned).collect::<Vec<_>>()),
                        scheme,
                        settings.number("unk_id").unwrap_or(1),
                    )
                }
            }
            // XLM-R, and CamemBERT, which looks the unknown piece up in its vocabulary.
            _ => around(compiled(), by_prefix(), 3),
        }
    }
}

fn flag(settings: &SmallFiles, key: &str, default: bool) -> bool {
    settings.flag(key).unwrap_or(default)
}

fn bytes(add_prefix_space: bool, use_regex: bool) -> Value {
    json!({ "type": "ByteLevel", "add_prefix_space": add_prefix_space, "trim_offsets": true, "use_regex": use_regex })
}

fn metaspace(scheme: &str) -> Value {
    json!({ "type": "Metaspace", "replacement": "▁", "prepend_scheme": scheme, "split": true })
}

fn words(scheme: &str) -> Value {
    json!({ "type": "Sequence", "pretokenizers": [{ "type": "WhitespaceSplit" }, metaspace(scheme)] })
}

fn replace(old: &str, new: &str) -> Value {
    json!({ "type": "Replace", "pattern": { "String": old }, "content": new })
}

fn replace_all(old: &str, new: &str) -> Value {
    json!({ "type": "Replace", "pattern": { "Regex": old }, "content": new })
}

fn sequence(steps: &[Value]) -> Value {
    json!({ "type": "Sequence", "normalizers": steps })
}

fn split(pattern: &Value, behavior: &str, invert: bool) -> Value {
    json!({ "type": "Split", "pattern": pattern, "behavior": behavior, "invert": invert })
}

/// From pieces with `▁` and bytes to text, without the space in front where one was put there.
fn bytes_and_text(strip: bool) -> Value {
    let mut parts = vec![replace("▁", " "), json!({ "type": "ByteFallback" }), json!({ "type": "Fuse" })];
    parts.extend(strip.then(|| json!({ "type": "Strip", "content": " ", "start": 1, "stop": 0 })));
    json!({ "type": "Sequence", "decoders": parts })
}
