//! Contents of a path, found out without opening it, for a person about to choose it.

use std::{fs, path::Path};

use super::{capture_file, corpus, head_folder};
use crate::{
    model::locate::{self, KnownModel},
    protocol::{Catalog, ModelSource},
};

/// Entries of a folder that are looked at, so that a huge one takes no time.
const MAX_ENTRIES: usize = 10_000;

/// What lies at a path, as opening it would take it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Contents {
    /// A checkpoint, in a folder or as a weights file in one.
    Model(KnownModel),
    /// A file with captures, or with a list of inputs where it is JSON.
    Captures,
    /// A folder with one file for each head.
    Heads,
    /// A folder with so many pictures.
    Pictures(usize),
    /// None of these.
    Other,
}

/// Looks at a path; what cannot be read is [`Contents::Other`].
pub fn contents(path: &Path) -> Contents {
    if head_folder::is_head_folder(path) {
        return Contents::Heads;
    }
    if capture_file::format(path).is_some() {
        return Contents::Captures;
    }
    if let Some(model) = locate::at(path) {
        return Contents::Model(model);
    }
    let entries = fs::read_dir(path).into_iter().flatten().take(MAX_ENTRIES).flatten();
    match entries.filter(|entry| corpus::is_picture(&entry.path())).count() {
        0 => Contents::Other,
        n => Contents::Pictures(n),
    }
}

/// A model in the local cache of the hub, by its id.
pub fn cached(id: &str) -> Option<KnownModel> {
    locate::known_in_cache(id)
}

/// The models of `recent` that lie in folders, those in the local cache of the hub, those of other programs and those
/// inside the program, each with where it is.
pub fn catalog(recent: &[ModelSource]) -> Catalog {
    let of_path = |source: &ModelSource| match source {
        ModelSource::Path(path) => Some((source.clone(), locate::known_at(path))),
        ModelSource::Bundled(_) | ModelSource::Hub(_) => None,
    };
    let named = |of: fn(String) -> ModelSource| move |known: KnownModel| (of(known.name.clone()), known);
    let cached = locate::cached_models().into_iter().map(named(ModelSource::Hub));
    let bundled = locate::bundled_models().into_iter().map(named(ModelSource::Bundled));
    let is_recent = |path: &Path| recent.iter().any(|source| matches!(source, ModelSource::Path(it) if it == path));
    let others = locate::other_models().into_iter().filter(|(path, _)| !is_recent(path));
    let others = others.map(|(path, known)| (ModelSource::Path(path), known));
    recent.iter().filter_map(of_path).chain(cached).chain(others).chain(bundled).collect()
}
