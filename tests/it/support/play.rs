//! A session with its worker played by the test.

use std::{collections::HashMap, sync::Arc};

use attnscope::{
    ids::{DocumentId, JobId, ModelId},
    model::is_sae,
    protocol::{
        CorpusOrder, Event, EventKind, Lane, LoadAnswer, LoadedModel, ModelSource, ProjectionAnswer, Request, RunAnswer,
    },
    session::{Command, Effect, Loadable, Session, Settings},
};

use super::{
    scripted::{changed_capture, model, projection},
    sessions,
};

/// The document that a session starts with.
pub const DOCUMENT: DocumentId = DocumentId(1);

/// A session with its worker played by the test.
pub struct Play {
    pub session: Session,
    /// What was asked of the worker and not answered yet.
    pub asked: Vec<(JobId, Request)>,
    /// The lane of every job that was asked for.
    lanes: HashMap<JobId, Lane>,
    /// The models that a worker would hold, as far as it would drop none by itself.
    pub held: HashMap<ModelId, Arc<LoadedModel>>,
}

impl Play {
    pub fn new() -> Self {
        Self {
            session: Session::new(Settings::default()),
            asked: Vec::new(),
            lanes: HashMap::new(),
            held: HashMap::new(),
        }
    }

    /// A session that shows `text` on `demo:gpt`.
    pub fn showing(text: &str) -> Self {
        let mut play = Self::new();
        play.does(Command::SetText(text.to_owned()));
        play.does(Command::OpenModel(bundled("demo:gpt")));
        play.answers();
        play
    }

    /// Applies a command and gives the effects that are not for the worker, by name.
    pub fn does(&mut self, command: Command) -> Vec<String> {
        let effects = self.session.apply(command);
        self.sort(effects)
    }

    pub fn hears(&mut self, job: JobId, kind: EventKind) -> Vec<String> {
        // Exports are handed on by the window.
        let lane = self.lanes.get(&job).copied().unwrap_or(Lane::Export);
        let effects = self.session.on_event(Event { job, lane, kind });
        self.sort(effects)
    }

    pub fn sort(&mut self, effects: Vec<Effect>) -> Vec<String> {
        let mut others = Vec::new();
        for effect in effects {
            match effect {
                Effect::Submit(job, request) => {
                    self.lanes.insert(job, request.lane());
                    self.asked.push((job, request));
                }
                other => others.push(format!("{other:?}")),
            }
        }
        others
    }

    /// Answers everything that was asked, as a working model would, until nothing is asked any more. What comes of
    /// a corpus is for the test to say.
    pub fn answers(&mut self) {
        while let Some(next) = self.asked.iter().position(|(_, request)| {
            !matches!(request, Request::Corpus(_) | Request::LookAtCorpus(_) | Request::Judge(_))
        }) {
            let (job, request) = self.asked.remove(next);
            let kind = match &request {
                Request::Load { source: ModelSource::Path(path), .. } if is_sae(path) => {
                    EventKind::Load(LoadAnswer::IsSae(path.clone()))
                }
                Request::Load { id, source, .. } => {
                    let new = LoadedModel { id: *id, ..LoadedModel::clone(&model(source)) };
                    self.held.insert(*id, Arc::new(new));
                    EventKind::Load(LoadAnswer::Loaded(Arc::clone(&self.held[id])))
                }
                Request::Forget(id) => {
                    self.held.remove(id);
                    EventKind::Forget(*id)
                }
                Request::Run { model, input, changes, .. } => {
                    EventKind::Run(RunAnswer::Captured(changed_capture(&self.held[model], input, changes)))
                }
                Request::Project { .. } => EventKind::Project(ProjectionAnswer::Projected(projection(&request))),
                Request::Session(request) => sessions::answer(request),
                other => panic!("unexpected {other:?}"),
            };
            self.hears(job, kind);
        }
    }

    pub fn last_job(&self) -> JobId {
        self.asked.last().unwrap().0
    }

    /// The newest corpus that was asked for.
    pub fn last_corpus(&self) -> (JobId, CorpusOrder) {
        let corpora = self.asked.iter().rev().filter_map(|(job, request)| match request {
            Request::Corpus(order) => Some((*job, CorpusOrder::clone(order))),
            _ => None,
        });
        corpora.take(1).next().unwrap()
    }

    pub fn asked_names(&self) -> Vec<&'static str> {
        self.asked
            .iter()
            .map(|(_, request)| match request {
                Request::Load { .. } => "load",
                Request::Forget(_) => "forget",
                Request::Run { .. } => "run",
                Request::Corpus(_) => "corpus",
                Request::LookAtCorpus(_) => "look",
                Request::Judge(_) => "judge",
                Request::Project { .. } => "project",
                Request::Survey { .. } => "survey",
                Request::Export(_) => "export",
                Request::Draw { .. } => "draw",
                Request::Thumbnail(..) => "thumbnail",
                Request::Card(..) => "card",
                Request::ListModels(_) => "list",
                Request::PlanDownload(_) => "plan",
                Request::Download(_) => "download",
                Request::Read(_) => "read",
                Request::Explain(_) => "explain",
                Request::SecondOpinion(..) => "second opinion",
                Request::Session(_) => "session",
                Request::Outcomes(..) => "outcomes",
                Request::Measure(..) => "measure",
                Request::Debate(_) => "debate",
                Request::Study(_) => "study",
            })
            .collect()
    }

    pub fn n_tokens(&self) -> usize {
        let stack = self.session.pane().selection.stack();
        self.session.document().latest_capture().map_or(0, |capture| capture.query_tokens(stack).len())
    }

    pub fn last_notice(&self) -> &str {
        &self.session.notices.last().unwrap().text.summary
    }
}

pub fn bundled(name: &str) -> ModelSource {
    ModelSource::Bundled(name.to_owned())
}

pub fn state<T>(value: &Loadable<T>) -> &'static str {
    match value {
        Loadable::Empty => "empty",
        Loadable::Pending { previous: None, .. } => "pending",
        Loadable::Pending { previous: Some(_), .. } => "pending over previous",
        Loadable::Ready(_) => "ready",
        Loadable::Failed { previous: None, .. } => "failed",
        Loadable::Failed { previous: Some(_), .. } => "failed over previous",
    }
}
