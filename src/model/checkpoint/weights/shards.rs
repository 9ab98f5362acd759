//! Files that hold a checkpoint's weights, and what they declare.

use std::{
    collections::BTreeSet,
    io::Read as _,
    path::{Component, Path},
};

use super::{
    entry::{Dtype, Rearranged, TensorEntry},
    header,
    pickle::{self, Unreadable},
};
use crate::model::{
    LoadError,
    checkpoint::{
        files::{ModelFiles, ReadSeek},
        formats::{FORMATS, Format},
        gguf::MappedTensor,
        recognise,
    },
};

/// What stands in place of a large file that git did not fetch.
const GIT_LFS: &[u8] = b"version https://git-lfs";

/// The weight files of a checkpoint: the one the user chose, a single one, or what an index lists.
pub(crate) fn names(files: &ModelFiles) -> Result<Vec<String>, LoadError> {
    if let Some(parts) = files.gguf_names() {
        return Ok(parts);
    }
    if let Some(chosen) = files.chosen_weights() {
        // A part of a model stands for all of it.
        let index = chosen.contains("-of-").then(|| FORMATS.iter().find(|format| is_of(chosen, **format))).flatten();
        return match index {
            Some((_, index)) if files.contains(index) => listed(files, index),
            _ => Ok(vec![chosen.to_owned()]),
        };
    }
    for (single, index) in files.formats() {
        if files.contains(single) {
            return Ok(vec![single.to_owned()]);
        }
        if files.contains(index) {
            return listed(files, index);
        }
    }
    if let Some(adapter) = files.adapter() {
        return Err(recognise::adapter(&adapter, files.location()));
    }
    Err(recognise::folder(files))
}

/// Whether a shard's name belongs to a format.
fn is_of(shard: &str, (single, _): Format) -> bool {
    let extension = |name: &str| Path::new(name).extension().map(std::ffi::OsStr::to_ascii_lowercase);
    extension(shard) == extension(single)
}

/// The files that an index names.
fn listed(files: &ModelFiles, index: &str) -> Result<Vec<String>, LoadError> {
    let (file, path) = (index.to_owned(), files.location_of(index));
    let damaged = |reason: String| LoadError::Damaged { file: file.clone(), path: path.clone(), reason };
    let bytes = match files.read(index) {
        Some(bytes) => bytes.map_err(|source| LoadError::Io { file: file.clone(), path: path.clone(), source })?,
        None => return Err(damaged("it vanished".to_owned())),
    };
    let index: serde_json::Value =
        serde_json::from_slice(&bytes).map_err(|error| damaged(format!("it is not JSON ({error})")))?;
    let map = index["weight_map"].as_object().ok_or_else(|| damaged("it has no weight_map".to_owned()))?;
    let mut shards = BTreeSet::new();
    for shard in map.values() {
        let shard = shard.as_str().ok_or_else(|| damaged("a file name is not text".to_owned()))?;
        if !stays_inside(shard) {
            return Err(LoadError::ShardOutside { file, shard: shard.to_owned(), path });
        }
        shards.insert(shard.to_owned());
    }
    Ok(shards.into_iter().collect())
}

/// Whether a relative name cannot leave the folder it is relative to, on any platform.
fn stays_inside(name: &str) -> bool {
    let mut parts = Path::new(name).components();
    !name.is_empty() && !name.contains(['\\', ':']) && parts.all(|part| matches!(part, Component::Normal(_)))
}

/// What one weights file declares, and the keys inside it that lead there, if any.
pub(super) fn open(files: &ModelFiles, shard: &str) -> Result<(Vec<(String, TensorEntry)>, String), LoadError> {
    if let Some(tensors) = files.gguf_tensors(shard) {
        return Ok((tensors.map(of_gguf).collect(), String::new()));
    }
    let (file, path) = (shard.to_owned(), files.location_of(shard));
    let io_error = |source| LoadError::Io { file: file.clone(), path: path.clone(), source };
    let (mut reader, len) = files.reader(shard).map_err(io_error)?;
    let read = match is_pointer(&mut *reader) {
        Ok(false) if is_of(shard, FORMATS[0]) => {
            header::read(&mut *reader, len).map(|entries| (entries, String::new())).map_err(Unreadable::Damaged)
        }
        Ok(false) => pickle::read(&mut *reader, len).map(|checkpoint| (checkpoint.entries, checkpoint.wrapper)),
        Ok(true) => Err(left_on_server()),
        Err(source) => return Err(io_error(source)),
    };
    read.map_err(|error| refused(error, file, path))
}

/// A tensor of a GGUF file, which was checked when the file was opened.
fn of_gguf(tensor: &MappedTensor) -> (String, TensorEntry) {
    let MappedTensor { name, kind, shape, order, shift, start, .. } = tensor;
    let order = order.clone().map(|(dims, strides)| Rearranged { dims, strides });
    let (dtype_name, dtype) = (kind.name.to_owned(), Dtype::of_gguf(kind.name));
    let entry = TensorEntry { dtype_name, dtype, shape: shape.clone(), order, shift: *shift, start: *start };
    (name.clone(), entry)
}

/// All tensors of a file that is no checkpoint, also of dictionaries within dictionaries, and the numbers and texts beside
/// them.
pub(super) fn open_nested(files: &ModelFiles, shard: &str) -> Result<pickle::Nested, LoadError> {
    let (file, path) = (shard.to_owned(), files.location_of(shard));
    let io_error = |source| LoadError::Io { file: file.clone(), path: path.clone(), source };
    let (mut reader, len) = files.reader(shard).map_err(io_error)?;
    let read = match is_pointer(&mut *reader) {
        Ok(false) if is_of(shard, FORMATS[0]) => {
            header::read_with_notes(&mut *reader, len).map_err(Unreadable::Damaged)
        }
        Ok(false) => pickle::read_nested(&mut *reader, len),
        Ok(true) => Err(left_on_server()),
        Err(source) => return Err(io_error(source)),
    };
    read.map_err(|error| refused(error, file, path))
}

fn left_on_server() -> Unreadable {
    Unreadable::Foreign {
        what: "is only a pointer to the weights, which git left on the server".to_owned(),
        advice: "Run `git lfs pull` in the model's folder",
    }
}

fn refused(error: Unreadable, file: String, path: String) -> LoadError {
    match error {
        Unreadable::Damaged(reason) => LoadError::Damaged { file, path, reason },
        Unreadable::Foreign { what, advice } => LoadError::Foreign { file, path, what, advice },
    }
}

/// The names in one weights file; none where it cannot be read.
pub(crate) fn tensor_names(files: &ModelFiles, shard: &str) -> Vec<String> {
    open(files, shard).map_or_else(|_| Vec::new(), |(entries, _)| entries.into_iter().map(|(name, _)| name).collect())
}

/// The key under which a file of PyTorch's has its tensors; empty where they are on top, as in the other format.
pub(crate) fn wrapper(files: &ModelFiles, shard: &str) -> Result<String, LoadError> {
    Ok(open(files, shard)?.1)
}

/// Whether git's large-file support left a note in place of the file.
fn is_pointer(reader: &mut dyn ReadSeek) -> std::io::Result<bool> {
    let mut start = Vec::new();
    (&mut *reader).take(GIT_LFS.len() as u64).read_to_end(&mut start)?;
    reader.rewind()?;
    Ok(start == GIT_LFS)
}
