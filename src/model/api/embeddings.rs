//! The table that a model reads its token embeddings from.

use super::Model;
use crate::{
    capture::Matrix,
    model::{
        ModelError,
        input::{NO_TOKENIZER, Preparation, TextInput},
        kernels::to_host,
        network::embedding::Table,
    },
};

impl Model {
    /// Number of tokens that have an embedding: of an encoder and a decoder with tables of their own those of the
    /// encoder.
    ///
    /// # Errors
    /// When it reads no tokens.
    pub fn n_embeddings(&self) -> Result<usize, ModelError> {
        Ok(self.table()?.n_vocab()?)
    }

    /// Rows of that table, `[ids.len(), d_embedding]`, as they are in the checkpoint: without the factor, the norm and
    /// the map that may stand between them and the residual stream.
    ///
    /// # Errors
    /// When it reads no tokens, or there is no such id.
    pub fn token_embeddings(&self, ids: &[u32]) -> Result<Matrix, ModelError> {
        let n = self.n_embeddings()?;
        if let Some(wrong) = ids.iter().find(|id| **id as usize >= n) {
            return Err(ModelError::Edit(format!("there is no token {wrong} among {n}")));
        }
        let table = self.table()?;
        let rows = self.engine.install(|| table.select(ids)?.contiguous())?;
        Ok(Matrix::new(to_host(&rows)?, rows.dims2()?.into())?)
    }

    /// The tokens of a word as it stands within a text, behind a space, or at its beginning where these are fewer.
    ///
    /// # Errors
    /// When there is no tokenizer, or the vocabulary has no token for a part of it.
    pub fn pieces_of(&self, word: &str) -> Result<Vec<u32>, ModelError> {
        let encoder = self.reader.encoder.as_ref().ok_or_else(|| ModelError::Edit(NO_TOKENIZER.to_owned()))?;
        let how = Preparation { no_special: true, ..Preparation::default() };
        let pieces = |text: String| -> Result<Vec<u32>, ModelError> {
            let encoded = encoder.encode(&TextInput { text, how, ..TextInput::default() }, usize::MAX)?;
            Ok(encoded.tokens.iter().filter(|token| !token.special).filter_map(|token| token.id).collect())
        };
        let (within, alone) = (pieces(format!(" {word}"))?, pieces(word.to_owned())?);
        let found = if alone.len() < within.len() { alone } else { within };
        if found.is_empty() || found.iter().any(|id| Some(*id) == encoder.unknown_id()) {
            return Err(ModelError::Edit(format!("the vocabulary has no token for “{word}”: choose another word")));
        }
        Ok(found)
    }

    /// The text of a token that is read; `#id` for one that the tokenizer does not know.
    pub fn embedding_label(&self, id: u32) -> String {
        self.reader.encoder.as_ref().map_or_else(|| format!("#{id}"), |encoder| encoder.decode_label(id))
    }

    fn table(&self) -> Result<&Table, ModelError> {
        let missing = || ModelError::Edit("it reads no tokens, so it has no table of their embeddings".to_owned());
        self.words.as_ref().ok_or_else(missing)
    }
}
