//! The only description of what the worker can do and say.

use std::{path::PathBuf, sync::Arc};

use crate::{
    analysis::projection::{Projection, ProjectionOptions},
    capture::{Capture, RgbaBuffer},
    export::ExportRequest,
    ids::{JobId, StackKind},
    model::audit::Audit,
    spec::ModelSpec,
};

pub use crate::model::{Progress, Stage};

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

/// What to run the model on.
#[derive(Clone, Debug, PartialEq)]
pub enum Input {
    /// Text for the tokenizer.
    Text(TextInput),
    /// Raw token ids; skips the tokenizer.
    Ids(Vec<u32>),
    /// A picture for the image processor.
    Image(ImageSource),
    /// Preprocessed pixels `[3, height, width]`; skips the image processor.
    Pixels {
        /// Channel-major values.
        data: Arc<[f32]>,
        /// Height and width.
        size_px: (usize, usize),
    },
}

/// Text and how to tokenise it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct TextInput {
    /// First or only segment.
    pub text: String,
    /// Second segment of a pair.
    pub text_b: Option<String>,
    /// Leave out the special tokens the tokenizer would add.
    pub no_special: bool,
    /// Truncate to this many tokens (the model's context length is a limit in any case).
    pub max_tokens: Option<usize>,
}

/// Where a picture comes from.
#[derive(Clone, Debug, PartialEq)]
pub enum ImageSource {
    /// A file.
    Path(PathBuf),
    /// Pixels from the clipboard or from a bundled sample, with a name to show.
    Memory {
        /// What to call it.
        name: String,
        /// The pixels.
        pixels: Arc<RgbaBuffer>,
    },
    /// A sample picture inside the program, by name.
    Bundled(String),
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
