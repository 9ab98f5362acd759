//! Token ids and classes that a configuration names.

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use super::config::{Config, MAX_ROWS};
use crate::model::LoadError;

pub(crate) const BOS: &str = "bos_token_id";
pub(crate) const EOS: &str = "eos_token_id";
pub(crate) const PAD: &str = "pad_token_id";
pub(crate) const START: &str = "decoder_start_token_id";
pub(crate) const LAST: &str = "forced_eos_token_id";

/// Token ids by the names that a configuration has for them; several of one name are a list.
pub(crate) type ClassIds = &'static [(&'static str, u32)];

/// What the decoder of a classifier, which reads the encoder's text again, reads first.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum FirstRead {
    Start,
    /// The last token of the text.
    Last,
}

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
        class_ids(kind).iter().filter(|(key, _)| *key == name).map(|(_, id)| *id).collect()
    }

    /// Lists of token ids.
    pub fn token_id_lists(&self, name: &str) -> Vec<Vec<u32>> {
        let id = |value: &Value| u32::try_from(value.as_u64()?).ok();
        self.note(name, self.values.get(name));
        let lists = self.values.get(name).and_then(Value::as_array).into_iter().flatten();
        lists.filter_map(|list| list.as_array()?.iter().map(id).collect()).collect()
    }

    /// How many classes the configuration has, and what they are called: `id2label`, unless `num_labels` is another
    /// number, as transformers' own class has it; `otherwise` without both.
    ///
    /// # Errors
    /// When it is not written as that class reads it.
    pub fn class_names(&self, otherwise: usize) -> Result<ClassNames, LoadError> {
        let [labels, number] = ["id2label", "num_labels"].map(|name| {
            self.note(name, self.values.get(name));
            self.values.get(name)
        });
        let named = match labels {
            None | Some(Value::Null) => None,
            Some(Value::Object(labels)) => Some(self.names_of(labels)?),
            Some(_) => return Err(self.error("id2label is not an object of class names by id")),
        };
        let n = match number {
            None => None,
            Some(number) => {
                let n = number.as_u64().filter(|&n| n <= MAX_ROWS as u64);
                Some(n.ok_or_else(|| self.error(format!("num_labels is {number}, not a number of classes")))? as usize)
            }
        };
        Ok(match (named, n) {
            (Some(names), None) => ClassNames { n: names.len(), names },
            (Some(names), Some(n)) if n == names.len() => ClassNames { n, names },
            (_, n) => {
                let n = n.unwrap_or(otherwise);
                ClassNames { n, names: (0..n as i64).map(|id| (id, format!("LABEL_{id}"))).collect() }
            }
        })
    }

    fn names_of(&self, labels: &Map<String, Value>) -> Result<BTreeMap<i64, String>, LoadError> {
        let name = |(key, label): (&String, &Value)| {
            let id = whole_number(key).ok_or_else(|| {
                self.error(format!("id2label has the key “{key}”; its keys are the ids of classes, such as “0”"))
            })?;
            Ok((id, label.as_str().map_or_else(|| label.to_string(), str::to_owned)))
        };
        labels.iter().map(name).collect()
    }
}

/// What classes are called, by id: not all ids need be there, and there may be others.
#[derive(Clone, Debug)]
pub(crate) struct ClassNames {
    pub n: usize,
    pub names: BTreeMap<i64, String>,
}

/// A whole number as Python's `int` reads it: with blanks around it, a sign, and `_` between digits.
fn whole_number(text: &str) -> Option<i64> {
    let text = text.trim();
    let digits = text.strip_prefix(['+', '-']).unwrap_or(text);
    let is_grouped =
        digits.split('_').all(|group| !group.is_empty() && group.bytes().all(|byte| byte.is_ascii_digit()));
    if is_grouped { text.replace('_', "").parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_of_classes_are_read_as_python_reads_numbers() {
        let read = ["0", " 7 ", "+2", "-1", "1_0", "007"].map(whole_number);
        assert_eq!(read, [0, 7, 2, -1, 10, 7].map(Some));
        assert_eq!(["", "a", "0.0", "1__0", "_1", "1_", "+-1", "- 1"].map(whole_number), [None; 8]);
    }
}
