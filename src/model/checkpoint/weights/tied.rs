//! Tables that a configuration says are one.

use candle_core::{Storage, Tensor};

use super::Weights;
use crate::model::{LoadError, kernels::Linear};

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
        let own = self.tensor(name, table.dims())?;
        if equal(&own, table)? {
            // It was read to be compared.
            self.used.remove(&found);
            self.audit.n_params -= own.elem_count() as u64;
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
        Ok(match self.untied(name, embedding)? {
            Some(own) => Linear::owning(&own, bias)?,
            None => Linear::shared(embedding.t()?, bias),
        })
    }
}

/// Whether two tables hold the same numbers.
fn equal(a: &Tensor, b: &Tensor) -> Result<bool, LoadError> {
    let ((a, a_layout), (b, b_layout)) = (a.storage_and_layout(), b.storage_and_layout());
    let (Storage::Cpu(a), Storage::Cpu(b)) = (&*a, &*b) else { return Ok(false) };
    let n = a_layout.shape().elem_count();
    Ok(a.as_slice::<f32>()?[a_layout.start_offset()..][..n] == b.as_slice::<f32>()?[b_layout.start_offset()..][..n])
}
