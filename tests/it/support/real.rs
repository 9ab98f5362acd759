//! A worker with the bundled models that answers within the frame, or only once the test says so.

use std::{cell::RefCell, collections::HashMap, rc::Rc, sync::Arc};

use attnscope::{
    capture::{AppliedEdit, Capture, Edit, Matrix},
    export::{ExportRequest, Preview},
    ids::{HeadId, JobId},
    model::{self, Engine, Input, Model, RunPlan, locate, uninterrupted},
    protocol::{DrawFor, Event, EventKind, Lane, RenderedFigure, Request},
    ui::app::Jobs,
    worker::{ModelEngine, Worker},
};

use super::sessions;

/// A worker that does one thing after the other while the window waits.
#[derive(Clone)]
pub struct RealJobs(Rc<RefCell<Inner>>);

struct Inner {
    worker: Worker,
    /// What was asked for and not begun.
    queue: Vec<(JobId, Request)>,
    events: Vec<Event>,
    holds: bool,
}

impl RealJobs {
    pub fn new() -> Self {
        let engine = ModelEngine::with_engine(model::Engine::cpu(Some(1)).unwrap());
        let worker = Worker::spawn(engine, Arc::new(|| ())).unwrap();
        Self(Rc::new(RefCell::new(Inner { worker, queue: Vec::new(), events: Vec::new(), holds: false })))
    }

    /// Begins with nothing until it is told to go on.
    pub fn hold(&self, holds: bool) {
        self.0.borrow_mut().holds = holds;
    }
}

impl Inner {
    /// Ends what waits in a lane.
    fn end(&mut self, lane: Lane) {
        let (ended, queue) = self.queue.drain(..).partition(|(_, request): &(JobId, Request)| request.lane() == lane);
        self.queue = queue;
        let ended: Vec<(JobId, Request)> = ended;
        self.events.extend(ended.into_iter().map(|(job, _)| Event { job, lane, kind: EventKind::Cancelled }));
    }

    fn answer(&mut self, job: JobId, request: Request) {
        let kind = match &request {
            Request::Session(request) => sessions::answer(request),
            Request::Draw { figure, purpose: DrawFor::Preview(max_px) } => {
                EventKind::Draw(RenderedFigure::Preview(Arc::new(Preview::Figure(figure.preview(*max_px).unwrap()))))
            }
            Request::Export(ExportRequest::Figures { figure, path }) => EventKind::Export(figure.write(path).unwrap()),
            _ => {
                self.worker.submit(job, request);
                while let Some(event) = self.worker.wait() {
                    let ends = event.job == job && !matches!(event.kind, EventKind::Progress(_));
                    self.events.push(event);
                    if ends {
                        break;
                    }
                }
                return;
            }
        };
        self.events.push(Event { job, lane: request.lane(), kind });
    }
}

impl Jobs for RealJobs {
    fn submit(&mut self, job: JobId, request: Request) {
        let mut inner = self.0.borrow_mut();
        inner.end(request.lane());
        inner.queue.push((job, request));
    }

    fn cancel(&mut self, lane: Lane) {
        self.0.borrow_mut().end(lane);
    }

    fn drain(&mut self) -> Vec<Event> {
        let mut inner = self.0.borrow_mut();
        while !inner.holds && !inner.queue.is_empty() {
            let (job, request) = inner.queue.remove(0);
            inner.answer(job, request);
        }
        std::mem::take(&mut inner.events)
    }

    fn rest(&self) {}
}

/// What models really do, run once more beside the window.
#[derive(Default)]
pub struct Oracle {
    models: HashMap<String, Model>,
    runs: HashMap<String, Capture>,
}

impl Oracle {
    /// The run that a capture says it is.
    fn run(&mut self, capture: &Capture) -> &Capture {
        let name = capture.model().name.clone();
        let model = self.models.entry(name.clone()).or_insert_with(|| {
            let (files, name) = locate::model(&name).unwrap();
            Model::load(&files, &name, &Engine::cpu(Some(1)).unwrap(), &uninterrupted).unwrap()
        });
        let known = |edit: &AppliedEdit| match edit {
            AppliedEdit::Known(edit) => edit.clone(),
            AppliedEdit::Foreign(edit) => panic!("{edit}"),
        };
        let edits: Vec<Edit> = capture.computation().edits.iter().map(known).collect();
        let text = capture.input().text.clone().unwrap();
        self.runs.entry(format!("{name} {text} {edits:?}")).or_insert_with(|| {
            let encoded = model.encode(&Input::text(&text)).unwrap();
            model.forward(&encoded, &RunPlan { edits, ..RunPlan::default() }, &uninterrupted).unwrap()
        })
    }

    /// The pattern of a head in it.
    pub fn pattern(&mut self, capture: &Capture, head: HeadId) -> Matrix {
        self.run(capture).stored_pattern(head).unwrap()
    }
}
