//! One tensor of a file: its name, its shape, and where its values are.

use std::{
    io::{Read, Seek, SeekFrom},
    sync::Arc,
};

use super::FileError;

/// Bytes read at once; a multiple of four.
const CHUNK: usize = 1 << 20;

/// One tensor. Checked: `shape` has exactly `n_values` values, which are where `values` says.
#[derive(Clone, Debug)]
pub(super) struct CheckedTensor {
    pub(super) name: String,
    pub(super) shape: Vec<usize>,
    pub(super) n_values: usize,
    pub(super) values: Stored,
}

/// Where the values of a tensor are.
#[derive(Clone, Debug)]
pub(super) enum Stored {
    /// In the file, as little-endian `f32`, so many bytes from its start.
    File(u64),
    /// In the file, as bytes: a picture.
    Bytes(u64),
    /// Already read, by a format whose values cannot be sought.
    Memory(Arc<[f32]>),
}

impl CheckedTensor {
    /// The shape of a tensor with `N` axes.
    pub(super) fn shape_of<const N: usize>(&self) -> Result<[usize; N], FileError> {
        <[usize; N]>::try_from(&self.shape[..])
            .map_err(|_| FileError::tensor(&self.name, format!("has {} axes where {N} belong", self.shape.len())))
    }

    /// The values, without holding their bytes a second time.
    pub(super) fn read(&self, source: &mut (impl Read + Seek)) -> Result<Arc<[f32]>, FileError> {
        let offset = match &self.values {
            Stored::File(offset) => *offset,
            Stored::Memory(values) => return Ok(Arc::clone(values)),
            Stored::Bytes(_) => return Err(FileError::tensor(&self.name, "holds bytes where numbers belong")),
        };
        source.seek(SeekFrom::Start(offset))?;
        let mut values = Vec::new();
        values.try_reserve_exact(self.n_values).map_err(|_| {
            FileError::tensor(&self.name, format!("has {} values, more than fit in memory", self.n_values))
        })?;
        let mut left = 4 * self.n_values;
        let mut buffer = vec![0u8; left.min(CHUNK)];
        while left > 0 {
            let chunk = &mut buffer[..left.min(CHUNK)];
            source.read_exact(chunk)?;
            values.extend(chunk.chunks_exact(4).map(|b| f32::from_le_bytes([b[0], b[1], b[2], b[3]])));
            left -= chunk.len();
        }
        Ok(values.into())
    }

    /// The values of a picture.
    pub(super) fn read_bytes(&self, source: &mut (impl Read + Seek)) -> Result<Vec<u8>, FileError> {
        let Stored::Bytes(offset) = self.values else {
            return Err(FileError::tensor(&self.name, "holds numbers where bytes belong"));
        };
        source.seek(SeekFrom::Start(offset))?;
        let mut bytes = Vec::new();
        // No more than the file has: the header's sizes were checked against its length.
        source.take(self.n_values as u64).read_to_end(&mut bytes)?;
        if bytes.len() == self.n_values {
            return Ok(bytes);
        }
        Err(FileError::tensor(&self.name, "is cut short"))
    }
}
