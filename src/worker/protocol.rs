//! The only description of what the worker can do and say.

use std::{path::PathBuf, sync::Arc};

use crate::{
    analysis::{
        Cloud,
        explain::report::Report,
        projection::{Projection, ProjectionOptions},
        reading::store::{Answer, Key, Want},
        survey::{Finding, QuestionKind, Survey},
    },
    capture::{Capture, Edit, PositionTables, RgbaBuffer},
    export::{ExportRequest, FigureRequest, Preview},
    figure::data::DataFormat,
    ids::{DocumentId, HeadId, JobId, ModelId, PaneId, StackKind},
    lab::{Estimate, MethodCall, Patience, Target},
    model::audit::Audit,
    spec::ModelSpec,
};

use super::{Outcomes, SessionAnswer, SessionRequest, WantedEdit};
pub use super::{
    capture_file::CaptureFile,
    corpus::{CorpusLook, CorpusOrder, CorpusPlan, CorpusProgress, CorpusSoFar, CorpusSource},
};
pub use crate::{
    hub::{Plan, PlannedFile, RepoId, Retry, Transfer},
    model::{
        Choice, Comparison, Generation, ImageSource, Input, Progress, Stage, TextInput, Verdict, locate::KnownModel,
    },
};

/// Work for the background thread.
#[derive(Clone, Debug)]
pub enum Request {
    /// Read a model. A capture file is answered with [`EventKind::Opened`].
    Load {
        /// What to call it from now on.
        id: ModelId,
        document: DocumentId,
        source: ModelSource,
        /// Nobody needs this one any more once the new one is there; until then it stays.
        replaces: Option<ModelId>,
    },
    /// Drop a model that nobody needs any more.
    Forget(ModelId),
    Run {
        document: DocumentId,
        model: ModelId,
        /// What it reads or sees.
        input: Input,
        /// A text model writes on behind its input when it is told how; a decoder without a target writes
        /// as it is told, or else as it would by itself.
        generation: Option<Generation>,
        /// What is changed on the way.
        changes: Vec<WantedEdit>,
    },
    /// Run a model on many inputs. Gives way to everything else between two passes.
    Corpus(Box<CorpusOrder>),
    /// Look at many inputs before they are run.
    LookAtCorpus(Box<CorpusOrder>),
    /// Project the joint query–key space of every head of one stack.
    Project {
        pane: PaneId,
        cloud: Cloud,
        stack: StackKind,
        options: ProjectionOptions,
        /// What is projected like this already; refined layouts go on from there, head by head.
        known: Option<Arc<Projection>>,
        /// The head that is looked at comes first.
        first: HeadId,
    },
    Survey {
        pane: PaneId,
        survey: Arc<Survey>,
    },
    /// List everything that a document's model can say, by name.
    Outcomes(DocumentId, ModelId),
    /// Ask the laboratory. Gives way to runs.
    Explain(Box<Explanation>),
    /// Hold a document's model against an independent implementation; both read the input.
    SecondOpinion(DocumentId, ModelId, Input),
    /// Read patterns and what follows from them; each answer is told when it is there.
    Read(Vec<Want>),
    Export(ExportRequest),
    Draw {
        figure: FigureRequest,
        purpose: DrawFor,
    },
    /// Read, write or keep a session.
    Session(SessionRequest),
    /// List the models in the local Hugging Face cache.
    ListCached,
    /// Ask the hub which files a model consists of and how large they are.
    PlanDownload(RepoId),
    /// Fetch what is missing of them.
    Download(Arc<Plan>),
}

/// Requests of one lane supersede each other, except in lanes that [queue](Lane::queues).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Lane {
    /// Loading a model or a capture for a document.
    Load(DocumentId),
    /// Running a model for a document.
    Run(DocumentId),
    /// Running a model on many inputs for a document.
    Corpus(DocumentId),
    /// Looking at a corpus before it is run.
    Look,
    Project(PaneId),
    Survey(PaneId, QuestionKind),
    /// Explaining for a pane: one column, by its name.
    Explain(PaneId, &'static str),
    /// Holding a document's model against an independent implementation.
    SecondOpinion(DocumentId),
    /// Listing what a model can say, for a document.
    Outcomes(DocumentId),
    Analysis,
    Export,
    /// Drawing a figure that is not written.
    Draw,
    Session,
    Forget,
    Catalog,
    /// Asking the hub, and fetching from it.
    Download,
}

impl Lane {
    /// Whether everything that is asked for in this lane is done, one after the other.
    pub const fn queues(self) -> bool {
        matches!(self, Self::Export | Self::Forget | Self::Session)
    }

    /// Whether it is done even when the window closes before.
    pub const fn outlives_window(self) -> bool {
        matches!(self, Self::Export | Self::Session)
    }
}

impl Request {
    /// The lane this request supersedes others in.
    pub fn lane(&self) -> Lane {
        match self {
            Self::Load { document, .. } => Lane::Load(*document),
            Self::Run { document, .. } => Lane::Run(*document),
            Self::Corpus(order) => Lane::Corpus(order.document),
            Self::LookAtCorpus(_) => Lane::Look,
            Self::Project { pane, .. } => Lane::Project(*pane),
            Self::Survey { pane, survey } => Lane::Survey(*pane, survey.question.kind()),
            Self::Explain(wanted) => Lane::Explain(wanted.pane, wanted.column),
            Self::SecondOpinion(document, ..) => Lane::SecondOpinion(*document),
            Self::Outcomes(document, _) => Lane::Outcomes(*document),
            Self::Forget(_) => Lane::Forget,
            Self::Read(_) => Lane::Analysis,
            Self::Export(_) => Lane::Export,
            Self::Draw { .. } => Lane::Draw,
            Self::Session(_) => Lane::Session,
            Self::ListCached => Lane::Catalog,
            Self::PlanDownload(_) | Self::Download(_) => Lane::Download,
        }
    }
}

