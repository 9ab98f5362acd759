//! The tensors of a safetensors file that holds captures, checked on top of what [`Header`] checks.

use std::{
    collections::HashMap,
    io::{Read, Seek, SeekFrom},
};

use serde_json::Value;

use super::{
    FileError,
    entry::{CheckedTensor, Stored},
    place,
};
use crate::tensor_file::{Declared, Header, HeaderError};

/// The longest header that is read, in bytes: as the reference implementation.
const MAX_HEADER: u64 = 100_000_000;

/// Everything a file says about itself.
pub(super) struct Described {
    /// In the order of their values.
    pub(super) entries: Vec<CheckedTensor>,
    pub(super) metadata: HashMap<String, String>,
}

/// Reads and checks the header.
pub(super) fn read(source: &mut (impl Read + Seek)) -> Result<Described, FileError> {
    let file_len = source.seek(SeekFrom::End(0))?;
    source.seek(SeekFrom::Start(0))?;
    let Header { mut tensors, metadata, data_start, data_len } =
        Header::read(source, file_len, MAX_HEADER).map_err(|error| match error {
            HeaderError::Io(error) => FileError::Io(error),
            HeaderError::TooShort => FileError::NotACapture("it is too short".to_owned()),
            HeaderError::TooLong { .. } | HeaderError::TooLarge { .. } => {
                FileError::NotACapture("it does not begin with a safetensors header".to_owned())
            }
            HeaderError::Json(error) => FileError::NotACapture(format!("its header is broken ({error})")),
            HeaderError::Tensor { name, problem } => FileError::tensor(&name, problem),
        })?;
    tensors.sort_by_key(|tensor| (tensor.begin, tensor.end));
    let mut entries = Vec::with_capacity(tensors.len());
    let mut expected = 0;
    for tensor in tensors {
        if tensor.begin != expected {
            return Err(FileError::tensor(&tensor.name, "does not begin where the one before it ends"));
        }
        expected = tensor.end;
        entries.push(entry(tensor, data_start)?);
    }
    if expected != data_len {
        return Err(FileError::NotACapture("its length is not what its header says".to_owned()));
    }
    let text = |(key, value): (String, Value)| value.as_str().map(|text| (key, text.to_owned()));
    let metadata = metadata.into_iter().map(text).collect::<Option<_>>();
    let metadata = metadata.ok_or_else(|| FileError::NotACapture("its metadata are not texts".to_owned()))?;
    Ok(Described { entries, metadata })
}

/// Values are `f32`, those of a picture bytes.
fn entry(tensor: Declared, data_start: u64) -> Result<CheckedTensor, FileError> {
    place::check_name(&tensor.name)?;
    let offset = data_start + tensor.begin;
    let (value_bytes, values) = match tensor.dtype.as_str() {
        "F32" => (4, Stored::File(offset)),
        "U8" if place::is_picture(&tensor.name) => (1, Stored::Bytes(offset)),
        other => {
            let dtype: String = other.chars().take(16).collect();
            return Err(FileError::tensor(&tensor.name, format!("has the type {dtype}; save it as float32")));
        }
    };
    if tensor.implied_bytes(value_bytes) != Some(tensor.n_bytes()) {
        let shape = &tensor.shape[..tensor.shape.len().min(8)];
        let problem = format!("has the shape {shape:?} but {} bytes of values in the file", tensor.n_bytes());
        return Err(FileError::tensor(&tensor.name, problem));
    }
    let n_values = (tensor.n_bytes() / value_bytes as u64) as usize;
    Ok(CheckedTensor { name: tensor.name, shape: tensor.shape, n_values, values })
}
