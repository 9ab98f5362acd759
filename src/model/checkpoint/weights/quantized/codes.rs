//! What forms of integers have in common: tensors beside each other, codes in words of 32 bits, scales by group.

use std::sync::Arc;

use super::{EntryTable, Placed, Quantized, StoredForm};
use crate::model::{
    checkpoint::weights::entry::{Dtype, TensorEntry},
    kernels::CodeWidth,
};

/// The tensor `{stem}{ending}` of this type.
///
/// # Errors
/// When it is missing, of another type or no plain one.
pub(super) fn beside(entries: &EntryTable, stem: &str, ending: &str, types: &[&str]) -> Result<Placed, String> {
    let name = format!("{stem}{ending}");
    let found = entries.get(&name).ok_or_else(|| format!("{stem} has no {name} beside it"))?;
    let kind = &found.1.dtype_name;
    if types.contains(&kind.as_str()) && found.1.order.is_none() {
        return Ok(found.clone());
    }
    Err(format!("{name} is of the type {kind}, where {} belongs", types.join(" or ")))
}

/// The types that scales have.
pub(super) const FLOATS: [&str; 3] = ["F32", "F16", "BF16"];
/// The types that words of 32 bits have.
pub(super) const WORDS: [&str; 2] = ["I32", "U32"];

/// Names that end so, without the ending.
pub(super) fn stems(entries: &EntryTable, ending: &str) -> Vec<String> {
    entries.keys().filter_map(|name| name.strip_suffix(ending)).map(str::to_owned).collect()
}

/// Rows and columns of a matrix.
pub(super) fn matrix(name: &str, entry: &TensorEntry) -> Result<[usize; 2], String> {
    <[usize; 2]>::try_from(entry.shape.as_slice()).map_err(|_| format!("{name} has the shape {:?}", entry.shape))
}

/// The width of codes of so many bits.
pub(super) const fn code_width(bits: u64) -> CodeWidth {
    if bits == 4 { CodeWidth::Four } else { CodeWidth::Eight }
}

/// Codes of so many bits in a word.
pub(super) const fn per_word(width: CodeWidth) -> usize {
    match width {
        CodeWidth::Four => 8,
        CodeWidth::Eight => 4,
    }
}

/// Code `at` of a word, the first in the lowest bits.
pub(super) const fn code_of(word: u32, at: usize, width: CodeWidth) -> u32 {
    match width {
        CodeWidth::Four => word >> (4 * at) & 0xf,
        CodeWidth::Eight => word >> (8 * at) & 0xff,
    }
}

/// The integers that codes stand for, less `zero`.
pub(super) fn integers(width: CodeWidth, zero: f32) -> Arc<[f32]> {
    (0..width.n_codes()).map(|code| code as f32 - zero).collect()
}

/// A tensor as it is found under its name: of this shape, with these companions.
pub(super) struct CodedTensor {
    pub name: String,
    pub shape: Vec<usize>,
    /// What the audit calls its type.
    pub dtype_name: String,
    /// Where its codes are.
    pub codes: Placed,
    /// Bytes that the scales and offsets of a row take at most.
    pub group_bytes: usize,
    pub code_width: CodeWidth,
    pub companions: Vec<String>,
}

/// Puts a tensor in the place of its codes, and answers how it is read.
pub(super) fn put(
    entries: &mut EntryTable,
    found: CodedTensor,
    form: impl StoredForm + 'static,
) -> (String, Quantized) {
    let CodedTensor { name, shape, dtype_name, codes: (shard, codes), group_bytes, code_width, companions } = found;
    let (width, n_rows) = match shape.split_last() {
        Some((width, outer)) => (*width, outer.iter().product::<usize>()),
        None => (1, 1),
    };
    let row_bytes = code_width.bytes_of(width) + group_bytes;
    let entry = TensorEntry { dtype_name, dtype: Some(Dtype::F32), shape, order: None, shift: 0.0, start: codes.start };
    entries.insert(name.clone(), (shard, entry));
    let size_bytes = n_rows as u64 * row_bytes as u64;
    (name, Quantized { form: Arc::new(form), width, shard, size_bytes, companions })
}

/// Bytes of each number of a tensor of floating point.
pub(super) fn number_bytes(entry: &TensorEntry) -> usize {
    entry.dtype.map_or(size_of::<f32>(), |dtype| dtype.bytes_of(1))
}

/// Columns `rows` of a matrix `[n, n_columns]`, one after the other.
pub(super) fn columns<T: Copy>(values: &[T], n_columns: usize, columns: std::ops::Range<usize>) -> Vec<T> {
    columns.flat_map(|column| values.iter().skip(column).step_by(n_columns.max(1)).copied()).collect()
}
