//! Where a `tokenizer.json` says one thing and its class of transformers 5 does another: the class decides, and the user
//! is told.

use serde::{Serialize, de::DeserializeOwned};
use serde_json::{Map, Value};
use tokenizers::{
    DecoderWrapper, Encoding, NormalizerWrapper, PostProcessor as _, PostProcessorWrapper, PreTokenizerWrapper, Token,
    Tokenizer,
};

use super::{file::TokenizerFile, settings::SmallFiles};

/// What a file says, beside its vocabulary.
#[derive(Debug)]
pub(super) struct DeclaredTokenizer {
    normalizer: Value,
    pre_tokenizer: Value,
    decoder: Value,
    post_processor: Value,
    model: Map<String, Value>,
}

impl DeclaredTokenizer {
    pub fn of(file: &TokenizerFile) -> Self {
        Self {
            normalizer: plain::<NormalizerWrapper>(&file.normalizer),
            pre_tokenizer: plain::<PreTokenizerWrapper>(&file.pre_tokenizer),
            decoder: plain::<DecoderWrapper>(&file.decoder),
            post_processor: file.post_processor.clone(),
            model: file.model.rest.clone(),
        }
    }

    /// Tells `settings` of all that the class's `tokenizer` does in another way.
    ///
    /// `model` is what the class sets beside the vocabulary.
    pub fn compare(&self, tokenizer: &Tokenizer, model: &Value, settings: &SmallFiles) {
        let mut parts = Vec::new();
        let mut part = |what: &str, file: &Value, class: &Value| {
            if file != class {
                parts.push(format!(
                    "{what}: {} in the file, {} in the class",
                    described(file, class),
                    described(class, file)
                ));
            }
        };
        part("normaliser", &self.normalizer, &value(tokenizer.get_normalizer()));
        part("words", &self.pre_tokenizer, &value(tokenizer.get_pre_tokenizer()));
        let file = self.processor();
        let class = frame(tokenizer.get_post_processor());
        if file != class {
            parts.push(format!("special tokens around a text: {file} in the file, {class} in the class"));
        }
        parts.extend(self.model_part(model));
        part_of_decoder(&self.decoder, &value(tokenizer.get_decoder()), &mut parts);
        if !parts.is_empty() {
            let class = settings.convention.class_name();
            settings.warn(format!(
                "tokenizer.json and {class} do not agree ({}). As in transformers 5 the class decides; transformers 4 \
                 went by the file",
                parts.join("; ")
            ));
        }
    }

    /// What the file puts around one text and around two.
    fn processor(&self) -> String {
        frame(
            serde_json::from_value::<Option<PostProcessorWrapper>>(self.post_processor.clone()).ok().flatten().as_ref(),
        )
    }

    fn model_part(&self, class: &Value) -> Vec<String> {
        fn set(value: Option<&Value>) -> Option<&Value> {
            value.filter(|value| !value.is_null() && **value != "" && **value != false)
        }
        let told = |value: Option<&Value>| value.map_or_else(|| "none".to_owned(), short);
        let differs = |key: &str| {
            let (file, class) = (set(self.model.get(key)), set(class.get(key)));
            (file != class).then(|| format!("{key}: {} in the file, {} in the class", told(file), told(class)))
        };
        let kind = class["type"].as_str().unwrap_or_default();
        // Older files do not name their model.
        let is_kind = set(self.model.get("type")).is_none_or(|file| file == kind);
        let keys: &[&str] = match kind {
            _ if !is_kind => &["type"],
            "WordPiece" => &["unk_token", "continuing_subword_prefix", "max_input_chars_per_word"],
            // Bytes stand for what is unknown.
            "BPE" => &["byte_fallback", "ignore_merges", "continuing_subword_prefix", "end_of_word_suffix", "dropout"],
            _ => &["byte_fallback", "unk_id"],
        };
        keys.iter().filter_map(|key| differs(key)).collect()
    }
}

/// How ids become text again; of bytes and of words there is one way only.
fn part_of_decoder(file: &Value, class: &Value, parts: &mut Vec<String>) {
    let of_kind = |value: &Value| value["type"].as_str().map(str::to_owned);
    let same = match (of_kind(file), of_kind(class)) {
        (Some(a), Some(b)) if a == b && a == "ByteLevel" => true,
        (Some(a), Some(b)) if a == b && a == "Metaspace" => file["prepend_scheme"] == class["prepend_scheme"],
        _ => file == class,
    };
    if !same {
        let (of_file, of_class) = (described(file, class), described(class, file));
        parts.push(format!("written text: {of_file} in the file, {of_class} in the class"));
    }
}

