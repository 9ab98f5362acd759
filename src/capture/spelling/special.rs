//! Special tokens by their spelling.

/// Names in square brackets (BERT, Mistral).
const SQUARE: [&str; 10] = ["CLS", "SEP", "PAD", "MASK", "UNK", "BOS", "EOS", "IMG", "INST", "/INST"];
/// Names in angle brackets, in small letters (RoBERTa, T5, Llama 2, Gemma, `XLNet`, ESM).
const ANGLE: [&str; 13] = ["s", "/s", "pad", "unk", "mask", "cls", "sep", "bos", "eos", "eod", "eop", "eot", "sop"];
/// How the names of a turn, a picture, a gap or a place in code begin there (Gemma, T5, code models).
const PREFIXES: [&str; 5] = ["start_of_", "end_of_", "extra_id_", "fim_", "fim-"];

/// Whether a tokenizer gives this name to a special token. By spelling alone: `[CLS]`, `<s>`, `<mask>`,
/// `<start_of_turn>` and everything between `<|` and `|>`, as the vocabularies of public models have them.
pub(in crate::capture) fn is_special(text: &str) -> bool {
    // DeepSeek writes wide bars, and the mark of a space between words.
    for (open, close) in [("<|", "|>"), ("<｜", "｜>")] {
        if let Some(name) = between(text, open, close) {
            return !name.is_empty() && !name.contains(char::is_whitespace);
        }
    }
    if let Some(name) = between(text, "[", "]") {
        return SQUARE.contains(&name);
    }
    between(text, "<", ">").is_some_and(|name| {
        let name = name.to_ascii_lowercase();
        ANGLE.contains(&name.as_str()) || PREFIXES.iter().any(|prefix| name.starts_with(prefix))
    })
}

fn between<'a>(text: &'a str, open: &str, close: &str) -> Option<&'a str> {
    text.strip_prefix(open)?.strip_suffix(close)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn special_tokens_are_known_by_their_spelling() {
        for special in [
            "[CLS]",
            "[MASK]",
            "<s>",
            "</s>",
            "<pad>",
            "<unk>",
            "<cls>",
            "<bos>",
            "<|endoftext|>",
            "<|im_start|>",
            "<|begin_of_text|>",
            "<|0.00|>",
            "<start_of_turn>",
            "<extra_id_0>",
            "<｜begin▁of▁sentence｜>",
            "[/INST]",
        ] {
            assert!(is_special(special), "{special}");
        }
        let words = [
            "CLS", "[", "[]", "<>", "<|", "|>", "<||>", "<b>", "</div>", "[1]", "[s]", "[mask]", "s", "<0xE2>", "[CLS",
            "<| a |>",
        ];
        for word in words {
            assert!(!is_special(word), "{word}");
        }
    }
}
