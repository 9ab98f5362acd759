//! A file of named tensors that is no checkpoint: a lens, a dictionary of features.

use std::{collections::BTreeMap, path::Path};

use serde_json::{Map, Value};

use super::{entry::TensorEntry, read, shards};
use crate::model::{LoadError, checkpoint::ModelFiles};

/// Tensors by name, with what the file says beside them.
pub(crate) struct ArrayFile {
    files: ModelFiles,
    file: String,
    entries: BTreeMap<String, TensorEntry>,
    pub notes: Map<String, Value>,
}

impl ArrayFile {
    /// What a `.safetensors` file or an archive of PyTorch's declares. Names in an archive are the keys of its
    /// dictionaries, joined by dots. Nothing in it is executed.
    ///
    /// # Errors
    /// When it cannot be read or is damaged.
    pub fn open(path: &Path) -> Result<Self, LoadError> {
        let files = ModelFiles::open(path)?;
        let missing = || LoadError::NotAModel { path: path.display().to_string() };
        let file = files.chosen_weights().ok_or_else(missing)?.to_owned();
        let (entries, notes) = shards::open_nested(&files, &file)?;
        Ok(Self { files, file, entries: entries.into_iter().collect(), notes })
    }

    /// The name of the file.
    pub fn name(&self) -> &str {
        &self.file
    }

    /// Where it is, for messages.
    pub fn path(&self) -> String {
        self.files.location_of(&self.file)
    }

    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.entries.keys().map(String::as_str)
    }

    pub fn shape(&self, name: &str) -> Option<&[usize]> {
        self.entries.get(name).map(|entry| entry.shape.as_slice())
    }

    /// A whole number that the file says beside its tensors.
    pub fn count(&self, name: &str) -> Option<i64> {
        let value = self.notes.get(name)?;
        value.as_i64().or_else(|| value.as_str()?.parse().ok())
    }

    /// The values of a tensor, in order.
    ///
    /// # Errors
    /// When there is none of this name, it has another kind of numbers, or they are not finite.
    pub fn values(&self, name: &str) -> Result<Vec<f32>, LoadError> {
        let missing = || LoadError::MissingTensor { name: name.to_owned(), path: self.path() };
        let entry = self.entries.get(name).ok_or_else(missing)?;
        let mut values = vec![0.0; entry.n_values()];
        read::fill(&self.files, &self.file, name, entry, &mut values)?;
        Ok(values)
    }

    /// The file, refused for what it holds.
    pub fn refused(&self, what: impl Into<String>, advice: &'static str) -> LoadError {
        LoadError::Foreign { file: self.file.clone(), path: self.path(), what: what.into(), advice }
    }
}
