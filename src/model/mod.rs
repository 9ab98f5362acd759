//! The instrumented forward pass and everything that feeds it. The only module that names candle.

pub mod audit;
pub mod bundled;
mod error;
mod files;
pub mod input;
pub mod kernels;
mod progress;
mod source;

pub use error::{LoadError, ModelError};
pub use files::ModelFiles;
pub use progress::{Cancelled, Control, Progress, Stage, uninterrupted};
pub use source::{ImageSource, Input, TextInput};
