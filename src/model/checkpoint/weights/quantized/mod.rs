//! Weights that a file holds in few bits, beside what scales them: which tensors belong together, and their numbers.
//!
//! Each such tensor takes the place of its stored form in the table of tensors, with the shape that it has as numbers.

mod fp8;
mod mxfp4;

use std::{
    collections::BTreeMap,
    io::{self, Read as _, SeekFrom},
};

use rayon::prelude::*;

use super::{
    entry::{Dtype, TensorEntry},
    read,
};
use crate::model::{
    LoadError,
    checkpoint::{ModelFiles, quantization::Quantization},
};

/// Numbers per task; a multiple of all blocks.
const PIECE: usize = 1 << 20;

/// Tensors of weight files by name, each with the number of its file.
type EntryTable = BTreeMap<String, (usize, TensorEntry)>;

/// A tensor and what scales it, as the files hold them.
#[derive(Clone, Debug)]
pub(super) struct Quantized {
    form: CodeForm,
    codes: (usize, TensorEntry),
    scales: (usize, TensorEntry),
    /// Names of the tensors besides the one that is called as this.
    pub companions: Vec<String>,
}

#[derive(Clone, Copy, Debug)]
enum CodeForm {
    Mxfp4,
    Fp8(fp8::ScaleGrid),
}

/// Takes the tensors of this form out of `entries`, puts in their place what they stand for, and answers how each is
/// read.
///
/// # Errors
/// A sentence about tensors that do not fit together.
pub(super) fn take(entries: &mut EntryTable, how: Quantization) -> Result<BTreeMap<String, Quantized>, String> {
    match how {
        Quantization::Mxfp4 => mxfp4::take(entries),
        Quantization::Fp8 => fp8::take(entries, "_scale_inv"),
        Quantization::CompressedFloat => fp8::take(entries, "_scale"),
    }
}

/// What a tensor of a file takes as numbers, where its name and type tell: for estimates without a configuration.
pub(super) fn measured(name: &str, entry: TensorEntry) -> TensorEntry {
    match entry.dtype_name.as_str() {
        fp8::E4M3 => TensorEntry { dtype: Some(Dtype::F32), ..entry },
        "U8" if name.ends_with(mxfp4::BLOCKS) => {
            TensorEntry { dtype: Some(Dtype::Bf16), shape: vec![2, entry.n_values()], ..entry }
        }
        _ => entry,
    }
}

impl Quantized {
    /// Fills `out` with the numbers from `first` on, where a block begins.
    pub fn fill(
        &self,
        files: &ModelFiles,
        shards: &[String],
        name: &str,
        first: usize,
        out: &mut [f32],
    ) -> Result<(), LoadError> {
        let stored = StoredBytes { files, shards };
        match self.form {
            CodeForm::Mxfp4 => mxfp4::fill(stored, (&self.codes, &self.scales), first, out)?,
            CodeForm::Fp8(grid) => {
                let name = self.companions.first().map_or("", String::as_str);
                fp8::fill(stored, &self.codes, (name, &self.scales), grid, (first, out))?;
            }
        }
        if out.par_iter().all(|value| value.is_finite()) {
            return Ok(());
        }
        Err(LoadError::NotFinite { name: name.to_owned(), path: files.location_of(stored.shard(self.codes.0)) })
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

    /// So many bytes of a tensor from `first` on.
    fn bytes(self, (shard, entry): &(usize, TensorEntry), first: usize, n: usize) -> Result<Vec<u8>, LoadError> {
        let shard = self.shard(*shard);
        let read = || -> io::Result<Vec<u8>> {
            let (mut reader, _) = self.files.reader(shard)?;
            reader.seek(SeekFrom::Start(entry.start + first as u64))?;
            let mut bytes = vec![0; n];
            reader.read_exact(&mut bytes)?;
            Ok(bytes)
        };
        read().map_err(|source| LoadError::Io { file: shard.to_owned(), path: self.files.location_of(shard), source })
    }

    /// All numbers of a tensor of floating point.
    fn numbers(self, name: &str, (shard, entry): &(usize, TensorEntry)) -> Result<Vec<f32>, LoadError> {
        let mut values = vec![0.0; entry.n_values()];
        read::fill(self.files, self.shard(*shard), name, entry, &mut values)?;
        Ok(values)
    }
}
