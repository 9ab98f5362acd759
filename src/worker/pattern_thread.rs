//! The pattern thread: reads patterns beside the model's thread, so that neither a forward pass nor the
//! window waits for them.

use std::{io, sync::Arc};

use rayon::ThreadPool;

use super::{JobControl, Stop, Wake, Worker, idle::give_back_in, projector, thread::Engine};
use crate::{
    analysis::reading::{
        ReadPattern, Refusal,
        store::{self, Answer, PatternKey, PatternQuery, PatternReader, PatternResult, PatternStore, Want},
    },
    ids::JobId,
    protocol::{EventKind, Failure, Lane, ReadAnswer, Request, Update},
};

/// Answers questions about captures.
#[derive(Debug, Default)]
pub struct AnalysisEngine {
    /// The last answer: a request that supersedes another one often begins with what was just found.
    last: Option<(PatternKey, Answer)>,
    /// Its own compute threads; without them those of the caller.
    pool: Option<ThreadPool>,
}

impl AnalysisEngine {
    fn find(&mut self, want: &Want, control: &JobControl) -> Result<Answer, Stop> {
        if let Some((key, answer)) = &self.last
            && *key == want.key
        {
            return Ok(answer.clone());
        }
        let find = || store::answer(want, &mut || control.check().is_ok());
        let found = self.pool.as_ref().map_or_else(find, |pool| pool.install(find)).ok_or(Stop::Cancelled)?;
        self.last = Some((want.key.clone(), found.clone()));
        Ok(found)
    }
}

impl Engine for AnalysisEngine {
    const THREAD: &'static str = "analysis-worker";

    fn rest(&mut self) {
        self.last = None;
        self.pool.iter().for_each(give_back_in);
    }

    /// Tells each answer when it is there, then that all are.
    fn answer(&mut self, request: Request, control: &JobControl) -> Result<EventKind, Stop> {
        let Request::Read(wants) = request else {
            let details = format!("Please report this: {:?}", request.lane());
            return Err(Stop::Failed(Failure {
                summary: "This is not a question about a capture".to_owned(),
                details,
            }));
        };
        let mut patterns: Vec<(PatternKey, Arc<ReadPattern>)> = Vec::new();
        for mut want in wants {
            control.check()?;
            if let (PatternQuery::Lines(reading, _), None) = (&want.key.question, &want.pattern) {
                let of_pattern = PatternKey { question: PatternQuery::Pattern(reading.clone()), ..want.key.clone() };
                let known = patterns.iter().find(|(key, _)| *key == of_pattern);
                want.pattern = known.map(|(_, pattern)| Arc::clone(pattern));
            }
            let answer = self.find(&want, control)?;
            if let Ok(PatternResult::Pattern(pattern)) = &answer {
                patterns.push((want.key.clone(), Arc::clone(pattern)));
            }
            control.tell(EventKind::Analysis(ReadAnswer::Found(Box::new(want.key), answer)));
        }
        Ok(EventKind::Analysis(ReadAnswer::FoundAll))
    }
}

/// The analysis thread, seen from the window. Nothing here waits for it.
#[derive(Debug)]
pub struct PatternThread {
    worker: Worker,
    newest: JobId,
}

impl PatternThread {
    /// Starts the thread; `wake` is called when there is an answer.
    ///
    /// # Errors
    /// When the system refuses to start the threads.
    pub fn spawn(wake: Wake) -> io::Result<Self> {
        let engine = AnalysisEngine { pool: Some(projector::pool("analysis")?), ..AnalysisEngine::default() };
        Ok(Self { worker: Worker::spawn(engine, wake)?, newest: JobId(0) })
    }

    /// Moves everything that was found since the last call into `store`.
    pub fn drain_into(&mut self, store: &PatternStore) {
        for event in self.worker.drain() {
            match event.kind.update() {
                Some(Update::Answer(ReadAnswer::Found(key, answer))) => store.insert(*key, answer),
                Some(Update::Failed(failure)) if event.job == self.newest => {
                    store.give_up(&Refusal::Failed { summary: failure.summary, details: failure.details });
                }
                Some(
                    Update::Answer(ReadAnswer::FoundAll) | Update::Failed(_) | Update::Progress(_) | Update::Cancelled,
                )
                | None => {}
            }
        }
    }

    /// Has its threads give back what was freed, when they have nothing else to do.
    pub fn rest(&self) {
        self.worker.rest();
    }

    /// Stops what is running.
    pub fn cancel(&mut self) {
        self.worker.cancel(Lane::Analysis);
    }
}

impl PatternReader for PatternThread {
    fn ask(&mut self, wants: Vec<Want>) {
        self.newest = JobId(self.newest.0 + 1);
        self.worker.submit(self.newest, Request::Read(wants));
    }
}
