//! Models that other programs have on this machine, each in one GGUF file: those of llama.cpp in the shared cache and in
//! its own, of Ollama, and of LM Studio.
//!
//! ```text
//! ~/.ollama/models/manifests/REGISTRY/NAMESPACE/MODEL/TAG   JSON that names contents by their kind
//!                 /blobs/sha256-DIGEST                      the content
//! ~/.lmstudio/models/PUBLISHER/MODEL/FILE.gguf
//! ```

use std::{
    env,
    ffi::OsString,
    fs::{self, File},
    io::Read as _,
    path::{Path, PathBuf},
};

use serde::Deserialize;

use super::Cache;

/// What Ollama calls the weights among the contents of a model.
const OLLAMA_WEIGHTS: &str = "application/vnd.ollama.image.model";
/// Where Ollama's own models come from, which their names leave out.
const OLLAMA_OWN: [&str; 2] = ["registry.ollama.ai", "library"];
/// Before the name of a model of Ollama.
const OLLAMA: &str = "ollama:";
/// Bytes of a manifest; real ones have one or two thousand.
const MAX_MANIFEST_BYTES: u64 = 1 << 20;
/// Folders within each other that are looked into, and entries in all.
const MAX_DEPTH: usize = 6;
const MAX_ENTRIES: usize = 20_000;

/// A file with a model.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub struct OtherModel {
    /// What opens it: `ollama:` and a name, or its path.
    pub name: String,
    pub path: PathBuf,
}

/// Where the programs keep their models.
#[derive(Clone, Debug, Default)]
pub struct OtherPrograms {
    home: Option<PathBuf>,
    cache: Option<Cache>,
    ollama: Option<PathBuf>,
    /// Folders whose files are models, at any depth.
    folders: Vec<PathBuf>,
}

impl OtherPrograms {
    /// By the variables of this process.
    pub fn from_environment() -> Self {
        Self::from_variables(&|name| env::var_os(name), env::home_dir(), Cache::from_environment())
    }

    /// By variables that are given: `OLLAMA_MODELS` and `LLAMA_CACHE`.
    pub fn from_variables(
        variable: &dyn Fn(&str) -> Option<OsString>,
        home: Option<PathBuf>,
        cache: Option<Cache>,
    ) -> Self {
        let set = |name: &str| variable(name).filter(|value| !value.is_empty()).map(PathBuf::from);
        let at_home = |parts: &str| home.as_ref().map(|home| home.join(parts));
        let ollama = set("OLLAMA_MODELS").or_else(|| at_home(".ollama/models"));
        let llama = set("LLAMA_CACHE").or_else(|| at_home(".cache/llama.cpp"));
        let lm_studio = [".lmstudio/models", ".cache/lm-studio/models"].into_iter().filter_map(at_home);
        let folders = llama.into_iter().chain(lm_studio).collect();
        Self { home, cache, ollama, folders }
    }

    /// All models, by name.
    pub fn models(&self) -> Vec<OtherModel> {
        let mut models = self.of_ollama();
        let cached = self.cache.iter().flat_map(Cache::models).map(|(_, folder)| folder);
        for folder in self.folders.iter().cloned().chain(cached) {
            let files = Listing::of(&folder).files.into_iter().filter(|path| is_model(path));
            models.extend(files.map(|path| OtherModel { name: self.shown(&path), path }));
        }
        models.sort();
        models.dedup();
        models
    }

    /// Whether a folder holds such files and no model of its own.
    pub fn is_theirs(folder: &Path) -> bool {
        !folder.join("config.json").is_file() && Listing::of(folder).files.iter().any(|path| is_model(path))
    }

    /// The file of `ollama:NAME` or `ollama:NAME:TAG`.
    pub fn named(&self, name: &str) -> Option<PathBuf> {
        let name = name.strip_prefix(OLLAMA)?;
        let latest = format!("{OLLAMA}{name}:latest");
        let is_meant = |model: &OtherModel| model.name.strip_prefix(OLLAMA) == Some(name) || model.name == latest;
        self.of_ollama().into_iter().find(is_meant).map(|model| model.path)
    }

