//! The background threads and their protocol: one named thread that owns the models, one that projects, one
//! for downloads, one that draws and writes files, one for session files and one that reads captures; closed enums of requests and
//! events, cooperative cancellation, and a boundary that turns a panic into a message.
//!
//! No egui here, and candle only through [`crate::model`].

mod analyst;
mod capture_file;
mod changes;
mod contents;
pub mod corpus;
mod donors;
mod engine;
mod explain;
mod files;
mod hub;
mod idle;
mod layouts;
mod outcomes;
mod projector;
mod protocol;
mod queue;
pub mod scratch;
mod sessions;
mod surveyor;
mod thread;
mod workers;

pub use crate::model::step_back;
pub use analyst::{AnalysisEngine, Analyst};
pub use changes::WantedEdit;
pub use contents::{Contents, cached, contents};
pub use donors::{Between, Donor, MAX_MEANT, Many, Rows, TokensMeant, direction};
pub use engine::ModelEngine;
pub use files::{FileEngine, draw};
pub use hub::HubEngine;
pub use idle::{GiveBack, give_back, give_back_by, give_back_of_libraries};
pub use outcomes::Outcomes;
pub use projector::ProjectionEngine;
pub use protocol::{
    CaptureFile, Choice, Comparison, CorpusLook, CorpusOrder, CorpusPlan, CorpusProgress, CorpusSoFar, CorpusSource,
    DrawFor, Drawn, Event, EventKind, Explanation, Failure, Generation, ImageSource, Input, KnownModel, Lane,
    LoadedModel, ModelSource, Plan, PlannedFile, Progress, RepoId, Request, Retry, Stage, TextInput, TooLong, Transfer,
    Verdict,
};
pub use sessions::{LeftBehind, SessionAnswer, SessionEngine, SessionRequest};
pub use surveyor::SurveyEngine;
pub use thread::{Engine, JobControl, Stop, Wake, Worker};
pub use workers::Workers;
