//! Source of a checkpoint's files: a folder on disk, or bytes inside the program.
//!
//! The only place under `model/` that opens files.

use std::{
    borrow::Cow,
    collections::{BTreeMap, BTreeSet},
    fs::{self, File},
    io::{self, Cursor, ErrorKind, Read, Seek},
    path::{Path, PathBuf},
    sync::{Arc, Mutex, PoisonError},
    time::UNIX_EPOCH,
};

use super::{
    formats::{
        self, FORMATS, Format, GGUF_EXTENSION, OPEN_CLIP_CONFIG, OPEN_CLIP_FORMATS, WEIGHTS_EXTENSIONS, way_of_adapter,
    },
    gguf::{GgufError, GgufFile, GgufModel, MAGIC, MappedTensor},
};
use crate::{model::LoadError, text::checkpoint_name};

pub(super) const CONFIG: &str = "config.json";

/// What an adapter and its description are called.
const ADAPTERS: [&str; 5] = [
    "adapter_model.safetensors",
    "adapter_model.bin",
    "adapters.safetensors",
    "pytorch_lora_weights.safetensors",
    "adapter_config.json",
];
/// Configuration and vocabulary files above this size are refused: no real one comes near.
const MAX_TEXT_BYTES: u64 = 256 << 20;
/// Bytes at the beginning and at the end of a file that tell it from others.
const END_BYTES: u64 = 1 << 20;
/// The files that PEFT writes of an adapter: what it says of itself, then its weights in one of two formats.
pub(super) const ADAPTER_FILES: [&str; 3] = ["adapter_config.json", "adapter_model.safetensors", "adapter_model.bin"];

/// The files of one checkpoint, by name.
#[derive(Clone, Debug)]
pub struct ModelFiles {
    place: FilesSource,
    /// Names of configuration and vocabulary files that were read.
    read: Arc<Mutex<BTreeSet<String>>>,
    /// The files of an adapter that is merged into the model.
    adapter: Option<Arc<Self>>,
}

#[derive(Clone, Debug)]
enum FilesSource {
    Folder {
        root: PathBuf,
        /// The weights file the user pointed at, when it was not the folder.
        weights: Option<String>,
    },
    Embedded {
        name: String,
        files: &'static [(&'static str, &'static [u8])],
    },
    Gguf {
        /// The first file of the model.
        path: PathBuf,
        /// All of them, in order.
        parts: Vec<PathBuf>,
        model: Arc<GgufModel>,
    },
}

/// What a folder says of an adapter.
pub(crate) struct Adapter {
    /// The model it belongs to, as it is told.
    pub base: String,
    /// `peft_type`; empty where nobody says.
    pub kind: String,
}

/// Something in a model's folder, or in folders in it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct FolderEntry {
    /// From the folder, with `/` between parts.
    pub name: String,
    pub kind: EntryKind,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum EntryKind {
    File,
    Folder,
    /// A pipe, a device, or a link to nothing.
    Other,
}

/// Folders within each other that are looked into: a cache has its models three down.
const MAX_DEPTH: usize = 3;
/// Names that are looked at.
const MAX_ENTRIES: usize = 4096;

/// Bytes that can be read from any offset.
pub trait ReadSeek: Read + Seek + Send {}

impl<T: Read + Seek + Send> ReadSeek for T {}

impl ModelFiles {
    /// A folder in Hugging Face layout, a weights file inside one, or a GGUF file, also as the only model of a folder.
    ///
    /// # Errors
    /// When the path does not exist, cannot be read, or is a file of another kind.
    pub fn open(path: &Path) -> Result<Self, LoadError> {
        let is_weights = WEIGHTS_EXTENSIONS.iter().any(|known| has_extension(path, known));
        let metadata = fs::metadata(path).map_err(|error| not_there(path, error))?;
        if metadata.is_dir() {
            let folder = Self::folder(path);
            return folder.lone_gguf().map_or(Ok(folder), |path| Self::gguf(&path));
        }
        if !metadata.is_file() {
            let what = "this is a pipe or a device, not a file".to_owned();
            let advice = "Choose a model folder, or its .safetensors, .bin or .gguf file".to_owned();
            return Err(LoadError::OtherKind { what, advice, path: path.display().to_string() });
        }
        if has_extension(path, GGUF_EXTENSION) || begins_as_gguf(path) {
            return Self::gguf(path);
        }
        match (path.parent(), path.file_name().and_then(|name| name.to_str())) {
            (Some(root), Some(name)) if is_weights => {
                // A bare name lies in the current folder.
                let root = if root.as_os_str().is_empty() { Path::new(".") } else { root };
                Ok(Self::at(FilesSource::Folder { root: root.to_owned(), weights: Some(name.to_owned()) }))
            }
            (_, name) => Err(formats::not_weights(name.unwrap_or_default(), path.display().to_string())),
        }
    }

