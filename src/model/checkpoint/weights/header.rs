//! The tensors of a safetensors file that holds weights, checked on top of what [`Header`] checks.

use std::io::Read;

use serde_json::{Map, Value};

use super::entry::{Dtype, MAX_DIMS, TensorEntry, is_presentable};
use crate::tensor_file::{Declared, Header};

/// Headers above this size are refused; those of the largest public models are a few MiB.
const MAX_HEADER_BYTES: u64 = 32 << 20;

/// All tensors of a safetensors file of `file_len` bytes.
///
/// # Errors
/// One clause that says what is wrong with the file.
pub(super) fn read(file: &mut dyn Read, file_len: u64) -> Result<Vec<(String, TensorEntry)>, String> {
    Ok(read_with_notes(file, file_len)?.0)
}

/// A tensor with its name.
type NamedEntry = (String, TensorEntry);

/// The same with what the file says of itself (`__metadata__`).
///
/// # Errors
/// As [`read`].
pub(super) fn read_with_notes(
    file: &mut dyn Read,
    file_len: u64,
) -> Result<(Vec<NamedEntry>, Map<String, Value>), String> {
    let header = Header::read(file, file_len, MAX_HEADER_BYTES).map_err(|error| error.to_string())?;
    if let Some(Declared { name, .. }) = header.tensors.iter().find(|tensor| !is_presentable(&tensor.name)) {
        return Err(format!("a name in it has {} bytes or is not text", name.len()));
    }
    check_disjoint(&header.tensors)?;
    let entry = |tensor: Declared| {
        let entry = entry(&tensor, header.data_start).map_err(|reason| format!("tensor {} {reason}", tensor.name))?;
        Ok((tensor.name, entry))
    };
    let entries = header.tensors.into_iter().map(entry).collect::<Result<_, String>>()?;
    Ok((entries, header.metadata))
}

fn entry(tensor: &Declared, data_start: u64) -> Result<TensorEntry, String> {
    let Declared { dtype: dtype_name, shape, begin, .. } = tensor;
    if !is_presentable(dtype_name) {
        return Err("has no dtype".to_owned());
    }
    if shape.len() > MAX_DIMS {
        return Err("has no valid shape".to_owned());
    }
    let dtype = Dtype::from_name(dtype_name);
    let size = dtype.map(|dtype| dtype.bytes_of(1)).or_else(|| size_of_code(dtype_name));
    if let Some(size) = size
        && tensor.implied_bytes(size) != Some(tensor.n_bytes())
    {
        return Err(format!("has the shape {shape:?} in {dtype_name}, but {} bytes", tensor.n_bytes()));
    }
    let (dtype_name, shape) = (dtype_name.clone(), shape.clone());
    Ok(TensorEntry { dtype_name, dtype, shape, order: None, shift: 0.0, start: data_start + begin })
}

/// Bytes of a number of a type that quantised weights have.
fn size_of_code(dtype_name: &str) -> Option<usize> {
    match dtype_name {
        "U8" | "I8" | "F8_E4M3" | "F8_E8M0" => Some(1),
        "I32" | "U32" => Some(4),
        _ => None,
    }
}

fn check_disjoint(tensors: &[Declared]) -> Result<(), String> {
    let mut by_start: Vec<_> = tensors.iter().filter(|tensor| tensor.n_bytes() > 0).collect();
    by_start.sort_by_key(|tensor| tensor.begin);
    for pair in by_start.windows(2) {
        if let [first, second] = pair
            && first.end > second.begin
        {
            return Err(format!("tensors {} and {} overlap", first.name, second.name));
        }
    }
    Ok(())
}
