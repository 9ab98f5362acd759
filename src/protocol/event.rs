//! Events of the background threads.

use std::{path::PathBuf, sync::Arc};

use crate::{
    analysis::{
        cloud_query::CloudResult,
        debate::CorpusDebate,
        explain::report::Report,
        projection::Projection,
        reading::store::{Answer, PatternKey},
        timing::Timing,
    },
    capture::{Capture, RgbaBuffer},
    export::Preview,
    hub::{Plan, Transfer},
    ids::{JobId, ModelId},
    lab::Estimate,
    model::{Comparison, Progress, locate::KnownModel},
};

use super::{
    CaptureFile, CorpusLook, CorpusPlan, CorpusProgress, CorpusSoFar, Failure, JudgeAnswer, Lane, LoadedModel,
    ModelSource, Outcomes, SessionAnswer, StudyAnswer, TooLong,
};

/// An answer, or a sign of life, of one job.
#[derive(Clone, Debug)]
pub struct Event {
    pub job: JobId,
    /// The lane of the job, which says whose event it is.
    pub lane: Lane,
    pub kind: EventKind,
}

/// An event of a job whose answers are of one kind.
#[derive(Clone, Debug)]
pub enum Update<A> {
    Progress(Progress),
    Answer(A),
    Cancelled,
    Failed(Failure),
}

/// The answers of the jobs of one lane.
pub trait LaneAnswer: Sized {
    /// The answer in an event; `None` for one of another lane.
    fn of(event: EventKind) -> Option<Self>;
}

/// The kinds of events: those of every job, and answers with the type of each lane's.
macro_rules! event_kinds {
    ($($(#[$doc:meta])* $lane:ident($answer:ty),)*) => {
        /// What happened.
        #[derive(Clone, Debug)]
        pub enum EventKind {
            Progress(Progress),
            /// What was computed cannot be kept on disk; why, and where.
            NotKept(String),
            /// The job was superseded or cancelled; not an error.
            Cancelled,
            /// The job failed; whatever was there before is still there.
            Failed(Failure),
            $($(#[$doc])* $lane($answer),)*
        }

        $(impl LaneAnswer for $answer {
            fn of(event: EventKind) -> Option<Self> {
                if let EventKind::$lane(answer) = event { Some(answer) } else { None }
            }
        })*
    };
}

event_kinds! {
    Load(LoadAnswer),
    Run(RunAnswer),
    Corpus(CorpusAnswer),
    /// Tests of attention as an explanation.
    Debate(DebateAnswer),
    /// What was learnt or counted over a corpus.
    Study(StudyAnswer),
    Judge(JudgeAnswer),
    /// What can be chosen about a corpus, and what it will take: as far as it is known, and in the end.
    Look(Arc<CorpusLook>),
    Project(ProjectionAnswer),
    Survey(SurveyAnswer),
    Explain(ExplanationAnswer),
    /// What an independent implementation says.
    SecondOpinion(Arc<Comparison>),
    /// What a model can say, by name.
    Outcomes(Arc<Outcomes>),
    Measure(MeasureAnswer),
    Analysis(ReadAnswer),
    Export(PathBuf),
    Draw(RenderedFigure),
    /// A small picture as text; see [`crate::export::thumbnail`].
    Thumbnail(String),
    /// What a view would show.
    Card(Arc<RgbaBuffer>),
    Session(Box<SessionAnswer>),
    Forget(ModelId),
    Catalog(Catalog),
    Download(DownloadAnswer),
}

impl EventKind {
    /// The event for the part that awaits answers of one kind; `None` for an answer of another lane.
    pub fn update<A: LaneAnswer>(self) -> Option<Update<A>> {
        Some(match self {
            Self::Progress(progress) => Update::Progress(progress),
            Self::Cancelled => Update::Cancelled,
            Self::Failed(failure) => Update::Failed(failure),
            answer => Update::Answer(A::of(answer)?),
        })
    }
}

/// Models that can be opened by name or were open before, each with where it is.
pub type Catalog = Vec<(ModelSource, KnownModel)>;

/// What became of a path that was to be opened.
#[derive(Clone, Debug)]
pub enum LoadAnswer {
    Loaded(Arc<LoadedModel>),
    Opened(CaptureFile),
    /// What was to be opened as a model is a list of inputs.
    IsCorpus {
        path: PathBuf,
        /// Whether they are pictures.
        has_pictures: bool,
    },
    /// What was to be opened as a model is a Jacobian lens.
    IsLens(PathBuf),
    /// What was to be opened as a model is a dictionary of features, a sparse autoencoder.
    IsSae(PathBuf),
}

/// What a run gave.
#[derive(Clone, Debug)]
pub enum RunAnswer {
    Captured(Arc<Capture>),
    /// A text was not run because it is too long; a part of it can be.
    TooLong(TooLong),
}

/// What a corpus gave.
#[derive(Clone, Debug)]
pub enum CorpusAnswer {
    /// What it will take, before anything was run.
    Planned(Arc<CorpusPlan>),
    Progress(CorpusProgress),
    /// A corpus as far as it was run: now and then in between, and as the answer in the end.
    SoFar(Box<CorpusSoFar>),
}

/// What tests over a corpus came to.
#[derive(Clone, Debug)]
pub enum DebateAnswer {
    /// Of some inputs: others are on their way, or it was stopped.
    SoFar(Arc<CorpusDebate>),
    Found(Arc<CorpusDebate>),
}

/// Planes of joint spaces.
#[derive(Clone, Debug)]
pub enum ProjectionAnswer {
    /// A projection is better than before, and goes on to be refined.
    Refined(Arc<Projection>),
    Projected(Arc<Projection>),
}

/// What a question about a cloud came to.
#[derive(Clone, Debug)]
pub enum SurveyAnswer {
    /// Of the first inputs; that of all is on its way.
    SoFar(Arc<CloudResult>),
    Found(Arc<CloudResult>),
}

/// What the laboratory says.
#[derive(Clone, Debug)]
pub enum ExplanationAnswer {
    /// An explanation as far as it is; the rest is on its way.
    Explaining(Arc<Report>),
    Explained(Arc<Report>),
    /// It would take longer than it may.
    TakesLong(Estimate),
}

/// Times of a model by the length of its input.
#[derive(Clone, Debug)]
pub enum MeasureAnswer {
    /// More lengths are on their way.
    SoFar(Arc<Timing>),
    Measured(Arc<Timing>),
}

/// An answer to [`Request::Read`](super::Request::Read).
#[derive(Clone, Debug)]
pub enum ReadAnswer {
    Found(Box<PatternKey>, Answer),
    /// That was the last one.
    FoundAll,
}

/// What the hub gave.
#[derive(Clone, Debug)]
pub enum DownloadAnswer {
    /// What a download would consist of.
    Planned {
        plan: Arc<Plan>,
        /// Why the model would not open, if so.
        problem: Option<String>,
    },
    Transfer(Transfer),
    Downloaded(Arc<Plan>),
}

/// A figure that was drawn.
#[derive(Clone, Debug)]
pub enum RenderedFigure {
    Preview(Arc<Preview>),
    /// As pixels.
    Pixels(Arc<RgbaBuffer>),
    Svg(String),
    /// The numbers behind it, tab-separated.
    Numbers(String),
}
