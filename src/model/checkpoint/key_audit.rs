//! What becomes of every key of `config.json`: it was read, it is known to change no number, or nobody
//! knows it. A key that would change numbers and is not read is refused by name.

use std::collections::BTreeSet;

use serde_json::{Map, Value};

use super::{config::Config, config_log::short};
use crate::model::LoadError;

/// A key, and the values with which it changes nothing, written as in the file.
pub(crate) type Limit = (&'static str, &'static [&'static str]);

/// Keys that the configuration class of one `model_type` has and that may go unread.
#[derive(Clone, Copy)]
pub(crate) struct Keys {
    /// Of all classes: whatever they say, no number of a forward pass changes.
    pub everywhere: &'static [&'static [&'static str]],
    pub harmless: &'static [&'static [&'static str]],
    /// Those of this class that change nothing with some values only.
    pub only: &'static [&'static [Limit]],
    /// The same of all classes.
    pub limits: &'static [Limit],
    /// Two names of one thing; what is said under both must be the same.
    pub aliases: &'static [(&'static str, &'static str)],
}

impl Keys {
    fn limit(&self, name: &str) -> Option<&'static [&'static str]> {
        let limits = self.only.iter().copied().chain([self.limits]).flatten();
        limits.into_iter().find(|(limited, _)| *limited == name).map(|(_, values)| *values)
    }

    /// The other names of a key.
    fn others(&self, name: &str) -> impl Iterator<Item = &'static str> {
        self.aliases.iter().filter_map(move |(a, b)| match name {
            name if name == *a => Some(*b),
            name if name == *b => Some(*a),
            _ => None,
        })
    }

    fn is_harmless(&self, name: &str) -> bool {
        self.everywhere.iter().chain(self.harmless).copied().flatten().any(|harmless| *harmless == name)
    }
}

/// Keys and their values, as one would quote them.
type Entries = Vec<(String, String)>;

/// What became of the keys that were not read.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Unread {
    pub harmless: Entries,
    /// The class that the model names does not have them, so neither does it obey them.
    pub unknown: Entries,
    /// Sentences about sections that another one speaks for.
    pub overruled: Vec<String>,
}

/// Sections that are configurations of models themselves, and what they are when they do not say.
const SECTIONS: [&str; 9] = [
    "text_config",
    "vision_config",
    "text_config_dict",
    "vision_config_dict",
    "encoder",
    "decoder",
    // Of OpenCLIP.
    "model_cfg",
    "vision_cfg",
    "text_cfg",
];
/// Sections that describe rotary embeddings; some have one for each kind of layer inside.
const ROTARY: [&str; 4] = ["rope_parameters", "rope_scaling", "full_attention", "sliding_attention"];
/// What the section was called before version 5 of the library; it goes first there, too.
const OLDER: &str = "rope_scaling";
const NEWER: &str = "rope_parameters";
/// What `keys` is asked for rotary sections.
pub(crate) const ROTARY_KIND: &str = "rope";

/// Sorts the keys that nobody asked for, after everything was asked. `keys` knows what each `model_type` may
/// leave unread.
///
/// # Errors
/// For the first key that changes numbers, and for two names of one thing that contradict each other.
pub(crate) fn account(config: &Config, keys: impl Fn(&str) -> Keys) -> Result<Unread, LoadError> {
    let lookups = config.asked().lookups();
    let read = lookups.iter().filter(|(_, value)| value.is_some()).map(|(name, _)| name.as_str()).collect();
    let mut account = Account { config, read, keys: &keys, unread: Unread::default() };
    account.sort(config.entries(), "", &config.model_type()?)?;
    Ok(account.unread)
}

/// Refuses what no family obeys, before anything is built: weights that such a key explains would be called damaged.
///
/// # Errors
/// For the first such key, of the model or of a part of it.
pub(crate) fn check(config: &Config, keys: impl Fn(&str) -> Keys) -> Result<(), LoadError> {
    let limits = keys(&config.model_type()?).limits;
    let parts =
        SECTIONS.iter().filter_map(|name| Some((format!("{name}."), config.entries().get(*name)?.as_object()?)));
    for (scope, entries) in [(String::new(), config.entries())].into_iter().chain(parts) {
        for (name, allowed) in limits {
            let value = entries.get(*name).filter(|value| !value.is_null());
            if let Some(value) = value.filter(|value| !allowed.iter().any(|allowed| is_same(allowed, value))) {
                return Err(refused(config, &format!("{scope}{name}"), &short(value)));
            }
        }
    }
    Ok(())
}

