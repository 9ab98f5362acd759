//! PyTorch checkpoints (`pytorch_model.bin`): a zip archive of a pickle, which describes the tensors,
//! and their values, which are read from the file like those of any other.
//!
//! Nothing in a checkpoint is ever executed. A pickle is a program for a small machine that can name
//! any Python function to be called; here the names stay names, and only those of tensors mean
//! something.

mod guard;
mod nested;
mod tensors;

use std::{
    collections::HashMap,
    io::{self, BufReader, Read as _},
};

use zip::{CompressionMethod, ZipArchive, result::ZipError};

use candle_core::pickle::Object;
use serde_json::{Map, Value};

use self::tensors::Described;
use super::entry::{Dtype, Rearranged, TensorEntry, extent, in_order, is_presentable};
use crate::model::checkpoint::files::ReadSeek;

/// Above this, a pickle describes more tensors than any checkpoint has.
const MAX_PICKLE_BYTES: u64 = 8 << 20;
/// How files begin that PyTorch wrote before it used archives.
const LEGACY: [u8; 14] = [0x80, 2, 0x8a, 0x0a, 0x6c, 0xfc, 0x9c, 0x46, 0xf9, 0x20, 0x6a, 0xa8, 0x50, 0x19];
const SAVE_AGAIN: &str = "Save it again in Python, torch.save(torch.load(FILE, weights_only=True), FILE)";
const SAVE_WEIGHTS: &str = "Save the weights alone in Python, torch.save(model.state_dict(), FILE)";