    /// A folder in Hugging Face layout.
    pub fn folder(root: impl Into<PathBuf>) -> Self {
        Self::at(FilesSource::Folder { root: root.into(), weights: None })
    }

    /// A GGUF file. What its metadata stand for is read at once.
    ///
    /// # Errors
    /// When it cannot be read, is damaged, or holds a model that is not supported.
    fn gguf(path: &Path) -> Result<Self, LoadError> {
        let location = path.display().to_string();
        let name = || path.file_name().map_or_else(|| location.clone(), |name| name.to_string_lossy().into_owned());
        let read = || {
            let own = name();
            let part = |path: &Path, name: String| {
                let file = File::open(path)?;
                let len = file.metadata()?.len();
                GgufFile::read(name, file, len)
            };
            let first = part(path, own.clone())?;
            let names = first.names_of_parts()?;
            let mut first = Some(first);
            let parts = names.iter().map(|name| match first.take_if(|_| *name == own) {
                Some(first) => Ok(first),
                None => part(&path.with_file_name(name), name.clone()).map_err(|error| of_part(name, error)),
            });
            let model = GgufModel::of(parts.collect::<Result<_, _>>()?)?;
            Ok((model, names.iter().map(|name| path.with_file_name(name)).collect::<Vec<_>>()))
        };
        match read() {
            Ok((model, parts)) => {
                let path = parts.first().map_or_else(|| path.to_owned(), Clone::clone);
                Ok(Self::at(FilesSource::Gguf { path, parts, model: Arc::new(model) }))
            }
            Err(error) => Err(match error {
                GgufError::Damaged(reason) => LoadError::Damaged { file: name(), path: location.clone(), reason },
                GgufError::Unsupported(reason) => {
                    LoadError::Unsupported { file: name(), path: location.clone(), reason }
                }
                GgufError::Io(source) => LoadError::Io { file: name(), path: location.clone(), source },
            }),
        }
    }

    /// The GGUF file of a folder that has one and nothing else that opens.
    fn lone_gguf(&self) -> Option<PathBuf> {
        let FilesSource::Folder { root, .. } = &self.place else { return None };
        if self.contains(ADAPTER_FILES[0]) || self.has_weights() {
            return None;
        }
        let entries = fs::read_dir(root).ok()?.flatten().map(|entry| entry.path());
        let is_model = |path: &PathBuf| {
            let name = path.file_name().map(|name| name.to_string_lossy().to_lowercase());
            name.is_some_and(|name| formats::is_gguf_model(&name)) && path.is_file()
        };
        let mut found = entries.filter(is_model);
        found.next().filter(|_| found.next().is_none())
    }

    /// Files inside the program, as `(name, bytes)`.
    pub fn embedded(name: impl Into<String>, files: &'static [(&'static str, &'static [u8])]) -> Self {
        Self::at(FilesSource::Embedded { name: name.into(), files })
    }

    fn at(place: FilesSource) -> Self {
        Self { place, read: Arc::default(), adapter: None }
    }

    /// The same model with an adapter merged into it.
    #[must_use]
    pub fn with_adapter(self, adapter: Self) -> Self {
        Self { adapter: Some(Arc::new(adapter)), ..self }
    }

    /// The adapter that is merged into the model, if there is one.
    pub fn merged(&self) -> Option<&Self> {
        self.adapter.as_deref()
    }

    /// The model that an adapter names, where this is a folder with an adapter and no model.
    pub(crate) fn base_of_adapter(&self) -> Option<String> {
        if self.contains("config.json") || self.has_weights() {
            return None;
        }
        let bytes = self.read(ADAPTER_FILES[0])?.ok()?;
        let config: serde_json::Value = serde_json::from_slice(&bytes).ok()?;
        config["base_model_name_or_path"].as_str().filter(|base| !base.is_empty()).map(str::to_owned)
    }

