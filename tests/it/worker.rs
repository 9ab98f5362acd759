//! The background thread, with an engine that does what the test tells it: no clock, no sleeping.

use std::{
    path::PathBuf,
    sync::{
        Arc,
        atomic::{AtomicUsize, Ordering},
        mpsc::{Receiver, Sender, channel},
    },
};

use attnscope::{
    capture::RgbaBuffer,
    export::ExportRequest,
    ids::{DocumentId, JobId, ModelId},
    model::{Input, Progress, Stage},
    protocol::{Event, EventKind, Failure, Lane, ModelSource, Request},
    worker::{Engine, JobControl, Stop, Wake, Worker},
};

/// What the engine does next.
enum Step {
    Report(usize),
    Finish,
    Fail,
    Panic,
}

/// Tells the test what was started, and waits for its orders.
struct Scripted {
    started: Sender<String>,
    steps: Receiver<Step>,
}

impl Engine for Scripted {
    fn answer(&mut self, request: Request, control: &JobControl) -> Result<EventKind, Stop> {
        let name = name(&request);
        self.started.send(name.clone()).ok();
        loop {
            match self.steps.recv() {
                Ok(Step::Report(done)) => control.report(Progress { stage: Stage::Forward, done, total: 10 })?,
                Ok(Step::Finish) => return Ok(EventKind::Export(PathBuf::from(name))),
                Ok(Step::Fail) => {
                    return Err(Stop::Failed(Failure { summary: "no".to_owned(), details: String::new() }));
                }
                Ok(Step::Panic) => panic!("scripted"),
                // The test is over.
                Err(_) => control.check()?,
            }
        }
    }
}

struct Bench {
    worker: Worker,
    started: Receiver<String>,
    steps: Sender<Step>,
    n_wakes: Arc<AtomicUsize>,
}

impl Bench {
    fn new() -> Self {
        let (started_sender, started) = channel();
        let (steps, steps_receiver) = channel();
        let n_wakes = Arc::new(AtomicUsize::new(0));
        let counter = Arc::clone(&n_wakes);
        let wake: Wake = Arc::new(move || {
            counter.fetch_add(1, Ordering::SeqCst);
        });
        let worker = Worker::spawn(Scripted { started: started_sender, steps: steps_receiver }, wake).unwrap();
        Self { worker, started, steps, n_wakes }
    }

    fn step(&self, step: Step) {
        self.steps.send(step).unwrap();
    }

    /// Waits until the engine has begun with something, and says with what.
    fn started(&self) -> String {
        self.started.recv().unwrap()
    }

    fn next(&mut self) -> String {
        shown(&self.worker.wait().unwrap())
    }
}

pub fn name(request: &Request) -> String {
    match request {
        Request::Load { source: ModelSource::Bundled(name), .. } => name.clone(),
        Request::Run { input: Input::Ids(ids), .. } => format!("run {ids:?}"),
        Request::Export(ExportRequest::Png { path, .. }) => path.display().to_string(),
        other => format!("{other:?}"),
    }
}

pub fn shown(event: &Event) -> String {
    let Event { job: JobId(job), kind, .. } = event;
    match kind {
        EventKind::Progress(progress) => format!("{job}: {}", progress.done),
        EventKind::Export(name) => format!("{job}: done {}", name.display()),
        EventKind::Failed(failure) => format!("{job}: failed: {}", failure.summary),
        EventKind::Cancelled => format!("{job}: cancelled"),
        other => format!("{job}: {other:?}"),
    }
}

pub fn run(id: u32) -> Request {
    run_on(ModelId(1), Input::Ids(vec![id]))
}

pub fn load(name: &str) -> Request {
    load_from(ModelSource::Bundled(name.to_owned()))
}

/// A load that replaces the only model there is.
pub fn load_from(source: ModelSource) -> Request {
    let replaces = Some(ModelId(1));
    Request::Load { id: ModelId(1), document: DocumentId(1), source, replaces, sees: None }
}

pub fn run_on(model: ModelId, input: Input) -> Request {
    Request::Run { document: DocumentId(1), model, input, generation: None, changes: Vec::new() }
}

fn export(name: &str) -> Request {
    let pixels = Arc::new(RgbaBuffer { width: 0, height: 0, pixels: Vec::new() });
    Request::Export(ExportRequest::Png { pixels, metadata: Vec::new(), path: PathBuf::from(name) })
}

#[test]
fn answers_carry_their_job_and_wake_the_window() {
    let mut bench = Bench::new();
    bench.worker.submit(JobId(7), run(1));
    bench.step(Step::Report(3));
    bench.step(Step::Finish);
    assert_eq!(bench.next(), "7: 3");
    assert_eq!(bench.next(), "7: done run [1]");
    bench.step(Step::Fail);
    bench.worker.submit(JobId(8), run(2));
    assert_eq!(bench.next(), "8: failed: no");
    drop(bench.worker);
    assert_eq!(bench.n_wakes.load(Ordering::SeqCst), 3, "once for each event");
}

