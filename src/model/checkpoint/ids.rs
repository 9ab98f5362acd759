//! Token ids and classes that a configuration names.

use serde_json::Value;

use super::config::{Config, MAX_ROWS};

impl Config {
    /// The id of a special token, such as `pad_token_id`.
    pub fn token(&self, name: &str) -> Option<u32> {
        self.note(name, self.values.get(name));
        self.values.get(name).and_then(Value::as_u64).and_then(|id| u32::try_from(id).ok())
    }

    /// Token ids: one, or a list of them; none when the file does not say.
    pub fn token_ids(&self, name: &str) -> Vec<u32> {
        let id = |value: &Value| u32::try_from(value.as_u64()?).ok();
        self.note(name, self.values.get(name));
        match self.values.get(name) {
            Some(Value::Array(ids)) => ids.iter().filter_map(id).collect(),
            Some(value) => id(value).into_iter().collect(),
            None => Vec::new(),
        }
    }

    /// As [`token_ids`](Self::token_ids), with what the class means when the file does not name the key.
    pub fn token_ids_or_class(&self, name: &str) -> Vec<u32> {
        if self.values.contains_key(name) {
            return self.token_ids(name);
        }
        self.note(name, None);
        let kind = self.values.get("model_type").and_then(Value::as_str).unwrap_or_default();
        class_ids(kind).iter().find(|(key, _)| *key == name).map(|(_, id)| *id).into_iter().collect()
    }

    /// Lists of token ids.
    pub fn token_id_lists(&self, name: &str) -> Vec<Vec<u32>> {
        let id = |value: &Value| u32::try_from(value.as_u64()?).ok();
        self.note(name, self.values.get(name));
        let lists = self.values.get(name).and_then(Value::as_array).into_iter().flatten();
        lists.filter_map(|list| list.as_array()?.iter().map(id).collect()).collect()
    }

    /// Class names by index, from `id2label` or `num_labels`; `None` when the file has neither.
    pub fn labels(&self) -> Option<Vec<String>> {
        self.note("id2label", self.values.get("id2label"));
        if let Some(map) = self.values.get("id2label").and_then(Value::as_object) {
            let mut labels: Vec<(usize, String)> = map
                .iter()
                .filter_map(|(id, label)| {
                    Some((id.parse().ok()?, label.as_str().map_or_else(|| label.to_string(), str::to_owned)))
                })
                .collect();
            labels.sort();
            return Some(labels.into_iter().map(|(_, label)| label).collect());
        }
        let n = self.values.get("num_labels").and_then(Value::as_u64).filter(|&n| n <= MAX_ROWS as u64)?;
        Some((0..n).map(|id| format!("LABEL_{id}")).collect())
    }
}

const BOS: &str = "bos_token_id";
const EOS: &str = "eos_token_id";
const PAD: &str = "pad_token_id";
const START: &str = "decoder_start_token_id";
const LAST: &str = "forced_eos_token_id";

/// Ids that transformers' class of a `model_type` has when the file does not name them.
fn class_ids(model_type: &str) -> &'static [(&'static str, u32)] {
    match model_type {
        "albert" => &[(BOS, 2), (EOS, 3), (PAD, 0)],
        "bart" => &[(BOS, 0), (EOS, 2), (PAD, 1), (START, 2), (LAST, 2)],
        "bert" | "deberta-v2" | "distilbert" | "electra" => &[(PAD, 0)],
        "bloom" | "llama" | "mistral" | "phi" => &[(BOS, 1), (EOS, 2)],
        "camembert" | "longformer" | "mpnet" | "roberta" | "xlm-roberta" => &[(BOS, 0), (EOS, 2), (PAD, 1)],
        "clip_text_model" | "siglip_text_model" => &[(BOS, 49_406), (EOS, 49_407), (PAD, 1)],
        "gemma" | "gemma2" | "gemma3_text" => &[(BOS, 2), (EOS, 1), (PAD, 0)],
        "gpt2" | "gpt_neo" => &[(BOS, 50_256), (EOS, 50_256)],
        "gpt_neox" => &[(BOS, 0), (EOS, 2)],
        "marian" => &[(EOS, 0), (PAD, 58_100), (START, 58_100), (LAST, 0)],
        "mbart" => &[(BOS, 0), (EOS, 2), (PAD, 1), (LAST, 2)],
        "modernbert" => &[(BOS, 50_281), (EOS, 50_282), (PAD, 50_283)],
        "mt5" => &[(EOS, 1), (PAD, 0), (START, 0)],
        "opt" => &[(BOS, 2), (EOS, 2), (PAD, 1)],
        "phi3" => &[(BOS, 1), (EOS, 32_000), (PAD, 32_000)],
        "stablelm" => &[(BOS, 0), (EOS, 0)],
        "t5" => &[(EOS, 1), (PAD, 0)],
        "led" | "trocr" => &[(BOS, 0), (EOS, 2), (PAD, 1), (START, 2)],
        _ => &[],
    }
}