    /// Folders with adapters in a folder that is neither a model nor an adapter itself, by name.
    pub(crate) fn adapters_within(&self) -> Vec<String> {
        let FilesSource::Folder { root, .. } = &self.place else { return Vec::new() };
        if self.contains("config.json") || self.contains(ADAPTER_FILES[0]) || self.has_weights() {
            return Vec::new();
        }
        let entries = fs::read_dir(root).into_iter().flatten().flatten();
        let folders = entries.filter(|entry| entry.path().join(ADAPTER_FILES[0]).is_file());
        let mut names: Vec<String> = folders.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        names
    }

    /// A path as it is meant in this folder.
    pub(crate) fn beside(&self, path: &str) -> Option<PathBuf> {
        match &self.place {
            FilesSource::Folder { root, .. } => Some(root.join(path)),
            FilesSource::Gguf { path: file, .. } => file.parent().map(|root| root.join(path)),
            FilesSource::Embedded { .. } => None,
        }
    }

    /// What to call the checkpoint when nobody gave it a name: the id of a snapshot in the hub's cache, else
    /// the folder's name, or that of the first folder around it that says more than `model`; of a GGUF file its own.
    pub fn default_name(&self) -> String {
        match &self.place {
            FilesSource::Folder { root, .. } => {
                // Only an absolute path is sure to end in a name: `.` and `..` do not.
                let absolute = fs::canonicalize(root).unwrap_or_else(|_| root.clone());
                checkpoint_name(&absolute).unwrap_or_else(|| "model".to_owned())
            }
            FilesSource::Gguf { path, .. } => {
                let name = checkpoint_name(path).unwrap_or_else(|| "model".to_owned());
                // The first part is called after all of them.
                name.split_once("-00001-of-").map_or_else(|| name.clone(), |(stem, _)| stem.to_owned())
            }
            FilesSource::Embedded { name, .. } => name.clone(),
        }
    }

    /// Where the checkpoint is, for messages.
    pub fn location(&self) -> String {
        match &self.place {
            FilesSource::Folder { root, .. } => root.display().to_string(),
            FilesSource::Gguf { path, .. } => path.display().to_string(),
            FilesSource::Embedded { name, .. } => name.clone(),
        }
    }

    /// Where one file is, for messages.
    pub fn location_of(&self, name: &str) -> String {
        match &self.place {
            FilesSource::Folder { root, .. } => root.join(self.own_name(name)).display().to_string(),
            FilesSource::Gguf { path, parts, .. } => part_of(parts, name).unwrap_or(path).display().to_string(),
            FilesSource::Embedded { name: model, .. } => format!("{model}/{name}"),
        }
    }

    /// The weights file the user pointed at, if it was not the folder.
    pub(crate) fn chosen_weights(&self) -> Option<&str> {
        match &self.place {
            FilesSource::Folder { weights, .. } => weights.as_deref(),
            FilesSource::Gguf { path, .. } => path.file_name().and_then(|name| name.to_str()),
            FilesSource::Embedded { .. } => None,
        }
    }

    /// Whether this is a GGUF file.
    pub(crate) const fn is_gguf(&self) -> bool {
        matches!(self.place, FilesSource::Gguf { .. })
    }

    /// The names of the files of a model in GGUF files, where this is one, in order.
    pub(super) fn gguf_names(&self) -> Option<Vec<String>> {
        let FilesSource::Gguf { parts, .. } = &self.place else { return None };
        Some(parts.iter().map(|part| file_name(part)).collect())
    }

    /// The tensors that one of these files has.
    pub(super) fn gguf_tensors(&self, name: &str) -> Option<impl Iterator<Item = &MappedTensor>> {
        let FilesSource::Gguf { parts, model, .. } = &self.place else { return None };
        let part = parts.iter().position(|part| file_name(part) == name).unwrap_or(0);
        Some(model.tensors.iter().filter(move |tensor| tensor.part == part))
    }

    /// What of a GGUF file each value of its configuration is from, key or tensor.
    pub(super) fn gguf_sources(&self) -> Option<&BTreeMap<String, String>> {
        let FilesSource::Gguf { model, .. } = &self.place else { return None };
        Some(&model.sources)
    }

    /// Whether weights that can be read are there, in one file or in shards.
    pub fn has_weights(&self) -> bool {
        self.is_gguf() || self.formats().iter().any(|(single, index)| self.contains(single) || self.contains(index))
    }

    /// What the weights may be called.
    pub(super) fn formats(&self) -> [Format; 2] {
        if self.is_open_clip() { OPEN_CLIP_FORMATS } else { FORMATS }
    }

