//! The threads behind the window, as one.

use std::{io, sync::Arc};

use super::{
    FileEngine, HubEngine, ProjectionEngine, SessionEngine, SurveyEngine, Wake, Worker, disk_cache::DiskCache,
    thread::Engine,
};
use crate::{
    ids::JobId,
    protocol::{Event, Lane, Request},
};

/// The model's thread and those for projections, surveys, downloads, files and sessions; a request goes to the thread that its lane
/// belongs to.
#[derive(Debug)]
pub struct Workers {
    model: Worker,
    projection: Worker,
    survey: Worker,
    hub: Worker,
    files: Worker,
    sessions: Worker,
}

impl Workers {
    /// Starts the threads. What can be computed again is kept in `scratch`, what the window shows as `sessions` says.
    ///
    /// # Errors
    /// When the system refuses to start a thread.
    pub fn spawn(
        engine: impl Engine + Send + 'static,
        scratch: Option<DiskCache>,
        sessions: SessionEngine,
        wake: Wake,
    ) -> io::Result<Self> {
        let projection = Worker::spawn(ProjectionEngine::new(scratch)?, Arc::clone(&wake))?;
        let survey = Worker::spawn(SurveyEngine::new()?, Arc::clone(&wake))?;
        let hub = Worker::spawn(HubEngine::default(), Arc::clone(&wake))?;
        let files = Worker::spawn(FileEngine, Arc::clone(&wake))?;
        let sessions = Worker::spawn(sessions, Arc::clone(&wake))?;
        Ok(Self { model: Worker::spawn(engine, wake)?, projection, survey, hub, files, sessions })
    }

    /// Asks for something; never blocks.
    pub fn submit(&mut self, job: JobId, request: Request) {
        self.thread_of(request.lane()).submit(job, request);
    }

    /// Stops what runs or waits in a lane.
    pub fn cancel(&mut self, lane: Lane) {
        self.thread_of(lane).cancel(lane);
    }

    /// Has every thread that has nothing to do give back what it has freed and what was freed for it.
    pub fn rest(&self) {
        let Self { model, projection, survey, hub, files, sessions } = self;
        [model, projection, survey, hub, files, sessions].into_iter().for_each(Worker::rest);
    }

    /// Everything that was said since the last call; never blocks.
    pub fn drain(&mut self) -> Vec<Event> {
        let Self { model, projection, survey, hub, files, sessions } = self;
        [model, projection, survey, hub, files, sessions].map(Worker::drain).concat()
    }

    const fn thread_of(&mut self, lane: Lane) -> &mut Worker {
        match lane {
            Lane::Project(_) => &mut self.projection,
            Lane::Survey(..) => &mut self.survey,
            Lane::Download => &mut self.hub,
            Lane::Export | Lane::Draw | Lane::Thumbnail | Lane::Card | Lane::Catalog => &mut self.files,
            Lane::Session => &mut self.sessions,
            Lane::Load(_)
            | Lane::Run(_)
            | Lane::Corpus(_)
            | Lane::Debate(_)
            | Lane::Study(..)
            | Lane::Judge(_)
            | Lane::Look
            | Lane::Explain(..)
            | Lane::SecondOpinion(_)
            | Lane::Measure(_)
            | Lane::Outcomes(_)
            | Lane::Analysis
            | Lane::Forget => &mut self.model,
        }
    }
}