/// A part as the library understands it, without what changes no id.
fn plain<T: DeserializeOwned + Serialize>(part: &Value) -> Value {
    serde_json::from_value::<Option<T>>(part.clone()).map_or_else(|_| part.clone(), |part| value(part.as_ref()))
}

fn value<T: Serialize>(part: Option<&T>) -> Value {
    let mut value = serde_json::to_value(part).unwrap_or_default();
    unwrap(&mut value);
    value
}

/// A sequence of one part is that part, and trimmed places change no id.
fn unwrap(value: &mut Value) {
    if value["type"] == "ByteLevel"
        && let Some(fields) = value.as_object_mut()
    {
        fields.remove("trim_offsets");
    }
    for key in ["normalizers", "pretokenizers", "decoders"] {
        let Some(parts) = value.get_mut(key).and_then(Value::as_array_mut) else { continue };
        parts.iter_mut().for_each(unwrap);
        match parts.as_mut_slice() {
            [] => *value = Value::Null,
            [only] => *value = only.take(),
            _ => {}
        }
        return;
    }
}

/// What a processor makes of one token and of two.
fn frame(processor: Option<&PostProcessorWrapper>) -> String {
    let text = |letter: &str| {
        let token = Token::new(0, letter.to_owned(), (0, 1));
        Encoding::from_tokens(vec![token], 0)
    };
    let framed = |second: Option<Encoding>| {
        let Some(processor) = processor else { return if second.is_some() { "A B" } else { "A" }.to_owned() };
        let Ok(encoding) = processor.process(text("A"), second, true) else { return "nothing".to_owned() };
        let letters = encoding.get_tokens().iter().zip(encoding.get_ids()).zip(encoding.get_special_tokens_mask());
        let ids = letters.map(|((text, id), special)| if *special == 0 { text.clone() } else { format!("[{id}]") });
        ids.collect::<Vec<_>>().join(" ")
    };
    format!("{}, {}", framed(None), framed(Some(text("B"))))
}

/// A part in words; of two of a kind what differs.
fn described(part: &Value, other: &Value) -> String {
    let kind = |part: &Value| part["type"].as_str().unwrap_or("none").to_owned();
    for key in ["normalizers", "pretokenizers", "decoders"] {
        let Some(parts) = part[key].as_array() else { continue };
        let kinds = |parts: &[Value]| parts.iter().map(kind).collect::<Vec<_>>().join(" + ");
        let others = other[key].as_array().filter(|others| kinds(others) == kinds(parts));
        return match others.and_then(|others| parts.iter().zip(others).find(|(a, b)| a != b)) {
            Some((part, other)) => format!("{} with {}", kind(part), described(part, other)),
            None => kinds(parts),
        };
    }
    let Some(fields) = part.as_object().filter(|_| kind(part) == kind(other)) else { return kind(part) };
    let differing = fields.iter().filter(|(key, value)| other.get(*key) != Some(value));
    let told: Vec<String> = differing.map(|(key, value)| format!("{key} = {}", short(value))).collect();
    told.join(", ")
}

/// Tells `settings` of a beginning or an end that the checkpoint asks for, or does not want, in vain.
pub(super) fn check_ends(tokenizer: &Tokenizer, settings: &SmallFiles) {
    if settings.ends_count {
        return;
    }
    let framed = frame(tokenizer.get_post_processor());
    let one = framed.split(", ").next().unwrap_or_default().to_owned();
    for (key, found) in [("add_bos_token", one.starts_with('[')), ("add_eos_token", one.ends_with(']'))] {
        let asked = settings.flag(key);
        if asked.is_some_and(|asked| asked != found) {
            let does = if found { "adds one" } else { "adds none" };
            settings.warn(format!(
                "{key} = {} of tokenizer_config.json does not count beside a tokenizer.json: as in transformers 5, the \
                 tokenizer {does} ({one}, A is the text)",
                !found
            ));
        }
    }
}

fn short(value: &Value) -> String {
    let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    if text.chars().count() > 40 { format!("{}…", text.chars().take(39).collect::<String>()) } else { text }
}
