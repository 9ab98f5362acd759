//! The instrumented forward pass and everything that feeds it. The only module that names candle.
//!
//! [`Model::load`] opens a checkpoint from [`ModelFiles`]; [`Model::encode`] makes an input ready and
//! [`Model::forward`] runs it and hands back a [`Capture`](crate::capture::Capture) of plain numbers.
//! Inside, a family file maps the checkpoint's names to one generic embedding, block and head.
//!
//! Each wing uses only those above it: `kernels` and `engine` compute, `run` says what one pass records
//! and changes, `checkpoint` reads files, `input` prepares what is read, `network` is the forward pass,
//! `writing` repeats it token by token, and `families` builds a network from a checkpoint.

mod api;
mod checkpoint;
mod engine;
mod error;
mod families;
pub mod input;
pub mod kernels;
pub mod locate;
mod network;
mod opinion;
mod run;
mod writing;

pub use api::{
    AGREED, Agreement, BlockShape, BranchNorms, Comparison, FinalNorm, Gradients, Guide, HeadMaps, HeadReads, LIBRARY,
    MeanJacobians, Model, Objective, Projection, Schedule, Start, StreamStart, TrainedTwin, TwinMeasures, TwinOutput,
    TwinPlan, Twins, ValueMaps, Variant, Verdict, next_capture_id,
};
pub use checkpoint::{ModelFiles, audit, bundled, gguf_tokenizer, is_lens, is_sae, open_lens, open_sae, write_lens};
pub use engine::{ComputeDevice, Engine, EngineError, EngineOptions, lower_priority};
pub use error::{Cancelled, Instead, LoadError, ModelError};
pub use input::{Chat, Encoded, ImageSource, Input, Preparation, TextInput};
pub use opinion::Compared;
pub use run::{
    Control, Edit, Generation, Logits, Progress, RunPlan, Site, Sites, Stage, Taps, TokenChoice, uninterrupted,
};
