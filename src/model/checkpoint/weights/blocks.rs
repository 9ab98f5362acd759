//! Linear maps and tables whose numbers stay in the blocks or codes of a file.

use std::io::{self, Read as _, SeekFrom};

use super::{
    Weights,
    entry::{Dtype, Rearranged, TensorEntry},
    linear::Stored,
};
use crate::model::{
    LoadError,
    kernels::{BlockPart, BlockRows, BlockType, RowPart, has_kernels},
    run::{Progress, Stage},
};

impl Weights<'_> {
    /// The outputs of tensors that stand side by side, as rows of `d_in` numbers in their blocks; `None` where the file
    /// does not store them in blocks, or not so that its rows are the outputs, and where an adapter changes them.
    pub(super) fn block_rows(
        &mut self,
        parts: &[(String, Vec<usize>)],
        d_in: usize,
        stored: Stored,
        order: Option<&[usize]>,
    ) -> Result<Option<BlockRows>, LoadError> {
        if self.rehearsing || !has_kernels(&self.device) {
            return Ok(None);
        }
        let mut found = Vec::with_capacity(parts.len());
        for (name, shape) in parts {
            let name = self.checked(name, shape)?;
            if self.is_changed(&name) && self.merged().is_some() {
                return Ok(None);
            }
            let Some(rows) = self.stored_rows(&name, d_in, stored) else { return Ok(None) };
            found.push((name, rows));
        }
        // Where outputs have an order of their own, they are those of one tensor.
        if let Some(order) = order {
            let [(_, rows)] = found.as_mut_slice() else { return Ok(None) };
            let placed: Option<Vec<usize>> = order.iter().map(|row| rows.get(*row).copied()).collect();
            let Some(placed) = placed else { return Ok(None) };
            *rows = placed;
        }
        let mut matrix = Vec::with_capacity(found.len());
        for (name, rows) in &found {
            (self.control)(Progress { stage: Stage::Load, done: self.used.len(), total: self.entries.len() })?;
            matrix.push(self.row_part(name, rows, d_in)?);
        }
        let matrix = BlockRows::new(matrix, d_in)?;
        self.audit.n_bytes += matrix.size_bytes() as u64;
        for (name, rows) in found {
            self.audit.n_params += (rows.len() * d_in) as u64;
            self.note_used(name);
        }
        Ok(Some(matrix))
    }

    /// The rows of what a file stores in blocks or codes that are the outputs, in their order; `None` where it does not
    /// store the tensor so.
    fn stored_rows(&self, name: &str, d_in: usize, stored: Stored) -> Option<Vec<usize>> {
        let entry = &self.entries[name].1;
        let is_blocks = matches!(entry.dtype, Some(Dtype::Blocks(_)));
        if is_blocks || self.quantized.contains_key(name) { file_rows(entry, d_in, stored) } else { None }
    }

    /// Some rows of `d_in` numbers of a tensor in blocks or codes.
    pub(super) fn row_part(&self, name: &str, rows: &[usize], d_in: usize) -> Result<RowPart, LoadError> {
        if let Some(quantized) = self.quantized.get(name) {
            let first = rows.iter().min().copied().unwrap_or(0);
            let all = first..rows.iter().max().map_or(first, |last| last + 1);
            let part = quantized.rows((self.files, &self.shards), name, all.clone())?;
            if rows.iter().copied().eq(all) {
                return Ok(part);
            }
            let rows: Vec<usize> = rows.iter().map(|row| row - first).collect();
            return Ok(part.picked(&rows, d_in));
        }
        let (shard, entry) = &self.entries[name];
        let shard = self.shards.get(*shard).map_or("", String::as_str);
        let path = || self.files.location_of(shard);
        let Some(Dtype::Blocks(kind)) = entry.dtype else {
            return Err(LoadError::Dtype { name: name.to_owned(), dtype: entry.dtype_name.clone(), path: path() });
        };
        let bytes = self.read_rows(shard, entry, kind, rows, d_in);
        let bytes = bytes.map_err(|source| LoadError::Io { file: shard.to_owned(), path: path(), source })?;
        let part = RowPart::Blocks(BlockPart { kind, bytes });
        if part.is_finite() { Ok(part) } else { Err(LoadError::NotFinite { name: name.to_owned(), path: path() }) }
    }

    /// The bytes of the file's `rows`, in this order.
    fn read_rows(
        &self,
        shard: &str,
        entry: &TensorEntry,
        kind: BlockType,
        rows: &[usize],
        d_in: usize,
    ) -> io::Result<Vec<u8>> {
        let row_bytes = Dtype::Blocks(kind).bytes_of(d_in);
        // All rows, as some of them may lie anywhere.
        let n_rows = entry.n_values() / d_in.max(1);
        let mut bytes = vec![0; n_rows * row_bytes];
        let (mut reader, _) = self.files.reader(shard)?;
        reader.seek(SeekFrom::Start(entry.start))?;
        reader.read_exact(&mut bytes)?;
        if rows.iter().copied().eq(0..n_rows) {
            return Ok(bytes);
        }
        Ok(rows.iter().flat_map(|row| &bytes[row * row_bytes..(row + 1) * row_bytes]).copied().collect())
    }
}