/// A question to the laboratory.
#[derive(Clone, Debug)]
pub struct Explanation {
    pub pane: PaneId,
    pub column: &'static str,
    /// The run that is shown, which the answer has to be about.
    pub shown: Arc<Capture>,
    pub model: ModelId,
    /// What it reads or sees.
    pub input: Input,
    /// How it writes, where it does.
    pub generation: Option<Generation>,
    /// What is changed about the run that is explained.
    pub edits: Vec<Edit>,
    pub ask: MethodCall,
    pub target: Target,
    /// How long it may take without anybody being asked.
    pub patience: Patience,
}

/// Where a model comes from.
#[derive(Clone, Debug, PartialEq, Eq, Hash, serde::Serialize, serde::Deserialize)]
pub enum ModelSource {
    /// A name such as `demo:gpt`.
    Bundled(String),
    /// A folder in Hugging Face layout, or a weights file inside one.
    Path(PathBuf),
    /// A hub id in the local cache, `ID` or `ID@REVISION`.
    Hub(String),
}

/// An answer, or a sign of life, of one job.
#[derive(Clone, Debug)]
pub struct Event {
    pub job: JobId,
    pub kind: EventKind,
}

/// What happened.
#[derive(Clone, Debug)]
pub enum EventKind {
    Progress(Progress),
    Loaded(Arc<LoadedModel>),
    Forgotten(ModelId),
    Captured(Arc<Capture>),
    Opened(CaptureFile),
    /// What a corpus will take, before anything was run.
    CorpusPlanned(Arc<CorpusPlan>),
    /// What can be chosen about a corpus, and what it will take: as far as it is known, and in the end.
    CorpusLooked(Arc<CorpusLook>),
    CorpusProgress(CorpusProgress),
    /// What was computed cannot be kept on disk; why, and where.
    NotKept(String),
    /// A corpus as far as it was run: now and then in between, and as the answer in the end.
    Corpus(Box<CorpusSoFar>),
    /// What was to be opened as a model is a list of inputs.
    IsCorpus {
        path: PathBuf,
        /// Whether they are pictures.
        has_pictures: bool,
    },
    /// A projection is better than before, and goes on to be refined.
    Refined(Arc<Projection>),
    Projected(Arc<Projection>),
    Surveyed(Arc<Finding>),
    /// What a model can say, by name.
    Outcomes(Arc<Outcomes>),
    /// An explanation as far as it is; the rest is on its way.
    Explaining(Arc<Report>),
    Explained(Arc<Report>),
    /// What an independent implementation says.
    SecondOpinion(Arc<Comparison>),
    /// An explanation would take longer than it may.
    TakesLong(Estimate),
    /// One of the answers to [`Request::Read`].
    Found(Box<Key>, Answer),
    /// That was the last one.
    FoundAll,
    Drawn(Drawn),
    Exported(PathBuf),
    Session(Box<SessionAnswer>),
    /// The models in the local cache, by name.
    CachedModels(Vec<KnownModel>),
    /// What a download would consist of.
    Planned {
        plan: Arc<Plan>,
        /// Why the model would not open, if so.
        problem: Option<String>,
    },
    Transfer(Transfer),
    Downloaded(Arc<Plan>),
    /// The job was superseded or cancelled; not an error.
    Cancelled,
    /// A text was not run because it is too long; a part of it can be.
    TooLong(TooLong),
    /// The job failed; whatever was there before is still there.
    Failed(Failure),
}

/// What a figure is drawn for.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum DrawFor {
    /// To be looked at, at most so many pixels wide and high.
    Preview([f32; 2]),
    /// To be looked at: so many of the first rows of the numbers behind it, and the size of such a file.
    PreviewNumbers(DataFormat, usize),
    /// The clipboard, as pixels.
    CopyPng,
    CopySvg,
    /// The clipboard, the numbers behind it.
    CopyNumbers,
    /// A bookmark, at most so many pixels wide and high.
    Thumbnail([f32; 2]),
}

/// A figure that was drawn.
#[derive(Clone, Debug)]
pub enum Drawn {
    Preview(Arc<Preview>),
    /// As pixels.
    Pixels(Arc<RgbaBuffer>),
    Svg(String),
    /// The numbers behind it, tab-separated.
    Numbers(String),
    /// A small picture as text; see [`crate::export::thumbnail`].
    Thumbnail(String),
}

/// What the window knows about a model that the worker holds.
#[derive(Clone, Debug)]
pub struct LoadedModel {
    pub id: ModelId,
    pub source: ModelSource,
    /// SHA-256 of its `config.json`; `None` for one inside the program, and where there is no such file.
    pub config: Option<String>,
    pub spec: Arc<ModelSpec>,
    /// What was found in its files.
    pub audit: Audit,
    /// Its position embeddings, or why it has none.
    pub positions: Result<Arc<PositionTables>, String>,
    /// Whether it knows a token that stands for a hidden one.
    pub has_mask: bool,
    /// Tags by which its text names the target language, such as `>>deu<<`.
    pub language_tags: Vec<String>,
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

/// Why a text was not run, and how much of it could be.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TooLong {
    /// What is wrong, with both numbers.
    pub failure: Failure,
    pub n_fit: usize,
}
