//! The position embeddings of a model.

use std::sync::Arc;

use super::{Model, next_capture_id};
use crate::capture::PositionTables;

impl Model {
    /// What is added to each token to say where it stands, for each sequence that has such a table: the rows that the
    /// forward pass reads, learned or computed.
    ///
    /// # Errors
    /// One clause when there is none: how positions are known instead.
    pub fn position_embeddings(&self) -> Result<PositionTables, String> {
        let sides = self.network.position_tables().map_err(|error| error.to_string())?;
        if sides.is_empty() {
            return Err(self.network.without_table().to_owned());
        }
        Ok(PositionTables { id: next_capture_id(), model: Arc::clone(&self.spec), sides })
    }
}
