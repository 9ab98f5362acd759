//! The instrumented forward pass and everything that feeds it. The only module that names candle.
//!
//! [`Model::load`] opens a checkpoint from [`ModelFiles`]; [`Model::encode`] makes an input ready and
//! [`Model::forward`] runs it and hands back a [`Capture`](crate::capture::Capture) of plain numbers.
//! Inside, a family file maps the checkpoint's names to one generic embedding, block and head.

mod api;
mod attention;
pub mod audit;
mod block;
pub mod bundled;
mod config;
mod decoding;
mod disentangled;
mod embedding;
mod encode;
mod engine;
mod error;
mod families;
mod files;
mod generate;
mod head;
pub mod input;
mod interpolate;
pub mod kernels;
pub mod locate;
mod memory;
mod network;
mod pass;
mod progress;
mod recurrent;
mod relative;
mod rotary;
mod run;
mod similarity;
mod site;
mod source;
mod uniformity;
mod weights;

pub use api::{Gradients, Model, Objective, next_capture_id};
pub use encode::Encoded;
pub use engine::{Engine, EngineError};
pub use error::{LoadError, ModelError};
pub use files::ModelFiles;
pub use generate::{Choice, Generation};
pub use progress::{Cancelled, Control, Progress, Stage, uninterrupted};
pub use site::{Edit, Logits, RunPlan, Site, Sites};
pub use source::{ImageSource, Input, TextInput};
