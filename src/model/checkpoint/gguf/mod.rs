//! Models in GGUF files, the format of llama.cpp: one file with metadata, a tokenizer and tensors.

mod container;
mod meta;
mod types;

pub(crate) use container::{Container, StoredTensor};
pub(crate) use meta::{MetaNumbers, MetaTexts, MetaValue};
