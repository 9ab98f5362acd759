//! How a model knows where tokens stand.

use std::sync::Arc;

use super::{Model, next_capture_id};
use crate::capture::{PositionEncoding, PositionTables};

impl Model {
    /// What is added to each token to say where it stands, for each sequence that has such a table: the rows that the
    /// forward pass reads, learned or computed.
    ///
    /// # Errors
    /// One clause when there is none: how positions are known instead.
    pub fn position_embeddings(&self) -> Result<Arc<PositionTables>, String> {
        self.positions().tables.clone()
    }

    /// How it knows where tokens stand, as far as it is the same for every input.
    pub fn positions(&self) -> &Arc<PositionEncoding> {
        self.positions.get_or_init(|| {
            let tables = match self.network.position_tables() {
                Err(error) => Err(error.to_string()),
                Ok(sides) if sides.is_empty() => Err(self.network.without_table().to_owned()),
                Ok(sides) => {
                    Ok(Arc::new(PositionTables { id: next_capture_id(), model: Arc::clone(&self.spec), sides }))
                }
            };
            Arc::new(PositionEncoding { tables, rotary: self.network.rotations() })
        })
    }
}
