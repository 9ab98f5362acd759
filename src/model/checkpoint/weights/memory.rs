//! The memory that a checkpoint takes, from what its files declare.

use std::collections::{BTreeMap, BTreeSet};

use super::{
    entry::{Dtype, TensorEntry},
    lora::Lora,
    quantized::{self, Quantized},
    refuse, shards,
};
use crate::model::{
    LoadError,
    checkpoint::{ModelFiles, quantization::Quantization},
    engine::free_memory,
    kernels::StoredMatrix,
};

/// Memory that a checkpoint takes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryNeed {
    /// Bytes of all weights as they stay in memory, and of the largest tensor again in single precision.
    pub bytes: u64,
    /// Bytes that are free; `None` when nobody knows.
    pub free_bytes: Option<u64>,
}

impl MemoryNeed {
    /// From what the weight files declare, stored as `how` says; no number is read.
    pub(crate) fn of(files: &ModelFiles, how: Option<Quantization>) -> Result<Self, LoadError> {
        let mut entries = BTreeMap::new();
        let shards = shards::names(files)?;
        for (idx, shard) in shards.iter().enumerate() {
            entries.extend(shards::open(files, shard)?.0.into_iter().map(|(name, entry)| (name, (idx, entry))));
        }
        let quantized = how.map(|how| quantized::take(&mut entries, &how, (files, &shards))).transpose();
        let quantized = quantized.map_err(|reason| refuse::quantized(files, reason))?.unwrap_or_default();
        let adapter = files.merged().map(|adapter| Lora::open(adapter, &entries)).transpose()?;
        Ok(Self { bytes: needed(&entries, &quantized, adapter.as_ref(), |_| false), free_bytes: free_memory() })
    }

    /// Refuses what does not fit.
    pub(crate) fn check(self, files: &ModelFiles) -> Result<(), LoadError> {
        match self.free_bytes {
            Some(available) if self.bytes > available => {
                Err(LoadError::TooLarge { needed: self.bytes, available, path: files.location() })
            }
            _ => Ok(()),
        }
    }
}

/// Every tensor once as it is kept, and the largest of those that are read in single precision again while a linear map
/// is put in order, but for what is in memory already. Matrices stay as the file has them, but for those that an adapter
/// changes.
pub(super) fn needed(
    entries: &BTreeMap<String, (usize, TensorEntry)>,
    quantized: &BTreeMap<String, Quantized>,
    adapter: Option<&Lora<'_>>,
    is_there: impl Fn(&str) -> bool,
) -> u64 {
    let mut seen = BTreeSet::new();
    // What scales weights of few bits is counted with them.
    let companions: BTreeSet<&String> = quantized.values().flat_map(|tensor| &tensor.companions).collect();
    let entries = entries.iter().filter(|(name, _)| !companions.contains(name) && !is_there(name));
    let sizes = entries.filter_map(|(name, (shard, entry))| {
        // Tied tensors are one tensor under two names.
        let is_new = entry.dtype.is_some() && seen.insert((shard, entry.start, &entry.shape));
        let n_values = entry.n_values() as u64;
        let single = StoredMatrix::bytes_of(n_values, None);
        let is_matrix = [2, 3].contains(&entry.shape.len());
        let in_blocks = match (quantized.get(name), entry.dtype) {
            (Some(quantized), _) => Some(quantized.size_bytes()),
            (None, Some(dtype @ Dtype::Blocks(_))) => Some(dtype.bytes_of(entry.n_values()) as u64),
            (None, _) => None,
        };
        let kept = match (in_blocks, entry.dtype.and_then(Dtype::half)) {
            // A sum with an adapter's map is rarely a number of fewer bits.
            _ if !is_matrix || adapter.is_some_and(|adapter| adapter.changes(name)) => (single, single),
            (Some(bytes), _) => (bytes, 0),
            (None, half) => (StoredMatrix::bytes_of(n_values, half), single),
        };
        is_new.then_some(kept)
    });
    let (total, largest) = sizes.fold((0u64, 0), |(sum, max), (kept, read)| (sum.saturating_add(kept), read.max(max)));
    total.saturating_add(largest)
}
