//! A checkpoint's files: where they are, what `config.json` says, and the weights.

pub(crate) mod asked;
pub mod audit;
pub mod bundled;
pub(crate) mod config;
mod defaults;
pub(crate) mod files;
mod formats;
pub(crate) mod identity;
pub(crate) mod ids;
pub(crate) mod keys;
mod others;
mod recognise;
pub(crate) mod weights;

pub(crate) use config::{Config, lay_over};
pub use files::ModelFiles;
pub(crate) use weights::{Part, Stored, Weights, weight_files, weights_wrapper};