    /// Whether this is what OpenCLIP saves: its configuration and no other, or a weights file that it names so.
    pub(super) fn is_open_clip(&self) -> bool {
        let FilesSource::Folder { root, weights } = &self.place else { return false };
        let is_chosen = weights.as_deref().is_some_and(|name| name.starts_with("open_clip_"));
        root.join(OPEN_CLIP_CONFIG).is_file() && (is_chosen || !root.join(CONFIG).is_file())
    }

    /// The adapter in this place, if there is one.
    pub(crate) fn adapter(&self) -> Option<Adapter> {
        let bytes = self.read("adapter_config.json")?.ok()?;
        let config: serde_json::Value = serde_json::from_slice(&bytes).unwrap_or_default();
        let base = config["base_model_name_or_path"].as_str().filter(|base| !base.is_empty());
        let base = base.map_or_else(|| "another model".to_owned(), |base| format!("“{base}”"));
        Some(Adapter { base, kind: config["peft_type"].as_str().unwrap_or_default().to_owned() })
    }

    /// A sentence about an adapter beside whole weights.
    pub(crate) fn adapter_beside(&self) -> Option<String> {
        let name = ADAPTERS.into_iter().find(|name| self.contains(name) && self.chosen_weights() != Some(*name))?;
        let nobody = || Adapter { base: "another model".to_owned(), kind: String::new() };
        let Adapter { base, kind } = self.adapter().unwrap_or_else(nobody);
        Some(format!(
            "An adapter for {base} lies beside the weights ({name}) and is not applied; transformers with PEFT applies it. {}",
            way_of_adapter(&kind)
        ))
    }

    /// What there is in the folder and in folders in it, by name; hidden ones aside.
    ///
    /// # Errors
    /// When the folder itself cannot be listed.
    pub(super) fn entries(&self) -> io::Result<Vec<FolderEntry>> {
        let mut entries = Vec::new();
        if let FilesSource::Folder { root, .. } = &self.place {
            list(root, "", &mut entries)?;
        }
        Ok(entries)
    }

    /// Bytes of all files together.
    pub fn size_bytes(&self) -> u64 {
        match &self.place {
            FilesSource::Folder { root, .. } => fs::read_dir(root)
                .into_iter()
                .flatten()
                // Snapshots in the hub's cache are links, so the size is that of the target.
                .filter_map(|entry| fs::metadata(entry.ok()?.path()).ok())
                .filter(fs::Metadata::is_file)
                .map(|metadata| metadata.len())
                .sum(),
            FilesSource::Gguf { parts, .. } => {
                parts.iter().filter_map(|part| fs::metadata(part).ok()).map(|metadata| metadata.len()).sum()
            }
            FilesSource::Embedded { files, .. } => files.iter().map(|(_, bytes)| bytes.len() as u64).sum(),
        }
    }

    /// Tells everything by which this checkpoint can be known again: of files inside the program their name, of
    /// those in a folder name, size, time of the last change, and what stands at the beginning and the end, which
    /// is all of a configuration or vocabulary.
    pub fn identify(&self, tell: &mut dyn FnMut(&[u8])) {
        if let Some(adapter) = self.merged() {
            adapter.identify(tell);
        }
        let (root, chosen) = match &self.place {
            FilesSource::Folder { root, weights } => (root, weights.as_deref().unwrap_or_default()),
            FilesSource::Gguf { parts, .. } => return parts.iter().for_each(|part| identify_file(part, tell)),
            FilesSource::Embedded { name, .. } => return tell(name.as_bytes()),
        };
        tell(fs::canonicalize(root).unwrap_or_else(|_| root.clone()).as_os_str().as_encoded_bytes());
        tell(chosen.as_bytes());
        let entries = fs::read_dir(root).into_iter().flatten().flatten();
        let mut paths: Vec<PathBuf> = entries.map(|entry| entry.path()).filter(|path| path.is_file()).collect();
        paths.sort();
        for path in paths {
            identify_file(&path, tell);
        }
    }

    /// Whether there is a file of this name.
    pub fn contains(&self, name: &str) -> bool {
        match &self.place {
            FilesSource::Folder { root, .. } => root.join(self.own_name(name)).is_file(),
            FilesSource::Gguf { parts, model, .. } => model.files.contains_key(name) || part_of(parts, name).is_some(),
            FilesSource::Embedded { files, .. } => files.iter().any(|(file, _)| *file == name),
        }
    }

