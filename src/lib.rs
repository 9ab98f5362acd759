//! AttnScope: a native desktop explorer of transformer attention.
//!
//! The modules, in reading order (each may use only those above it; `tests/it/tidy.rs` checks):
//!
//! - `vocabulary`, [`ids`], [`spec`], [`outputs`], [`options`], [`text`], [`json_file`], [`digest`], `tensor_file`, `random`: names of
//!   values and of things, plain facts about a model, kinds of predictions, options by name, numbers as people read them, JSON of bounded size, SHA-256, headers of
//!   safetensors files, random numbers.
//! - [`capture`]: what was seen in one forward pass, as immutable `f32` data.
//! - [`projection`]: layouts of high-dimensional points, and what they preserve.
//! - [`analysis`]: pure functions on captures.
//! - [`corpus`]: many inputs of one model, by column, and lists of inputs.
//! - [`raster`]: pure pixels: colour maps, heatmaps, overlays.
//! - [`figure`]: display lists, the typesetter, and the writers of SVG, PDF and PNG.
//! - [`hub`]: the Hugging Face cache, and downloads into it.
//! - [`model`]: the instrumented forward pass; the only module that names candle.
//! - [`lab`]: methods that explain a prediction, and run the model again for it.
//! - [`export`]: files out.
//! - [`protocol`]: requests to the worker and its answers, as plain data.
//! - [`worker`]: the background threads.
//! - [`session`]: the application's state machine.
//! - [`cli`]: the command line.
//! - [`ui`]: the window; the only module that names egui.

#[macro_use]
mod vocabulary;

pub mod digest;
pub mod glossary;
pub mod ids;
pub mod json_file;
pub mod options;
pub mod outputs;
mod random;
pub mod spec;
pub mod style;
mod tensor_file;
pub mod text;

pub mod capture;

pub mod projection;

pub mod analysis;
pub mod corpus;
pub mod raster;

pub mod figure;

pub mod hub;
pub mod model;

pub mod lab;

pub mod export;
pub mod protocol;
pub mod worker;

pub mod session;

pub mod cli;
pub mod ui;
