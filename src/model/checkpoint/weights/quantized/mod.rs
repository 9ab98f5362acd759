//! Weights that a file holds in few bits, beside what scales them: which tensors belong together, and their numbers.
//!
//! Each such tensor takes the place of its stored form in the table of tensors, with the shape that it has as numbers.

mod awq;
mod bitsandbytes;
mod codes;
mod compressed;
mod fp8;
mod gptq;
mod mlx;
mod mxfp4;

use std::{
    collections::BTreeMap,
    fmt::Debug,
    io::{self, Read as _, SeekFrom},
    ops::Range,
    sync::Arc,
};

use rayon::prelude::*;

use super::{entry::TensorEntry, read};
use crate::model::{
    LoadError,
    checkpoint::{ModelFiles, quantization::Quantization},
    kernels::RowPart,
};

/// A tensor of a weight file, with the number of its file.
type Placed = (usize, TensorEntry);
/// Tensors of weight files by name.
type EntryTable = BTreeMap<String, Placed>;

/// How a tensor is stored.
trait StoredForm: Debug + Send + Sync {
    /// Some of its rows as they are kept.
    fn rows(&self, stored: StoredBytes<'_>, rows: Range<usize>) -> Result<RowPart, LoadError>;
}

/// A tensor of few bits and what scales it, as the files hold them.
#[derive(Clone, Debug)]
pub(super) struct Quantized {
    form: Arc<dyn StoredForm>,
    /// Numbers in a row: the last dimension.
    width: usize,
    /// The file of its codes.
    shard: usize,
    /// Bytes that all of it takes in memory.
    size_bytes: u64,
    /// Names of the tensors besides the one that is called as this.
    pub companions: Vec<String>,
}

/// Takes the tensors of this form out of `entries`, puts in their place what they stand for, and answers how each is
/// read.
///
/// # Errors
/// A sentence about tensors that do not fit together.
pub(super) fn take(
    entries: &mut EntryTable,
    how: &Quantization,
    (files, shards): (&ModelFiles, &[String]),
) -> Result<BTreeMap<String, Quantized>, String> {
    let stored = StoredBytes { files, shards };
    match how {
        Quantization::Mxfp4 => mxfp4::take(entries),
        Quantization::Fp8 => fp8::take(entries, "_scale_inv"),
        Quantization::CompressedFloat => fp8::take(entries, "_scale"),
        Quantization::CompressedIntegers => compressed::take(entries, stored),
        Quantization::Gptq { group_size, bits, whole_zeros } => gptq::take(entries, (*bits, *group_size), *whole_zeros),
        Quantization::Awq => awq::take(entries),
        Quantization::Mlx { bits, own } => mlx::take(entries, *bits, own),
        Quantization::BitsAndBytes4 => bitsandbytes::take_4(entries, stored),
        Quantization::BitsAndBytes8 => bitsandbytes::take_8(entries),
    }
}

impl Quantized {
    /// Bytes that all of it takes in memory.
    pub const fn size_bytes(&self) -> u64 {
        self.size_bytes
    }

    /// Some of its rows, as they are kept: all dimensions but the last count rows.
    pub fn rows(
        &self,
        (files, shards): (&ModelFiles, &[String]),
        name: &str,
        rows: Range<usize>,
    ) -> Result<RowPart, LoadError> {
        let stored = StoredBytes { files, shards };
        let part = self.form.rows(stored, rows)?;
        if part.is_finite() {
            return Ok(part);
        }
        Err(LoadError::NotFinite { name: name.to_owned(), path: files.location_of(stored.shard(self.shard)) })
    }

    /// Fills `out` with the numbers from `first` on, which are whole rows.
    pub fn fill(
        &self,
        of: (&ModelFiles, &[String]),
        name: &str,
        first: usize,
        out: &mut [f32],
    ) -> Result<(), LoadError> {
        let width = self.width.max(1);
        let part = self.rows(of, name, first / width..(first + out.len()) / width)?;
        out.par_chunks_exact_mut(width).enumerate().for_each(|(row, out)| part.widen((row, width), 0..width, out));
        Ok(())
    }
}

/// Where tensors lie.
#[derive(Clone, Copy)]
struct StoredBytes<'a> {
    files: &'a ModelFiles,
    shards: &'a [String],
}

impl StoredBytes<'_> {
    fn shard(&self, idx: usize) -> &str {
        self.shards.get(idx).map_or("", String::as_str)
    }

    /// An error about the file of a tensor.
    fn damaged(self, (shard, _): &Placed, reason: String) -> LoadError {
        let file = self.shard(*shard);
        LoadError::Damaged { file: file.to_owned(), path: self.files.location_of(file), reason }
    }

    /// So many bytes of a tensor from `first` on.
    fn bytes(self, (shard, entry): &Placed, first: usize, n: usize) -> Result<Vec<u8>, LoadError> {
        let shard = self.shard(*shard);
        let read = || -> io::Result<Vec<u8>> {
            let (mut reader, len) = self.files.reader(shard)?;
            let start = entry.start + first as u64;
            if start.checked_add(n as u64).is_none_or(|end| end > len) {
                return Err(io::ErrorKind::UnexpectedEof.into());
            }
            reader.seek(SeekFrom::Start(start))?;
            let mut bytes = vec![0; n];
            reader.read_exact(&mut bytes)?;
            Ok(bytes)
        };
        read().map_err(|source| LoadError::Io { file: shard.to_owned(), path: self.files.location_of(shard), source })
    }

    /// All numbers of a tensor of 32 bits without a sign.
    fn words(self, tensor: &Placed) -> Result<Vec<u32>, LoadError> {
        let bytes = self.bytes(tensor, 0, 4 * tensor.1.n_values())?;
        Ok(bytes.as_chunks().0.iter().map(|word| u32::from_le_bytes(*word)).collect())
    }

    /// All numbers of a tensor of floating point.
    fn numbers(self, name: &str, (shard, entry): &Placed) -> Result<Vec<f32>, LoadError> {
        let mut values = vec![0.0; entry.n_values()];
        read::fill(self.files, self.shard(*shard), name, entry, &mut values)?;
        Ok(values)
    }
}