    /// What a file is called here.
    pub(crate) fn own_name<'n>(&self, name: &'n str) -> &'n str {
        if name == CONFIG && self.is_open_clip() { OPEN_CLIP_CONFIG } else { name }
    }

    /// All bytes of a configuration or vocabulary file; `None` when there is no such file.
    ///
    /// # Errors
    /// When the file cannot be read or is larger than any such file should be.
    pub fn read(&self, name: &str) -> Option<io::Result<Cow<'static, [u8]>>> {
        if !self.contains(name) {
            return None;
        }
        self.read.lock().unwrap_or_else(PoisonError::into_inner).insert(name.to_owned());
        match &self.place {
            FilesSource::Folder { root, .. } => {
                let bytes = read_bounded(&root.join(self.own_name(name)));
                let is_named = name != CONFIG || !self.is_open_clip();
                Some(bytes.map(|bytes| Cow::Owned(if is_named { bytes } else { formats::with_type(bytes) })))
            }
            FilesSource::Gguf { model, .. } => model.files.get(name).map(|bytes| Ok(Cow::Owned(bytes.clone()))),
            FilesSource::Embedded { files, .. } => {
                files.iter().find(|(file, _)| *file == name).map(|(_, bytes)| Ok(Cow::Borrowed(*bytes)))
            }
        }
    }

    /// Names of the configuration and vocabulary files that were read so far, whoever holds a clone of this.
    pub(super) fn names_read(&self) -> BTreeSet<String> {
        self.read.lock().unwrap_or_else(PoisonError::into_inner).clone()
    }

    /// The commit of a snapshot in the hub's cache.
    pub(super) fn commit(&self) -> Option<String> {
        let FilesSource::Folder { root, .. } = &self.place else { return None };
        let root = fs::canonicalize(root).ok()?;
        let is_snapshot = root.parent()?.file_name()? == "snapshots";
        let name = root.file_name()?.to_str()?;
        (is_snapshot && is_hexadecimal(name, 40)).then(|| name.to_owned())
    }

    /// SHA-256 of a file that is a link into the hub's cache, which names large contents by it.
    pub(super) fn blob_digest(&self, name: &str) -> Option<String> {
        let FilesSource::Folder { root, .. } = &self.place else { return None };
        let blob = fs::read_link(root.join(name)).ok()?;
        let is_blob = blob.parent()?.file_name()? == "blobs";
        let name = blob.file_name()?.to_str()?;
        (is_blob && is_hexadecimal(name, 64)).then(|| name.to_owned())
    }

    /// As [`Self::reader`]; `None` for what is no file, such as a pipe, on which opening would wait.
    pub(super) fn reader_of_file(&self, name: &str) -> Option<io::Result<(Box<dyn ReadSeek>, u64)>> {
        self.contains(name).then(|| self.reader(name))
    }

    /// A fresh reader of one file at offset 0, and the file's length in bytes. Threads that read
    /// the same file at once open one each.
    pub(crate) fn reader(&self, name: &str) -> io::Result<(Box<dyn ReadSeek>, u64)> {
        match &self.place {
            FilesSource::Folder { root, .. } => opened(&root.join(name)),
            FilesSource::Gguf { path, parts, .. } => opened(part_of(parts, name).unwrap_or(path)),
            FilesSource::Embedded { files, .. } => {
                let bytes = files.iter().find(|(file, _)| *file == name).map(|(_, bytes)| *bytes);
                let bytes = bytes.ok_or_else(|| io::Error::from(io::ErrorKind::NotFound))?;
                Ok((Box::new(Cursor::new(bytes)), bytes.len() as u64))
            }
        }
    }
}

/// The file of this name.
fn part_of<'p>(parts: &'p [PathBuf], name: &str) -> Option<&'p PathBuf> {
    parts.iter().find(|part| file_name(part) == name)
}

fn file_name(path: &Path) -> String {
    path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default()
}

/// What is wrong with a file, of which another one is a part.
fn of_part(name: &str, error: GgufError) -> GgufError {
    match error {
        GgufError::Damaged(reason) => GgufError::Damaged(format!("of its part {name}, {reason}")),
        GgufError::Unsupported(reason) => GgufError::Unsupported(format!("of its part {name}, {reason}")),
        GgufError::Io(error) if error.kind() == ErrorKind::NotFound => {
            GgufError::Damaged(format!("its part {name} is missing"))
        }
        GgufError::Io(error) => GgufError::Damaged(format!("its part {name} cannot be read ({error})")),
    }
}

