//! Work for the background threads, and which request takes the place of which.

use std::sync::Arc;

use crate::{
    analysis::{
        PointCloud,
        cloud_query::{QuestionKind, Survey},
        projection::{Projection, ProjectionOptions},
        reading::store::Want,
    },
    capture::{Capture, Edit},
    export::{ExportRequest, FigureRequest},
    figure::{data::DataFormat, views::Study},
    hub::{Plan, RepoId},
    ids::{DocumentId, HeadId, ModelId, PaneId, StackKind},
    lab::{MethodCall, Target, TimeLimit},
    model::{Generation, ImageSource, Input},
};

use super::{CorpusOrder, DebateOrder, EditRequest, JudgeRequest, ModelSource, SessionRequest, StudyOrder};

/// Work for the background thread.
#[derive(Clone, Debug)]
pub enum Request {
    /// Read a model. A capture file is answered with [`LoadAnswer::Opened`](super::LoadAnswer::Opened).
    Load {
        /// What to call it from now on.
        id: ModelId,
        document: DocumentId,
        source: ModelSource,
        /// Nobody needs this one any more once the new one is there; until then it stays.
        replaces: Option<ModelId>,
        /// The picture that it is opened for: where that cannot be read, nor is the model.
        sees: Option<ImageSource>,
    },
    /// Drop a model that nobody needs any more.
    Forget(ModelId),
    Run {
        document: DocumentId,
        model: ModelId,
        /// What it reads or sees.
        input: Input,
        /// Decoder-only models continue the input if this is set. Encoder–decoders without a target use it, or the
        /// checkpoint's generation config.
        generation: Option<Generation>,
        /// What is changed on the way.
        changes: Vec<EditRequest>,
    },
    /// Run a model on many inputs. Gives way to everything else between two passes.
    Corpus(Box<CorpusOrder>),
    /// Test attention as an explanation of many inputs. Gives way to everything else but corpora between two inputs.
    Debate(Box<DebateOrder>),
    /// Learn or count something over many inputs. Gives way to everything else but corpora between two inputs.
    Study(Box<StudyOrder>),
    /// Ask a model what it says of many inputs. Gives way to everything else between two of them.
    Judge(Box<JudgeRequest>),
    /// Look at many inputs before they are run.
    LookAtCorpus(Box<CorpusOrder>),
    /// Project the joint query–key space of every head of one stack.
    Project {
        pane: PaneId,
        cloud: PointCloud,
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
    /// Measure times of a document's model by the length of its input, made of the tokens of this one. Gives way to runs.
    Measure(DocumentId, ModelId, Option<Input>),
    /// Read patterns and what follows from them; each answer is told when it is there.
    Read(Vec<Want>),
    Export(ExportRequest),
    Draw {
        figure: FigureRequest,
        purpose: DrawFor,
    },
    /// Draw the figure of a bookmark, at most so many pixels wide and high.
    Thumbnail(FigureRequest, [f32; 2]),
    /// Draw what a view would show, at most so many pixels wide and high.
    Card(FigureRequest, [f32; 2]),
    /// Read, write or keep a session.
    Session(SessionRequest),
    /// List the models inside the program and in the local Hugging Face cache, and those of before in folders.
    ListModels(Vec<ModelSource>),
    /// Ask the hub which files a model consists of and how large they are.
    PlanDownload(RepoId),
    /// Fetch what is missing of them.
    Download(Arc<Plan>),
}

impl Request {
    /// The lane this request supersedes others in.
    pub fn lane(&self) -> Lane {
        match self {
            Self::Load { document, .. } => Lane::Load(*document),
            Self::Run { document, .. } => Lane::Run(*document),
            Self::Corpus(order) => Lane::Corpus(order.document),
            Self::Debate(order) => Lane::Debate(order.document),
            Self::Study(order) => Lane::Study(order.document, order.begun.study()),
            Self::Judge(request) => Lane::Judge(request.document),
            Self::LookAtCorpus(_) => Lane::Look,
            Self::Project { pane, .. } => Lane::Project(*pane),
            Self::Survey { pane, survey } => Lane::Survey(*pane, survey.question.kind()),
            Self::Explain(wanted) => Lane::Explain(wanted.pane, wanted.column),
            Self::SecondOpinion(document, ..) => Lane::SecondOpinion(*document),
            Self::Measure(document, ..) => Lane::Measure(*document),
            Self::Outcomes(document, _) => Lane::Outcomes(*document),
            Self::Forget(_) => Lane::Forget,
            Self::Read(_) => Lane::Analysis,
            Self::Export(_) => Lane::Export,
            Self::Draw { .. } => Lane::Draw,
            Self::Thumbnail(..) => Lane::Thumbnail,
            Self::Card(..) => Lane::Card,
            Self::Session(_) => Lane::Session,
            Self::ListModels(_) => Lane::Catalog,
            Self::PlanDownload(_) | Self::Download(_) => Lane::Download,
        }
    }
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
    /// Testing attention as an explanation of a document's corpus.
    Debate(DocumentId),
    /// Learning or counting something over the corpus of a document.
    Study(DocumentId, Study),
    /// Asking a model what it says of the inputs of a corpus, for a document.
    Judge(DocumentId),
    /// Looking at a corpus before it is run.
    Look,
    Project(PaneId),
    Survey(PaneId, QuestionKind),
    /// Explaining for a pane: one column, by its name.
    Explain(PaneId, &'static str),
    /// Holding a document's model against an independent implementation.
    SecondOpinion(DocumentId),
    /// Measuring times of a document's model.
    Measure(DocumentId),
    /// Listing what a model can say, for a document.
    Outcomes(DocumentId),
    Analysis,
    Export,
    /// Drawing a figure that is not written.
    Draw,
    Thumbnail,
    /// Drawing what views would show.
    Card,
    Session,
    Forget,
    Catalog,
    /// Asking the hub, and fetching from it.
    Download,
}

impl Lane {
    /// Whether the lane is first in, first out: no job supersedes another.
    pub const fn queues(self) -> bool {
        matches!(self, Self::Export | Self::Thumbnail | Self::Forget | Self::Session)
    }

    /// Whether it is done even when the window closes before.
    pub const fn outlives_window(self) -> bool {
        matches!(self, Self::Export | Self::Session)
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
    pub time_limit: TimeLimit,
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
}
