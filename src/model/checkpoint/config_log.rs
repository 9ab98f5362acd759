//! What was asked of a configuration, and what it answered: for the audit, and to know which of its keys
//! nobody asked for.

use serde_json::Value;

/// Names, and the value found under each.
pub(crate) type Lookups = Vec<(String, Option<String>)>;

/// What was asked of a configuration so far; its sections share it.
#[derive(Debug, Default)]
pub(crate) struct ConfigLog {
    lookups: Lookups,
    /// The first value that is not of the kind that its name stands for.
    wrong: Option<String>,
}

impl ConfigLog {
    /// Remembers a look-up once.
    pub fn note(&mut self, name: String, value: Option<&Value>) {
        let entry = (name, value.map(short));
        if !self.lookups.contains(&entry) {
            self.lookups.push(entry);
        }
    }

    /// Remembers that a value is not of the kind that its name stands for. Whoever asked goes on with the
    /// default, and [`ConfigLog::wrong`] tells in the end.
    pub fn complain(&mut self, name: &str, value: &Value, expected: &str) {
        self.wrong.get_or_insert_with(|| format!("{name} is {} instead of {expected}", short(value)));
    }

    /// The names that were asked for in order: those found with their values, and the first name tried of
    /// those not found.
    pub fn lookups(&self) -> Lookups {
        self.lookups.clone()
    }

    /// What is wrong with the first value of another kind than expected.
    pub fn wrong(&self) -> Option<String> {
        self.wrong.clone()
    }
}

/// A value as one would quote it: long lists and objects are only counted.
pub(crate) fn short(value: &Value) -> String {
    match value {
        Value::Array(list) if list.len() > 8 => format!("a list of {}", list.len()),
        Value::Object(map) if map.len() > 8 => format!("{} entries", map.len()),
        other => other.to_string(),
    }
}
