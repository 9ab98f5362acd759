//! The thread: takes jobs from the queue, runs them on an engine, answers.

use std::{
    any::Any,
    io,
    panic::{AssertUnwindSafe, catch_unwind},
    sync::{
        Arc, Mutex, PoisonError,
        mpsc::{Receiver, SyncSender, TrySendError, sync_channel},
    },
    thread::{self, Builder, JoinHandle},
    time::{Duration, Instant},
};

use super::{
    corpus::Begun,
    idle,
    queue::{Job, Queue, Urgency},
};
use crate::{
    ids::JobId,
    model::{Cancelled, Progress, lower_priority},
    protocol::{Event, EventKind, Failure, Lane, Request},
};

/// Called after an answer was sent, so that somebody looks.
pub type Wake = Arc<dyn Fn() + Send + Sync>;

/// Does the work: the real one holds the model, the one of the tests follows a script.
pub trait Engine {
    /// Name of the thread it runs on.
    const THREAD: &'static str = "model-worker";
    /// How long closing waits for a job that was told to stop; `None` for as long as it takes.
    const CLOSING: Option<Duration> = None;

    /// Answers one request. The answer is any kind of event but progress.
    ///
    /// # Errors
    /// When the job was told to stop, or failed; the engine is as it was before.
    fn answer(&mut self, request: Request, control: &JobControl) -> Result<EventKind, Stop>;

    /// Nothing was asked for in a while: what it holds for the next question alone goes, and threads that compute for
    /// it give back what they have freed, as the one that it runs on does after this.
    fn rest(&mut self) {}
}

/// Why a job ended without an answer.
#[derive(Clone, Debug)]
pub enum Stop {
    Cancelled,
    /// It gives way to what waits, and goes on with this when that is done.
    Later(Box<Request>),
    Failed(Failure),
}

impl From<Cancelled> for Stop {
    fn from(_: Cancelled) -> Self {
        Self::Cancelled
    }
}

/// Events that wait to be taken in. Results wait for room, signs of life are dropped.
const MAX_EVENTS: usize = 64;
/// How often closing looks whether a thread has ended.
const CLOSING_STEP: Duration = Duration::from_millis(5);

/// A background thread that answers requests, seen from the window.
///
/// Nothing here waits for the thread, except dropping it: that tells it to stop, which takes at most
/// one step of the running job, and the files that were asked for are written.
#[derive(Debug)]
pub struct Worker {
    queue: Arc<Queue>,
    /// `None` only while being dropped.
    events: Option<Receiver<Event>>,
    /// Answers that do not need the thread: for jobs that were replaced before they were started.
    cancelled: Vec<Event>,
    thread: Option<JoinHandle<()>>,
    closing: Option<Duration>,
}

impl Worker {
    /// Starts the thread and moves the engine there.
    ///
    /// # Errors
    /// When the system refuses to start a thread.
    pub fn spawn<E: Engine + Send + 'static>(engine: E, wake: Wake) -> io::Result<Self> {
        let queue = Arc::new(Queue::default());
        let (sender, events) = sync_channel(MAX_EVENTS);
        let for_thread = Arc::clone(&queue);
        let thread = Builder::new().name(E::THREAD.to_owned()).spawn(move || {
            lower_priority();
            run(engine, &for_thread, &sender, &wake);
        })?;
        Ok(Self { queue, events: Some(events), cancelled: Vec::new(), thread: Some(thread), closing: E::CLOSING })
    }

    /// Asks for something; never blocks. What runs or waits in the same lane is cancelled, except exports.
    pub fn submit(&mut self, job: JobId, request: Request) {
        let lane = request.lane();
        self.cancelled.extend(self.queue.push(job, request).map(|job| cancelled(job, lane)));
    }

    /// Stops what runs or waits in a lane.
    pub fn cancel(&mut self, lane: Lane) {
        self.cancelled.extend(self.queue.cancel(lane).into_iter().map(|job| cancelled(job, lane)));
    }

    /// Has the thread give back what it has freed and what was freed for it, when it has nothing else to do.
    pub fn rest(&self) {
        self.queue.rest();
    }

    /// Everything that was said since the last call; never blocks.
    pub fn drain(&mut self) -> Vec<Event> {
        self.cancelled.drain(..).chain(self.events.iter().flat_map(Receiver::try_iter)).collect()
    }

    /// Waits for the next event; `None` when the thread has ended. For callers without a frame loop.
    pub fn wait(&mut self) -> Option<Event> {
        self.cancelled.pop().or_else(|| self.events.as_ref()?.recv().ok())
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        self.queue.close();
        // A thread that waits for room in the channel is let go by the missing receiver.
        self.events = None;
        let Some(thread) = self.thread.take() else { return };
        let until = self.closing.map(|closing| Instant::now() + closing);
        while until.is_some_and(|until| Instant::now() < until) && !thread.is_finished() {
            thread::sleep(CLOSING_STEP);
        }
        if until.is_some() && !thread.is_finished() {
            log::warn!("{} is left to the end of the process", thread.thread().name().unwrap_or("a thread"));
        } else if thread.join().is_err() {
            log::error!("the worker thread ended with a panic");
        }
    }
}

