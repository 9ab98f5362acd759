//! A checkpoint's files: where they are, what `config.json` says, and the weights.

pub mod audit;
pub mod bundled;
pub(crate) mod config;
pub(crate) mod config_log;
mod defaults;
pub(crate) mod files;
mod formats;
mod gguf;
pub(crate) mod identity;
pub(crate) mod ids;
pub(crate) mod key_audit;
mod lens;
mod others;
pub(crate) mod quantization;
mod recognise;
mod sae;
pub(crate) mod weights;

pub(crate) use config::{Config, lay_over};
pub use files::ModelFiles;
pub(crate) use formats::OPEN_CLIP;
pub use gguf::gguf_tokenizer;
pub use lens::{is_lens, open_lens, write_lens};
pub use sae::{is_sae, open_sae};
pub use weights::MemoryNeed;
pub(crate) use weights::{Factors, LinearPart, Share, Shelf, Stored, Weights, weight_files, weights_wrapper};
