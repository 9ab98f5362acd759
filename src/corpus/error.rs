//! Reasons why an input does not become part of a corpus.

use crate::text::{bytes_text, counted};

/// Why an input was not added. What is there stays.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CorpusError {
    /// There is no room for it.
    #[error(
        "The corpus is full: one more input would take it to {}, and it may take {}. The {} in it stay; remove \
         some, record fewer layers or allow more memory", bytes_text(*.needed), bytes_text(*.budget),
        counted(*.n_inputs, "input")
    )]
    Full {
        /// Bytes it would take with the input.
        needed: u64,
        /// Bytes it may take.
        budget: u64,
        n_inputs: usize,
    },
    /// The capture has nothing that a corpus keeps.
    #[error("“{name}” has no queries and keys: record the sites q and k")]
    NoQueries {
        /// What the input is called.
        name: String,
    },
    /// The captures are of different models.
    #[error("“{name}” is of {found}, but the corpus is of {expected}: a corpus has one model")]
    OtherModel {
        /// What the input is called.
        name: String,
        found: String,
        expected: String,
    },
    /// The captures were made in different ways.
    #[error("“{name}” was run with other changes than the inputs before it, so their queries and keys do not compare")]
    OtherRun {
        /// What the input is called.
        name: String,
    },
    /// The captures have different layers.
    #[error("“{name}” has queries and keys of other layers than the inputs before it")]
    OtherLayers {
        /// What the input is called.
        name: String,
    },
    /// More rows than their numbers can tell apart.
    #[error("A corpus has at most {} tokens", u32::MAX)]
    TooManyTokens,
}
