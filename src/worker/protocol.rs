//! The only description of what the worker can do and say.

use std::{path::PathBuf, sync::Arc};

use crate::{
    analysis::projection::{Projection, ProjectionOptions},
    capture::Capture,
    export::ExportRequest,
    ids::{JobId, StackKind},
    model::audit::Audit,
    spec::ModelSpec,
};

pub use crate::model::{ImageSource, Input, Progress, Stage, TextInput};

/// Work for the background thread.
#[derive(Clone, Debug)]
pub enum Request {
    /// Read a model; it replaces the current one only when it succeeded.
    Load(ModelSource),
    /// Read a capture file.
    OpenCapture(PathBuf),
    /// Run the current model.
    Run(Input),
    /// Project the joint query–key space of every head of one stack.
    Project {
        /// What to project.
        capture: Arc<Capture>,
        /// Which stack.
        stack: StackKind,
        /// How.
        options: ProjectionOptions,
    },
    /// Write a file.
    Export(ExportRequest),
}

/// Requests of one lane supersede each other; exports queue.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lane {
    /// Loading a model or a capture.
    Load,
    /// Running the model.
    Run,
    /// Projecting.
    Project,
    /// Writing files.
    Export,
}

impl Lane {
    /// Every lane.
    pub const ALL: [Self; 4] = [Self::Load, Self::Run, Self::Project, Self::Export];
}

impl Request {
    /// The lane this request supersedes others in.
    pub const fn lane(&self) -> Lane {
        match self {
            Self::Load(_) | Self::OpenCapture(_) => Lane::Load,
            Self::Run(_) => Lane::Run,
            Self::Project { .. } => Lane::Project,
            Self::Export(_) => Lane::Export,
        }
    }
}

/// Where a model comes from.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum ModelSource {
    /// A name such as `demo:gpt`.
    Bundled(String),
    /// A folder in Hugging Face layout, or a weights file inside one.
    Path(PathBuf),
}

/// An answer, or a sign of life, of one job.
#[derive(Clone, Debug)]
pub struct Event {
    /// The job it belongs to.
    pub job: JobId,
    /// What happened.
    pub kind: EventKind,
}

/// What happened.
#[derive(Clone, Debug)]
pub enum EventKind {
    /// Still working.
    Progress(Progress),
    /// A model is ready.
    Loaded(Arc<LoadedModel>),
    /// A forward pass, or a capture file, is ready.
    Captured(Arc<Capture>),
    /// A projection is ready.
    Projected(Arc<Projection>),
    /// A file was written.
    Exported(PathBuf),
    /// The job was superseded or cancelled; not an error.
    Cancelled,
    /// The job failed; whatever was there before is still there.
    Failed(Failure),
}

/// What the window knows about the model that the worker holds.
#[derive(Clone, Debug)]
pub struct LoadedModel {
    /// Where it came from.
    pub source: ModelSource,
    /// What it is.
    pub spec: Arc<ModelSpec>,
    /// What was found in its files.
    pub audit: Audit,
    /// How long loading took, in seconds.
    pub load_secs: f64,
}

/// What the user reads when something went wrong.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Failure {
    /// One sentence: what is wrong.
    pub summary: String,
    /// What to do about it, and the path last; may be empty.
    pub details: String,
}
