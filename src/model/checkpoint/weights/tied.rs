//! Tables that a configuration says are one.

use candle_core::{Storage, Tensor};

use super::{Weights, read};
use crate::model::{
    LoadError,
    kernels::{Linear, Panels},
    run::{Progress, Stage},
};

impl Weights<'_> {
    /// What the file has under `name`, which its configuration ties to `table`: `None` where that is nothing, or the
    /// same numbers. Others are used, and that is said, as in `transformers` since version 5 (`tie_weights`).
    pub fn untied(&mut self, name: &str, table: &Tensor) -> Result<Option<Tensor>, LoadError> {
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
        (self.control)(Progress { stage: Stage::Load, done: self.used.len(), total: self.entries.len() })?;
        let (n_rows, n_columns) = table.dims2()?;
        // Room for a last whole panel, should it become one of an output map.
        let mut values = vec![0.0; Panels::padded(n_rows) * n_columns];
        values.truncate(n_rows * n_columns);
        let (shard, entry) = &self.entries[&found];
        read::fill(self.files, &self.shards[*shard], &found, entry, &mut values)?;
        if holds(table, &values)? {
            self.skipped.insert(found);
            return Ok(None);
        }
        self.warn(&format!(
            "Its configuration ties {found} to the token embeddings, but the numbers differ: both are used"
        ));
        self.audit.n_params += values.len() as u64;
        self.used.insert(found);
        Ok(Some(Tensor::from_vec(values, table.dims(), &self.device)?))
    }

    /// An output map to the vocabulary under `name`, which the configuration ties to `embedding` `[n_vocab, d_model]`:
    /// the embedding's weights, or those of the file where they differ.
    pub fn tied_output(&mut self, name: &str, embedding: &Tensor, bias: Option<Tensor>) -> Result<Linear, LoadError> {
        Ok(match self.untied(name, embedding)? {
            Some(own) => Linear::owning(&own, bias)?,
            None => Linear::shared(embedding.t()?, bias),
        })
    }
}

/// Whether a table holds these values.
fn holds(table: &Tensor, values: &[f32]) -> Result<bool, LoadError> {
    let table = table.contiguous()?;
    let (storage, layout) = table.storage_and_layout();
    let Storage::Cpu(storage) = &*storage else { return Ok(false) };
    let own = &storage.as_slice::<f32>()?[layout.start_offset()..][..values.len()];
    Ok(own == values)
}
