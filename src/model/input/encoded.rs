//! Encoded input of a text model, and its checks.

use super::{InputError, TextEncoder};
use crate::{
    capture::{TextPart, Token},
    spec::TextSpec,
};

/// What a text model reads.
#[derive(Clone, Debug, Default)]
pub struct EncodedText {
    /// Vocabulary ids, special tokens included.
    pub ids: Vec<u32>,
    /// 0 for the first segment and 1 for the second, with the special tokens that belong to each.
    pub type_ids: Vec<u32>,
    pub tokens: Vec<Token>,
    /// What was read of a text that was too long.
    pub part: Option<TextPart>,
}

impl EncodedText {
    /// Raw ids; `encoder` only names them.
    ///
    /// # Errors
    /// See [`check_ids`].
    pub fn from_ids(ids: &[u32], encoder: Option<&TextEncoder>, spec: &TextSpec) -> Result<Self, InputError> {
        check_ids(ids, spec)?;
        let tokens = encoder.map_or_else(
            || {
                let token = |&id: &u32| Token { text: format!("#{id}"), id: Some(id), ..Token::default() };
                ids.iter().map(token).collect()
            },
            |encoder| encoder.tokens_of_ids(ids),
        );
        Ok(Self { ids: ids.to_vec(), type_ids: vec![0; ids.len()], tokens, part: None })
    }
}

/// Whether a model can read `ids`.
///
/// # Errors
/// When there are none or too many, or one is out of range.
pub fn check_ids(ids: &[u32], spec: &TextSpec) -> Result<(), InputError> {
    if ids.is_empty() {
        return Err(InputError::NoIds);
    }
    let (n_vocab, n_ctx) = (spec.n_vocab, spec.limits().most);
    if ids.len() > n_ctx {
        return Err(InputError::TooManyIds { n: ids.len(), n_ctx });
    }
    match ids.iter().position(|&id| id as usize >= n_vocab) {
        None => Ok(()),
        Some(position) => {
            Err(InputError::IdOutOfRange { id: ids[position], position, last: n_vocab.saturating_sub(1) })
        }
    }
}
