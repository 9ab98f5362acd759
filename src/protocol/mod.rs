//! Requests of the session and events of the worker: plain data, below both.
//!
//! Nothing here computes, reads a file or starts a thread.

mod capture_file;
mod corpus;
mod edit_request;
mod event;
mod failure;
mod mean;
mod model;
mod outcomes;
mod request;
mod session_file;
mod study;

pub use capture_file::CaptureFile;
pub use corpus::{
    CorpusLook, CorpusOptions, CorpusOrder, CorpusPlan, CorpusProgress, CorpusSoFar, CorpusSource, DebateOrder,
    JudgeAnswer, JudgeRequest, LeftOut,
};
pub use edit_request::{Between, EditRequest, PatchSource, PatchedRows};
pub use event::{
    Catalog, CorpusAnswer, DebateAnswer, DownloadAnswer, Event, EventKind, ExplanationAnswer, LaneAnswer, LoadAnswer,
    MeasureAnswer, ProjectionAnswer, ReadAnswer, RenderedFigure, RunAnswer, SurveyAnswer, Update,
};
pub use failure::{Failure, TooLong};
pub use mean::MeanInputs;
pub use model::{LoadedModel, ModelSource};
pub use outcomes::Outcomes;
pub use request::{DrawFor, Explanation, Lane, Request};
pub use session_file::{LeftBehind, SessionAnswer, SessionRequest};
pub use study::{BegunStudy, LensFile, StudyAnswer, StudyOrder};
