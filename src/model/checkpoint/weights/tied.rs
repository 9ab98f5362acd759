//! Tables that a configuration says are one.

use candle_core::Tensor;

use super::Weights;
use crate::model::{
    LoadError,
    kernels::{Linear, RowTable},
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
    pub fn untied(&mut self, name: &str, table: &RowTable) -> Result<Option<RowTable>, LoadError> {
        if let Some((_, changed)) = self.changed_tables.iter().find(|(known, _)| known.shares(table)) {
            let what =
                format!("the adapter changes token embeddings ({changed}) that several parts of the model share");
            let advice = "Merge it in Python and open the result".to_owned();
            return Err(LoadError::OtherKind { what, advice, path: self.files.location() });
        }
        self.untied_own(name, table)
    }

    fn untied_own(&mut self, name: &str, table: &RowTable) -> Result<Option<RowTable>, LoadError> {
        if !self.has(name) {
            return Ok(None);
        }
        let (n_rows, width) = table.dims()?;
        let found = self.checked(name, &[n_rows, width])?;
        let place = |name: &String| {
            let (shard, entry) = &self.entries[name];
            (*shard, entry.start, &entry.shape, &entry.dtype_name)
        };
        // Files of PyTorch's own format hold one table under all its names.
        if self.rehearsing || self.used.iter().any(|used| place(used) == place(&found)) {
            self.skipped.insert(found);
            return Ok(None);
        }
        let own = self.stored_table(name, &[n_rows, width])?;
        if own.equals(table)? {
            // It was read to be compared.
            self.used.remove(&found);
            self.audit.n_params -= (n_rows * width) as u64;
            self.audit.n_bytes -= own.size_bytes() as u64;
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
    pub fn tied_output(&mut self, name: &str, embedding: &RowTable, bias: Option<Tensor>) -> Result<Linear, LoadError> {
        Ok(match self.untied_own(name, embedding)? {
            Some(own) => Linear::owning(&own, bias)?,
            None => Linear::tied(embedding, bias)?,
        })
    }
}