fn cancelled(job: JobId, lane: Lane) -> Event {
    Event { job, lane, kind: EventKind::Cancelled }
}

fn rest(engine: &mut impl Engine) {
    engine.rest();
    idle::give_back();
}

fn run(mut engine: impl Engine, queue: &Arc<Queue>, events: &SyncSender<Event>, wake: &Wake) {
    while let Some(Job { id, request, lane, generation, begun }) = queue.pop(|| rest(&mut engine)) {
        let control = JobControl {
            job: id,
            lane,
            generation,
            queue: Arc::clone(queue),
            events: events.clone(),
            wake: Arc::clone(wake),
            begun: Mutex::new(begun),
        };
        // Engines keep the last good state until an answer is complete, so a panic leaves them sound.
        let answer = catch_unwind(AssertUnwindSafe(|| engine.answer(request, &control)));
        let kind = match answer {
            Ok(Ok(kind)) => kind,
            Ok(Err(Stop::Cancelled)) => EventKind::Cancelled,
            Ok(Err(Stop::Later(request))) => {
                if queue.put_back(Job { id, request: *request, lane, generation, begun: control.take_begun() }) {
                    continue;
                }
                EventKind::Cancelled
            }
            Ok(Err(Stop::Failed(failure))) => EventKind::Failed(failure),
            Err(panic) => EventKind::Failed(panic_failure(panic.as_ref())),
        };
        // Without a receiver only the exports that still wait matter.
        if events.send(Event { job: id, lane, kind }).is_ok() {
            wake();
        }
    }
}

fn panic_failure(panic: &(dyn Any + Send)) -> Failure {
    let message = panic.downcast_ref::<&str>().copied().or_else(|| panic.downcast_ref::<String>().map(String::as_str));
    Failure {
        summary: "Something went wrong inside the program".to_owned(),
        details: format!("The previous results are kept; please report this: {}", message.unwrap_or("no message")),
    }
}

/// A running job's line to the outside: signs of life out, the wish to stop in.
pub struct JobControl {
    job: JobId,
    lane: Lane,
    generation: u64,
    queue: Arc<Queue>,
    events: SyncSender<Event>,
    wake: Wake,
    /// Where a corpus was when it gave way.
    begun: Mutex<Option<Box<Begun>>>,
}

impl JobControl {
    /// Tells how far the job is, and answers whether to go on. Cheap enough for every layer and tensor.
    ///
    /// # Errors
    /// When the job was told to stop.
    pub fn report(&self, progress: Progress) -> Result<(), Cancelled> {
        self.check()?;
        self.send_sign_of_life(EventKind::Progress(progress));
        Ok(())
    }

    /// Tells a part of the answer. Waits for room, because nobody would ask for it again.
    pub(super) fn tell(&self, kind: EventKind) {
        // Without a receiver nobody wants it any more.
        if self.events.send(Event { job: self.job, lane: self.lane, kind }).is_ok() {
            (self.wake)();
        }
    }

    /// Tells something that may get lost.
    pub(super) fn send_sign_of_life(&self, kind: EventKind) {
        match self.events.try_send(Event { job: self.job, lane: self.lane, kind }) {
            Ok(()) => (self.wake)(),
            // The next sign of life will do.
            Err(TrySendError::Full(_) | TrySendError::Disconnected(_)) => {}
        }
    }

    /// Whether to go on.
    ///
    /// # Errors
    /// When the job was told to stop.
    pub fn check(&self) -> Result<(), Cancelled> {
        if self.is_cancelled() { Err(Cancelled) } else { Ok(()) }
    }

    /// Keeps how far a corpus is, for when its turn comes again ([`Stop::Later`]).
    pub(super) fn put_aside(&self, begun: Begun) {
        *self.begun.lock().unwrap_or_else(PoisonError::into_inner) = Some(Box::new(begun));
    }

    /// How far the corpus was when it gave way.
    pub(super) fn take_begun(&self) -> Option<Box<Begun>> {
        self.begun.lock().unwrap_or_else(PoisonError::into_inner).take()
    }

    /// Whether something waits that a long job gives way to.
    pub(super) fn is_awaited(&self, by: Urgency) -> bool {
        self.queue.is_awaited(by)
    }

    fn is_cancelled(&self) -> bool {
        self.queue.is_superseded(self.lane, self.generation)
    }
}

impl std::fmt::Debug for JobControl {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "JobControl({:?}, {:?})", self.job, self.lane)
    }
}
