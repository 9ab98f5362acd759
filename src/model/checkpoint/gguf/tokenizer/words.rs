//! How a text is cut into words before its bytes are merged: what each name of `tokenizer.ggml.pre` stands for.
//!
//! The expressions are those of the published tokenizers that llama.cpp gave the names to; where that is not known,
//! llama.cpp's own for the same name.

use serde_json::{Value, json};

use super::MetaFacts;

/// The key of the name.
pub(super) const PRE: &str = "tokenizer.ggml.pre";

/// A step of the cutting.
#[derive(Clone, Copy)]
enum CutStep {
    /// At what an expression finds.
    Split(&'static str),
    /// Each digit alone, or runs of them.
    Digits { alone: bool },
    /// Runs of punctuation.
    Punctuation,
    /// As GPT-2 does, into bytes.
    Gpt2,
    /// Into bytes, with no further cut.
    Bytes,
}

use CutStep::{Bytes, Digits, Gpt2, Punctuation, Split};

/// What a name stands for.
struct WordRule {
    /// Whether letters and their accents are composed first (NFC).
    composes: bool,
    steps: &'static [CutStep],
    /// Whether a word that is a piece is taken whole, however its merges go.
    whole_words: bool,
}

const fn rule(steps: &'static [CutStep]) -> WordRule {
    WordRule { composes: false, steps, whole_words: false }
}

const fn composing(steps: &'static [CutStep]) -> WordRule {
    WordRule { composes: true, ..rule(steps) }
}

const fn whole(steps: &'static [CutStep]) -> WordRule {
    WordRule { whole_words: true, ..rule(steps) }
}

/// What is common to most: English endings in any case, letters with one sign before them, digits by `$digits`, signs,
/// line ends, spaces.
macro_rules! llama3_like {
    ($digits:literal) => {
        concat!(
            r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|",
            $digits,
            r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
        )
    };
}

/// Words that begin with capitals or go on in small letters; `$ending` may follow one.
macro_rules! cased {
    ($ending:literal, $digits:literal) => {
        concat!(
            r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+",
            $ending,
            r"|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*",
            $ending,
            "|",
            $digits,
            r"| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"
        )
    };
}

const LLAMA3: &str = llama3_like!(r"\p{N}{1,3}");
const QWEN2: &str = llama3_like!(r"\p{N}");
const QWEN35: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N}| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const MINICPM5: &str = llama3_like!(r"\p{N}+");
const TEKKEN: &str = cased!("", r"\p{N}");
const GPT4O: &str = cased!(r"(?i:'s|'t|'re|'ve|'m|'ll|'d)?", r"\p{N}{1,3}");
const UFAKZEKA: &str = r"[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+";
const BAILING: &str =
    r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?+\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]++[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+";
const SEED: &str =
    r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+";
const EXAONE_MOE: &str = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?(?:\p{L}\p{M}*(?: \p{L}\p{M}*)*)+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+";
/// Anything but spaces and the full stops and commas of many scripts, with one space before it.
const BLOOM: &str = r" ?[^(\s|[.,!?…。，、।۔،])]+";
const THREE_DIGITS: &str = r"\p{N}{1,3}";
const HAN_AND_KANA: &str = "[一-龥぀-ゟ゠-ヿ]+";
const DEEPSEEK3: &str = r##"[!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"##;
const LINE_ENDS: &str = "[\r\n]";
/// Letters of scripts with upper and lower case.
const CASED_LETTERS: &str = concat!(
    r"\s?[",
    r"A-Za-z\x{B5}\x{C0}-\x{D6}\x{D8}-\x{F6}\x{F8}-\x{1BA}\x{1BC}-\x{1BF}\x{1C4}-\x{293}\x{295}-\x{2AF}",
    r"\x{370}-\x{373}\x{376}\x{377}\x{37B}-\x{37D}\x{37F}\x{386}\x{388}-\x{38A}\x{38C}\x{38E}-\x{3A1}",
    r"\x{3A3}-\x{3F5}\x{3F7}-\x{481}\x{48A}-\x{52F}\x{531}-\x{556}\x{10A0}-\x{10C5}\x{13A0}-\x{13F5}",
    r"\x{13F8}-\x{13FD}\x{1C90}-\x{1CBA}\x{1CBD}-\x{1CBF}\x{1D00}-\x{1D2B}\x{1D6B}-\x{1D77}",
    r"\x{1D79}-\x{1D9A}\x{1E00}-\x{1F15}\x{1F18}-\x{1F1D}\x{1F20}-\x{1F45}\x{1F48}-\x{1F4D}",
    r"\x{1F50}-\x{1F57}\x{1F59}\x{1F5B}\x{1F5D}\x{1F5F}-\x{1F7D}\x{1F80}-\x{1FB4}\x{1FB6}-\x{1FBC}\x{1FBE}",
    r"\x{1FC2}-\x{1FC4}\x{1FC6}-\x{1FCC}\x{1FD0}-\x{1FD3}\x{1FD6}-\x{1FDB}\x{1FE0}-\x{1FEC}",
    r"\x{1FF2}-\x{1FF4}\x{1FF6}-\x{1FFC}\x{2102}\x{2107}\x{210A}-\x{2113}\x{2115}\x{2119}-\x{211D}\x{2124}",
    r"\x{2126}\x{2128}\x{212A}-\x{212D}\x{212F}-\x{2134}\x{2139}\x{213C}-\x{213F}\x{2145}-\x{2149}\x{214E}",
    r"\x{2183}\x{2184}\x{2C00}-\x{2C7B}\x{2C7E}-\x{2CE4}\x{2CEB}-\x{2CEE}\x{2CF2}\x{2CF3}\x{A640}-\x{A66D}",
    r"\x{A680}-\x{A69B}\x{A722}-\x{A76F}\x{A771}-\x{A787}\x{A78B}-\x{A78E}\x{AB70}-\x{ABBF}",
    r"\x{FB00}-\x{FB06}\x{FB13}-\x{FB17}\x{FF21}-\x{FF3A}\x{FF41}-\x{FF5A}\x{10400}-\x{1044F}",
    r"\x{104B0}-\x{104D3}\x{104D8}-\x{104FB}\x{10C80}-\x{10CB2}\x{10CC0}-\x{10CF2}\x{118A0}-\x{118DF}",
    r"\x{1E900}-\x{1E943}",
    "]+"
);
const SIGNS: &str = "\\s?[!-/:-~！-／：-～‘-‟　-。]+";
const LAST_SPACES: &str = r"\s+$";
const SYLLABLES: &str = "[一-龥ࠀ-一가-퟿]+";
const NUMBERS: &str = r"\p{N}+";
/// Before each third digit from the end.
const BY_THREES: &str = r"(?=(\d{3})+(?!\d))";

/// The rule of a name; `None` for one that is not known.
fn known(pre: &str) -> Option<WordRule> {
    Some(match pre {
        "llama3" | "llama-v3" | "llama-bpe" | "falcon3" | "falcon-h1" | "pixtral" | "midm-2.0" | "lfm2" => {
            whole(&[Split(LLAMA3), Bytes])
        }
        "dbrx" | "smaug-bpe" | "glm4" | "chatglm-bpe" => rule(&[Split(LLAMA3), Bytes]),
        "qwen2" | "deepseek-r1-qwen" | "f2llmv2" | "megrez" => composing(&[Split(QWEN2), Bytes]),
        "qwen35" => composing(&[Split(QWEN35), Bytes]),
        "stablelm2" | "hunyuan" | "solar-open" | "kormo" | "grok-2" => rule(&[Split(QWEN2), Bytes]),
        "minicpm5" => whole(&[Split(THREE_DIGITS), Split(MINICPM5), Bytes]),
        "ufakzeka" => rule(&[Split(UFAKZEKA), Bytes]),
        "bailingmoe" | "bailingmoe2" | "llada-moe" => rule(&[Split(BAILING), Bytes]),
        "seed-coder" => rule(&[Split(SEED), Bytes]),
        "exaone-moe" => rule(&[Split(EXAONE_MOE), Bytes]),
        "tekken" => whole(&[Split(TEKKEN), Bytes]),
        "gpt-4o" | "llama4" | "kanana2" | "talkie" | "minimax-m2" => rule(&[Split(GPT4O), Bytes]),
        "deepseek-llm" => rule(&[
            Split(LINE_ENDS),
            Split(CASED_LETTERS),
            Split(SIGNS),
            Split(LAST_SPACES),
            Split(SYLLABLES),
            Split(NUMBERS),
            Bytes,
        ]),
        "deepseek-coder" => rule(&[
            Split(LINE_ENDS),
            Split(r"\s?\p{L}+"),
            Split(r"\s?\p{P}+"),
            Split(SYLLABLES),
            Digits { alone: true },
            Bytes,
        ]),
        "deepseek-v3" | "hunyuan-dense" | "joyai-llm" | "hy_v4" => {
            rule(&[Split(THREE_DIGITS), Split(HAN_AND_KANA), Split(DEEPSEEK3), Bytes])
        }
        "falcon" => rule(&[Punctuation, Gpt2, Digits { alone: false }, Split("[0-9][0-9][0-9]")]),
        "command-r" => composing(&[Digits { alone: true }, Gpt2]),
        "starcoder" | "refact" | "smollm" | "codeshell" | "exaone" | "minerva-7b" | "mellum2" => {
            rule(&[Digits { alone: true }, Gpt2])
        }
        "mpt" | "olmo" | "modern-bert" => composing(&[Gpt2]),
        "gpt-2" | "phi-2" | "gigachat" | "a.x-4.0" | "mellum" | "jais" | "trillion" | "granite-docling" | "exaone4"
        | "roberta-bpe" | "jina-v1-en" | "jina-v2-code" | "jina-v2-es" | "jina-v2-de" | "jina-es" | "jina-de" => {
            rule(&[Gpt2])
        }
        "bloom" | "gpt3-finnish" | "poro-chat" => rule(&[Split(BLOOM), Bytes]),
        "viking" => rule(&[Split(BLOOM), Digits { alone: true }, Bytes]),
        "superbpe" => rule(&[Split(NUMBERS), Split(BY_THREES), Bytes]),
        _ => return None,
    })
}

/// The name that a file gives; one of before there were names stands for the only tokenizer of its architecture.
///
/// # Errors
/// When neither says how words are cut.
fn name(facts: MetaFacts<'_>) -> Result<&str, String> {
    match facts.text(PRE) {
        Some(name) if name != "default" => Ok(name),
        _ => Ok(match facts.architecture() {
            "gpt2" | "phi2" => "gpt-2",
            "falcon" => "falcon",
            "starcoder" | "starcoder2" => "starcoder",
            "qwen" | "qwen2" | "qwen2moe" | "qwen3" | "qwen3moe" => "qwen2",
            "mpt" => "mpt",
            "gptneox" => "olmo",
            "bloom" => "bloom",
            "command-r" => "command-r",
            other => {
                return Err(format!(
                    "it was made before models of the architecture “{other}” said how words are cut ({PRE}); a newer \
                     file of the same model does"
                ));
            }
        }),
    }
}

/// The normaliser and the pre-tokenizer of a file of byte-level pieces, and whether words that are pieces are whole.
///
/// # Errors
/// For a name that is not known.
pub(super) fn of(facts: MetaFacts<'_>) -> Result<(Value, Value, bool), String> {
    let name = name(facts)?;
    let unknown = || format!("its words are cut by the rule “{name}” ({PRE}), which is not known");
    let WordRule { composes, steps, whole_words } = known(name).ok_or_else(unknown)?;
    let normalizer = if composes { json!({ "type": "NFC" }) } else { Value::Null };
    let steps: Vec<Value> = steps.iter().map(|step| step.json()).collect();
    Ok((normalizer, json!({ "type": "Sequence", "pretokenizers": steps }), whole_words))
}

/// Whether a text begins with its special token where a file does not say.
pub(super) fn begins(pre: &str) -> bool {
    known(pre).is_some_and(|rule| rule.whole_words && pre != "minicpm5")
}

/// Whether two texts are held apart by a second end where a file does not say.
pub(super) fn separates(pre: &str) -> bool {
    matches!(pre, "roberta-bpe" | "jina-v1-en" | "jina-v2-code")
}

/// Whether the mask takes the space before it.
pub(super) fn mask_takes_space(pre: &str) -> bool {
    matches!(pre, "roberta-bpe" | "jina-v2-de" | "jina-v2-es" | "jina-v2-code" | "modern-bert")
}

impl CutStep {
    /// As a `tokenizer.json` writes it.
    fn json(self) -> Value {
        let bytes = |use_regex: bool| json!({ "type": "ByteLevel", "add_prefix_space": false, "trim_offsets": true, "use_regex": use_regex });
        match self {
            Self::Split(expression) => json!({
                "type": "Split", "pattern": { "Regex": expression }, "behavior": "Isolated", "invert": false
            }),
            Self::Digits { alone } => json!({ "type": "Digits", "individual_digits": alone }),
            Self::Punctuation => json!({ "type": "Punctuation", "behavior": "Contiguous" }),
            Self::Gpt2 => bytes(true),
            Self::Bytes => bytes(false),
        }
    }
}
