//! What the background threads answer.

use std::{path::PathBuf, sync::Arc};

use crate::{
    analysis::{
        explain::report::Report,
        projection::Projection,
        reading::store::{Answer, PatternKey},
        survey::Finding,
    },
    capture::{Capture, RgbaBuffer},
    export::Preview,
    hub::{Plan, Transfer},
    ids::{JobId, ModelId},
    lab::Estimate,
    model::{Comparison, Progress, locate::KnownModel},
};

use super::{
    CaptureFile, CorpusLook, CorpusPlan, CorpusProgress, CorpusSoFar, Failure, LoadedModel, Outcomes, SessionAnswer,
    TooLong,
};

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
    /// One of the answers to [`Request::Read`](super::Request::Read).
    Found(Box<PatternKey>, Answer),
    /// That was the last one.
    FoundAll,
    Drawn(RenderedFigure),
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

/// A figure that was drawn.
#[derive(Clone, Debug)]
pub enum RenderedFigure {
    Preview(Arc<Preview>),
    /// As pixels.
    Pixels(Arc<RgbaBuffer>),
    Svg(String),
    /// The numbers behind it, tab-separated.
    Numbers(String),
    /// A small picture as text; see [`crate::export::thumbnail`].
    Thumbnail(String),
}
