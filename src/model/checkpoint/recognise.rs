//! Diagnosis of a folder that does not open: its models are in another format, in parts, one folder down, or not there.
//! Names alone decide; nothing is read.

use std::{cmp::Reverse, fmt::Write as _};

use super::{
    files::{Adapter, EntryKind, FolderEntry, ModelFiles},
    formats::{FORMATS, KINDS, TRAINING, UnreadableFormat, WEIGHTS_EXTENSIONS, is_gguf_model, way_of_adapter},
};
use crate::{model::LoadError, text::counted};

/// As many folders are named; the others are counted.
const MAX_NAMED: usize = 3;

/// Why a folder without a configuration, or without weights, does not open.
pub(super) fn folder(files: &ModelFiles) -> LoadError {
    let path = files.location();
    let entries = match files.entries() {
        Ok(entries) => entries,
        Err(source) => return LoadError::Io { file: "the folder".to_owned(), path, source },
    };
    let other = |what: String, advice: String| LoadError::OtherKind { what, advice, path: path.clone() };
    if entries.is_empty() {
        return other(
            "this folder is empty".to_owned(),
            "Choose the folder with config.json and the weights".to_owned(),
        );
    }
    let expected =
        |name: &str| name == "config.json" || FORMATS.iter().any(|(single, index)| [*single, *index].contains(&name));
    if let Some(FolderEntry { name, .. }) =
        entries.iter().find(|entry| entry.kind != EntryKind::File && expected(&entry.name))
    {
        let what = format!(
            "{name} in this folder cannot be read: it is a folder, a pipe, a link to nothing, or not yours to read"
        );
        return other(what, "Put the file itself there, or download the model again".to_owned());
    }
    if let Some((what, place)) = below(&entries) {
        return other(what, format!("Open {}", files.location_of(&place)));
    }
    if let Some((what, place)) = of_llama_cpp(&entries) {
        return other(what, format!("Open one of them, such as {}", files.location_of(&place)));
    }
    if let Some((what, advice)) = parts(&entries) {
        return other(what, advice);
    }
    let only = |kind: &UnreadableFormat| {
        let FolderEntry { name, .. } = entries.iter().find(|entry| (kind.is)(&entry.name.to_lowercase()))?;
        let what = format!("this folder has no weights that can be read, only {} ({name})", kind.what);
        Some(other(what, kind.advice.to_owned()))
    };
    let weights = entries.iter().find(|entry| is_weights(entry));
    KINDS.iter().find_map(only).unwrap_or_else(|| match weights {
        Some(FolderEntry { name, .. }) if !files.contains("config.json") => {
            LoadError::LoneWeights { file: name.clone(), path: path.clone() }
        }
        Some(FolderEntry { name, .. }) => {
            let what = format!("this model folder has weights under a name of their own ({name})");
            other(what, format!("Open that file, {}, or call it {}", files.location_of(name), FORMATS[0].0))
        }
        None if files.contains("config.json") => {
            only(&TRAINING).unwrap_or_else(|| LoadError::NoWeights { path: path.clone() })
        }
        None => only(&TRAINING).unwrap_or_else(|| LoadError::NoConfig { path: path.clone() }),
    })
}

/// An adapter without its model.
pub(super) fn adapter(adapter: &Adapter, path: String) -> LoadError {
    let what = format!("this is an adapter for {}, not a model", adapter.base);
    let merge = way_of_adapter(&adapter.kind);
    let advice = if adapter.kind == "LORA" {
        format!(
            "Put that model into the cache (attnscope pull, or Download…) or beside it: the adapter is merged as both open. {merge}"
        )
    } else {
        merge
    };
    LoadError::OtherKind { what, advice, path }
}

/// Models in folders further down: what is said of them, and the place of one.
fn below(entries: &[FolderEntry]) -> Option<(String, String)> {
    let mut places: Vec<&str> = entries
        .iter()
        .filter_map(|entry| entry.name.strip_suffix("/config.json"))
        .filter(|place| {
            let beside =
                |name: &str| entries.iter().any(|entry| entry.name.strip_prefix(place) == Some(&format!("/{name}")));
            FORMATS.iter().any(|(single, index)| beside(single) || beside(index))
        })
        .collect();
    // The nearest, and of several checkpoints the last.
    places.sort_by_key(|place| {
        let name = place.trim_end_matches(|c: char| c.is_ascii_digit());
        (place.matches('/').count(), name, Reverse(place[name.len()..].parse::<u64>().unwrap_or(0)))
    });
    let first = (*places.first()?).to_owned();
    let more = places.len().saturating_sub(MAX_NAMED);
    let mut named = places[..places.len() - more].join(", ");
    if more > 0 {
        write!(named, " and {more} more").ok();
    }
    Some((format!("this folder is not a model itself, but has one further down, in {named}"), first))
}

/// Several models in GGUF files, of which nobody chose one: what is said of them, and the first.
fn of_llama_cpp(entries: &[FolderEntry]) -> Option<(String, String)> {
    let models = entries.iter().filter(|entry| entry.kind == EntryKind::File && !entry.name.contains('/'));
    let models: Vec<&str> =
        models.map(|entry| entry.name.as_str()).filter(|name| is_gguf_model(&name.to_lowercase())).collect();
    let first = (*models.first()?).to_owned();
    let more = models.len().saturating_sub(MAX_NAMED);
    let mut named = models[..models.len() - more].join(", ");
    if more > 0 {
        write!(named, " and {more} more").ok();
    }
    Some((format!("this folder has {} in GGUF files, {named}", counted(models.len(), "model")), first))
}

/// Weights in parts without the index that says which part holds what.
fn parts(entries: &[FolderEntry]) -> Option<(String, String)> {
    let part = |entry: &FolderEntry| {
        let (start, total) = entry.name.split_once("-of-")?;
        let total: usize = total.split('.').next()?.parse().ok()?;
        let number: usize = start.rsplit('-').next()?.parse().ok()?;
        (is_weights(entry) && number <= total).then(|| (number, total, entry.name.clone()))
    };
    let found: Vec<_> = entries.iter().filter_map(part).collect();
    let (_, total, name) = found.first()?;
    let extension = if name.ends_with(".safetensors") { FORMATS[0].1 } else { FORMATS[1].1 };
    let missing = total.saturating_sub(found.len());
    let also = if missing > 0 { format!(", and {missing} of {total} parts are missing") } else { String::new() };
    let what = format!("this folder has weights in parts ({name}), but not their index {extension}{also}");
    Some((what, "Download what is missing, or save the model again with `model.save_pretrained(FOLDER)`".to_owned()))
}

/// Whether something in the folder itself is called as weights are, and is not known to be something else.
fn is_weights(entry: &FolderEntry) -> bool {
    let name = entry.name.to_lowercase();
    let extension = name.rsplit_once('.').map(|(_, extension)| extension);
    entry.kind == EntryKind::File
        && !name.contains('/')
        && extension.is_some_and(|extension| WEIGHTS_EXTENSIONS.contains(&extension))
        && !(TRAINING.is)(&name)
}
