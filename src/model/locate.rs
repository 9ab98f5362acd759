//! From what a user types to a model's files: bundled names, paths, and ids in the local Hugging Face
//! cache. Never downloads.

use std::path::{Path, PathBuf};

use crate::{
    hub::{Cache, OtherModel, OtherPrograms, RepoId},
    model::{
        LoadError,
        checkpoint::{Config, MemoryNeed, ModelFiles, bundled},
        families,
    },
};

/// A model that can be opened by name.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KnownModel {
    pub name: String,
    /// `model_type` of its config, or `?`.
    pub family: String,
    /// Layers and heads of each, as far as its config says.
    pub shape: Option<(usize, usize)>,
    /// Bytes of all its files.
    pub size_bytes: u64,
    /// Memory that it takes; `None` where its files do not tell.
    pub needs: Option<MemoryNeed>,
    /// Why it cannot be opened, if it cannot.
    pub problem: Option<String>,
}

/// The files of the model that `name` means, and what to call it: a bundled name, the name of a model of Ollama, a path,
/// or a hub id in the local cache, in this order.
///
/// # Errors
/// When nothing of that name exists, with what was tried.
pub fn model(name: &str) -> Result<(ModelFiles, String), LoadError> {
    if let Some(files) = bundled::model(name) {
        return Ok((files, name.to_owned()));
    }
    if let Some(path) = OtherPrograms::from_environment().named(name) {
        return Ok((ModelFiles::open(&path)?, name.to_owned()));
    }
    match open(&with_home(name)) {
        Err(LoadError::NotFound { .. }) if RepoId::parse(name).is_some() => in_cache(name),
        opened => opened,
    }
}

/// The files of the model at a path, and what to call it: a folder, a weights file, or an adapter, which is merged into
/// the model that it names, if that is at hand.
///
/// # Errors
/// When nothing is there, or not the adapter's model.
pub fn open(path: &Path) -> Result<(ModelFiles, String), LoadError> {
    with_base(ModelFiles::open(path)?)
}

/// The same for the files of a folder.
fn with_base(files: ModelFiles) -> Result<(ModelFiles, String), LoadError> {
    let name = files.default_name();
    match (files.adapters_within().as_slice(), files.beside("")) {
        ([], _) | (_, None) => {}
        ([only], Some(root)) => return open(&root.join(only)),
        (all @ [first, ..], Some(root)) => {
            return Err(LoadError::OtherKind {
                what: format!("this folder has {} adapters: {}", all.len(), all.join(", ")),
                advice: format!("Open one of them: {}", root.join(first).display()),
                path: files.location(),
            });
        }
    }
    let Some(base) = files.base_of_adapter() else { return Ok((files, name)) };
    let beside = files.beside(&base).filter(|path| path.exists());
    let (of_base, base_name) = match (bundled::model(&base), beside, cached(&base)) {
        (Some(bundled), ..) => (bundled, base),
        (None, Some(path), _) => {
            let of_base = ModelFiles::open(&path)?;
            let base_name = of_base.default_name();
            (of_base, base_name)
        }
        (None, None, Some(folder)) => (ModelFiles::open(&folder)?, base),
        // Why it cannot be opened alone is said when it is read.
        (None, None, None) => return Ok((files, name)),
    };
    Ok((of_base.with_adapter(files), format!("{base_name} + {name}")))
}

/// A path whose `~` at the beginning no shell has replaced.
fn with_home(name: &str) -> PathBuf {
    let rest = name.strip_prefix('~').filter(|rest| rest.is_empty() || rest.starts_with(['/', '\\']));
    match (rest, std::env::home_dir()) {
        (Some(rest), Some(home)) => home.join(rest.trim_start_matches(['/', '\\'])),
        _ => PathBuf::from(name),
    }
}

/// As [`model`], for what can only be a hub id, `ID` or `ID@REVISION`.
///
/// # Errors
/// When the cache does not hold it.
pub fn in_cache(name: &str) -> Result<(ModelFiles, String), LoadError> {
    match cached(name) {
        Some(folder) => with_base(ModelFiles::open(&folder)?).map(|(files, _)| (files, name.to_owned())),
        None => Err(LoadError::NotCached { name: name.to_owned() }),
    }
}