#[test]
fn the_newest_of_a_lane_wins() {
    let mut bench = Bench::new();
    bench.worker.submit(JobId(1), run(1));
    assert_eq!(bench.started(), "run [1]");
    // 2 is replaced before it is started; 1 learns at its next step that it is not wanted.
    bench.worker.submit(JobId(2), run(2));
    bench.worker.submit(JobId(3), run(3));
    assert_eq!(bench.next(), "2: cancelled");
    bench.step(Step::Report(1));
    assert_eq!(bench.next(), "1: cancelled");
    assert_eq!(bench.started(), "run [3]");
    bench.step(Step::Finish);
    assert_eq!(bench.next(), "3: done run [3]");
}

#[test]
fn lanes_do_not_replace_each_other() {
    let mut bench = Bench::new();
    bench.worker.submit(JobId(1), load("demo:gpt"));
    assert_eq!(bench.started(), "demo:gpt");
    bench.worker.submit(JobId(2), run(2));
    bench.step(Step::Report(1));
    bench.step(Step::Finish);
    assert_eq!(bench.next(), "1: 1");
    assert_eq!(bench.next(), "1: done demo:gpt");
    bench.step(Step::Finish);
    assert_eq!(bench.next(), "2: done run [2]");
}

#[test]
fn cancelling_a_lane_stops_what_runs_and_forgets_what_waits() {
    let mut bench = Bench::new();
    bench.worker.submit(JobId(1), load("demo:gpt"));
    assert_eq!(bench.started(), "demo:gpt");
    bench.worker.submit(JobId(2), run(2));
    bench.worker.cancel(Lane::Run(DocumentId(1)));
    assert_eq!(bench.next(), "2: cancelled");
    bench.worker.cancel(Lane::Load(DocumentId(1)));
    bench.step(Step::Report(1));
    assert_eq!(bench.next(), "1: cancelled");
    // The lane is free again.
    bench.worker.submit(JobId(3), run(3));
    bench.step(Step::Finish);
    assert_eq!(bench.next(), "3: done run [3]");
}

/// A job that ends before it sees the wish to stop still answers, under its own number.
#[test]
fn a_late_answer_says_which_job_it_belongs_to() {
    let mut bench = Bench::new();
    bench.worker.submit(JobId(1), run(1));
    assert_eq!(bench.started(), "run [1]");
    bench.worker.submit(JobId(2), run(2));
    bench.step(Step::Finish);
    assert_eq!(bench.next(), "1: done run [1]");
    bench.step(Step::Finish);
    assert_eq!(bench.next(), "2: done run [2]");
}

#[test]
fn exports_queue_and_are_all_written() {
    let mut bench = Bench::new();
    for job in 1..=4 {
        bench.worker.submit(JobId(job), export(&format!("{job}.png")));
    }
    for job in 1..=4 {
        bench.step(Step::Finish);
        assert_eq!(bench.next(), format!("{job}: done {job}.png"));
    }
}

#[test]
fn a_panic_becomes_a_message_and_the_worker_lives_on() {
    let mut bench = Bench::new();
    bench.worker.submit(JobId(1), run(1));
    bench.step(Step::Panic);
    let event = bench.worker.wait().unwrap();
    let EventKind::Failed(failure) = event.kind else { panic!("{event:?}") };
    assert!(failure.details.ends_with("scripted"), "{failure:?}");
    bench.worker.submit(JobId(2), run(2));
    bench.step(Step::Finish);
    assert_eq!(bench.next(), "2: done run [2]");
}

/// Results wait for room and nobody makes any: closing the window must not wait for them.
#[test]
fn closing_does_not_hang_on_events_that_nobody_takes() {
    let mut bench = Bench::new();
    for job in 0..200 {
        bench.worker.submit(JobId(job), export("x"));
        bench.step(Step::Finish);
    }
    for _ in 0..64 {
        bench.started();
    }
    drop(bench.worker);
}

#[test]
fn closing_stops_the_running_job_and_still_writes_the_files() {
    let mut bench = Bench::new();
    bench.worker.submit(JobId(1), run(1));
    assert_eq!(bench.started(), "run [1]");
    bench.worker.submit(JobId(2), load("demo:gpt"));
    bench.worker.submit(JobId(3), export("a.png"));
    bench.worker.submit(JobId(4), export("b.png"));
    let Bench { worker, started, steps, .. } = bench;
    let closing = std::thread::Builder::new().name("closing".to_owned()).spawn(move || drop(worker)).unwrap();
    // The running job is stopped at whichever step comes after the wish to close.
    while steps.send(Step::Report(1)).is_ok() {
        match started.try_recv() {
            Ok(name) => {
                assert_eq!(name, "a.png", "the waiting load is forgotten");
                break;
            }
            Err(_) => std::thread::yield_now(),
        }
    }
    steps.send(Step::Finish).unwrap();
    steps.send(Step::Finish).unwrap();
    assert_eq!(started.recv().unwrap(), "b.png");
    closing.join().unwrap();
    assert!(started.recv().is_err(), "the engine is gone");
}