fn opened(path: &Path) -> io::Result<(Box<dyn ReadSeek>, u64)> {
    let file = File::open(path)?;
    let len = file.metadata()?.len();
    Ok((Box::new(file), len))
}

fn has_extension(path: &Path, extension: &str) -> bool {
    path.extension().is_some_and(|found| found.eq_ignore_ascii_case(extension))
}

/// Whether a file is a GGUF file under another name, as the caches of some programs have it.
fn begins_as_gguf(path: &Path) -> bool {
    let mut start = [0; MAGIC.len()];
    path.extension().is_none()
        && File::open(path).and_then(|mut file| file.read_exact(&mut start)).is_ok()
        && start == *MAGIC
}

/// Tells a file's path, size, time of the last change, and what stands at its beginning and its end.
fn identify_file(path: &Path, tell: &mut dyn FnMut(&[u8])) {
    tell(path.as_os_str().as_encoded_bytes());
    // What cannot be read was not read when the model was loaded, either.
    let Ok(metadata) = fs::metadata(path) else { return };
    let changed = metadata.modified().ok().and_then(|time| time.duration_since(UNIX_EPOCH).ok());
    tell(&metadata.len().to_le_bytes());
    tell(&changed.unwrap_or_default().as_nanos().to_le_bytes());
    for part in ends(path, metadata.len()).unwrap_or_default() {
        tell(&part);
    }
}

/// Whether a text is `n` lower-case hexadecimal digits.
fn is_hexadecimal(text: &str, n: usize) -> bool {
    text.len() == n && text.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'a'..=b'f'))
}

/// Why there is nothing to open at a path.
fn not_there(path: &Path, error: io::Error) -> LoadError {
    let location = path.display().to_string();
    let other =
        |what: String, advice: &str| LoadError::OtherKind { what, advice: advice.to_owned(), path: location.clone() };
    match error.kind() {
        ErrorKind::NotFound if fs::symlink_metadata(path).is_ok() => {
            other("this is a link to a place that is gone".to_owned(), "Choose the model itself, or download it again")
        }
        ErrorKind::InvalidFilename => other(
            format!("this path of {} letters is too long for a file system", location.chars().count()),
            "Check what was typed or pasted",
        ),
        ErrorKind::PermissionDenied => LoadError::Io { file: "this path".to_owned(), path: location, source: error },
        _ => LoadError::NotFound { path: location },
    }
}

/// Adds what lies in a folder, whose own name is `prefix`.
fn list(folder: &Path, prefix: &str, entries: &mut Vec<FolderEntry>) -> io::Result<()> {
    let mut names: Vec<_> =
        fs::read_dir(folder)?.flatten().filter_map(|entry| entry.file_name().into_string().ok()).collect();
    names.sort();
    let depth = prefix.matches('/').count();
    for name in names.into_iter().filter(|name| !name.starts_with('.')) {
        if entries.len() == MAX_ENTRIES {
            break;
        }
        let path = folder.join(&name);
        let kind = match fs::metadata(&path) {
            Ok(metadata) if metadata.is_file() => EntryKind::File,
            Ok(metadata) if metadata.is_dir() => EntryKind::Folder,
            _ => EntryKind::Other,
        };
        let name = format!("{prefix}{name}");
        entries.push(FolderEntry { name: name.clone(), kind });
        if kind == EntryKind::Folder && depth < MAX_DEPTH {
            // What cannot be listed has nothing to say.
            list(&path, &format!("{name}/"), entries).ok();
        }
    }
    Ok(())
}

/// The first and the last bytes of a file.
fn ends(path: &Path, len: u64) -> io::Result<[Vec<u8>; 2]> {
    let mut file = File::open(path)?;
    let (mut first, mut last) = (Vec::new(), Vec::new());
    file.by_ref().take(END_BYTES).read_to_end(&mut first)?;
    file.seek(io::SeekFrom::Start(len.saturating_sub(END_BYTES).max(END_BYTES)))?;
    file.take(END_BYTES).read_to_end(&mut last)?;
    Ok([first, last])
}

fn read_bounded(path: &Path) -> io::Result<Vec<u8>> {
    let len = fs::metadata(path)?.len();
    if len > MAX_TEXT_BYTES {
        let message = format!("{} MiB is too large for this kind of file", len >> 20);
        return Err(io::Error::new(io::ErrorKind::InvalidData, message));
    }
    fs::read(path)
}