/// Why no model of this `model_type` opens; `None` when its family is known.
pub fn unknown_family(model_type: &str) -> Option<String> {
    let known = families::is_supported(&model_type.to_lowercase());
    (!known).then(|| families::unsupported(model_type, String::new()).to_string())
}

/// What kinds of models open, each with the `model_type`s of it.
pub fn supported_types() -> impl Iterator<Item = (&'static str, String)> {
    families::listed()
}

/// Bundled models, then those in the local cache and those of other programs, each by name.
pub fn known_models() -> Vec<KnownModel> {
    let mut models = bundled_models();
    models.extend(cached_models());
    models.extend(other_models().into_iter().map(|(_, known)| known));
    models
}

/// What llama.cpp, Ollama and LM Studio have on this machine, with what opens it: the name of a model of Ollama, whose
/// file has none, or a path.
pub fn other_models() -> Vec<(PathBuf, KnownModel)> {
    let known = |OtherModel { name, path }| {
        let source = if path.extension().is_some() { path.clone() } else { PathBuf::from(&name) };
        let known = match ModelFiles::open(&path) {
            Ok(files) => describe(name, &files),
            Err(error) => {
                let size_bytes = path.metadata().map_or(0, |metadata| metadata.len());
                KnownModel::new(name, size_bytes).with_problem(&error)
            }
        };
        (source, known)
    };
    OtherPrograms::from_environment().models().into_iter().map(known).collect()
}

/// What is inside the program.
pub fn bundled_models() -> Vec<KnownModel> {
    bundled::models().filter_map(|name| Some(describe(name.to_owned(), &bundled::model(name)?))).collect()
}

/// What is in the local cache, by name; folders of GGUF files are among those of other programs, file by file.
pub fn cached_models() -> Vec<KnownModel> {
    let models = Cache::from_environment().map(|cache| cache.models()).unwrap_or_default();
    let models = models.into_iter().filter(|(_, folder)| !OtherPrograms::is_theirs(folder));
    models.map(|(name, folder)| describe(name, &ModelFiles::folder(folder))).collect()
}

/// The checkpoint in a folder, or whose weights file this is; `None` where there is no `config.json`.
pub fn at(path: &Path) -> Option<KnownModel> {
    let (files, name) = open(path).ok()?;
    files.contains("config.json").then(|| describe(name, &files))
}

/// The model of a hub id, if it is in the local cache.
pub fn known_in_cache(id: &str) -> Option<KnownModel> {
    Some(match ModelFiles::open(&cached(id)?) {
        Ok(files) => describe(id.to_owned(), &files),
        Err(error) => KnownModel::new(id.to_owned(), 0).with_problem(&error),
    })
}

/// What a path leads to, with the reason where that is no model that opens.
pub fn known_at(path: &Path) -> KnownModel {
    match open(path) {
        Ok((files, name)) => describe(name, &files),
        Err(error) => KnownModel::new(path.display().to_string(), 0).with_problem(&error),
    }
}

fn describe(name: String, files: &ModelFiles) -> KnownModel {
    let mut known = KnownModel::new(name, files.size_bytes());
    match known.look_at(files) {
        Ok(()) => known,
        Err(error) => known.with_problem(&error),
    }
}

impl KnownModel {
    fn new(name: String, size_bytes: u64) -> Self {
        Self { name, family: "?".to_owned(), shape: None, size_bytes, needs: None, problem: None }
    }

    fn with_problem(self, error: &LoadError) -> Self {
        Self { problem: Some(error.to_string()), ..self }
    }

    /// Takes note of what the files say, up to what keeps them from being opened.
    fn look_at(&mut self, files: &ModelFiles) -> Result<(), LoadError> {
        let config = Config::read(files, families::type_of_class)?;
        self.family = config.model_type()?;
        self.shape = config.shape();
        families::check(&config)?;
        let needs = MemoryNeed::of(files, config.quantization()?)?;
        self.needs = Some(needs);
        needs.check(files)
    }
}

/// The snapshot folder of a hub id, if it is in the local cache.
fn cached(id: &str) -> Option<PathBuf> {
    Cache::from_environment()?.snapshot(&RepoId::parse(id)?)
}
