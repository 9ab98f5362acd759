//! Tables that a configuration says are one.

use candle_core::{Storage, Tensor};

use super::{Weights, read};
use crate::model::{
    LoadError,
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
        if self.rehearsing {
            self.skipped.insert(found);
            return Ok(None);
        }
        (self.control)(Progress { stage: Stage::Load, done: self.used.len(), total: self.entries.len() })?;
        let mut values = vec![0.0; table.elem_count()];
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
}

/// Whether a table holds these values.
fn holds(table: &Tensor, values: &[f32]) -> Result<bool, LoadError> {
    let table = table.contiguous()?;
    let (storage, layout) = table.storage_and_layout();
    let Storage::Cpu(storage) = &*storage else { return Ok(false) };
    let own = &storage.as_slice::<f32>()?[layout.start_offset()..][..values.len()];
    Ok(own == values)
}
