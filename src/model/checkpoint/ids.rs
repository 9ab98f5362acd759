//! Token ids and classes that a configuration names.

use serde_json::Value;

use super::config::{Config, MAX_ROWS};

pub(crate) const BOS: &str = "bos_token_id";
pub(crate) const EOS: &str = "eos_token_id";
pub(crate) const PAD: &str = "pad_token_id";
pub(crate) const START: &str = "decoder_start_token_id";
pub(crate) const LAST: &str = "forced_eos_token_id";

/// Token ids by the names that a configuration has for them.
pub(crate) type ClassIds = &'static [(&'static str, u32)];

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

    /// As [`token_ids`](Self::token_ids), with what the class of the `model_type` means when the file does not name the
    /// key.
    pub fn token_ids_or_class(&self, name: &str, class_ids: impl Fn(&str) -> ClassIds) -> Vec<u32> {
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
