//! Tables that a configuration says are one.

use std::ops::Range;

use candle_core::{CpuStorage, Layout, Storage, Tensor};

use super::Weights;
use crate::model::{
    LoadError,
    kernels::{self, Linear},
};

impl Weights<'_> {
    /// The first of the names of one table that the file has; the first of all where it has none.
    pub fn first_of(&mut self, names: &[&str]) -> String {
        let found = names.iter().copied().find(|name| self.has(name)).unwrap_or(names[0]);
        if found != names[0] {
            self.audit.note_renamed(names[0], found);
        }
        found.to_owned()
    }

    /// What the file has under `name`, which its configuration ties to `table`: `None` where that is nothing, or the
    /// same numbers. Others are used, and that is said, as in `transformers` since version 5 (`tie_weights`).
    pub fn untied(&mut self, name: &str, table: &Tensor) -> Result<Option<Tensor>, LoadError> {
        if let Some((_, changed)) = self.changed_tables.iter().find(|(known, _)| kernels::same_memory(known, table)) {
            let what =
                format!("the adapter changes token embeddings ({changed}) that several parts of the model share");
            let advice = "Merge it in Python and open the result".to_owned();
            return Err(LoadError::OtherKind { what, advice, path: self.files.location() });
        }
        self.untied_own(name, table)
    }

    fn untied_own(&mut self, name: &str, table: &Tensor) -> Result<Option<Tensor>, LoadError> {
        if !self.has(name) {
            return Ok(None);
        }
        let found = self.checked(name, table.dims())?;
        let place = |name: &String| {
            let (shard, entry) = &self.entries[name];
            (*shard, entry.start, &entry.shape, &entry.dtype_name)
        };
        // Files of PyTorch's own format hold one table under all its names.
        if self.rehearsing || self.used.iter().any(|used| place(used) == place(&found)) {
            self.skipped.insert(found);
            return Ok(None);
        }
        let own = self.narrow_table(name, table.dims())?;
        if equal(&own, table) {
            // It was read to be compared.
            self.used.remove(&found);
            self.audit.n_params -= own.elem_count() as u64;
            self.audit.n_bytes -= (own.elem_count() * own.dtype().size_in_bytes()) as u64;
            self.skipped.insert(found);
            return Ok(None);
        }
        self.warn(&format!(
            "Its configuration ties {found} to the token embeddings, but the numbers differ: both are used"
        ));
        Ok(Some(own))
    }

    /// An output map to the vocabulary under `name`, which the configuration ties to `embedding` `[n_vocab, d_model]`:
    /// the embedding's weights, or those of the file where they differ.
    pub fn tied_output(&mut self, name: &str, embedding: &Tensor, bias: Option<Tensor>) -> Result<Linear, LoadError> {
        Ok(match self.untied_own(name, embedding)? {
            Some(own) => Linear::owning(&own, bias)?,
            None => Linear::shared(embedding.t()?, bias),
        })
    }
}

/// Where the numbers of a contiguous tensor lie.
fn part(layout: &Layout) -> Range<usize> {
    layout.start_offset()..layout.start_offset() + layout.shape().elem_count()
}

/// Whether two tables hold the same numbers.
fn equal(a: &Tensor, b: &Tensor) -> bool {
    let ((a, a_layout), (b, b_layout)) = (a.storage_and_layout(), b.storage_and_layout());
    let (Storage::Cpu(a), Storage::Cpu(b)) = (&*a, &*b) else { return false };
    let (a_part, b_part) = (part(a_layout), part(b_layout));
    match (a, b) {
        (CpuStorage::F32(a), CpuStorage::F32(b)) => a[a_part] == b[b_part],
        (CpuStorage::F16(a), CpuStorage::F16(b)) => a[a_part] == b[b_part],
        (CpuStorage::BF16(a), CpuStorage::BF16(b)) => a[a_part] == b[b_part],
        // They are of different formats, and rarely one table.
        _ => {
            let single = |values: &CpuStorage, part: Range<usize>| match values {
                CpuStorage::F16(values) => values[part].iter().map(|value| value.to_f32()).collect(),
                CpuStorage::BF16(values) => values[part].iter().map(|value| value.to_f32()).collect(),
                other => other.as_slice::<f32>().map(|values| values[part].to_vec()).unwrap_or_default(),
            };
            single(a, a_part) == single(b, b_part)
        }
    }
}