/// Why a checkpoint cannot be read.
#[derive(Debug)]
pub(super) enum Unreadable {
    /// The file breaks its own format: one clause.
    Damaged(String),
    /// It is whole, but of a kind that is not read: what follows the file's name, and what to do.
    Foreign { what: String, advice: &'static str },
}

/// The tensors of a checkpoint, and the keys that lead to them when they are not on top.
#[derive(Debug)]
pub(super) struct Checkpoint {
    pub entries: Vec<(String, TensorEntry)>,
    pub wrapper: String,
}

/// Where a part of an archive lies in the file, in bytes.
#[derive(Clone, Copy, Debug)]
struct ArchivePart {
    start: u64,
    len: u64,
}

/// Reads what a checkpoint of `file_len` bytes says about its tensors.
pub(super) fn read(file: &mut dyn ReadSeek, file_len: u64) -> Result<Checkpoint, Unreadable> {
    let (object, parts) = object(file, file_len)?;
    let (tensors, wrapper) = tensors::find(object)?;
    Ok(Checkpoint { entries: placed(tensors, &parts)?, wrapper })
}

/// Reads what a file of `file_len` bytes says about tensors, numbers and texts in dictionaries within dictionaries; names
/// are the keys that lead there, joined by dots.
pub(super) fn read_nested(file: &mut dyn ReadSeek, file_len: u64) -> Result<Nested, Unreadable> {
    let (object, parts) = object(file, file_len)?;
    let found = nested::find(object)?;
    Ok((placed(found.tensors, &parts)?, found.notes))
}

/// Tensors by name, and the numbers and texts beside them.
pub(super) type Nested = (Vec<(String, TensorEntry)>, Map<String, Value>);

/// The object that an archive describes, and where its storages lie.
fn object(file: &mut dyn ReadSeek, file_len: u64) -> Result<(Object, HashMap<String, ArchivePart>), Unreadable> {
    let mut start = Vec::new();
    let begin = (&mut *file).take(LEGACY.len() as u64).read_to_end(&mut start).and_then(|_| file.rewind());
    begin.map_err(|error| damaged(&error))?;
    if start == LEGACY {
        let what = "was saved by PyTorch before 1.6, in a format that is not read".to_owned();
        return Err(Unreadable::Foreign { what, advice: SAVE_AGAIN });
    }
    if !start.starts_with(b"PK") {
        let what = "is not a PyTorch checkpoint".to_owned();
        return Err(Unreadable::Foreign { what, advice: "The download may have failed; fetch the file again" });
    }
    let mut archive = ZipArchive::new(BufReader::new(file)).map_err(|error| damaged(&error))?;
    let root = root(&archive)?;
    let parts = parts(&mut archive, &root, file_len)?;
    let pickle = pickle(&mut archive, &root)?;
    if let [0x80, version @ 4..=u8::MAX, ..] = pickle.as_slice() {
        let what = format!("was saved with pickle protocol {version}, which is not read");
        return Err(Unreadable::Foreign { what, advice: SAVE_AGAIN });
    }
    Ok((guard::parse(&pickle)?, parts))
}

/// Tensors checked against their storages.
fn placed(
    tensors: Vec<(String, Described)>,
    parts: &HashMap<String, ArchivePart>,
) -> Result<Vec<(String, TensorEntry)>, Unreadable> {
    let mut entries = Vec::with_capacity(tensors.len());
    for (name, tensor) in tensors {
        let entry = place(tensor, parts).map_err(|reason| Unreadable::Damaged(format!("tensor {name} {reason}")))?;
        entries.push((name, entry));
    }
    Ok(entries)
}

/// The folder inside an archive that holds everything.
fn root<R: io::Read + io::Seek>(archive: &ZipArchive<R>) -> Result<String, Unreadable> {
    let names: Vec<_> = archive.file_names().filter_map(Result::ok).collect();
    let folder_of = |file: &str| {
        let folders = names.iter().filter_map(|name| name.strip_suffix(file));
        folders.filter(|folder| folder.is_empty() || folder.ends_with('/')).min_by_key(|folder| folder.len())
    };
    if folder_of("constants.pkl").is_some() {
        return Err(Unreadable::Foreign {
            what: "holds a TorchScript program".to_owned(),
            advice: "Save its weights alone in Python, torch.save(torch.jit.load(FILE).state_dict(), FILE)",
        });
    }
    folder_of("data.pkl").map(str::to_owned).ok_or_else(|| Unreadable::Foreign {
        what: "is an archive, but not one that PyTorch wrote".to_owned(),
        advice: "Unpack it and open the folder inside",
    })
}

/// Where every storage lies, by its name.
fn parts<R: io::Read + io::Seek>(
    archive: &mut ZipArchive<R>,
    root: &str,
    file_len: u64,
) -> Result<HashMap<String, ArchivePart>, Unreadable> {
    let mut parts = HashMap::new();
    for idx in 0..archive.len() {
        let part = archive.by_index_raw(idx).map_err(|error| damaged(&error))?;
        let Ok(name) = part.name() else { continue };
        let Some(name) = name.strip_prefix(root) else { continue };
        if part.compression() != CompressionMethod::Stored || part.encrypted() {
            let what = "is a compressed or encrypted archive, which PyTorch does not write".to_owned();
            return Err(Unreadable::Foreign { what, advice: SAVE_AGAIN });
        }
        let Some(name) = name.strip_prefix("data/").filter(|name| is_presentable(name)) else { continue };
        let (start, len) = (part.data_start().unwrap_or(file_len), part.size());
        if start.checked_add(len).is_none_or(|end| end > file_len) {
            return Err(Unreadable::Damaged(format!("the values of part {name} are cut off")));
        }
        parts.insert(name.to_owned(), ArchivePart { start, len });
    }
    Ok(parts)
}

/// The description of the tensors.
fn pickle<R: io::Read + io::Seek>(archive: &mut ZipArchive<R>, root: &str) -> Result<Vec<u8>, Unreadable> {
    let mut read = |name: &str, max: u64| -> Result<Vec<u8>, ZipError> {
        let mut bytes = Vec::new();
        archive.by_name(&format!("{root}{name}"))?.take(max).read_to_end(&mut bytes)?;
        Ok(bytes)
    };
    // Only newer versions of PyTorch write this part.
    if read("byteorder", 16).is_ok_and(|order| order == b"big") {
        let what = "was saved on a computer with the opposite byte order".to_owned();
        return Err(Unreadable::Foreign { what, advice: SAVE_AGAIN });
    }
    let pickle = read("data.pkl", MAX_PICKLE_BYTES + 1).map_err(|error| damaged(&error))?;
    if pickle.len() as u64 > MAX_PICKLE_BYTES {
        let reason = format!("its description of the tensors has more than {} MiB", MAX_PICKLE_BYTES >> 20);
        return Err(Unreadable::Damaged(reason));
    }
    Ok(pickle)
}

/// Checks a tensor against its storage, so that nobody else has to.
fn place(tensor: Described, parts: &HashMap<String, ArchivePart>) -> Result<TensorEntry, String> {
    let Described { dtype_name, storage, offset, shape, strides } = tensor;
    let Some(dtype) = Dtype::from_name(&dtype_name) else {
        return Ok(TensorEntry { dtype_name, dtype: None, shape, order: None, shift: 0.0, start: 0 });
    };
    let part = parts.get(&storage).ok_or_else(|| format!("lies in the part {storage}, which is missing"))?;
    let size = dtype.bytes_of(1) as u64;
    let n_stored = part.len / size;
    let end = extent(&shape, &strides).and_then(|extent| offset.checked_add(extent));
    if end.is_none_or(|end| end as u64 > n_stored) {
        return Err(format!("of shape {shape:?} is larger than its part {storage}"));
    }
    let n_values = shape.iter().try_fold(1u64, |n, &dim| n.checked_mul(dim as u64));
    // One stored value can stand for many; then the shape says nothing about the file's size.
    if n_values.is_none_or(|n| n > n_stored) {
        return Err(format!("of shape {shape:?} repeats {n_stored} stored values"));
    }
    let start = part.start + offset as u64 * size;
    let order = (!in_order(&shape, &strides)).then(|| Rearranged { dims: shape.clone(), strides });
    Ok(TensorEntry { dtype_name, dtype: Some(dtype), shape, order, shift: 0.0, start })
}

fn damaged(error: &dyn std::error::Error) -> Unreadable {
    Unreadable::Damaged(format!("its archive cannot be read ({error})"))
}
