//! The background thread and its protocol: one named thread that owns the model, closed enums of
//! requests and events, cooperative cancellation, and a boundary that turns a panic into a message.
//!
//! No egui here, and candle only through [`crate::model`].

mod capture_file;
mod engine;
mod protocol;
mod queue;
mod thread;

pub use engine::ModelEngine;
pub use protocol::{
    Event, EventKind, Failure, ImageSource, Input, Lane, LoadedModel, ModelSource, Progress, Request, Stage, TextInput,
};
pub use thread::{Engine, JobControl, Stop, Wake, Worker};