    fn of_ollama(&self) -> Vec<OtherModel> {
        let Some(root) = &self.ollama else { return Vec::new() };
        let manifests = root.join("manifests");
        let model = |path: PathBuf| {
            let digest = weights_of(&path)?;
            let parts: Vec<&str> =
                path.strip_prefix(&manifests).ok()?.iter().filter_map(|part| part.to_str()).collect();
            let (tag, mut parts) = parts.split_last()?;
            for own in OLLAMA_OWN {
                parts = parts.strip_prefix(&[own]).unwrap_or(parts);
            }
            let blob = root.join("blobs").join(format!("sha256-{digest}"));
            blob.is_file().then(|| OtherModel { name: format!("{OLLAMA}{}:{tag}", parts.join("/")), path: blob })
        };
        Listing::of(&manifests).files.into_iter().filter_map(model).collect()
    }

    /// A path with `~` in the place of the home folder.
    fn shown(&self, path: &Path) -> String {
        let below = self.home.as_ref().and_then(|home| path.strip_prefix(home).ok());
        below.map_or_else(|| path.display().to_string(), |below| Path::new("~").join(below).display().to_string())
    }
}

/// What a manifest of Ollama says.
#[derive(Deserialize)]
struct Manifest {
    #[serde(default)]
    layers: Vec<ManifestLayer>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase")]
struct ManifestLayer {
    media_type: String,
    digest: String,
}

/// The digest of a model's weights, 64 hexadecimal digits.
fn weights_of(manifest: &Path) -> Option<String> {
    let mut bytes = Vec::new();
    File::open(manifest).ok()?.take(MAX_MANIFEST_BYTES).read_to_end(&mut bytes).ok()?;
    let manifest: Manifest = serde_json::from_slice(&bytes).ok()?;
    let weights = manifest.layers.into_iter().find(|layer| layer.media_type == OLLAMA_WEIGHTS)?;
    let digest = weights.digest.strip_prefix("sha256:")?;
    // It becomes a name of a file.
    (digest.len() == 64 && digest.bytes().all(|byte| byte.is_ascii_hexdigit())).then(|| digest.to_owned())
}

/// A GGUF file that is a model by itself: no eyes of one, and no later part.
fn is_model(path: &Path) -> bool {
    let Some(name) = path.file_name().and_then(|name| name.to_str()).map(str::to_ascii_lowercase) else { return false };
    let Some(stem) = name.strip_suffix(".gguf") else { return false };
    let is_later = stem.rsplit_once("-of-").is_some_and(|(before, n)| {
        let digits = |text: &str| text.len() == 5 && text.bytes().all(|byte| byte.is_ascii_digit());
        let nth = before.rsplit_once('-').map_or("", |(_, nth)| nth);
        digits(n) && digits(nth) && nth != "00001"
    });
    !is_later && !stem.contains("mmproj")
}

/// The files of a folder and of those in it, as far as they are looked at.
#[derive(Default)]
struct Listing {
    files: Vec<PathBuf>,
    n_entries: usize,
}

impl Listing {
    fn of(folder: &Path) -> Self {
        let mut listing = Self::default();
        listing.look(folder, 0);
        listing
    }

    fn look(&mut self, folder: &Path, depth: usize) {
        for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
            self.n_entries += 1;
            if self.n_entries > MAX_ENTRIES {
                return;
            }
            let path = entry.path();
            // Snapshots of the shared cache are links to files; links to folders may lead round in circles.
            match entry.file_type() {
                Ok(kind) if kind.is_dir() && depth < MAX_DEPTH => self.look(&path, depth + 1),
                Ok(_) if path.is_file() => self.files.push(path),
                _ => {}
            }
        }
    }
}