fn refused(config: &Config, name: &str, value: &str) -> LoadError {
    config.unsupported(format!("{name} = {value} is not supported"))
}

struct Account<'a> {
    config: &'a Config,
    read: BTreeSet<&'a str>,
    keys: &'a dyn Fn(&str) -> Keys,
    unread: Unread,
}

impl Account<'_> {
    fn sort(&mut self, entries: &Map<String, Value>, scope: &str, kind: &str) -> Result<(), LoadError> {
        let keys = (self.keys)(kind);
        for (name, value) in entries {
            let full = format!("{scope}{name}");
            let was_read = self.read.contains(full.as_str());
            if let (true, Value::Object(inner), Some(kind)) = (was_read, value, section_kind(name, value, kind)) {
                let scope = format!("{}.", full.strip_suffix("_dict").unwrap_or(&full));
                // A part that the checkpoint's class does not have, such as the other of two towers.
                if !self.read.iter().any(|read| read.starts_with(&scope)) {
                    self.unread.harmless.push((full, short(value)));
                    continue;
                }
                self.sort(inner, &scope, &kind)?;
                continue;
            }
            if was_read {
                continue;
            }
            let limit = keys.limit(name);
            let entry = (full, short(value));
            if let (NEWER, Some(older)) = (name.as_str(), entries.get(OLDER))
                && self.read.contains(format!("{scope}{OLDER}").as_str())
            {
                if older != value && !is_empty(value) {
                    self.unread.overruled.push(format!(
                        "{scope}{NEWER} is not obeyed: {scope}{OLDER} stands beside it and goes first, as in transformers"
                    ));
                }
                self.unread.harmless.push(entry);
                continue;
            }
            if name == OLDER && self.read.contains(format!("{scope}{NEWER}").as_str()) && is_empty(value) {
                self.unread.harmless.push(entry);
                continue;
            }
            if let Some(allowed) = limit.filter(|_| !value.is_null())
                && !allowed.iter().any(|allowed| is_same(allowed, value))
            {
                return Err(refused(self.config, &entry.0, &entry.1));
            }
            let other = keys.others(name).find_map(|other| Some((other, entries.get(other)?)));
            if let Some((other, known)) = other.filter(|(_, known)| *known != value && !value.is_null()) {
                let (other, known) = (format!("{scope}{other}"), short(known));
                let message = format!("{} = {} and {other} = {known} are two names of one thing", entry.0, entry.1);
                return Err(self.config.error(message));
            }
            if value.is_null() || limit.is_some() || other.is_some() || keys.is_harmless(name) {
                self.unread.harmless.push(entry);
            } else {
                self.unread.unknown.push(entry);
            }
        }
        Ok(())
    }
}

/// Whose keys a section has; `None` for what is no section.
fn section_kind(name: &str, value: &Value, kind: &str) -> Option<String> {
    if ROTARY.contains(&name) {
        return Some(ROTARY_KIND.to_owned());
    }
    let own = || value.get("model_type").and_then(Value::as_str).map(str::to_lowercase);
    let tower = |tower: &str| format!("{}_{tower}_model", kind.split('_').next().unwrap_or(kind));
    SECTIONS.contains(&name).then(|| {
        own().unwrap_or_else(|| match name {
            "text_config" | "text_config_dict" => tower("text"),
            "vision_config" | "vision_config_dict" => tower("vision"),
            _ => kind.to_owned(),
        })
    })
}

/// Whether Python would take a value for nothing.
fn is_empty(value: &Value) -> bool {
    value.is_null() || value.as_object().is_some_and(Map::is_empty)
}

/// Whether a value of the file is the one written in a table; numbers by their value.
fn is_same(written: &str, value: &Value) -> bool {
    let Ok(written) = serde_json::from_str::<Value>(written) else { return false };
    match (written.as_f64(), value.as_f64()) {
        (Some(a), Some(b)) => a == b,
        _ => written == *value,
    }
}
