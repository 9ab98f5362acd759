//! `config.json` as the library's own structures take it.

use serde::de::DeserializeOwned;
use serde_json::{Map, Value};

/// A configuration, in which `null` counts as not said.
#[derive(Clone, Debug)]
pub(crate) struct ConfigMap(Map<String, Value>);

/// The rotary embedding that a configuration asks for, whichever version wrote it.
pub(crate) struct Rope {
    pub kind: String,
    pub theta: f64,
    /// Everything that stands beside the kind.
    pub section: ConfigMap,
}

impl ConfigMap {
    pub fn new(values: &Map<String, Value>) -> Self {
        Self(values.clone())
    }

    /// The same, with what its transformers class means where the file is silent.
    pub fn or(mut self, defaults: &Value) -> Self {
        for (key, value) in defaults.as_object().into_iter().flatten() {
            if self.0.get(key).is_none_or(Value::is_null) {
                self.0.insert(key.clone(), value.clone());
            }
        }
        self
    }

    /// The same of one key for which `null` means that there is none.
    pub fn or_unless_null(mut self, key: &str, default: impl Into<Value>) -> Self {
        self.0.entry(key).or_insert_with(|| default.into());
        self
    }

    /// The same with one value changed.
    pub fn with(mut self, key: &str, value: impl Into<Value>) -> Self {
        self.0.insert(key.to_owned(), value.into());
        self
    }

    /// The structure that an implementation is made from.
    ///
    /// # Errors
    /// A clause, when it knows no such configuration.
    pub fn parse<T: DeserializeOwned>(&self) -> Result<T, String> {
        let said = self.0.iter().filter(|(_, value)| !value.is_null());
        let said: Map<String, Value> = said.map(|(key, value)| (key.clone(), value.clone())).collect();
        let parsed = serde_json::from_value(Value::Object(said));
        parsed.map_err(|error| format!("it does not take this configuration ({error})"))
    }

    pub fn section(&self, key: &str) -> Option<Self> {
        self.0.get(key).and_then(Value::as_object).map(Self::new)
    }

    pub fn size(&self, key: &str) -> Option<usize> {
        self.0.get(key)?.as_u64().map(|n| n as usize)
    }

    /// # Errors
    /// A clause, when the file does not say it.
    pub fn needed(&self, key: &str) -> Result<usize, String> {
        self.size(key).ok_or_else(|| format!("config.json does not say {key}"))
    }

    pub fn number(&self, key: &str) -> Option<f64> {
        self.0.get(key)?.as_f64()
    }

    pub fn text(&self, key: &str) -> Option<&str> {
        self.0.get(key)?.as_str()
    }

    pub fn has(&self, key: &str) -> bool {
        self.0.get(key).is_some_and(|value| !value.is_null())
    }

    /// Whether the file says no.
    pub fn is_off(&self, key: &str) -> bool {
        self.0.get(key).and_then(Value::as_bool) == Some(false)
    }

    pub fn flag(&self, key: &str) -> bool {
        self.0.get(key).and_then(Value::as_bool).unwrap_or(false)
    }

    pub fn list(&self, key: &str) -> Option<&Vec<Value>> {
        self.0.get(key)?.as_array()
    }

    /// The rotary embedding, in `rope_parameters` or where older files have it.
    pub fn rope(&self) -> Rope {
        let section = ["rope_scaling", "rope_parameters"].into_iter().find_map(|key| self.section(key));
        let section = section.unwrap_or_else(|| Self(Map::new()));
        let kind = section.text("rope_type").or_else(|| section.text("type")).unwrap_or("default").to_owned();
        let theta = section.number("rope_theta").or_else(|| self.number("rope_theta")).unwrap_or(10_000.0);
        Rope { kind, theta, section }
    }
}