/// The row of the file, as wide as `d_in`, that is each output; `None` where outputs are not rows, or not as they are.
fn file_rows(entry: &TensorEntry, d_in: usize, stored: Stored) -> Option<Vec<usize>> {
    let n_rows = entry.n_values().checked_div(d_in)?;
    if entry.shift != 0.0 || entry.shape.len() != 2 {
        return None;
    }
    let Some(Rearranged { dims, strides }) = &entry.order else {
        return (stored == Stored::OutIn).then(|| (0..n_rows).collect());
    };
    if stored == Stored::InOut {
        // Exchanged rows and columns are outputs in their order.
        let is_exchanged = *dims == [d_in, n_rows] && *strides == [1, d_in];
        return is_exchanged.then(|| (0..n_rows).collect());
    }
    let ((&width, dims), (&step, strides)) = (dims.split_last()?, strides.split_last()?);
    if width != d_in || step != 1 || !strides.iter().all(|stride| stride.is_multiple_of(d_in)) {
        return None;
    }
    let row = |mut idx: usize| {
        let mut at = 0;
        for (dim, stride) in dims.iter().zip(strides).rev() {
            at += idx % dim * (stride / d_in);
            idx /= dim;
        }
        at
    };
    let rows: Vec<usize> = (0..n_rows).map(row).collect();
    // Each row once, so that all of them lie within the tensor.
    let mut seen = vec![false; n_rows];
    rows.iter().all(|row| seen.get_mut(*row).is_some_and(|seen| !std::mem::replace(seen, true))).then_some(rows)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn rows_of_a_file_are_found_behind_their_order() {
        let entry = |shape: [usize; 2], order: Option<([usize; 4], [usize; 4])>| TensorEntry {
            dtype_name: String::new(),
            dtype: Some(Dtype::Blocks(BlockType::Q80)),
            shape: shape.to_vec(),
            order: order.map(|(dims, strides)| Rearranged { dims: dims.to_vec(), strides: strides.to_vec() }),
            shift: 0.0,
            start: 0,
        };
        let plain = entry([4, 32], None);
        assert_eq!(file_rows(&plain, 32, Stored::OutIn), Some(vec![0, 1, 2, 3]));
        assert_eq!(file_rows(&plain, 32, Stored::InOut), None);
        // Two heads of four rows, in pairs.
        let paired = entry([8, 32], Some(([2, 2, 2, 32], [128, 32, 64, 1])));
        assert_eq!(file_rows(&paired, 32, Stored::OutIn), Some(vec![0, 2, 1, 3, 4, 6, 5, 7]));
        let exchanged =
            TensorEntry { order: Some(Rearranged { dims: vec![32, 3], strides: vec![1, 32] }), ..entry([32, 3], None) };
        assert_eq!(file_rows(&exchanged, 32, Stored::InOut), Some(vec![0, 1, 2]));
        assert_eq!(file_rows(&exchanged, 3, Stored::OutIn), None);
        assert_eq!(file_rows(&TensorEntry { shift: -1.0, ..plain }, 32, Stored::OutIn), None);
    }
}
