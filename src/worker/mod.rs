//! The background threads, which answer the requests of [`crate::protocol`]: one named thread owns the models, one
//! projects, one downloads, one draws and writes files, one is for session files and one reads captures. Cancellation
//! is cooperative, and a boundary turns a panic into a message.
//!
//! No egui here, and candle only through [`crate::model`].

mod capture_file;
mod changes;
mod cloud_thread;
mod contents;
pub mod corpus;
pub mod debate;
mod debate_kept;
pub mod debate_twins;
pub mod disk_cache;
pub mod diverse_states;
mod engine;
mod explain;
pub mod features;
mod files;
pub mod head_folder;
mod hub;
mod idle;
mod layouts;
pub mod lens_fit;
mod patch_sources;
mod pattern_thread;
pub mod probe;
mod projector;
mod queue;
mod sessions;
mod studies;
mod study_kept;
mod thread;
pub mod timing;
mod workers;

pub use capture_file::read_captures;
pub use cloud_thread::SurveyEngine;
pub use contents::{Contents, cached, contents};
pub use engine::ModelEngine;
pub use files::{FileEngine, draw};
pub use hub::HubEngine;
pub use idle::{GiveBack, give_back, give_back_by, give_back_of_libraries};
pub use patch_sources::Means;
pub use pattern_thread::{AnalysisEngine, PatternThread};
pub use projector::ProjectionEngine;
pub use sessions::SessionEngine;
pub use thread::{Engine, JobControl, Stop, Wake, Worker};
pub use workers::Workers;
