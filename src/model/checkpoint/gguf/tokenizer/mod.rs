//! The tokenizer inside a GGUF file, as the files that transformers would have beside the weights.
//!
//! llama.cpp's converter keeps pieces, scores or merges, and a name for the rule by which words are cut; what that name
//! stands for is in `words.rs`. Normalisers and processors are not kept, so they are those of the models that the name
//! comes from. After `llama-vocab.cpp` and `conversion/base.py` of llama.cpp, and `gguf_tokenizer_mapping.py` of
//! transformers 5.24.

mod parts;
mod pieces;
mod special;
mod words;

use std::collections::BTreeMap;

use serde_json::{Value, json};

use self::{pieces::PieceTable, special::SpecialPieces};
use super::{Container, MetaTexts, MetaValue};

/// The whole `tokenizer.json`, which some programs keep as it is.
const WHOLE: &str = "tokenizer.huggingface.json";

/// What keys of a file say.
#[derive(Clone, Copy)]
struct MetaFacts<'a>(&'a BTreeMap<String, MetaValue>);

impl<'a> MetaFacts<'a> {
    fn get(self, key: &str) -> Option<&'a MetaValue> {
        self.0.get(key)
    }

    fn text(self, key: &str) -> Option<&'a str> {
        self.get(key)?.as_str()
    }

    fn flag(self, key: &str) -> Option<bool> {
        self.get(key)?.as_bool()
    }

    fn id(self, role: &str) -> Option<u32> {
        u32::try_from(self.get(&format!("tokenizer.ggml.{role}"))?.as_u64()?).ok()
    }

    /// `general.architecture`; empty where nobody says.
    fn architecture(self) -> &'a str {
        self.text("general.architecture").unwrap_or_default()
    }
}

/// `tokenizer.json`, `tokenizer_config.json` and `generation_config.json` of what a file says of its tokenizer; none
/// where it has no tokenizer.
///
/// # Errors
/// One clause that says what is wrong, or which kind of tokenizer is not known.
pub(in crate::model::checkpoint) fn files(
    metadata: &BTreeMap<String, MetaValue>,
) -> Result<Vec<(String, Vec<u8>)>, String> {
    let facts = MetaFacts(metadata);
    let model = match facts.text("tokenizer.ggml.model") {
        None | Some("no_vocab" | "none") => return Ok(Vec::new()),
        Some(model) => model,
    };
    let table = PieceTable::of(facts, model)?;
    let special = SpecialPieces::of(facts, &table);
    let whole = facts.text(WHOLE).filter(|text| serde_json::from_str::<Value>(text).is_ok());
    let tokenizer = match (whole, model) {
        (Some(text), _) => text.as_bytes().to_vec(),
        (None, "gpt2") => parts::of_bytes(facts, &table, &special)?,
        (None, "llama" | "gemma4") => parts::of_merges(facts, &table, &special)?,
        (None, "bert") => parts::of_words(facts, &table, &special)?,
        (None, "t5") => parts::of_scores(facts, &table, &special)?,
        (None, other) => {
            return Err(format!("its tokenizer is of the kind “{other}”; gpt2, llama, gemma4, bert and t5 are read"));
        }
    };
    let json = |name: &str, value: &Value| (name.to_owned(), value.to_string().into_bytes());
    Ok(vec![
        ("tokenizer.json".to_owned(), tokenizer),
        json("tokenizer_config.json", &config(facts, &table, &special)),
        json("generation_config.json", &special.generation()),
    ])
}

/// The same of a GGUF file, of which nothing but its metadata is looked at.
///
/// # Errors
/// As above, and when it is damaged.
pub fn gguf_tokenizer(bytes: &[u8]) -> Result<Vec<(String, Vec<u8>)>, String> {
    files(&Container::read(&mut &*bytes, bytes.len() as u64)?.metadata)
}

/// What stands beside the tokenizer: special tokens by role, and the templates of conversations.
fn config(facts: MetaFacts<'_>, table: &PieceTable, special: &SpecialPieces) -> Value {
    let mut config = json!({ "clean_up_tokenization_spaces": false });
    if table.model == "bert" {
        config["tokenizer_class"] = json!("BertTokenizer");
        config["do_lower_case"] = json!(parts::lowers(facts, table));
        config["strip_accents"] = json!(parts::strips_accents(facts));
        config["tokenize_chinese_chars"] = json!(true);
    } else {
        config["tokenizer_class"] = json!("PreTrainedTokenizerFast");
        config["add_bos_token"] = json!(special.begins);
        config["add_eos_token"] = json!(special.ends);
    }
    for (role, id) in special.roles() {
        if let Some(text) = table.text(id) {
            config[role] = json!(text);
        }
    }
    if let Some(template) = template(facts) {
        config["chat_template"] = template;
    }
    config
}

/// One template, or a list of named ones.
fn template(facts: MetaFacts<'_>) -> Option<Value> {
    const TEMPLATE: &str = "tokenizer.chat_template";
    let default = facts.text(TEMPLATE);
    let names = facts.get("tokenizer.chat_templates").and_then(MetaValue::as_texts);
    let named: Vec<Value> = names
        .into_iter()
        .flat_map(MetaTexts::iter)
        .filter_map(|name| {
            let text = facts.text(&format!("{TEMPLATE}.{name}"))?;
            Some(json!({ "name": name, "template": text }))
        })
        .collect();
    if named.is_empty() {
        return default.map(|text| json!(text));
    }
    let default = default.map(|text| json!({ "name": "default", "template": text }));
    Some(default.into_iter().chain(named).collect())
}
