//! From what a user types to a model's files: bundled names, paths, and ids in the local Hugging Face
//! cache. Never downloads.

use std::{
    env, fs,
    path::{Path, PathBuf},
};

use super::{LoadError, ModelFiles, bundled, config::Config, families};

/// A model that can be opened by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownModel {
    /// What to type.
    pub name: String,
    /// `model_type` of its config, or `?`.
    pub family: String,
    /// Bytes of all its files.
    pub size_bytes: u64,
    /// Why it cannot be opened, if it cannot.
    pub problem: Option<String>,
}

/// The files of the model that `name` means, and what to call it: a bundled name, a path, or a hub id
/// in the local cache, in this order.
///
/// # Errors
/// When nothing of that name exists, with what was tried.
pub fn model(name: &str) -> Result<(ModelFiles, String), LoadError> {
    if let Some(files) = bundled::model(name) {
        return Ok((files, name.to_owned()));
    }
    let path = Path::new(name);
    if path.exists() {
        let files = ModelFiles::open(path)?;
        let name = files.default_name();
        return Ok((files, name));
    }
    match cached(name) {
        Some(folder) => Ok((ModelFiles::folder(folder), name.to_owned())),
        None => Err(LoadError::NotFound { path: name.to_owned() }),
    }
}

/// Bundled models, then those in the local cache by name.
pub fn known_models() -> Vec<KnownModel> {
    let bundled = bundled::models().filter_map(|name| Some(describe(name.to_owned(), &bundled::model(name)?)));
    let mut cached: Vec<_> = cache_folder()
        .and_then(|cache| fs::read_dir(cache).ok())
        .into_iter()
        .flatten()
        .filter_map(|entry| {
            let id = entry.ok()?.file_name().to_str()?.strip_prefix("models--")?.replace("--", "/");
            Some(describe(id.clone(), &ModelFiles::folder(cached(&id)?)))
        })
        .collect();
    cached.sort_by(|a, b| a.name.cmp(&b.name));
    bundled.chain(cached).collect()
}

fn describe(name: String, files: &ModelFiles) -> KnownModel {
    let (family, problem) = match Config::read(files).and_then(|config| Ok((config.model_type()?, config))) {
        Ok((family, config)) => {
            let problem = (!families::is_supported(&family))
                .then(|| config.unknown_family(&family).to_string())
                .or_else(|| (!files.has_weights()).then(|| "it has no weights that can be read".to_owned()));
            (family, problem)
        }
        Err(error) => ("?".to_owned(), Some(error.to_string())),
    };
    KnownModel { name, family, size_bytes: files.size_bytes(), problem }
}

/// The snapshot folder of a hub id, if it is in the local cache.
fn cached(id: &str) -> Option<PathBuf> {
    let parts: Vec<&str> = id.split('/').collect();
    let plain = |part: &&str| {
        !part.is_empty()
            && !part.starts_with('.')
            && part.chars().all(|c| c.is_ascii_alphanumeric() || "-_.".contains(c))
    };
    if parts.len() > 2 || !parts.iter().all(plain) {
        return None;
    }
    let model = cache_folder()?.join(format!("models--{}", parts.join("--")));
    let revision = fs::read_to_string(model.join("refs").join("main")).ok()?;
    let revision = revision.trim();
    if !plain(&revision) {
        return None;
    }
    Some(model.join("snapshots").join(revision)).filter(|folder| folder.is_dir())
}

/// Where Python keeps downloaded models: `HF_HUB_CACHE`, `HF_HOME/hub`, `~/.cache/huggingface/hub`.
fn cache_folder() -> Option<PathBuf> {
    let variable = |name| env::var_os(name).filter(|value| !value.is_empty()).map(PathBuf::from);
    variable("HF_HUB_CACHE")
        .or_else(|| variable("HF_HOME").map(|home| home.join("hub")))
        .or_else(|| variable("XDG_CACHE_HOME").map(|cache| cache.join("huggingface").join("hub")))
        .or_else(|| env::home_dir().map(|home| home.join(".cache").join("huggingface").join("hub")))
}
